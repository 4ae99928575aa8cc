"""Activations, their gated forms, the residual add, and rotary embedding, over float32 tensors."""

from __future__ import annotations

from numr.errors import DTypeError, ShapeError
from numr.nn import reference
from numr.nn.checks import INT64, Array, floats, fresh, outputs, packed, same
from numr.nn.kernels import kernels
from numr.tensor import Tensor


def add_(x: Tensor, y: Tensor) -> None:
    """x += y in place; equal shapes, float32. Raises DTypeError, ShapeError."""
    a, b = outputs("add_", "x", x), floats("add_", "y", y)
    same("add_", a, b)
    native = kernels()
    if native is None:
        reference.add_(a, b)
    else:
        native.add(x.ptr, y.ptr, x.ptr, a.size)


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x). Raises DTypeError, ShapeError."""
    a = floats("silu", "x", x)
    native = kernels()
    if native is None:
        return Tensor(reference.silu(a))
    out = fresh(a.shape)
    native.silu(x.ptr, 0, out.ptr, a.size)
    return out


def gelu(x: Tensor, approximate: bool) -> Tensor:
    """x * Phi(x), or the tanh form of it when `approximate`. Raises DTypeError, ShapeError."""
    a = floats("gelu", "x", x)
    native = kernels()
    if native is None:
        return Tensor(reference.gelu(a, approximate))
    out = fresh(a.shape)
    (native.gelu_tanh if approximate else native.gelu_erf)(x.ptr, 0, out.ptr, a.size)
    return out


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up; equal shapes, float32. Raises DTypeError, ShapeError."""
    a, b = floats("silu_mul", "gate", gate), floats("silu_mul", "up", up)
    same("silu_mul", a, b)
    native = kernels()
    if native is None:
        return Tensor(reference.silu_mul(a, b))
    out = fresh(a.shape)
    native.silu_mul(gate.ptr, up.ptr, out.ptr, a.size)
    return out


def gelu_mul(gate: Tensor, up: Tensor, approximate: bool) -> Tensor:
    """gelu(gate, approximate) * up; equal shapes, float32. Raises DTypeError, ShapeError."""
    a, b = floats("gelu_mul", "gate", gate), floats("gelu_mul", "up", up)
    same("gelu_mul", a, b)
    native = kernels()
    if native is None:
        return Tensor(reference.gelu_mul(a, b, approximate))
    out = fresh(a.shape)
    (native.gelu_tanh_mul if approximate else native.gelu_erf_mul)(gate.ptr, up.ptr, out.ptr, a.size)
    return out


def rope_(
    x: Tensor,
    positions: Tensor | Array,
    cos: Tensor,
    sin: Tensor,
    n_heads: int,
    head_dim: int,
    interleaved: bool,
) -> None:
    """Rotate the first `rot` dims of every head by its row's position, in place.

    x: (T, n_heads * head_dim) float32; positions: (T,) int64, each in [0, P); cos, sin: (P, rot / 2) float32.
    Pairs are (i, i + rot/2), or (2i, 2i + 1) when `interleaved`. Raises DTypeError, ShapeError (a position outside
    the table is a ShapeError).
    """
    a = packed("rope_", "x", x, n_heads * head_dim)
    outputs("rope_", "x", x)
    at = positions if isinstance(positions, Tensor) else Tensor(positions)
    where = at.array
    if where.dtype != INT64:
        raise DTypeError(f"rope_: positions must be int64, got {where.dtype}")
    if where.shape != (a.shape[0],) or not where.flags.c_contiguous:
        raise ShapeError(f"rope_: {a.shape[0]} rows need contiguous positions of that shape, got {where.shape}")
    c, s = floats("rope_", "cos", cos), floats("rope_", "sin", sin)
    if c.ndim != 2 or c.shape != s.shape or 2 * c.shape[1] > head_dim:
        raise ShapeError(f"rope_: cos {c.shape} and sin {s.shape} must be (positions, rot / 2), rot <= {head_dim}")
    if _rotate(x, at, cos, sin, n_heads, head_dim, interleaved):
        raise ShapeError(f"rope_: a position lies outside the table of {c.shape[0]} positions")


def _rotate(
    x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, n_heads: int, head_dim: int, interleaved: bool
) -> int:
    # 1, with x as it was, where a position lies outside the tables
    where = positions.array
    known, half = cos.array.shape
    native = kernels()
    if native is not None:
        sizes = (len(where), n_heads, head_dim, half, known, interleaved)
        code: int = native.rope(x.ptr, positions.ptr, cos.ptr, sin.ptr, *sizes)
        return code
    if where.size and not 0 <= int(where.min()) <= int(where.max()) < known:
        return 1
    reference.rope_(x.array, where, cos.array, sin.array, n_heads, head_dim, interleaved)
    return 0
