"""Rounding of activations: the NumPy reference, and the kernels against it bit for bit."""

import numpy as np
import pytest

from boostr.quant import QUANT_TYPES
from boostr.quant.activations import Precision, Rounding, rounding_of
from boostr.quant.kernels import kernels
from boostr.quant.rounding import round_activations
from tests.boostr.quant.random_weights import ROUNDED_TYPES, activations

native = pytest.mark.skipif(kernels() is None, reason="no native kernels on this machine")


def test_blocks_share_a_scale_of_their_maximum() -> None:
    x = np.zeros((1, 64), np.float32)
    x[0, :3] = [127, -1.6, 0.4]
    x[0, 32] = -12.7
    rounded = round_activations(x, Rounding(32, 8))
    np.testing.assert_array_equal(rounded[0, :3], [127, -2, 0])
    np.testing.assert_allclose(rounded[0, 32], -12.7, rtol=1e-6)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_block_with_a_bad_element_is_nan_as_a_whole(bits: int) -> None:
    x = np.ones((1, 64), np.float32)
    x[0, 5] = np.inf
    rounded = round_activations(x, Rounding(32, bits))
    assert np.isnan(rounded[0, :32]).all()
    assert (rounded[0, 32:] == 1).all()


@pytest.mark.parametrize(("precision", "bits"), [("precise", 0), ("float32", 0), ("int8", 8), ("int16", 16)])
def test_a_precision_says_how_much_is_kept(precision: Precision, bits: int) -> None:
    assert rounding_of(QUANT_TYPES["Q8_0"], precision) == (32 if bits else 0, bits)
    assert rounding_of(QUANT_TYPES["F16"], precision) == (0, 0)


@pytest.mark.parametrize("name", ROUNDED_TYPES)
def test_fast_is_one_of_the_rounded_formats(name: str) -> None:
    assert rounding_of(QUANT_TYPES[name], "fast") in (
        rounding_of(QUANT_TYPES[name], "int8"),
        rounding_of(QUANT_TYPES[name], "int16"),
    )


@native
def test_kernels_and_table_agree_on_who_rounds() -> None:
    found = kernels()
    assert found is not None
    for name, kind in QUANT_TYPES.items():
        block = rounding_of(kind, "fast").block
        assert found.rounding(kind.id) == block or (block == 0 and found.rounding(kind.id) == -1), name


@native
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("block", [32, 256])
def test_kernels_round_as_the_reference(block: int, bits: int) -> None:
    found = kernels()
    assert found is not None
    x = activations(5, 512).array
    x[0, :256] = 0
    x[1, 3] = np.nan
    x[2, :256] *= 1e-36
    x[3] = np.round(x[3] * 64) / 64  # many ties
    out = np.empty_like(x)
    found.round_trip(Rounding(block, bits), x.ctypes.data, 5, 512, out.ctypes.data)
    np.testing.assert_array_equal(out, round_activations(x, Rounding(block, bits)))
