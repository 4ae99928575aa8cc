"""Sorting functions. NaN sorts above every number; sorts are stable unless the caller gives that up."""

from __future__ import annotations

from numr.backends import array_of, backend_of
from numr.tensor import Tensor

__all__ = ["argsort", "sort"]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """int64 positions that sort `x` along `axis`; equal elements keep their order when `stable`."""
    a = array_of(x)
    return Tensor(backend_of(a).argsort(a, axis, descending, stable))


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """A sorted copy of `x` along `axis`."""
    a = array_of(x)
    return Tensor(backend_of(a).sort(a, axis, descending, stable))
