"""The gated feed-forward part: down(act(gate(x)) * up(x))."""

from __future__ import annotations

from collections.abc import Callable

from boostr.nn.linear import Linear, LinearGroup
from boostr.state import AdaptedRows
from numr import Tensor
from numr.nn import gelu_mul, silu_mul

__all__ = ["ACTIVATIONS", "GatedMLP"]


def _gelu_mul(gate: Tensor, up: Tensor) -> Tensor:
    return gelu_mul(gate, up, False)


def _gelu_tanh_mul(gate: Tensor, up: Tensor) -> Tensor:
    return gelu_mul(gate, up, True)


# Named as config.json's hidden_act spells them.
ACTIVATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "silu": silu_mul,
    "swish": silu_mul,
    "gelu": _gelu_mul,
    "gelu_new": _gelu_tanh_mul,
    "gelu_pytorch_tanh": _gelu_tanh_mul,
}


class GatedMLP:
    """`activation` is one of ACTIVATIONS."""

    def __init__(self, gate_proj: Linear, up_proj: Linear, down_proj: Linear, activation: str = "silu") -> None:
        self.gate_proj = gate_proj
        self.up_proj = up_proj
        self.down_proj = down_proj
        self._gate_up = LinearGroup(gate_proj, up_proj)
        self._act_mul = ACTIVATIONS[activation]

    def __call__(self, x: Tensor, adapters: AdaptedRows | None = None) -> Tensor:
        gate, up = self._gate_up(x, adapters)
        return self.down_proj(self._act_mul(gate, up), adapters)
