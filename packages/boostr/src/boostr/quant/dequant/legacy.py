"""The 32-element types: one float16 scale a block, 4, 5 or 8 bits a weight, and Q1_0/Q2_0 of the same family.

Nibbles: byte i of the 16 holds element i (low) and element i + 16 (high).
"""

import numpy as np

from boostr.quant.dequant.base import Bytes, Dequantizer, Float32Array, half


def nibbles(packed: Bytes) -> Bytes:
    """(n, 16) bytes -> (n, 32) values 0..15: all low nibbles, then all high ones."""
    return np.concatenate([packed & 15, packed >> 4], axis=1)


def fifth_bits(packed: Bytes) -> Bytes:
    """(n, 4) bytes -> (n, 32) values 0 or 16: bit i of the little-endian word is element i's fifth bit."""
    return np.unpackbits(packed, axis=1, bitorder="little") * np.uint8(16)


class Q4_0(Dequantizer, name="Q4_0"):
    """d f16 | 16 nibble bytes; w = d * (q - 8)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 0) * (nibbles(blocks[:, 2:]).astype(np.int8) - np.int8(8))


class Q4_1(Dequantizer, name="Q4_1"):
    """d f16, m f16 | 16 nibble bytes; w = d * q + m."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 0) * nibbles(blocks[:, 4:]) + half(blocks, 2)


class Q5_0(Dequantizer, name="Q5_0"):
    """d f16 | 32 high bits | 16 nibble bytes; w = d * (q - 16)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        quants = nibbles(blocks[:, 6:]) | fifth_bits(blocks[:, 2:6])
        return half(blocks, 0) * (quants.astype(np.int8) - np.int8(16))


class Q5_1(Dequantizer, name="Q5_1"):
    """d f16, m f16 | 32 high bits | 16 nibble bytes; w = d * q + m."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        quants = nibbles(blocks[:, 8:]) | fifth_bits(blocks[:, 4:8])
        return half(blocks, 0) * quants + half(blocks, 2)


class Q8_0(Dequantizer, name="Q8_0"):
    """d f16 | 32 int8; w = d * q."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 0) * blocks[:, 2:].view(np.int8)


class Q8_1(Dequantizer, name="Q8_1"):
    """d f16, s f16 | 32 int8; w = d * q. An activation format: s = d * sum(q) serves products with Q4_1 and Q5_1."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 0) * blocks[:, 4:].view(np.int8)


class Q1_0(Dequantizer, name="Q1_0"):
    """d f16 | 128 bits; w = +d where the bit is set, else -d."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
        scale = half(blocks, 0)
        return np.where(bits, scale, -scale)


class Q2_0(Dequantizer, name="Q2_0"):
    """d f16 | 16 bytes of four 2-bit values, lowest bits first; w = d * (q - 1)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        pairs = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        return half(blocks, 0) * (pairs.reshape(len(blocks), -1).astype(np.int8) - np.int8(1))
