"""Utility functions: truth over axes, and differences."""

from __future__ import annotations

from numr.backends import array_of, arrays_of, backend_of
from numr.tensor import Tensor, wrap

__all__ = ["all", "any", "diff"]


def all(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """True where every element along the axes is not zero; True over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).all(a, axis=axis, keepdims=keepdims))


def any(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """True where some element along the axes is not zero; False over no elements."""
    a = array_of(x)
    return wrap(backend_of(a).any(a, axis=axis, keepdims=keepdims))


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """`n`-th differences of neighbours along `axis`, after joining `prepend` and `append` to its ends."""
    ends = {name: end for name, end in (("prepend", prepend), ("append", append)) if end is not None}
    a, *joined = arrays_of(x, *ends.values())
    return wrap(backend_of(a).diff(a, n=n, axis=axis, **dict(zip(ends, joined, strict=True))))
