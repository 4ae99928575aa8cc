"""The IQ types: codebook indices into fixed grids with signs and small scales, 256 weights a block (IQ4_NL: 32).

The grids are data of the format; they come from the `gguf` package's tables, loaded when a type first needs one.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from boostr.quant.dequant.base import Bytes, Dequantizer, Float32Array, half
from boostr.quant.dequant.k import scaled
from boostr.quant.dequant.legacy import nibbles

IQ4_VALUES = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8)
_DELTA = np.float32(0.125)


@cache
def grid(name: str) -> Float32Array:
    """The codebook of a type: (entries, 8) or (entries, 4) float32."""
    from gguf import quants

    codec = getattr(quants, name)
    codec.init_grid()
    table: Float32Array = codec.grid.reshape(codec.grid_shape).astype(np.float32)
    table.flags.writeable = False
    return table


@cache
def sign_table() -> Bytes:
    """Seven stored sign bits -> eight: the last one makes their number even."""
    return np.array([code | (code.bit_count() & 1) << 7 for code in range(128)], np.uint8)


def signs_of(bits: Bytes) -> Float32Array:
    """(n, bytes) -> (n, 8 * bytes) of +1 and -1; a set bit is negative, lowest bit first."""
    negative = np.unpackbits(np.ascontiguousarray(bits), axis=1, bitorder="little")
    return np.float32(1) - negative * np.float32(2)


def word(blocks: Bytes, start: int, stop: int, kind: str) -> npt.NDArray[np.unsignedinteger]:
    """Bytes start..stop of every block as little-endian words."""
    return np.ascontiguousarray(blocks[:, start:stop]).view(kind)


def fields(words: npt.NDArray[np.unsignedinteger], shifts: range, mask: int) -> npt.NDArray[np.int32]:
    """(n, words) -> (n, words * len(shifts)) bit fields, those of one word side by side."""
    spread = (words[:, :, None] >> np.array(shifts, words.dtype)) & words.dtype.type(mask)
    return spread.reshape(len(words), -1).astype(np.int32)


def signed(scales: Float32Array, points: Float32Array, signs: Float32Array) -> Float32Array:
    """Group scales (n, groups) times codebook points times signs -> (n, 256)."""
    rows = len(points)
    return scaled(scales, points.reshape(rows, 256)).reshape(rows, 256) * signs


class IQ2_XXS(Dequantizer, name="IQ2_XXS"):
    """d f16 | 8 x (4 grid bytes, u32 with four 7-bit signs and a 4-bit scale)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        pairs = word(blocks, 2, 66, "<u4")
        index = np.ascontiguousarray(pairs[:, 0::2]).view(np.uint8)
        tail = pairs[:, 1::2]
        scales = half(blocks, 0) * (np.float32(0.5) + (tail >> np.uint32(28)).astype(np.float32)) * np.float32(0.25)
        signs = signs_of(sign_table()[fields(tail, range(0, 28, 7), 127)])
        return signed(scales, grid("IQ2_XXS")[index], signs)


class IQ2_XS(Dequantizer, name="IQ2_XS"):
    """d f16 | 32 x u16 (9-bit grid index, 7-bit signs) | 8 bytes of 4-bit scales, one per 16 weights."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        codes = word(blocks, 2, 66, "<u2")
        levels = fields(blocks[:, 66:74], range(0, 8, 4), 15)
        scales = half(blocks, 0) * (np.float32(0.5) + levels.astype(np.float32)) * np.float32(0.25)
        signs = signs_of(sign_table()[codes >> np.uint16(9)])
        return signed(scales, grid("IQ2_XS")[codes & np.uint16(511)], signs)


class IQ2_S(Dequantizer, name="IQ2_S"):
    """d f16 | 32 low grid bytes | 32 sign bytes | 8 bytes of 2 high grid bits | 8 bytes of 4-bit scales."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        index = blocks[:, 2:34].astype(np.int32) | (fields(blocks[:, 66:74], range(0, 8, 2), 3) << 8)
        levels = fields(blocks[:, 74:82], range(0, 8, 4), 15)
        scales = half(blocks, 0) * (np.float32(0.5) + levels.astype(np.float32)) * np.float32(0.25)
        return signed(scales, grid("IQ2_S")[index], signs_of(blocks[:, 34:66]))


