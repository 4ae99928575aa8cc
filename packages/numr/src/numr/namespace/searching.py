"""Searching functions: positions of elements, and choices by condition. Positions are int64."""

from __future__ import annotations

from typing import Literal

from numr.backends import array_of, backend_of
from numr.devices import require_same_device
from numr.namespace.operation import Operand, explain, operands
from numr.tensor import Tensor, wrap

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position of the first largest element along `axis`, None for the flattened tensor."""
    a = array_of(x)
    return wrap(backend_of(a).argmax(a, axis=axis, keepdims=keepdims))


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Position of the first smallest element along `axis`, None for the flattened tensor."""
    a = array_of(x)
    return wrap(backend_of(a).argmin(a, axis=axis, keepdims=keepdims))


def count_nonzero(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """How many elements along the axes are not zero."""
    a = array_of(x)
    return wrap(backend_of(a).count_nonzero(a, axis=axis, keepdims=keepdims))


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Positions of the elements that are not zero: one (n,) tensor per axis. Raises ValueError without axes."""
    a = array_of(x)
    return tuple(Tensor(at) for at in backend_of(a).nonzero(a))


def searchsorted(
    x1: Tensor, x2: Tensor | float, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where each value of `x2` belongs in the sorted (n,) `x1`, in the shape of `x2`; `sorter` sorts `x1` first."""
    backend, a, values = operands("searchsorted", x1, x2)
    order = None if sorter is None else array_of(sorter)
    return wrap(backend.searchsorted(a, values, side=side, sorter=order))


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """`x1` where `condition` is True, else `x2`; all broadcast, the two promote."""
    backend, a, b = operands("where", x1, x2)
    chosen = array_of(condition)
    if backend_of(chosen) is not backend:
        require_same_device(*(x.array for x in (condition, x1, x2) if isinstance(x, Tensor)))
    try:
        return wrap(backend.where(chosen, a, b))
    except (TypeError, ValueError) as error:
        explain("where", error, chosen, a, b)
