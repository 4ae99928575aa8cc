"""A mixture of experts: each row goes to the experts its router prefers, and through a shared one that all rows use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from boostr.nn.linear import Linear
from boostr.nn.mlp import GatedMLP
from boostr.nn.recurrence import sigmoid_gate_
from numr import Tensor
from numr.nn import add_, softmax

__all__ = ["SparseMoE"]


class SparseMoE:
    """out = sum over the chosen experts of weight * expert(x), plus sigmoid(shared_gate(x)) * shared(x).

    gate         the router, hidden -> number of experts; the largest `top_k` of its softmax are chosen
    expert       makes the expert of an index; called when a row first needs it, since most have weights of their own
    renormalise  divide the chosen weights by their sum
    shared       with `shared_gate` (hidden -> 1), or None
    """

    def __init__(
        self,
        gate: Linear,
        expert: Callable[[int], GatedMLP],
        *,
        top_k: int,
        renormalise: bool = True,
        shared: GatedMLP | None = None,
        shared_gate: Linear | None = None,
    ) -> None:
        self.gate = gate
        self.top_k = top_k
        self.renormalise = renormalise
        self.shared_expert, self.shared_expert_gate = shared, shared_gate
        self._make = expert
        self._experts: list[GatedMLP | None] = [None] * gate.out_features

    def __call__(self, x: Tensor) -> Tensor:
        """x (R, hidden) -> (R, hidden)."""
        experts, weights = self.route(x)
        out = np.zeros_like(x.array)
        for number, rows, share in _grouped(experts, weights):
            found = self._expert(number)(Tensor(x.array[rows])).array
            found *= share[:, None]
            out[rows] += found  # an expert holds a row once; a row's sum goes by rising expert
        result = Tensor(out)
        if self.shared_expert is not None and self.shared_expert_gate is not None:
            shared = self.shared_expert(x)
            gate = np.repeat(self.shared_expert_gate(x).array, x.shape[1], axis=1)
            sigmoid_gate_(shared, Tensor(gate), x.shape[1], x.shape[1])
            add_(result, shared)
        return result

    def route(self, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """(experts, weights) of each row, (R, top_k) each; equal probabilities go to the lower index."""
        probabilities = softmax(self.gate(x)).array
        chosen = np.argsort(-probabilities, axis=1, kind="stable")[:, : self.top_k]
        weights = np.take_along_axis(probabilities, chosen, axis=1)
        if self.renormalise:
            weights = weights / weights.sum(axis=1, keepdims=True)
        return chosen, weights

    def _expert(self, number: int) -> GatedMLP:
        expert = self._experts[number]
        if expert is None:
            expert = self._experts[number] = self._make(number)
        return expert


def _grouped(experts: np.ndarray, weights: np.ndarray) -> Sequence[tuple[int, np.ndarray, np.ndarray]]:
    """(expert, its rows, their weights) for every expert that some row chose, in rising order."""
    flat = experts.reshape(-1)
    order = np.argsort(flat, kind="stable")
    numbers, starts = np.unique(flat[order], return_index=True)
    pieces = np.split(order, starts)[1:]  # the first begins at 0
    shares = weights.reshape(-1)
    return [(int(n), piece // experts.shape[1], shares[piece]) for n, piece in zip(numbers, pieces, strict=True)]
