"""The logits of a few label tokens: the rows of the LM head at their ids and nothing else of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from boostr.decision.family import Hidden
from boostr.quant import take_rows

__all__ = ["LabelTokenHead"]


class LabelTokenHead:
    """`weight` is the LM head's (vocab, hidden), dense or quantized; only rows `ids` are ever widened.

    softcap  c of logits c * tanh(z / c), or None
    """

    def __init__(self, weight: Any, ids: Sequence[int], softcap: float | None = None) -> None:
        self.ids = tuple(ids)
        self._rows = np.asarray(take_rows(weight, self.ids)).astype(np.float64)
        self._softcap = softcap

    def __call__(self, hidden: Hidden) -> Hidden:
        """hidden (R, hidden_size) -> logits (R, len(ids)) float32.

        Summed in float64, so that a row's logits do not tell how many rows were read with it.
        """
        logits = hidden.astype(np.float64) @ self._rows.T
        if self._softcap is not None:
            logits = self._softcap * np.tanh(logits / self._softcap)
        return logits.astype(np.float32)
