"""Sorting in both directions: NumPy only sorts upwards."""

from __future__ import annotations

import numpy as np

from numr.tensor import Array

__all__ = ["argsort", "sort"]


def sort(a: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Sorted copy along `axis`; equal elements look the same, so descending is ascending flipped."""
    ordered = np.sort(a, axis=axis, stable=stable)
    return np.flip(ordered, axis=axis) if descending else ordered


def argsort(a: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Indices that sort along `axis`. Flipping before and after keeps equal elements in their order."""
    if not descending:
        return np.argsort(a, axis=axis, stable=stable)
    flipped = np.argsort(np.flip(a, axis=axis), axis=axis, stable=stable)
    positions: Array = a.shape[axis] - 1 - np.flip(flipped, axis=axis)
    return positions
