"""Causal self-attention with grouped queries over a cache of segments. Knows no architecture and no sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import numr.nn as F
from boostr.nn.linear import Linear, LinearGroup
from boostr.nn.norm import RMSNorm
from boostr.nn.rope import RotaryEmbedding
from boostr.state import KVSpec, Step
from numr import Tensor

__all__ = ["Attention"]


class Attention:
    """Attention of one layer.

    index    the layer's place in the network's state
    window   a row sees the last `window` positions, itself included; 0 means all
    scale    of the scores; None means head_dim ** -0.5
    softcap  scores become softcap * tanh(scores / softcap); 0 means no cap
    q_norm, k_norm   norms of each head before the rotation
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
    ) -> None:
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = q_proj, k_proj, v_proj, o_proj
        self.q_norm, self.k_norm = q_norm, k_norm
        self.index = index
        self.head_dim = head_dim
        self.n_heads = q_proj.out_features // head_dim
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
        q, k, v = self._qkv(x)
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
        return self.o_proj(context)
