"""Writes types.h for check.c: every quantized type with its geometry and a digest of what NumPy dequantizes.

    python tests/boostr/quant/native/write_types.py

check.c fills blocks with the same bytes and must come to the same digest, so that it needs neither Python nor a second
set of dequantizers.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from boostr.quant import QUANT_TYPES, QuantType
from boostr.quant.dequant import dequantize_rows

HEADER = Path(__file__).with_name("types.h")
BLOCKS = 64
OPENING = """\
/* The types that check.c knows; made by write_types.py: id, elements and bytes of a block, and a digest of what 64
   blocks of noise dequantize to. */
"""


def noise(count: int) -> np.ndarray:
    """Byte i is a hash of i, as in check.c."""
    x = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(32)
    return (x & np.uint64(255)).astype(np.uint8)


def digest(kind: QuantType) -> int:
    """A sum over the bits of the floats, weighted by their places; all NaNs and both zeros are the same."""
    values = dequantize_rows(kind, noise(BLOCKS * kind.block_bytes)[None]).reshape(-1)
    bits = np.where(values == 0, 0, values.view(np.uint32)).astype(np.uint64)
    bits[np.isnan(values)] = 0x7FC00000
    places = np.arange(len(bits), dtype=np.uint64)
    return int(((bits + np.uint64(1)) * (places * np.uint64(2) + np.uint64(1))).sum(dtype=np.uint64))


def header() -> str:
    lines = [
        f'{{"{kind.name}", {kind.id}, {kind.block}, {kind.block_bytes}, 0x{digest(kind):016x}u}},\n'
        for kind in QUANT_TYPES.values()
        if not kind.dense
    ]
    return OPENING + "".join(lines)


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
    sys.exit(0)
