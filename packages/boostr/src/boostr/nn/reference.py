"""Causal convolution and the gated delta rule in plain NumPy: the oracle of the kernels, and their stand-in.

The rule stands twice: row by row, as it is defined, and in chunks, as matrix products. Arrays of one sequence in,
arrays out, float32. Checks are the callers'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["causal_conv", "delta_chunked", "delta_recurrent", "gated_norm", "l2_normed", "sigmoid", "softplus"]

Floats = NDArray[np.float32]


def causal_conv(x: Floats, weight: Floats, window: Floats) -> tuple[Floats, Floats]:
    """silu of y[t] = sum_j weight[j] * x[t - kernel + 1 + j], and the window that follows.

    x (T, C); weight (kernel, C), oldest tap first; window (kernel - 1, C), the rows before x.
    """
    rows = np.concatenate([window, x])
    total = np.zeros_like(x)
    for tap, w in enumerate(weight):
        total += rows[tap : tap + len(x)] * w
    return total * sigmoid(total), rows[len(rows) - len(window) :]


def delta_recurrent(q: Floats, k: Floats, v: Floats, g: Floats, beta: Floats, state: Floats) -> tuple[Floats, Floats]:
    """out (T, H, v_dim) and the state after the last row.

    q, k (T, H, k_dim), normalised; v (T, H, v_dim); g (T, H), the logarithm of the decay; beta (T, H);
    state (H, k_dim, v_dim).
    """
    out = np.empty_like(v)
    state = state.copy()
    for t in range(len(q)):
        state *= np.exp(g[t])[:, None, None]
        read = np.einsum("hkv,hk->hv", state, k[t])
        state += k[t][:, :, None] * (beta[t][:, None] * (v[t] - read))[:, None, :]
        out[t] = np.einsum("hkv,hk->hv", state, q[t])
    return out, state


def delta_chunked(
    q: Floats, k: Floats, v: Floats, g: Floats, beta: Floats, state: Floats, chunk: int = 64
) -> tuple[Floats, Floats]:
    """The same in chunks. With G the sum of g within a chunk and S the state before it,

    the corrections u solve (1 + A) u = beta (v - exp(G) k S), where A[t, s] = beta[t] exp(G[t] - G[s]) k[t].k[s]
    for s < t; out = exp(G) q S + sum over s <= t of exp(G[t] - G[s]) q[t].k[s] u[s].
    """
    out = np.empty_like(v)
    for start in range(0, len(q), chunk):
        rows = slice(start, start + chunk)
        # (H, rows, dim) and (H, rows)
        qc, kc, vc = (np.ascontiguousarray(x[rows].swapaxes(0, 1)) for x in (q, k, v))
        total, bc = np.cumsum(g[rows].T, axis=1, dtype=np.float32), beta[rows].T
        n = total.shape[1]
        fade = np.exp(np.tril(total[:, :, None] - total[:, None, :])) * np.tril(np.ones((n, n), np.float32))
        since = np.exp(total)[:, :, None]
        mixed = np.tril(bc[:, :, None] * fade * (kc @ kc.swapaxes(1, 2)), -1) + np.eye(n, dtype=np.float32)
        u = np.linalg.solve(mixed, bc[:, :, None] * (vc - since * (kc @ state))).astype(np.float32)
        out[rows] = (since * (qc @ state) + (fade * (qc @ kc.swapaxes(1, 2))) @ u).swapaxes(0, 1)
        rest = np.exp(total[:, -1:] - total)[:, :, None]
        state = np.exp(total[:, -1])[:, None, None] * state + (kc * rest).swapaxes(1, 2) @ u
    return out, state


def l2_normed(x: Floats) -> Floats:
    """x / sqrt(sum(x^2) + 1e-6) over the last axis."""
    return np.asarray(x / np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True) + np.float32(1e-6)), np.float32)


def gated_norm(x: Floats, z: Floats, weight: Floats, eps: float) -> Floats:
    """x / rms(x) * weight * silu(z) over the last axis: the norm comes before the gate."""
    rms = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(eps))
    return np.asarray(x / rms * weight * (z * sigmoid(z)), np.float32)


def sigmoid(x: NDArray[Any]) -> Floats:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-x)), np.float32)


def softplus(x: NDArray[Any]) -> Floats:
    """log(1 + exp(x))."""
    return np.asarray(np.logaddexp(np.float32(0), x), np.float32)
