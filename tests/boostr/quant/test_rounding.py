"""Rounding of activations: the NumPy reference, and the kernels against it bit for bit."""

import numpy as np
import pytest

from boostr.quant import QUANT_TYPES
from boostr.quant.kernels import kernels
from boostr.quant.rounding import activation_block, round_activations
from tests.boostr.quant.random_weights import KERNEL_TYPES, activations

native = pytest.mark.skipif(kernels() is None, reason="no native kernels on this machine")


def test_blocks_share_a_scale_of_their_maximum() -> None:
    x = np.zeros((1, 64), np.float32)
    x[0, :3] = [127, -1.6, 0.4]
    x[0, 32] = -12.7
    rounded = round_activations(x, 32)
    np.testing.assert_array_equal(rounded[0, :3], [127, -2, 0])
    np.testing.assert_allclose(rounded[0, 32], -12.7, rtol=1e-6)


def test_a_block_with_a_bad_element_is_nan_as_a_whole() -> None:
    x = np.ones((1, 64), np.float32)
    x[0, 5] = np.inf
    rounded = round_activations(x, 32)
    assert np.isnan(rounded[0, :32]).all()
    assert (rounded[0, 32:] == 1).all()


def test_precise_mode_never_rounds() -> None:
    assert activation_block(QUANT_TYPES["Q8_0"], "precise") == 0


@native
def test_kernels_and_table_agree_on_who_rounds() -> None:
    found = kernels()
    assert found is not None
    table = {name: activation_block(kind, "fast") for name, kind in QUANT_TYPES.items() if name in KERNEL_TYPES}
    assert {name: found.rounding(QUANT_TYPES[name].id) for name in KERNEL_TYPES} == table


@native
@pytest.mark.parametrize("block", [32, 256])
def test_kernels_round_as_the_reference(block: int) -> None:
    found = kernels()
    assert found is not None
    x = activations(5, 512).array
    x[0, :256] = 0
    x[1, 3] = np.nan
    x[2, :256] *= 1e-36
    x[3] = np.round(x[3] * 64) / 64  # many ties
    out = np.empty_like(x)
    found.round_trip(block, x.ctypes.data, 5, 512, out.ctypes.data)
    np.testing.assert_array_equal(out, round_activations(x, block))
