"""The names that numr shows, pinned: a change here is a change for every user."""

import json
import subprocess
import sys

import pytest

import numr as nr

_NAMES = """
    DTypeError Device DeviceError NativeError NumrError ShapeError Tensor UnsupportedError __array_api_version__
    __array_namespace_info__ __version__ abs acos acosh add all any arange argmax argmin argsort asarray asin
    asinh astype atan atan2 atanh bfloat16 bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_shapes broadcast_to can_cast ceil clip
    complex128 complex64 concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide
    e empty empty_like equal errors exp expand_dims expm1 eye fft finfo flip float16 float32 float64 floor
    floor_divide from_dlpack full full_like get_num_threads greater greater_equal hypot iinfo imag inf int16
    int32 int64 int8 isdtype isfinite isin isinf isnan less less_equal linalg linspace log log10 log1p log2
    logaddexp logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid
    min minimum moveaxis multiply nan native negative newaxis nextafter nn nonzero not_equal ones ones_like
    permute_dims pi positive pow prod random real reciprocal remainder repeat reshape result_type roll round
    searchsorted set_num_threads show_config sign signbit sin sinh sort sqrt square squeeze stack std subtract
    sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all
    unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like
"""

_LINALG = """
    cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
"""

_FFT = """
    fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn
"""

NAMES = _NAMES.split()
EXTENSIONS = {"linalg": _LINALG.split(), "fft": _FFT.split(), "random": ["Generator"]}


def test_names_are_pinned():
    assert sorted(nr.__all__) == NAMES
    assert dir(nr) == NAMES


def test_every_name_is_there():
    assert [name for name in NAMES if not hasattr(nr, name)] == []


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extensions_are_pinned(name):
    extension = getattr(nr, name)

    assert sorted(extension.__all__) == EXTENSIONS[name]
    assert all(hasattr(extension, function) for function in extension.__all__)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'numr' has no attribute 'nothing'"):
        nr.nothing  # noqa: B018


def test_version_is_the_distributions():
    assert nr.__version__ == nr.__getattr__("__version__")
    assert nr.__array_api_version__ == "2025.12"


def test_import_leaves_the_rest_for_later():
    script = "import json, sys, numr; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(subprocess.check_output([sys.executable, "-c", script], text=True)))

    assert "numr.namespace.elementwise" in loaded
    assert not loaded & {
        "numr.nn",
        "numr.native",
        "numr.random",
        "numr.linalg",
        "numr.fft",
        "cupy",
        "importlib.metadata",
    }


@pytest.mark.parametrize("name", ["get_num_threads", "set_num_threads", "show_config"])
def test_native_settings_are_shown(name):
    assert getattr(nr, name) is getattr(nr.native, name)
