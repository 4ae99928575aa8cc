"""What a caller asks of a lane: prompt ids and parameters. Text, templates and wire formats are left behind here."""

from collections.abc import Sequence
from dataclasses import dataclass

from boostr.errors import ContextLengthError, ParameterError
from boostr.generate import SamplingParams
from boostr.nn import SpanAdapter

__all__ = ["GenerationRequest"]


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt and its `n` continuations. Choice i of a seeded request draws with `seed + i`."""

    prompt_ids: Sequence[int]
    params: SamplingParams
    n: int = 1
    deadline: float | None = None  # time.monotonic() value after which the request fails with RequestTimeoutError
    prompt_logprobs: int | None = None  # also report the prompt's tokens, with this many alternatives each
    adapter: SpanAdapter | None = None  # the variant of the lane's model that runs it; None: the model itself

    def check(self, vocab_size: int, context_length: int) -> None:
        """Raises ParameterError or ContextLengthError when a model of these bounds cannot run the request."""
        if not len(self.prompt_ids):
            raise ParameterError("the prompt is empty: it must have at least one token", "prompt")
        if len(self.prompt_ids) >= context_length:
            raise ContextLengthError(len(self.prompt_ids), context_length)
        lowest, highest = min(self.prompt_ids), max(self.prompt_ids)
        if lowest < 0 or highest >= vocab_size:
            wrong = lowest if lowest < 0 else highest
            raise ParameterError(
                f"the prompt holds token id {wrong}; this model's ids are 0 to {vocab_size - 1}", "prompt"
            )
        if self.n < 1:
            raise ParameterError(f"n is {self.n}: it must be at least 1", "n")
        biased = max(self.params.logit_bias, default=0)
        if biased >= vocab_size:
            raise ParameterError(
                f"logit_bias names token {biased}; this model's ids are 0 to {vocab_size - 1}", "logit_bias"
            )

    def most_tokens(self, context_length: int) -> int:
        """Prompt tokens plus the most that may be generated: the request's claim on the lane."""
        room = context_length - len(self.prompt_ids)
        limit = room if self.params.max_tokens is None else min(room, self.params.max_tokens)
        return len(self.prompt_ids) + self.n * limit
