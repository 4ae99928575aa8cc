"""Reductions on the CPU: NumPy's without their wrappers, and with an accumulator wider than bfloat16 has.

A bfloat16 sum of ones in bfloat16 stops growing at 256, so sums, products and moments of bfloat16 run in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numr.dtypes import bfloat16, float32
from numr.tensor import Array

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` over float32 copies of bfloat16 arrays, its result rounded once."""

    def reduce(a: Array, *, dtype: Any = None, **options: Any) -> Any:
        if a.dtype.kind != "V" and (dtype is None or dtype.kind != "V"):
            return function(a, **options) if dtype is None else function(a, dtype=dtype, **options)
        wanted = bfloat16 if dtype is None else dtype
        wide = float32 if wanted.kind == "V" else wanted
        return np.asarray(function(a.astype(wide), **options)).astype(wanted, copy=False)

    return reduce


# numpy.sum, numpy.max, ... end in these ufunc reductions after about a microsecond of argument handling.
all = np.logical_and.reduce
any = np.logical_or.reduce
max = _widened(np.maximum.reduce)  # bfloat16 comparisons warn of NaN, float32 ones do not
min = _widened(np.minimum.reduce)
sum = _widened(np.add.reduce)
prod = _widened(np.multiply.reduce)
mean = _widened(np.mean)
var = _widened(np.var)
std = _widened(np.std)
cumulative_sum = _widened(np.cumulative_sum)
cumulative_prod = _widened(np.cumulative_prod)


def count_nonzero(a: Array, axis: Any, keepdims: bool) -> Any:
    """Counts as int64; NumPy gives a Python integer for a full reduction."""
    return np.asarray(np.count_nonzero(a, axis=axis, keepdims=keepdims), dtype=np.int64)
