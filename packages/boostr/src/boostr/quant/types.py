"""The one table of ggml tensor types: name, id, block geometry and, for dense types, the NumPy dtype.

Facts only. How a block turns into numbers is in `dequant/`, how it multiplies in `matmul.py`; both look types up here.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from boostr.errors import FormatError

__all__ = ["QUANT_TYPES", "QuantType", "by_id"]


@dataclass(frozen=True, slots=True)
class QuantType:
    """How `block` consecutive elements of a row are stored in `block_bytes` bytes (little-endian, no padding).

    `dtype` is the NumPy dtype of a dense type (block of one element) and None for a quantized one.
    """

    name: str
    id: int
    block: int
    block_bytes: int
    dtype: np.dtype | None = None

    @property
    def dense(self) -> bool:
        """True for F32, F16, BF16, F64 and the integer types, which are plain arrays."""
        return self.dtype is not None

    def row_bytes(self, columns: int) -> int:
        """Bytes of a row of `columns` elements; FormatError if that is not a whole number of blocks."""
        if columns < 0 or columns % self.block:
            raise FormatError(f"a {self.name} row of {columns} elements is not whole blocks of {self.block}")
        return columns // self.block * self.block_bytes


def _dense(name: str, number: int, dtype: object) -> QuantType:
    kind = np.dtype(dtype)  # type: ignore[call-overload]
    return QuantType(name, number, 1, kind.itemsize, kind)


QUANT_TYPES: dict[str, QuantType] = {
    entry.name: entry
    for entry in (
        _dense("F32", 0, "<f4"),
        _dense("F16", 1, "<f2"),
        QuantType("Q4_0", 2, 32, 18),
        QuantType("Q4_1", 3, 32, 20),
        QuantType("Q5_0", 6, 32, 22),
        QuantType("Q5_1", 7, 32, 24),
        QuantType("Q8_0", 8, 32, 34),
        QuantType("Q8_1", 9, 32, 36),
        QuantType("Q2_K", 10, 256, 84),
        QuantType("Q3_K", 11, 256, 110),
        QuantType("Q4_K", 12, 256, 144),
        QuantType("Q5_K", 13, 256, 176),
        QuantType("Q6_K", 14, 256, 210),
        QuantType("Q8_K", 15, 256, 292),
        QuantType("IQ2_XXS", 16, 256, 66),
        QuantType("IQ2_XS", 17, 256, 74),
        QuantType("IQ3_XXS", 18, 256, 98),
        QuantType("IQ1_S", 19, 256, 50),
        QuantType("IQ4_NL", 20, 32, 18),
        QuantType("IQ3_S", 21, 256, 110),
        QuantType("IQ2_S", 22, 256, 82),
        QuantType("IQ4_XS", 23, 256, 136),
        _dense("I8", 24, "i1"),
        _dense("I16", 25, "<i2"),
        _dense("I32", 26, "<i4"),
        _dense("I64", 27, "<i8"),
        _dense("F64", 28, "<f8"),
        QuantType("IQ1_M", 29, 256, 56),
        _dense("BF16", 30, ml_dtypes.bfloat16),
        QuantType("TQ1_0", 34, 256, 54),
        QuantType("TQ2_0", 35, 256, 66),
        QuantType("MXFP4", 39, 32, 17),
        QuantType("NVFP4", 40, 64, 36),
        QuantType("Q1_0", 41, 128, 18),
        QuantType("Q2_0", 42, 64, 18),
    )
}

_BY_ID = {entry.id: entry for entry in QUANT_TYPES.values()}


def by_id(number: int) -> QuantType:
    """The type with ggml id `number`; FormatError for an id that is unknown or was retired."""
    try:
        return _BY_ID[number]
    except KeyError:
        raise FormatError(f"unknown ggml tensor type {number}; known: {', '.join(QUANT_TYPES)}") from None
