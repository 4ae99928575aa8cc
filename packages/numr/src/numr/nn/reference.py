"""The fused primitives in plain NumPy, under the names of their public forms: the oracle of the native kernels.

Arrays in, arrays out, float32 throughout; functions ending in an underscore (and add_rms_norm's x) work in place.
No checks here: callers have made them. Where the library cannot be built these do the work, slowly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_SQRT_HALF = np.float32(math.sqrt(0.5))
_GELU_SCALE = np.float32(math.sqrt(2.0 / math.pi))
_GELU_CUBE = np.float32(0.044715)


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis."""
    with np.errstate(all="ignore"):
        mean = np.mean(np.square(x), axis=-1, keepdims=True, dtype=np.float32)
        return np.asarray(x / np.sqrt(mean + np.float32(eps)) * weight, np.float32)


def add_rms_norm(x: Array, y: Array, weight: Array, eps: float) -> Array:
    """x += y in place, then rms_norm(x)."""
    add_(x, y)
    return rms_norm(x, weight, eps)


def layer_norm(x: Array, weight: Array, bias: Array | None, eps: float) -> Array:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axis."""
    with np.errstate(all="ignore"):
        centred = x - np.mean(x, axis=-1, keepdims=True, dtype=np.float32)
        var = np.mean(np.square(centred), axis=-1, keepdims=True, dtype=np.float32)
        y = centred / np.sqrt(var + np.float32(eps)) * weight
        return np.asarray(y if bias is None else y + bias, np.float32)


def add_(x: Array, y: Array) -> None:
    """x += y in place."""
    with np.errstate(all="ignore"):
        np.add(x, y, out=x)


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    with np.errstate(all="ignore"):
        return np.asarray(x / (1 + np.exp(-x)), np.float32)


def gelu(x: Array, approximate: bool) -> Array:
    """x * Phi(x), or its tanh form: x * sigmoid(2u), which equals 0.5 x (1 + tanh u)."""
    with np.errstate(all="ignore"):
        if approximate:
            u = _GELU_SCALE * (x + _GELU_CUBE * x * x * x)
            return np.asarray(x / (1 + np.exp(-2 * u)), np.float32)
        return np.asarray(np.float32(0.5) * x * (1 + _erf(x * _SQRT_HALF)), np.float32)


def _erf(x: Array) -> Array:
    # NumPy has no erf; math.erf one by one is exact and slow, which is what a reference may be.
    return np.asarray(np.vectorize(math.erf, otypes=[np.float32])(x))


def silu_mul(gate: Array, up: Array) -> Array:
    """silu(gate) * up."""
    with np.errstate(all="ignore"):
        return np.asarray(silu(gate) * up, np.float32)


def gelu_mul(gate: Array, up: Array, approximate: bool) -> Array:
    """gelu(gate) * up."""
    with np.errstate(all="ignore"):
        return np.asarray(gelu(gate, approximate) * up, np.float32)


def softmax(x: Array) -> Array:
    """exp(x) / sum(exp(x)) over the last axis, the maximum taken out first; a row of only -inf gives NaN."""
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return np.asarray(e / np.sum(e, axis=-1, keepdims=True, dtype=np.float32), np.float32)


def rope_(x: Array, positions: Array, cos: Array, sin: Array, n_heads: int, head_dim: int, interleaved: bool) -> None:
    """Rotate the first `2 * cos.shape[1]` dims of every head by the angles of its row's position, in place."""
    half = cos.shape[1]
    heads = x.reshape(len(positions), n_heads, head_dim)
    c, s = cos[positions][:, None, :], sin[positions][:, None, :]
    first = slice(0, 2 * half, 2) if interleaved else slice(0, half)
    second = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
    a, b = heads[..., first].copy(), heads[..., second].copy()
    heads[..., first] = a * c - b * s
    heads[..., second] = a * s + b * c
