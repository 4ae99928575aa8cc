"""Types without goldens (activation and integer formats), chunking, and scales no sane writer stores."""

import numpy as np
import pytest

from boostr.quant.dequant import dequantize_rows
from boostr.quant.types import QUANT_TYPES


def test_q8_1_is_scale_times_quants() -> None:
    quants = np.arange(-16, 16, dtype=np.int8)
    block = np.concatenate([np.array([0.5, 99], np.float16).view(np.uint8), quants.view(np.uint8)])
    values = dequantize_rows(QUANT_TYPES["Q8_1"], block[None])
    np.testing.assert_array_equal(values, 0.5 * quants[None].astype(np.float32))


def test_q8_k_is_scale_times_quants() -> None:
    quants = np.arange(-128, 128).astype(np.int8)
    sums = np.zeros(16, "<i2")
    block = np.concatenate([np.array([0.25], "<f4").view(np.uint8), quants.view(np.uint8), sums.view(np.uint8)])
    values = dequantize_rows(QUANT_TYPES["Q8_K"], block[None])
    np.testing.assert_array_equal(values, 0.25 * quants[None].astype(np.float32))


@pytest.mark.parametrize("name", ["F64", "I8", "I16", "I32", "I64"])
def test_plain_numbers_convert(name: str) -> None:
    dtype = QUANT_TYPES[name].dtype
    numbers = np.array([[-3, 0, 100], [1, 2, 3]], dtype)
    raw = numbers.view(np.uint8).reshape(2, -1)
    np.testing.assert_array_equal(dequantize_rows(QUANT_TYPES[name], raw), numbers.astype(np.float32))


def test_long_rows_are_decoded_in_pieces_without_seams() -> None:
    kind = QUANT_TYPES["Q4_0"]
    raw = np.random.default_rng(0).integers(0, 60, (40, kind.row_bytes(16384)), dtype=np.uint8)
    whole = dequantize_rows(kind, raw)
    single = np.concatenate([dequantize_rows(kind, raw[row : row + 1]) for row in range(40)])
    np.testing.assert_array_equal(whole, single)


@pytest.mark.parametrize("name", [name for name, kind in QUANT_TYPES.items() if not kind.dense])
@pytest.mark.parametrize("fill", [0, 0x7C, 0xFF])
def test_extreme_blocks_give_numbers_not_crashes(name: str, fill: int) -> None:
    kind = QUANT_TYPES[name]
    values = dequantize_rows(kind, np.full((2, kind.row_bytes(2 * kind.block)), fill, np.uint8))
    assert values.shape == (2, 2 * kind.block)


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_single_rows(rows: int) -> None:
    kind = QUANT_TYPES["Q6_K"]
    assert dequantize_rows(kind, np.zeros((rows, kind.row_bytes(256)), np.uint8)).shape == (rows, 256)
