"""Which tokens go into the next step: every decode, and prompt chunks under the budget. Runs nothing."""

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from blazr.engine.sequences import Job, Sequence
from boostr.state import Batch, long_prompt

__all__ = ["Chunk", "StepPlan", "plan_step"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next `size` prompt tokens of a job."""

    job: Job
    size: int

    @property
    def last(self) -> bool:
        return self.size == self.job.remaining


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One packed step: decodes first, then chunks.

    many  the chunks are of long prompts, whose products take another path (see Batch.pack)
    """

    decodes: SequenceOf[Sequence]
    chunks: SequenceOf[Chunk]
    many: bool | None = None

    @property
    def prompt_tokens(self) -> int:
        return sum(chunk.size for chunk in self.chunks)

    @property
    def jobs(self) -> list[Job]:
        """Every job with a part in the step, once."""
        jobs = [one.job for one in self.decodes] + [chunk.job for chunk in self.chunks]
        return list(dict.fromkeys(jobs))

    def passes(self) -> "list[StepPlan]":
        """The step as one pass for decodes and short prompts and one for long prompts: then the bits of a sequence are
        those it has alone."""
        long = [chunk for chunk in self.chunks if long_prompt(chunk.job.prompt_length)]
        short = [chunk for chunk in self.chunks if not long_prompt(chunk.job.prompt_length)]
        parts = (StepPlan(self.decodes, short, False), StepPlan([], long, True))
        return [part for part in parts if part.decodes or part.chunks]

    def batch(self) -> Batch:
        """The packed batch; only rows whose logits are needed are read."""
        sequences: list[tuple[SequenceOf[int], object]] = [([one.next_token], one.state) for one in self.decodes]
        sequences += [(chunk.job.chunk(chunk.size), chunk.job.state) for chunk in self.chunks]
        reads = ["last"] * len(self.decodes) + [_read(chunk) for chunk in self.chunks]
        jobs = [one.job for one in self.decodes] + [chunk.job for chunk in self.chunks]
        adapters = [job.request.adapter for job in jobs]
        return Batch.pack(sequences, reads, adapters, self.many)  # type: ignore[arg-type]


def plan_step(decoding: SequenceOf[Sequence], prompts: SequenceOf[Job], budget: int) -> StepPlan:
    """All of `decoding`, and chunks of `prompts` (in order of arrival) that together take at most `budget` tokens.

    Half of the budget goes to the oldest prompt, so that it always moves on; the rest first to the shortest ones, so
    that a short question need not wait behind a long document.
    """
    sizes: dict[Job, int] = {}
    left = budget
    if len(prompts) > 1:
        oldest = prompts[0]
        sizes[oldest] = min(oldest.remaining, max(1, budget // 2))
        left -= sizes[oldest]
        for job in sorted(prompts[1:], key=lambda job: job.remaining):
            sizes[job] = min(job.remaining, left)
            left -= sizes[job]
    for job in prompts:  # what is left goes to the oldest
        extra = min(job.remaining - sizes.get(job, 0), left)
        sizes[job] = sizes.get(job, 0) + extra
        left -= extra
    chunks = [Chunk(job, _never_one(sizes[job], job.remaining)) for job in prompts if sizes[job] > 0]
    return StepPlan(list(decoding), chunks)


def _never_one(size: int, remaining: int) -> int:
    """`size`, changed by one where it would take or leave a single token of a prompt.

    Attention adds up a span of one row in another order than longer ones; so a prompt gives the same bits in any cut.
    """
    if size == 1 and remaining > 1:
        size = 2
    if remaining - size == 1:
        return size - 1 if size > 2 else remaining
    return size


def _read(chunk: Chunk) -> str:
    if chunk.job.request.prompt_logprobs is not None:
        return "all"
    return "last" if chunk.last else "none"
