"""The dtypes that numr has, their kinds and their limits. Knows no arrays.

The standard's dtypes plus float16 and bfloat16. Each is a `numpy.dtype`, so it compares equal to NumPy's own names.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from numr.errors import DTypeError

DType: TypeAlias = np.dtype[Any]
DTypeLike: TypeAlias = "DType | str | type[Any]"

bool = np.dtype("bool")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
float16 = np.dtype("float16")
bfloat16: DType = np.dtype(ml_dtypes.bfloat16)
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

_SIGNED: tuple[DType, ...] = (int8, int16, int32, int64)
_UNSIGNED: tuple[DType, ...] = (uint8, uint16, uint32, uint64)
_REAL: tuple[DType, ...] = (float16, bfloat16, float32, float64)
_COMPLEX: tuple[DType, ...] = (complex64, complex128)

# The kinds of `isdtype`, by the standard's names.
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}

BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in (bool, *KINDS["numeric"])}

# bool < integers < real < complex: a value may be stored where its kind does not rank above the elements'.
_RANKS: dict[Any, int] = {
    dtype: rank
    for rank, kind in enumerate(("bool", "integral", "real floating", "complex floating"))
    for dtype in KINDS[kind]
}
_RANKS.update({builtins.bool: 0, int: 1, float: 2, complex: 3})

__all__ = ["BY_NAME", "KINDS", "DType", "DTypeLike", "as_dtype", "kind_rank", "optional_dtype", *BY_NAME]


def as_dtype(dtype: DTypeLike) -> DType:
    """The dtype of an argument: one of numr's dtypes, its name, or a scalar type. Raises DTypeError for others."""
    if isinstance(dtype, str):
        known = BY_NAME.get(dtype)
    elif isinstance(dtype, np.dtype):
        known = dtype if dtype in _RANKS else None
    else:
        known = BY_NAME.get(np.dtype(dtype).name) if isinstance(dtype, type) else None
    if known is None:
        raise DTypeError(f"{dtype!r} is not a numr dtype: choose one of {', '.join(BY_NAME)}")
    return known


def optional_dtype(dtype: DTypeLike | None) -> DType | None:
    """`as_dtype`, with None kept as None."""
    return None if dtype is None else as_dtype(dtype)


def kind_rank(value: Any) -> int:
    """The rank of an array's or scalar's kind: 0 bool, 1 integer, 2 real, 3 complex."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return _RANKS[dtype]
    return next(_RANKS[base] for base in type(value).__mro__ if base in _RANKS)
