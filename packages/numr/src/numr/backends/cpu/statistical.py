"""Reductions whose accumulator must be wider than bfloat16: a bfloat16 sum of ones stops growing at 256."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numr.dtypes import bfloat16, float32
from numr.tensor import Array

__all__ = ["count_nonzero", "cumulative_prod", "cumulative_sum", "mean", "prod", "std", "sum", "var"]


def _widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` over float32 copies of bfloat16 arrays, its result rounded once."""

    def reduce(a: Array, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None:
            options["dtype"] = dtype
        if a.dtype != bfloat16 and dtype != bfloat16:
            return function(a, **options)
        options.pop("dtype", None)
        return np.asarray(function(a.astype(float32), **options)).astype(bfloat16 if dtype is None else dtype)

    return reduce


sum = _widened(np.sum)
prod = _widened(np.prod)
mean = _widened(np.mean)
var = _widened(np.var)
std = _widened(np.std)
cumulative_sum = _widened(np.cumulative_sum)
cumulative_prod = _widened(np.cumulative_prod)


def count_nonzero(a: Array, axis: Any, keepdims: bool) -> Any:
    """Counts as int64; NumPy gives a Python integer for a full reduction."""
    return np.asarray(np.count_nonzero(a, axis=axis, keepdims=keepdims), dtype=np.int64)
