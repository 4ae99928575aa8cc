"""Token embeddings: rows of a dense or quantized matrix, widened to float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostr.errors import TokenizerError
from boostr.quant import Weight, take_rows
from numr import Tensor

__all__ = ["Embedding"]


class Embedding:
    """`weight` is (vocab, hidden); calling it with ids (T,) gives (T, hidden) float32."""

    __slots__ = ("weight",)

    def __init__(self, weight: Weight) -> None:
        self.weight = weight

    def __call__(self, ids: NDArray[np.int64]) -> Tensor:
        """Raises TokenizerError for an id outside the vocabulary."""
        try:
            return take_rows(self.weight, ids)
        except IndexError:
            vocab = self.weight.shape[0]
            outside = int(ids[(ids < 0) | (ids >= vocab)][0])
            raise TokenizerError(f"token id {outside} is outside the vocabulary of {vocab}") from None
