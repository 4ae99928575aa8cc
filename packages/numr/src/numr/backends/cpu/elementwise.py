"""Elementwise functions whose special cases NumPy leaves different from the standard. Arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np

from numr.backends.cpu.data_types import promoted
from numr.tensor import Array

__all__ = ["clip", "expm1", "floor_divide", "tanh", "where"]


def clip(a: Array, low: Any, high: Any) -> Any:
    """`a` limited to [low, high] in its own dtype; None is no limit, NaN limits give NaN."""
    limited: Any = a
    if low is not None:
        limited = np.maximum(limited, _within(low, a))
    if high is not None:
        limited = np.minimum(limited, _within(high, a))
    return limited.astype(a.dtype, copy=limited is a)


def floor_divide(a: Any, b: Any) -> Any:
    """floor(a / b). An infinity divided by a number is infinite, a number divided by one is zero; NumPy: NaN and -1."""
    if not (_is_real(a) or _is_real(b)):
        return np.floor_divide(a, b)
    a, b = (float(x) if isinstance(x, int) else x for x in (a, b))
    infinite = np.isinf(a) | np.isinf(b)
    if not infinite.any():
        return np.floor_divide(a, b)
    with np.errstate(invalid="ignore"):
        return np.where(infinite, np.floor(np.divide(a, b)), np.floor_divide(a, b))


def expm1(a: Array) -> Any:
    """exp(a) - 1. Complex: real arguments stay real, and an infinite real part decides where the angle has no sine."""
    if a.dtype.kind != "c":
        return np.expm1(a)
    with np.errstate(invalid="ignore"):
        result = np.array(np.expm1(a))
    on_axis = a.imag == 0
    result.real[on_axis] = np.expm1(a.real[on_axis]) + 0.0  # + 0.0 turns -0 into 0
    result.imag[on_axis] = a.imag[on_axis]
    no_angle = ~np.isfinite(a.imag)
    result[no_angle & np.isneginf(a.real)] = -1
    result[no_angle & np.isposinf(a.real)] = complex(np.inf, np.nan)
    return result


def tanh(a: Array) -> Any:
    """Hyperbolic tangent. Complex: at an infinite real part the imaginary part is a zero of the argument's sign."""
    if a.dtype.kind != "c":
        return np.tanh(a)
    with np.errstate(invalid="ignore"):
        result = np.array(np.tanh(a))
    saturated = np.isinf(a.real) & np.isfinite(a.imag)
    result.imag[saturated] = np.copysign(0.0, a.imag[saturated])
    return result


def where(condition: Array, a: Any, b: Any) -> Any:
    """`a` where `condition` is True, else `b`."""
    return np.where(condition, *promoted((a, b)))


def _is_real(x: Any) -> bool:
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "V")


def _within(limit: Any, a: Array) -> Any:
    """A Python integer beyond the range of integer elements limits nothing or everything: take the nearest value."""
    if isinstance(limit, int) and a.dtype.kind in "iu":
        info = np.iinfo(a.dtype)
        return min(max(limit, info.min), info.max)
    return limit
