"""Sorting in both directions, and everything that sorts inside, on the CPU.

NumPy sorts upwards only, and its sorts do not know where a bfloat16 NaN belongs: bfloat16 keys are compared as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numr.dtypes import bfloat16, float32
from numr.tensor import Array

__all__ = [
    "argsort",
    "isin",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def sort(a: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Sorted copy along `axis`; equal elements look the same, so descending is ascending flipped."""
    ordered = np.sort(_keys(a), axis=axis, stable=stable).astype(a.dtype, copy=False)
    return np.flip(ordered, axis=axis) if descending else ordered


def argsort(a: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Indices that sort along `axis`. Flipping before and after keeps equal elements in their order."""
    keys = _keys(a)
    if not descending:
        return np.argsort(keys, axis=axis, stable=stable)
    flipped = np.argsort(np.flip(keys, axis=axis), axis=axis, stable=stable)
    positions: Array = a.shape[axis] - 1 - np.flip(flipped, axis=axis)
    return positions


def searchsorted(a: Array, values: Any, side: Any, sorter: Array | None) -> Any:
    """Positions at which `values` keep `a` sorted."""
    return np.searchsorted(_keys(a), _keys(np.asarray(values)), side=side, sorter=sorter)


def isin(a: Any, b: Any, invert: bool) -> Any:
    """Membership by value."""
    return np.isin(_keys(np.asarray(a)), _keys(np.asarray(b)), invert=invert)


def unique_values(a: Array) -> Array:
    """Distinct values."""
    return np.unique_values(_keys(a)).astype(a.dtype, copy=False)


def _by_value(function: Callable[[Array], tuple[Array, ...]]) -> Callable[[Array], tuple[Array, ...]]:
    def unique(a: Array) -> tuple[Array, ...]:
        values, *rest = function(_keys(a))
        return values.astype(a.dtype, copy=False), *rest

    return unique


unique_all = _by_value(np.unique_all)
unique_counts = _by_value(np.unique_counts)
unique_inverse = _by_value(np.unique_inverse)


def _keys(a: Array) -> Array:
    return a.astype(float32) if a.dtype == bfloat16 else a
