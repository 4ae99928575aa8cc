"""Products of float16 and bfloat16 on the CPU: BLAS has neither, so they run in float32 and round once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numr.backends.cpu.data_types import result_type
from numr.dtypes import bfloat16, float16, float32
from numr.tensor import Array

__all__ = ["matmul", "tensordot", "vecdot"]

_vecdot: Any = np.vecdot  # NumPy's own types do not know its axis

# By type character: hashing or comparing dtypes costs more than a small product.
_NARROW = (float16.char, bfloat16.char)


def matmul(a: Array, b: Array) -> Any:
    """a @ b."""
    if a.dtype.char in _NARROW or b.dtype.char in _NARROW:
        return _in_float32(np.matmul, a, b)
    return np.matmul(a, b)


def tensordot(a: Array, b: Array, axes: Any) -> Any:
    """Sum of products over axes."""
    if a.dtype.char in _NARROW or b.dtype.char in _NARROW:
        return _in_float32(np.tensordot, a, b, axes=axes)
    return np.tensordot(a, b, axes=axes)


def vecdot(a: Array, b: Array, axis: int) -> Any:
    """Sum of conj(a) * b over an axis."""
    if a.dtype.char in _NARROW or b.dtype.char in _NARROW:
        return _in_float32(_vecdot, a, b, axis=axis)
    return _vecdot(a, b, axis=axis)


def _in_float32(function: Callable[..., Any], a: Array, b: Array, **options: Any) -> Any:
    wide_a, wide_b = (x.astype(float32) if x.dtype.char in _NARROW else x for x in (a, b))
    return np.asarray(function(wide_a, wide_b, **options)).astype(result_type([a.dtype, b.dtype], []), copy=False)
