"""A pointer: which of several marked positions the hidden state at another one points at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostr.decision.family import Hidden

__all__ = ["PointerHead"]


@dataclass(frozen=True, slots=True)
class PointerHead:
    """z_j = (Wk h_j + bk) . (Wq h + bq) / sqrt(head_dim). Weights are (head_dim, hidden), biases (head_dim,).

    In float64 they are read as they are; in another type they are widened for every question again.
    """

    q_weight: NDArray[Any]
    q_bias: NDArray[Any]
    k_weight: NDArray[Any]
    k_bias: NDArray[Any]

    def __call__(self, decide: Hidden, options: Hidden) -> Hidden:
        """decide (hidden,), options (n, hidden) -> logits (n,) float32.

        Summed in float64 and rounded once, which is within 1e-7 of float32 sums in any order.
        """
        query = np.asarray(self.q_weight, np.float64) @ decide + self.q_bias
        keys = options.astype(np.float64) @ np.asarray(self.k_weight, np.float64).T + self.k_bias
        found: Hidden = (keys @ query / math.sqrt(len(query))).astype(np.float32)
        return found
