"""Shape functions that NumPy wraps more slowly than its methods, or in which it does not know bfloat16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numr.backends.cpu.data_types import promoted
from numr.tensor import Array

__all__ = ["concat", "diff", "reshape", "stack"]


def concat(arrays: Sequence[Array], axis: int | None) -> Array:
    """Arrays joined along an existing axis."""
    return np.concatenate(promoted(arrays), axis=axis)


def diff(a: Array, n: int, axis: int, **ends: Array) -> Any:
    """Differences of neighbours; `ends` are NumPy's `prepend` and `append`."""
    joined = promoted([a, *ends.values()])
    return np.diff(joined[0], n=n, axis=axis, **dict(zip(ends, joined[1:], strict=True)))


def reshape(a: Array, shape: tuple[int, ...], copy: bool | None = None) -> Array:
    """`a` in another shape; a view where the layout allows, unless `copy` asks for or forbids one."""
    return a.reshape(shape) if copy is None else a.reshape(shape, copy=copy)


def stack(arrays: Sequence[Array], axis: int) -> Array:
    """Arrays of one shape joined along a new axis."""
    return np.stack(promoted(arrays), axis=axis)
