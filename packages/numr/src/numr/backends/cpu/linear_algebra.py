"""Products of float16 and bfloat16 on the CPU: BLAS has neither, so they run in float32 and round once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numr.backends.cpu.data_types import result_type
from numr.dtypes import bfloat16, float16, float32
from numr.tensor import Array

__all__ = ["matmul", "tensordot", "vecdot"]

# By type character: hashing or comparing dtypes costs more than a small product.
_NARROW = (float16.char, bfloat16.char)


def _in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    def product(a: Array, b: Array, **options: Any) -> Any:
        if not (a.dtype.char in _NARROW or b.dtype.char in _NARROW):
            return function(a, b, **options)
        dtype = result_type([a.dtype, b.dtype], [])
        widen_a, widen_b = (x.astype(float32) if x.dtype.char in _NARROW else x for x in (a, b))
        return np.asarray(function(widen_a, widen_b, **options)).astype(dtype, copy=False)

    return product


matmul = _in_float32(np.matmul)
tensordot = _in_float32(np.tensordot)
vecdot = _in_float32(np.vecdot)
