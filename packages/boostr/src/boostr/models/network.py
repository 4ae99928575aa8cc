"""What every network offers, whatever its architecture: the calling convention of decoding, serving and deciding."""

from __future__ import annotations

from typing import Any, Protocol

from boostr.nn import Linear
from boostr.state import Batch, StateSpec
from numr import Tensor

__all__ = ["Network"]


class Network(Protocol):
    """`forward` runs a packed batch through all layers and advances its states; `logits` reads hidden states."""

    config: Any
    state_spec: StateSpec
    vocab_size: int
    hidden_size: int
    context_length: int

    @property
    def lm_head(self) -> Linear:
        """The output matrix, (vocab_size, hidden_size). Raises UnsupportedModelError where the checkpoint has none."""
        ...

    def forward(self, batch: Batch) -> Tensor:
        """Hidden states (R, hidden_size) of batch.rows, or of all T rows where that is None."""
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (R, hidden_size) -> (R, vocab_size) float32. Raises UnsupportedModelError as `lm_head`."""
        ...
