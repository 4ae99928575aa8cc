"""Root-mean-square normalization, alone or fused with the residual addition before it."""

from __future__ import annotations

import numr.nn as F
from numr import Tensor

__all__ = ["RMSNorm"]


class RMSNorm:
    """y = x / sqrt(mean(x²) + eps) * weight over the last axis; `weight` is float32."""

    __slots__ = ("eps", "weight")

    def __init__(self, weight: Tensor, eps: float) -> None:
        self.weight = weight
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight, self.eps)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Add `y` to the residual stream `x` in place and return the norm of the sum."""
        return F.add_rms_norm(x, y, self.weight, self.eps)

    def heads(self, x: Tensor, head_dim: int) -> Tensor:
        """The norm of each head of x (T, heads * head_dim) on its own, in the same shape."""
        rows = Tensor(x.array.reshape(-1, head_dim))
        return Tensor(F.rms_norm(rows, self.weight, self.eps).array.reshape(x.shape))
