"""The sampling chain: what happens to logits between the model and the drawn token, one named step after another.

`CHAIN` is the order, and the only place where it stands. Steps work on candidates (token ids with logits) and keep no
state; the sequence's history is handed in. Nothing here draws, detokenizes or stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostr.generate.params import SamplingParams

__all__ = ["CHAIN", "Candidates", "log_softmax", "softmax"]

# A first guess at how many tokens hold `top_p` of the mass; only when they do not is the whole vocabulary sorted.
NUCLEUS_GUESS = 256

# Below it dividing logits by the temperature could overflow float32; it is as good as greedy long before.
COLD, COLDEST = 1e-6, 1e-30


@dataclass(slots=True)
class Candidates:
    """Tokens still in play. `ids` None means the whole vocabulary in order; `logits` is float32 and may be changed."""

    ids: NDArray[np.int64] | None
    logits: NDArray[np.float32]

    def keep(self, index: NDArray[np.intp]) -> Candidates:
        ids = index.astype(np.int64) if self.ids is None else self.ids[index]
        return Candidates(ids, self.logits[index])


Step = Callable[[Candidates, SamplingParams, list[int]], Candidates]


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities in float64, so that a vocabulary of 250k still sums to one."""
    weights: NDArray[np.float64] = np.exp((logits - logits.max()).astype(np.float64))
    weights /= weights.sum()
    return weights


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Natural logarithms of the probabilities."""
    shifted: NDArray[np.float64] = (logits - logits.max()).astype(np.float64)
    shifted -= np.log(np.exp(shifted).sum())
    return shifted


def logit_bias(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    for token, bias in params.logit_bias.items():
        candidates.logits[token] += np.float32(bias)
    return candidates


def penalties(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    """Repetition, frequency and presence penalty over the last `repeat_last_n` tokens of prompt and output."""
    recent = history if params.repeat_last_n < 0 else history[-params.repeat_last_n :] if params.repeat_last_n else []
    if not recent:
        return candidates
    tokens, counts = np.unique(np.asarray(recent, np.int64), return_counts=True)
    logits = candidates.logits[tokens]
    if params.repeat_penalty != 1.0:
        penalty = np.float32(params.repeat_penalty)
        logits = np.where(logits > 0, logits / penalty, logits * penalty)
    candidates.logits[tokens] = (
        logits - params.frequency_penalty * counts.astype(np.float32) - np.float32(params.presence_penalty)
    )
    return candidates


def temperature(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    logits = candidates.logits
    if params.temperature < COLD:
        logits -= logits.max()  # only the distance to the best matters, and the best stays finite
    logits *= np.float32(1.0 / max(params.temperature, COLDEST))
    return candidates


def top_k(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    if params.top_k >= len(candidates.logits):
        return candidates
    return candidates.keep(np.sort(np.argpartition(-candidates.logits, params.top_k - 1)[: params.top_k]))


def top_p(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    """The smallest set of best tokens whose mass reaches `top_p`; the token that crosses it stays."""
    probabilities = softmax(candidates.logits)
    for size in (NUCLEUS_GUESS, len(probabilities)):
        best = _best(probabilities, size)
        mass = np.cumsum(probabilities[best])
        if mass[-1] >= params.top_p or size >= len(probabilities):
            break
    kept = int(np.searchsorted(mass, params.top_p)) + 1
    return candidates.keep(best[:kept])


def min_p(candidates: Candidates, params: SamplingParams, history: list[int]) -> Candidates:
    """Tokens at least `min_p` times as probable as the best: a threshold on logits, so no softmax is needed."""
    threshold = candidates.logits.max() + np.log(params.min_p)
    return candidates.keep(np.flatnonzero(candidates.logits >= threshold))


def _best(probabilities: NDArray[np.float64], size: int) -> NDArray[np.intp]:
    """Indices of the `size` largest, best first, equal ones by lowest index."""
    if size < len(probabilities):
        index = np.sort(np.argpartition(-probabilities, size)[:size])
    else:
        index = np.arange(len(probabilities))
    return index[np.argsort(-probabilities[index], kind="stable")]


# (name, is it active, step). Steps before "temperature" also apply to greedy decoding; those from it on do not.
CHAIN: tuple[tuple[str, Callable[[SamplingParams], bool], Step], ...] = (
    ("logit_bias", lambda p: bool(p.logit_bias), logit_bias),
    (
        "penalties",
        lambda p: p.repeat_penalty != 1.0 or p.frequency_penalty != 0.0 or p.presence_penalty != 0.0,
        penalties,
    ),
    ("temperature", lambda p: p.temperature not in (0.0, 1.0), temperature),
    ("top_k", lambda p: p.temperature > 0 and p.top_k > 0, top_k),
    ("top_p", lambda p: p.temperature > 0 and p.top_p < 1.0, top_p),
    ("min_p", lambda p: p.temperature > 0 and p.min_p > 0.0, min_p),
)
