"""Normalisations over the last axis of float32 rows."""

from __future__ import annotations

import numpy as np

from numr.errors import ShapeError
from numr.nn import reference
from numr.nn.checks import FLOAT32, Array, columns, floats, outputs, same
from numr.nn.kernels import kernels
from numr.tensor import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float, out: Tensor | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight, row by row.

    x: (..., H), weight: (H,), both float32. `out`, where given, takes the result and is returned; it may be x itself.
    Raises DTypeError, ShapeError.
    """
    a = _rows("rms_norm", x)
    w = columns("rms_norm", "weight", weight, a.shape[-1])
    if out is None:
        out = Tensor(np.empty(a.shape, FLOAT32))
    else:
        same("rms_norm", a, outputs("rms_norm", "out", out))
    native = kernels()
    if native is None:
        out.array[...] = reference.rms_norm(a, w, eps)
    else:
        native.rms_norm(x.ptr, weight.ptr, out.ptr, _count(a), a.shape[-1], eps)
    return out


def add_rms_norm(x: Tensor, y: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x += y in place, then rms_norm(x): the residual and the norm of a block in one pass over memory.

    x, y: (..., H), weight: (H,), float32. Raises DTypeError, ShapeError.
    """
    a = outputs("add_rms_norm", "x", x)
    b = _rows("add_rms_norm", y)
    same("add_rms_norm", a, b)
    w = columns("add_rms_norm", "weight", weight, b.shape[-1])
    native = kernels()
    if native is None:
        return Tensor(reference.add_rms_norm(a, b, w, eps))
    out = Tensor(np.empty(a.shape, FLOAT32))
    native.add_rms_norm(x.ptr, y.ptr, weight.ptr, out.ptr, _count(a), a.shape[-1], eps)
    return out


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, row by row; the variance is the biased one.

    x: (..., H); weight and bias: (H,), float32; bias may be None. Raises DTypeError, ShapeError.
    """
    a = _rows("layer_norm", x)
    w = columns("layer_norm", "weight", weight, a.shape[-1])
    b = None if bias is None else columns("layer_norm", "bias", bias, a.shape[-1])
    native = kernels()
    if native is None:
        return Tensor(reference.layer_norm(a, w, b, eps))
    out = Tensor(np.empty(a.shape, FLOAT32))
    native.layer_norm(x.ptr, weight.ptr, 0 if bias is None else bias.ptr, out.ptr, _count(a), a.shape[-1], eps)
    return out


def softmax(x: Tensor) -> Tensor:
    """exp(x) / sum(exp(x)) over the last axis; a row of only -inf gives NaN. Raises DTypeError, ShapeError."""
    a = _rows("softmax", x)
    native = kernels()
    if native is None:
        return Tensor(reference.softmax(a) if a.size else np.empty(a.shape, FLOAT32))
    out = Tensor(np.empty(a.shape, FLOAT32))
    native.softmax(x.ptr, out.ptr, _count(a), a.shape[-1])
    return out


def _rows(op: str, x: Tensor) -> Array:
    array = floats(op, "x", x)
    if array.ndim == 0:
        raise ShapeError(f"{op}: x must have at least one axis")
    return array


def _count(a: Array) -> int:
    return a.size // a.shape[-1] if a.size else 0
