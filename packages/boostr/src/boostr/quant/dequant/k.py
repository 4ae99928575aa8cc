"""The K types: super-blocks of 256 weights with quantized sub-block scales under one or two float16 factors.

Two-bit and high-bit planes interleave the same way everywhere: byte i of a 32-byte run holds element i of each of the
following 32-element groups, lowest bits first.
"""

import numpy as np

from boostr.quant.dequant.base import Bytes, Dequantizer, Float32Array, half


def planes(packed: Bytes, bits: int, run: int = 32) -> Bytes:
    """(n, bytes) -> (n, bytes * 8 / bits): each `run` of bytes yields 8 / bits groups, one per bit position."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    spread = packed.reshape(len(packed), -1, 1, run) >> shifts
    return (spread & np.uint8((1 << bits) - 1)).reshape(len(packed), -1)


def six_bit_pairs(packed: Bytes) -> tuple[Bytes, Bytes]:
    """12 bytes of Q4_K/Q5_K -> eight scales and eight minima of 6 bits, each (n, 8).

    Bytes 0..3 and 4..7 hold scales and minima 0..3 in their low six bits; their top two bits complete the nibbles of
    bytes 8..11, which hold scales (low) and minima (high) 4..7.
    """
    low, mid, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 2) & 48)], axis=1)
    minima = np.concatenate([mid & 63, (high >> 4) | ((mid >> 2) & 48)], axis=1)
    return scales, minima


def scaled(factors: Float32Array, quants: np.ndarray) -> Float32Array:
    """(n, groups) factors times (n, 256) quants, group by group -> (n, groups, 256 / groups)."""
    values: Float32Array = factors[:, :, None] * quants.reshape(*factors.shape, -1)
    return values


class Q2_K(Dequantizer, name="Q2_K"):
    """16 bytes scale (low) and minimum (high) nibbles | 64 bytes 2-bit | d f16 | dmin f16."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        scales = half(blocks, 80) * (blocks[:, :16] & 15)
        minima = half(blocks, 82) * (blocks[:, :16] >> 4)
        return (scaled(scales, planes(blocks[:, 16:80], 2)) - minima[:, :, None]).reshape(len(blocks), 256)


class Q3_K(Dequantizer, name="Q3_K"):
    """32 bytes high bits | 64 bytes 2-bit | 12 bytes of sixteen 6-bit scales | d f16; a set high bit means no -4."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        low = planes(blocks[:, 96:104], 4, run=8)
        high = planes(blocks[:, 104:108], 2, run=4)
        scales = half(blocks, 108) * ((low | (high << 4)).astype(np.int8) - np.int8(32))
        quants = (planes(blocks[:, 32:96], 2) | (planes(blocks[:, :32], 1) << 2)).astype(np.int8) - np.int8(4)
        return scaled(scales, quants).reshape(len(blocks), 256)


class Q4_K(Dequantizer, name="Q4_K"):
    """d f16 | dmin f16 | 12 bytes scales and minima | 128 nibble bytes; w = d * scale * q - dmin * minimum."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        scales, minima = six_bit_pairs(blocks[:, 4:16])
        offsets = (half(blocks, 2) * minima)[:, :, None]
        return (scaled(half(blocks, 0) * scales, planes(blocks[:, 16:], 4)) - offsets).reshape(len(blocks), 256)


class Q5_K(Dequantizer, name="Q5_K"):
    """As Q4_K with 32 bytes of fifth bits before the nibbles."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        scales, minima = six_bit_pairs(blocks[:, 4:16])
        quants = planes(blocks[:, 48:], 4) | (planes(blocks[:, 16:48], 1) << 4)
        offsets = (half(blocks, 2) * minima)[:, :, None]
        return (scaled(half(blocks, 0) * scales, quants) - offsets).reshape(len(blocks), 256)


class Q6_K(Dequantizer, name="Q6_K"):
    """128 bytes low nibbles | 64 bytes 2 high bits | 16 int8 scales | d f16; w = d * scale * (q - 32)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        quants = planes(blocks[:, :128], 4, run=64) | (planes(blocks[:, 128:192], 2) << 4)
        scales = half(blocks, 208) * blocks[:, 192:208].view(np.int8)
        return scaled(scales, quants.astype(np.int8) - np.int8(32)).reshape(len(blocks), 256)


class Q8_K(Dequantizer, name="Q8_K"):
    """d f32 | 256 int8 | 16 int16 sums of sixteen quants; w = d * q. An activation format of the K products."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        scale = np.ascontiguousarray(blocks[:, :4]).view("<f4")
        values: Float32Array = scale * blocks[:, 4:260].view(np.int8)
        return values
