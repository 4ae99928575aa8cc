"""FP4 types: 4-bit E2M1 numbers under a shared power-of-two (MXFP4) or 8-bit float (NVFP4) scale.

The value table holds twice the E2M1 value so that it is integral; both scales are therefore halved.
"""

import numpy as np

from boostr.quant.dequant.base import Bytes, Dequantizer, Float32Array
from boostr.quant.dequant.legacy import nibbles

E2M1_DOUBLED = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)


def half_power_of_two(exponents: Bytes) -> Float32Array:
    """E8M0 byte e -> 2**(e - 128); 0 and 1 come out as the float32 subnormals 2**-128 and 2**-127."""
    return np.ldexp(np.float32(1), exponents.astype(np.int32) - 128)


def half_unsigned_e4m3(codes: Bytes) -> Float32Array:
    """Four exponent bits (bias 7) and three mantissa bits below the ignored sign, halved; NaN's 0x7f reads as 0."""
    exponent = (codes.astype(np.int32) >> 3) & 15
    mantissa = codes.astype(np.int32) & 7
    significand = np.where(exponent == 0, mantissa, mantissa + 8).astype(np.float32)
    values = np.ldexp(significand, np.maximum(exponent, 1) - 7 - 3 - 1)
    return np.where(codes == 0x7F, np.float32(0), values)


class MXFP4(Dequantizer, name="MXFP4"):
    """scale E8M0 | 16 nibble bytes."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        return half_power_of_two(blocks[:, :1]) * E2M1_DOUBLED[nibbles(blocks[:, 1:])]


class NVFP4(Dequantizer, name="NVFP4"):
    """four scales E4M3 of 16 weights each | 4 x 8 nibble bytes."""

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        quants = E2M1_DOUBLED[nibbles(blocks[:, 4:].reshape(-1, 8))]
        scales = half_unsigned_e4m3(blocks[:, :4]).reshape(-1, 1)
        return (scales * quants).reshape(len(blocks), 64)
