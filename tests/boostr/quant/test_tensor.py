"""QuantTensor: shape checks, views along the first axis, row selection."""

import numpy as np
import pytest

from boostr.errors import FormatError
from boostr.quant import QUANT_TYPES, QuantTensor

Q8 = QUANT_TYPES["Q8_0"]


def blocks(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    raw = np.random.default_rng(seed).integers(0, 256, (rows, columns // 32, 34), dtype=np.uint8)
    raw[:, :, :2] = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
    return raw.reshape(rows, -1)


def test_geometry_of_a_matrix() -> None:
    weight = QuantTensor(blocks(5, 64), Q8, (5, 64))
    assert (weight.rows, weight.columns, weight.ndim, weight.nbytes) == (5, 64, 2, 5 * 68)
    assert weight.ptr == weight.blocks.ctypes.data


def test_blocks_that_do_not_fit_the_shape_are_refused() -> None:
    with pytest.raises(FormatError, match="needs contiguous uint8 blocks"):
        QuantTensor(blocks(5, 64), Q8, (4, 64))


def test_strided_blocks_are_refused() -> None:
    with pytest.raises(FormatError, match="contiguous"):
        QuantTensor(blocks(6, 64)[::2], Q8, (3, 64))


def test_dequantize_keeps_leading_dimensions() -> None:
    weight = QuantTensor(blocks(6, 32), Q8, (2, 3, 32))
    assert weight.dequantize().shape == (2, 3, 32)


def test_an_expert_is_a_view_of_its_rows() -> None:
    weight = QuantTensor(blocks(6, 32), Q8, (2, 3, 32))
    expert = weight[1]
    assert expert.shape == (3, 32)
    assert np.shares_memory(expert.blocks, weight.blocks)
    np.testing.assert_array_equal(expert.dequantize(), weight.dequantize()[1])


def test_a_slice_of_rows_is_a_view() -> None:
    weight = QuantTensor(blocks(6, 32), Q8, (6, 32))
    part = weight[2:5]
    assert np.shares_memory(part.blocks, weight.blocks)
    np.testing.assert_array_equal(part.dequantize(), weight.dequantize()[2:5])


def test_a_single_row_needs_dequantize() -> None:
    with pytest.raises(IndexError, match="slice"):
        QuantTensor(blocks(6, 32), Q8, (6, 32))[0]


def test_a_stepped_slice_is_refused() -> None:
    with pytest.raises(IndexError, match="step 1"):
        QuantTensor(blocks(6, 32), Q8, (6, 32))[::2]


def test_take_reorders_rows() -> None:
    weight = QuantTensor(blocks(4, 32), Q8, (4, 32))
    np.testing.assert_array_equal(weight.take([3, 0]).dequantize(), weight.dequantize()[[3, 0]])


@pytest.mark.parametrize("rows", [slice(1, 3), [2, 2, 0], np.array([3])])
def test_dequantize_of_some_rows(rows: object) -> None:
    weight = QuantTensor(blocks(4, 64), Q8, (4, 64))
    np.testing.assert_array_equal(weight.dequantize(rows), weight.dequantize()[rows])  # type: ignore[arg-type, index]