class IQ3_XXS(Dequantizer, name="IQ3_XXS"):
    """d f16 | 64 grid bytes of 4 weights | 8 x u32 with four 7-bit signs and a 4-bit scale."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        tail = word(blocks, 66, 98, "<u4")
        scales = half(blocks, 0) * (np.float32(0.5) + (tail >> np.uint32(28)).astype(np.float32)) * np.float32(0.5)
        signs = signs_of(sign_table()[fields(tail, range(0, 28, 7), 127)])
        return signed(scales, grid("IQ3_XXS")[blocks[:, 2:66]], signs)


class IQ3_S(Dequantizer, name="IQ3_S"):
    """d f16 | 64 low grid bytes | 8 bytes of ninth grid bits | 32 sign bytes | 4 bytes of 4-bit scales."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        index = blocks[:, 2:66].astype(np.int32) | (fields(blocks[:, 66:74], range(8), 1) << 8)
        levels = fields(blocks[:, 106:110], range(0, 8, 4), 15)
        scales = half(blocks, 0) * (1 + 2 * levels).astype(np.float32)
        return signed(scales, grid("IQ3_S")[index], signs_of(blocks[:, 74:106]))


class IQ1_S(Dequantizer, name="IQ1_S"):
    """d f16 | 32 low grid bytes | 8 x u16 (four 3-bit high indices, 3-bit scale, sign of the shared offset)."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        tail = word(blocks, 34, 50, "<u2")
        index = blocks[:, 2:34].astype(np.int32) | (fields(tail, range(0, 12, 3), 7) << 8)
        scales = half(blocks, 0) * (2 * ((tail >> np.uint16(12)) & np.uint16(7)) + 1).astype(np.float32)
        delta = np.where(tail >> np.uint16(15), -_DELTA, _DELTA)
        points = grid("IQ1_S")[index].reshape(len(blocks), 8, 32) + delta[:, :, None]
        return scaled(scales, points).reshape(len(blocks), 256)


class IQ1_M(Dequantizer, name="IQ1_M"):
    """32 low grid bytes | 16 bytes of (3-bit high index, offset sign) nibbles | 4 x u16 of four 3-bit scales.

    The top nibbles of the four scale words are the float16 factor; a scale serves 16 weights, an offset 8.
    """

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        words = word(blocks, 48, 56, "<u2")
        tops = (words >> np.uint16(12)) << np.array([0, 4, 8, 12], np.uint16)
        factor = np.bitwise_or.reduce(tops, axis=1, keepdims=True).view(np.float16).astype(np.float32)
        scales = factor * (2 * fields(words, range(0, 12, 3), 7) + 1).astype(np.float32)
        high = fields(blocks[:, 32:48], range(0, 8, 4), 15)
        index = blocks[:, :32].astype(np.int32) | ((high & 7) << 8)
        delta = np.where(high & 8, -_DELTA, _DELTA)
        points = grid("IQ1_S")[index] + delta[:, :, None]
        return scaled(scales, points).reshape(len(blocks), 256)


class IQ4_NL(Dequantizer, name="IQ4_NL"):
    """d f16 | 16 nibble bytes indexing sixteen fixed int8 values."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half(blocks, 0) * IQ4_VALUES[nibbles(blocks[:, 2:])]


class IQ4_XS(Dequantizer, name="IQ4_XS"):
    """d f16 | u16 of eight 2-bit high scale parts | 4 bytes of low nibbles | 8 x 16 nibble bytes as in IQ4_NL."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        high = fields(word(blocks, 2, 4, "<u2"), range(0, 16, 2), 3)
        low = fields(blocks[:, 4:8], range(0, 8, 4), 15)
        scales = half(blocks, 0) * ((low | (high << 4)) - 32).astype(np.float32)
        quants = IQ4_VALUES[nibbles(blocks[:, 8:].reshape(-1, 16))]
        return scaled(scales, quants).reshape(len(blocks), 256)
