"""Indexing functions: elements chosen by integer tensors. Indexing with [] is a method of the tensor."""

from __future__ import annotations

from numr.backends import arrays_of, backend_of
from numr.tensor import Tensor, wrap

__all__ = ["take", "take_along_axis"]


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices of `x` along `axis` at `indices`, whose shape replaces that axis; `axis` may be left out in 1-d only."""
    a, at = arrays_of(x, indices)
    if axis is None:
        if a.ndim != 1:
            raise ValueError(f"take: axis may be left out for 1 dimension only, this tensor has {a.ndim}")
        axis = 0
    return wrap(backend_of(a).take(a, at, axis=axis))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements of `x` at `indices` along `axis`; other axes broadcast, as after `argsort`."""
    a, at = arrays_of(x, indices)
    return wrap(backend_of(a).take_along_axis(a, at, axis=axis))
