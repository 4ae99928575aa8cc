"""A mixture of experts: each row goes to the experts its router prefers, and through a shared one that all rows use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from boostr.nn.linear import Linear
from boostr.nn.mlp import GatedMLP
from boostr.nn.recurrence import sigmoid_gate_
from boostr.state import AdaptedRows
from numr import Tensor
from numr.nn import add_, softmax

__all__ = ["SparseMoE"]


class Experts:
    """Experts by index, each made when it is first asked for, since most have weights of their own."""

    def __init__(self, make: Callable[[int], GatedMLP], count: int) -> None:
        self._make = make
        self._made: list[GatedMLP | None] = [None] * count

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, number: int) -> GatedMLP:
        expert = self._made[number]
        if expert is None:
            expert = self._made[number] = self._make(number)
        return expert


class SparseMoE:
    """out = sum over the chosen experts of weight * expert(x), plus sigmoid(shared_gate(x)) * shared(x).

    gate         the router, hidden -> number of experts; the largest `top_k` of its softmax are chosen
    expert       makes the expert of an index; called when a row first needs it
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
        self.experts = Experts(expert, gate.out_features)

    def __call__(self, x: Tensor, adapters: AdaptedRows | None = None) -> Tensor:
        """x (R, hidden) -> (R, hidden)."""
        experts, weights = self.route(x, adapters)
        out = np.zeros_like(x.array)
        for number, rows, share in _grouped(experts, weights):
            own = None if adapters is None else adapters.take(rows)
            found = self.experts[number](Tensor(x.array[rows]), own).array
            found *= share[:, None]
            out[rows] += found  # an expert holds a row once; a row's sum goes by rising expert
        result = Tensor(out)
        if self.shared_expert is not None and self.shared_expert_gate is not None:
            shared = self.shared_expert(x, adapters)
            gate = np.repeat(self.shared_expert_gate(x, adapters).array, x.shape[1], axis=1)
            sigmoid_gate_(shared, Tensor(gate), x.shape[1], x.shape[1])
            add_(result, shared)
        return result

    def route(self, x: Tensor, adapters: AdaptedRows | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(experts, weights) of each row, (R, top_k) each; equal probabilities go to the lower index."""
        probabilities = softmax(self.gate(x, adapters)).array
        chosen = np.argsort(-probabilities, axis=1, kind="stable")[:, : self.top_k]
        weights = np.take_along_axis(probabilities, chosen, axis=1)
        if self.renormalise:
            weights = weights / weights.sum(axis=1, keepdims=True)
        return chosen, weights


def _grouped(experts: np.ndarray, weights: np.ndarray) -> Sequence[tuple[int, np.ndarray, np.ndarray]]:
    """(expert, its rows, their weights) for every expert that some row chose, in rising order."""
    flat = experts.reshape(-1)
    order = np.argsort(flat, kind="stable")
    numbers, starts = np.unique(flat[order], return_index=True)
    pieces = np.split(order, starts)[1:]  # the first begins at 0
    shares = weights.reshape(-1)
    return [(int(n), piece // experts.shape[1], shares[piece]) for n, piece in zip(numbers, pieces, strict=True)]
