"""The decode loop in one process: prefill in chunks, then one packed step per token for all running sequences.

The server has a scheduler of its own; this is the loop of a notebook or a command line. Knows no text formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boostr.errors import ContextLengthError, ParameterError
from boostr.generate.output import OutputStream, Piece
from boostr.generate.params import SamplingParams
from boostr.generate.sampler import Sampler
from boostr.state import SequenceState, long_prompt

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["PREFILL_CHUNK", "chunks", "decode", "prefill"]

PREFILL_CHUNK = 512  # tokens of a prompt in one pass: bounds the activations' memory, and large enough for BLAS


@dataclass(slots=True)
class _Running:
    state: SequenceState
    sampler: Sampler
    output: OutputStream
    next_token: int = 0


def chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """`ids` in parts of at most PREFILL_CHUNK, and of two at least: alone, a token would be summed up as in decoding,
    in another order than in a long part, and its result would tell how the prompt was cut."""
    start = 0
    while start < len(ids):
        left = len(ids) - start
        size = PREFILL_CHUNK - 1 if left == PREFILL_CHUNK + 1 else min(left, PREFILL_CHUNK)
        yield ids[start : start + size]
        start += size


def prefill(model: LanguageModel, ids: Sequence[int], state: SequenceState) -> NDArray[np.float32]:
    """Run a prompt into `state`; returns the logits (vocab,) after its last token."""
    hidden = None
    for chunk in chunks(ids):
        hidden = model.network.forward(model.pack([(chunk, state)], many=long_prompt(len(ids))))
    if hidden is None:
        raise ParameterError("the prompt is empty: it must have at least one token", "prompt")
    logits: NDArray[np.float32] = np.asarray(model.network.logits(hidden))[0]
    return logits


def decode(
    model: LanguageModel, prompt_ids: Sequence[int], params: SamplingParams, n: int = 1
) -> Iterator[tuple[int, Piece]]:
    """Generate `n` continuations of one prompt; yields (choice index, piece) as pieces become final.

    The prompt runs once and its state is forked. Choice i of a seeded generation draws with `seed + i`.
    Raises ContextLengthError when the prompt leaves no room for a token.
    """
    room = model.context_length - len(prompt_ids)
    if room <= 0:
        raise ContextLengthError(len(prompt_ids), model.context_length)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"n is {n!r}: it must be a whole number, at least 1", "n")
    state = model.new_state()
    logits = prefill(model, prompt_ids, state)
    running: dict[int, _Running] = {}
    for choice in range(n):
        one = _begin(model, prompt_ids, params.for_choice(choice), room, state.fork() if choice + 1 < n else state)
        for piece in _accept(one, logits):
            yield choice, piece
        if one.output.finish_reason is None:
            running[choice] = one
    while running:
        batch = model.pack([([one.next_token], one.state) for one in running.values()], many=False)
        rows = np.asarray(model.network.logits(model.network.forward(batch)))
        for row, (choice, one) in enumerate(list(running.items())):
            for piece in _accept(one, rows[row]):
                yield choice, piece
            if one.output.finish_reason is not None:
                del running[choice]


def _begin(
    model: LanguageModel, prompt_ids: Sequence[int], params: SamplingParams, room: int, state: SequenceState
) -> _Running:
    output = OutputStream(model.require_tokenizer(), params, model.eos_token_ids, prompt_ids, limit=room)
    return _Running(state, Sampler(params, model.vocab_size, prompt_ids), output)


def _accept(one: _Running, logits: NDArray[np.float32]) -> list[Piece]:
    sampled = one.sampler.sample(logits)
    one.next_token = sampled.token
    return one.output.push(sampled)
