"""Statistical functions: reductions over one, several or all axes (`axis=None`).

Sums and products of integers narrower than 64 bits come out as int64 or uint64, the rest in the tensor's dtype.
"""

from __future__ import annotations

from typing import TypeAlias

from numr.backends import array_of, backend_of
from numr.dtypes import DTypeLike, optional_dtype
from numr.tensor import Tensor, wrap

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]

Axes: TypeAlias = int | tuple[int, ...] | None


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Tensor:
    """Products of all elements up to each along `axis` (None in 1-d only); `include_initial` puts a 1 in front."""
    a = array_of(x)
    wanted = optional_dtype(dtype)
    return wrap(backend_of(a).cumulative_prod(a, axis=axis, dtype=wanted, include_initial=include_initial))


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Tensor:
    """Sums of all elements up to each along `axis` (None in 1-d only); `include_initial` puts a 0 in front."""
    a = array_of(x)
    wanted = optional_dtype(dtype)
    return wrap(backend_of(a).cumulative_sum(a, axis=axis, dtype=wanted, include_initial=include_initial))


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Largest elements; NaN where one is NaN. Raises ValueError over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).max(a, axis=axis, keepdims=keepdims))


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Arithmetic means; NaN over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).mean(a, axis=axis, keepdims=keepdims))


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Smallest elements; NaN where one is NaN. Raises ValueError over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).min(a, axis=axis, keepdims=keepdims))


def prod(x: Tensor, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Products; 1 over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).prod(a, axis=axis, dtype=optional_dtype(dtype), keepdims=keepdims))


def std(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Standard deviations, dividing by N - correction."""
    a = array_of(x)
    return wrap(backend_of(a).std(a, axis=axis, correction=correction, keepdims=keepdims))


def sum(x: Tensor, /, *, axis: Axes = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """Sums; 0 over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).sum(a, axis=axis, dtype=optional_dtype(dtype), keepdims=keepdims))


def var(x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Variances, dividing by N - correction."""
    a = array_of(x)
    return wrap(backend_of(a).var(a, axis=axis, correction=correction, keepdims=keepdims))
