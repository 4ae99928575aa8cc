"""A gated delta net layer: projections, a causal convolution, the delta rule over a state of fixed size, a gated norm.

Knows no architecture: how value heads go with key heads, and that its weights are already edited, is said from outside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostr.nn.linear import Linear, LinearGroup
from boostr.nn.recurrence import DeltaRule, causal_conv, gated_delta
from boostr.state import ConvSpec, RecurrentSpec, Step
from numr import Tensor

__all__ = ["GatedDeltaNet"]


class GatedDeltaNet:
    """Projections are named as in the published checkpoint; in_proj_qkv's rows are queries, keys, values.

    conv_weight  (kernel, channels) float32, oldest tap first
    index        the layer's place among the recurrent ones
    """

    def __init__(
        self,
        in_proj_qkv: Linear,
        in_proj_z: Linear,
        in_proj_b: Linear,
        in_proj_a: Linear,
        out_proj: Linear,
        *,
        conv_weight: Tensor,
        rule: DeltaRule,
        index: int,
    ) -> None:
        self.in_proj_qkv, self.in_proj_z = in_proj_qkv, in_proj_z
        self.in_proj_b, self.in_proj_a = in_proj_b, in_proj_a
        self.out_proj = out_proj
        self.conv_weight = conv_weight
        self.rule = rule
        self.index = index
        self._in = LinearGroup(in_proj_qkv, in_proj_z, in_proj_b, in_proj_a)

    @property
    def state_spec(self) -> tuple[ConvSpec, RecurrentSpec]:
        """What this layer keeps per sequence."""
        window = self.conv_weight.shape[0] - 1
        return ConvSpec(self.rule.channels, window), RecurrentSpec(self.rule.v_heads, self.rule.k_dim, self.rule.v_dim)

    def __call__(self, x: Tensor, step: Step, rows: NDArray[np.int64] | None = None) -> Tensor:
        """x (T, hidden) -> (T, hidden); with `rows`, only those rows of the result, (R, hidden)."""
        memory, layer = step.memory, step.memory_layers[self.index]
        assert memory is not None, "a network with recurrent layers runs on states that hold their memories"
        qkv, z, b, a = self._in(x, step.adapters)
        mixed = causal_conv(qkv, self.conv_weight, memory, layer.conv)
        out = gated_delta(self.rule, mixed, z, b, a, memory, layer.state)
        return self.out_proj(out if rows is None else Tensor(out.array[rows]), step.adapters_of(rows))
