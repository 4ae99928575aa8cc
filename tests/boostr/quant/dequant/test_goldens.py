"""Dequantization against ggml's own output, bit for bit: quantized random weights and random (fuzzed) blocks."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from boostr.quant.dequant import dequantize_rows
from boostr.quant.types import QUANT_TYPES

FILES = sorted((Path(__file__).parents[3] / "data/quants").glob("*.safetensors"))


def test_goldens_cover_every_stored_type() -> None:
    closed_form = {"Q8_1", "Q8_K", "F64", "I8", "I16", "I32", "I64"}
    assert {path.stem for path in FILES} == set(QUANT_TYPES) - closed_form


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("kind", ["", "fuzz_"])
def test_bits_equal_ggml(path: Path, kind: str) -> None:
    golden = load_file(path)
    raw, expected = golden[f"{kind}raw"], golden[f"{kind}deq"]
    values = dequantize_rows(QUANT_TYPES[path.stem], raw)
    # Bits, not values: signs of zero and NaN payloads count as well.
    np.testing.assert_array_equal(values.view(np.uint32), expected.reshape(values.shape).view(np.uint32))
