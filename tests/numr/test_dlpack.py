import numpy as np
import pytest

import numr as nr

DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_takes_tensors(name):
    tensor = nr.ones((2, 3), dtype=name)

    array = np.from_dlpack(tensor)

    assert array.dtype == tensor.dtype
    assert np.shares_memory(array, tensor.array)


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_take_numpy_arrays(name):
    array = np.ones((2, 3), dtype=name)

    tensor = nr.from_dlpack(array)

    assert tensor.shape == (2, 3)
    assert np.shares_memory(tensor.array, array)


def test_strides_survive():
    array = np.arange(12).reshape(3, 4)[:, ::2]

    assert nr.from_dlpack(array).tolist() == array.tolist()


@pytest.mark.parametrize(("copy", "shared"), [(None, True), (False, True), (True, False)])
def test_copies_only_on_request(copy, shared):
    array = np.zeros(3)

    assert np.shares_memory(nr.from_dlpack(array, copy=copy).array, array) is shared
    assert nr.from_dlpack(array, device="cpu", copy=copy).device == nr.Device("cpu")


def test_tensors_take_tensors():
    tensor = nr.arange(3)

    assert nr.from_dlpack(tensor).array.ctypes.data == tensor.ptr


def test_device():
    assert nr.zeros(1).__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    "options", [{}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}, {"copy": True}, {"stream": None}]
)
def test_export_options(options):
    assert type(nr.zeros(1).__dlpack__(**options)).__name__ == "PyCapsule"


def test_the_cpu_has_no_streams():
    with pytest.raises(nr.DeviceError, match="stream must be None"):
        nr.zeros(1).__dlpack__(stream=1)


def test_read_only_memory_stays_read_only():
    array = np.zeros(2)
    array.flags.writeable = False

    assert not nr.from_dlpack(nr.asarray(array)).array.flags.writeable


def test_bfloat16_moves_between_tensors_only():
    tensor = nr.ones(2, dtype=nr.bfloat16)

    assert np.shares_memory(nr.from_dlpack(tensor).array, tensor.array)
    with pytest.raises(BufferError, match=r"bfloat16.*numr\.astype"):
        np.from_dlpack(tensor)


def test_objects_without_dlpack_are_refused():
    with pytest.raises(AttributeError, match="__dlpack"):
        nr.from_dlpack([1, 2])
