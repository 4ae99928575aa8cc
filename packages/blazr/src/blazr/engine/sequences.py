"""The records of running work: one job per request, one sequence per choice. Made and changed on the lane's thread."""

import time
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blazr.engine.events import Output, PromptDone, PromptToken, Usage
from blazr.engine.generation import Generation
from blazr.engine.request import GenerationRequest
from boostr.generate import OutputStream, Sampler
from boostr.generate.language_model import LanguageModel
from boostr.state import SequenceState

__all__ = ["Job", "Sequence"]


@dataclass(slots=True, eq=False)
class Sequence:
    """One choice while it decodes. `next_token` was drawn and has not run yet."""

    job: "Job"
    choice: int
    state: SequenceState
    sampler: Sampler
    output: OutputStream
    next_token: int = 0
    drawn_at: float = 0.0

    def accept(self, logits: NDArray[np.float32]) -> list[Output]:
        """Draw the next token from `logits` (vocab,); returns the pieces that may leave."""
        sampled = self.sampler.sample(logits)
        self.next_token = sampled.token
        self.drawn_at = time.monotonic()
        return [Output(self.choice, piece) for piece in self.output.push(sampled)]

    @property
    def finished(self) -> bool:
        return self.output.finish_reason is not None


@dataclass(slots=True, eq=False)
class Job:
    """One request from admission to its end."""

    generation: Generation
    claim: int  # tokens it may hold in all
    state: SequenceState | None = None  # the prompt's, until it is forked
    done_tokens: int = 0  # prompt tokens that have run
    running: list[Sequence] = field(default_factory=list)
    drawn: int = 0
    prompt_tokens: list[PromptToken] = field(default_factory=list)
    started_at: float = 0.0
    prompt_done_at: float = 0.0

    @property
    def request(self) -> GenerationRequest:
        return self.generation.request

    @property
    def prompt_length(self) -> int:
        return len(self.request.prompt_ids)

    @property
    def remaining(self) -> int:
        """Prompt tokens that have not run."""
        return len(self.request.prompt_ids) - self.done_tokens

    def chunk(self, size: int) -> SequenceOf[int]:
        """The next prompt tokens, at most `size`."""
        return self.request.prompt_ids[self.done_tokens : self.done_tokens + size]

    def branch(self, model: LanguageModel) -> list[Sequence]:
        """The choices, each on a fork of the prompt's state; the last takes the state itself."""
        state, request = self.state, self.request
        assert state is not None, "a job branches once, after its prompt"
        self.state = None
        self.prompt_done_at = time.monotonic()
        room = model.context_length - len(request.prompt_ids)
        for choice in range(request.n):
            params = request.params.for_choice(choice)
            output = OutputStream(
                model.require_tokenizer(), params, model.eos_token_ids, request.prompt_ids, limit=room
            )
            own = state if choice == request.n - 1 else state.fork()
            sampler = Sampler(params, model.vocab_size, request.prompt_ids)
            self.running.append(Sequence(self, choice, own, sampler, output))
        return list(self.running)

    def prompt_done(self) -> PromptDone:
        return PromptDone(tuple(self.prompt_tokens))

    def usage(self) -> Usage:
        now = time.monotonic()
        return Usage(
            prompt_tokens=len(self.request.prompt_ids),
            completion_tokens=self.drawn,
            queue_seconds=self.started_at - self.generation.submitted,
            prompt_seconds=self.prompt_done_at - self.started_at,
            decode_seconds=now - self.prompt_done_at,
        )
