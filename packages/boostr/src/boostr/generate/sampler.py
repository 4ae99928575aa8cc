"""Draws one token after another for one sequence: applies the chain, owns the sequence's history and random generator.

Knows token ids only, no text. One generator per sequence, so a seed gives the same draws alone and in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostr.errors import NumericalError, ParameterError
from boostr.generate.chain import CHAIN, Candidates, log_softmax, softmax
from boostr.generate.params import SamplingParams

__all__ = ["Sampled", "Sampler"]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A drawn token. Log-probabilities are natural, of the model's raw distribution (before bias and temperature)."""

    token: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()  # best first; at most params.logprobs entries


class Sampler:
    """Draws tokens for one sequence. `vocab_size` bounds the ids that logit_bias may name."""

    def __init__(self, params: SamplingParams, vocab_size: int, prompt_ids: Sequence[int] = ()) -> None:
        for token in params.logit_bias:
            if token >= vocab_size:
                raise ParameterError(
                    f"logit_bias names token {token}; the vocabulary ends at {vocab_size - 1}", "logit_bias"
                )
        self.params = params
        self.history = list(prompt_ids)
        self._steps = [step for _, active, step in CHAIN if active(params)]
        self._random = np.random.default_rng(None if params.seed is None else params.seed % 2**64)

    def sample(self, logits: NDArray[np.float32]) -> Sampled:
        """Draw the next token from `logits` (vocab,) float32, which is left unchanged."""
        best = int(logits.argmax())  # ties: the lowest id; NaN counts as the largest
        if not np.isfinite(logits[best]):
            raise NumericalError("the model produced logits that are not finite: its weights or its input are broken")
        token = self._draw(logits) if self._steps or self.params.temperature > 0 else best
        self.history.append(token)
        if self.params.logprobs is None:
            return Sampled(token)
        return self._with_logprobs(token, logits)

    def _draw(self, logits: NDArray[np.float32]) -> int:
        candidates = Candidates(None, np.array(logits, np.float32))
        for step in self._steps:
            candidates = step(candidates, self.params, self.history)
        if self.params.temperature == 0:
            index = int(candidates.logits.argmax())
        else:
            mass = np.cumsum(softmax(candidates.logits))
            index = min(int(np.searchsorted(mass, self._random.random() * mass[-1], side="right")), len(mass) - 1)
        return index if candidates.ids is None else int(candidates.ids[index])

    def _with_logprobs(self, token: int, logits: NDArray[np.float32]) -> Sampled:
        logprobs = log_softmax(logits)
        count = min(self.params.logprobs or 0, len(logprobs))
        best: list[int] = []
        if count:
            index = np.sort(np.argpartition(-logprobs, count - 1)[:count])
            best = index[np.argsort(-logprobs[index], kind="stable")].tolist()
        return Sampled(token, float(logprobs[token]), tuple((i, float(logprobs[i])) for i in best))
