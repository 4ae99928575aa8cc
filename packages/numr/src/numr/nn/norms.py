"""Normalisations over the last axis of float32 rows."""

from __future__ import annotations

from numr.errors import ShapeError
from numr.nn import reference
from numr.nn.checks import Array, columns, floats, fresh, outputs, same
from numr.nn.kernels import kernels
from numr.tensor import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float, out: Tensor | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight, row by row.

    x: (..., H), weight: (H,), both float32. `out`, where given, takes the result and is returned; it may be x itself.
    Raises DTypeError, ShapeError.
    """
    a = floats("rms_norm", "x", x)
    rows, width = _rows("rms_norm", a)
    w = columns("rms_norm", "weight", weight, width)
    if out is None:
        out = fresh(a.shape)
    else:
        same("rms_norm", a, outputs("rms_norm", "out", out))
    native = kernels()
    if native is None:
        out.array[...] = reference.rms_norm(a, w, eps)
    else:
        native.rms_norm(x.ptr, weight.ptr, out.ptr, rows, width, eps)
    return out


def add_rms_norm(x: Tensor, y: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x += y in place, then rms_norm(x): the residual and the norm of a block in one pass over memory.

    x, y: (..., H), weight: (H,), float32. Raises DTypeError, ShapeError.
    """
    a, b = outputs("add_rms_norm", "x", x), floats("add_rms_norm", "y", y)
    same("add_rms_norm", a, b)
    rows, width = _rows("add_rms_norm", a)
    w = columns("add_rms_norm", "weight", weight, width)
    native = kernels()
    if native is None:
        return Tensor(reference.add_rms_norm(a, b, w, eps))
    out = fresh(a.shape)
    native.add_rms_norm(x.ptr, y.ptr, weight.ptr, out.ptr, rows, width, eps)
    return out


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, row by row; the variance is the biased one.

    x: (..., H); weight and bias: (H,), float32; bias may be None. Raises DTypeError, ShapeError.
    """
    a = floats("layer_norm", "x", x)
    rows, width = _rows("layer_norm", a)
    w = columns("layer_norm", "weight", weight, width)
    b = None if bias is None else columns("layer_norm", "bias", bias, width)
    native = kernels()
    if native is None:
        return Tensor(reference.layer_norm(a, w, b, eps))
    out = fresh(a.shape)
    native.layer_norm(x.ptr, weight.ptr, 0 if bias is None else bias.ptr, out.ptr, rows, width, eps)
    return out


def softmax(x: Tensor) -> Tensor:
    """exp(x) / sum(exp(x)) over the last axis; a row of only -inf gives NaN. Raises DTypeError, ShapeError."""
    a = floats("softmax", "x", x)
    rows, width = _rows("softmax", a)
    out = fresh(a.shape)
    native = kernels()
    if native is not None:
        native.softmax(x.ptr, out.ptr, rows, width)
    elif rows:
        out.array[...] = reference.softmax(a)
    return out


def _rows(op: str, a: Array) -> tuple[int, int]:
    # rows and their width; no rows where the array is empty
    if not a.ndim:
        raise ShapeError(f"{op}: x must have at least one axis")
    width = a.shape[-1]
    return a.size // width if width else 0, width
