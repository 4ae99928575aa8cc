"""Ternary types: 256 weights of -1, 0, 1 under one float16 scale, packed in base 3 (TQ1_0) or two bits (TQ2_0)."""

import numpy as np

from boostr.quant.dequant.base import Bytes, Dequantizer, Float32Array, half
from boostr.quant.dequant.k import planes


def trits(packed: Bytes, count: int) -> Bytes:
    """(n, bytes) -> (n, count * bytes) digits 0..2, all first digits, then all second ones, ...

    A byte is a fraction in base 3: multiplying by 3**k modulo 256 brings digit k to the top, and * 3 >> 8 reads it.
    """
    powers = np.array([1, 3, 9, 27, 81], np.uint8)[:count, None]
    fractions = (packed[:, None, :] * powers).astype(np.uint16)
    return ((fractions * np.uint16(3)) >> np.uint16(8)).astype(np.uint8).reshape(len(packed), -1)


class TQ1_0(Dequantizer, name="TQ1_0"):
    """32 + 16 bytes of five digits | 4 bytes of four digits | d f16; w = d * (digit - 1)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        digits = [trits(blocks[:, :32], 5), trits(blocks[:, 32:48], 5), trits(blocks[:, 48:52], 4)]
        return half(blocks, 52) * (np.concatenate(digits, axis=1).astype(np.int8) - np.int8(1))


class TQ2_0(Dequantizer, name="TQ2_0"):
    """64 bytes of 2-bit values | d f16; w = d * (q - 1)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 64) * (planes(blocks[:, :64], 2).astype(np.int8) - np.int8(1))
