"""What decoder-only transformers share around their layers: embedding, residual stream, final norm, output matrix.

An architecture's file makes the layers. This one knows nothing of what is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from boostr.errors import UnsupportedModelError
from boostr.models.weights import Weights
from boostr.nn import Linear, RotaryEmbedding
from boostr.state import Batch, Hidden, StateSpec, Step
from boostr.state.spec import LayerSpec
from numr import Tensor

__all__ = ["Block", "Decoder"]


class Block(Protocol):
    """One layer. Takes and gives (x, y): the residual stream, and an output that is not yet added to it."""

    state_spec: LayerSpec

    def __call__(
        self, x: Tensor, y: Tensor | None, step: Step, rows: NDArray[np.int64] | None = None
    ) -> tuple[Tensor, Tensor]: ...


BlockT = TypeVar("BlockT", bound=Block)


class Decoder(Generic[BlockT]):
    """The network: packed batch in, hidden states and logits out.

    config has vocab_size, hidden_size, max_position_embeddings, rms_norm_eps and tie_word_embeddings.
    """

    def __init__(self, config: Any, weights: Weights, rotary: RotaryEmbedding, layers: Sequence[BlockT]) -> None:
        self.config = config
        self.rotary = rotary
        self.embed_tokens = weights.embedding("embed_tokens")
        self.layers = layers
        self.norm = weights.norm("norm", config.rms_norm_eps)
        output = "embed_tokens" if config.tie_word_embeddings else "lm_head"
        self._lm_head = weights.linear(output) if weights.holds(output) else None
        self.state_spec = StateSpec(tuple(layer.state_spec for layer in layers))
        self.vocab_size: int = config.vocab_size
        self.hidden_size: int = config.hidden_size
        self.context_length: int = config.max_position_embeddings

    @property
    def lm_head(self) -> Linear:
        """The output matrix. Raises UnsupportedModelError where the checkpoint has none."""
        if self._lm_head is None:
            raise UnsupportedModelError(
                "this checkpoint is of a text model alone, without an LM head: its hidden states can be read, but it "
                "has no logits and cannot generate; use the whole checkpoint for that"
            )
        return self._lm_head

    def forward(self, batch: Batch) -> Tensor:
        """Run the batch through all layers, into its states; hidden states (R, hidden) of `batch.rows`, normed.

        R is len(batch.rows), or all T rows. Raises TokenizerError for an id outside the vocabulary.
        """
        x: Tensor = self.embed_tokens(batch.token_ids)
        y: Tensor | None = None
        step = batch.begin()
        self.rotary.prepare(step.length)
        for layer in self.layers[:-1]:
            x, y = layer(x, y, step)
        x, y = self.layers[-1](x, y, step, batch.rows)
        batch.finish()
        return step.read(self.norm.add(x, y), batch.rows)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (R, hidden) -> (R, vocab) float32."""
        return self.lm_head(hidden, hidden.adapters if isinstance(hidden, Hidden) else None)
