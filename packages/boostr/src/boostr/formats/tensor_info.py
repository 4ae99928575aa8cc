"""What a checkpoint says about one tensor before its bytes are read."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["TensorInfo"]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """`shape` is logical and row-major (out, in); `dtype` is the format's own name: "Q4_K", "BF16", "F32", ..."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)
