"""Causal self-attention with grouped queries over a cache of segments. Knows no architecture and no sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import numr.nn as F
from boostr.nn.linear import Linear, LinearGroup
from boostr.nn.norm import RMSNorm
from boostr.nn.recurrence import sigmoid_gate_
from boostr.nn.rope import RotaryEmbedding
from boostr.state import KVSpec, Step
from numr import Tensor

__all__ = ["Attention"]


class Attention:
    """Attention of one layer.

    index    the layer's place among those that keep keys and values
    window   a row sees the last `window` positions, itself included; 0 means all
    scale    of the scores; None means head_dim ** -0.5
    softcap  scores become softcap * tanh(scores / softcap); 0 means no cap
    q_norm, k_norm   norms of each head before the rotation
    gated    q_proj has twice the rows, per head a query and a gate: the head's result is multiplied by sigmoid(gate)
    """

    def __init__(
        self,
        q_proj: Linear,
        k_proj: Linear,
        v_proj: Linear,
        o_proj: Linear,
        *,
        index: int,
        head_dim: int,
        rotary: RotaryEmbedding,
        window: int = 0,
        scale: float | None = None,
        softcap: float = 0.0,
        q_norm: RMSNorm | None = None,
        k_norm: RMSNorm | None = None,
        gated: bool = False,
    ) -> None:
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = q_proj, k_proj, v_proj, o_proj
        self.q_norm, self.k_norm = q_norm, k_norm
        self.index = index
        self.head_dim = head_dim
        self.gated = gated
        self.n_heads = q_proj.out_features // head_dim // (2 if gated else 1)
        self.n_kv_heads = k_proj.out_features // head_dim
        self.rotary = rotary
        self.window = window
        self.scale = head_dim**-0.5 if scale is None else scale
        self.softcap = softcap
        self._qkv = LinearGroup(q_proj, k_proj, v_proj)

    @property
    def state_spec(self) -> KVSpec:
        """What this layer keeps per sequence."""
        return KVSpec(self.n_kv_heads, self.head_dim, self.v_proj.out_features // self.n_kv_heads)

    def __call__(self, x: Tensor, step: Step, rows: NDArray[np.int64] | None = None) -> Tensor:
        """x (T, hidden) -> (T, hidden); with `rows`, only those rows of the result, (R, hidden)."""
        q, k, v = self._qkv(x, step.adapters)
        queries = q
        if self.gated:
            q = self._without_gates(queries)
        if self.q_norm is not None:
            q = self.q_norm.heads(q, self.head_dim)
        if self.k_norm is not None:
            k = self.k_norm.heads(k, self.head_dim)
        self.rotary.rotate(q, step.positions, self.n_heads)
        self.rotary.rotate(k, step.positions, self.n_kv_heads)
        layer = step.kv_layers[self.index]
        F.kv_append(k, v, step.table, layer)
        context = F.attention(q, step.table, layer, self.n_heads, self.scale, self.window, self.softcap)
        if rows is not None:
            context = Tensor(context.array[rows])
        if self.gated:
            gates = queries if rows is None else Tensor(queries.array[rows])
            sigmoid_gate_(context, gates, self.head_dim, 2 * self.head_dim, start=self.head_dim)
        return self.o_proj(context, step.adapters_of(rows))

    def _without_gates(self, queries: Tensor) -> Tensor:
        pairs = queries.array.reshape(len(queries.array), self.n_heads, 2, self.head_dim)
        return Tensor(np.ascontiguousarray(pairs[:, :, 0]).reshape(len(pairs), -1))
