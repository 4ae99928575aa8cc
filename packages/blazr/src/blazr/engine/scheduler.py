"""Continuous batching for one model: the generation work of a lane.

Requests join and leave between steps. Everything here but `submit` and `active` runs on the lane's thread. Knows
nothing of HTTP or of how a model computes.
"""

import logging
import threading
import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from blazr.engine.budget import StepBudget
from blazr.engine.events import Completed, Output
from blazr.engine.generation import Generation, Mailbox, deadline_error
from blazr.engine.limits import LaneLimits
from blazr.engine.plan import StepPlan, plan_step
from blazr.engine.prompt_logprobs import append_prompt_tokens
from blazr.engine.sequences import Job, Sequence
from blazr.errors import OverloadedError, RequestTimeoutError, ShuttingDownError
from blazr.metrics import Metrics
from boostr.generate.language_model import LanguageModel

__all__ = ["Scheduler"]

logger = logging.getLogger("blazr.engine")


class Scheduler:
    """Queues requests, packs steps, draws tokens and posts events."""

    def __init__(self, model: LanguageModel, limits: LaneLimits, metrics: Metrics) -> None:
        self.model = model
        self.limits = limits
        self.budget = StepBudget(limits.step_seconds)
        self._metrics = metrics
        self._name = model.name
        self._lock = threading.Lock()  # guards _queue and _claimed
        self._queue: deque[Job] = deque()  # submitted, not begun
        self._claimed = 0  # tokens of all jobs, queued and begun
        self._prompts: list[Job] = []  # begun, prompt not finished
        self._decoding: list[Sequence] = []
        self._mailbox = Mailbox()

    @property
    def active(self) -> int:
        with self._lock:
            return len(self._queue) + len({one.job for one in self._decoding} | set(self._prompts))

    @property
    def queued(self) -> int:
        """Requests whose prompt has not begun."""
        with self._lock:
            return len(self._queue)

    def submit(self, generations: list[Generation]) -> None:
        """Queue all or none. Raises OverloadedError when they do not fit."""
        context = self.model.context_length
        jobs = [Job(generation, generation.request.most_tokens(context)) for generation in generations]
        claim = sum(job.claim for job in jobs)
        most = self.limits.max_inflight_tokens
        with self._lock:
            if len(self._queue) + len(jobs) > self.limits.max_queue:
                self._metrics.generations.labels(self._name, "refused").inc(len(jobs))
                raise OverloadedError(
                    f"{len(self._queue)} requests are waiting for model {self._name}: try again later", 2.0
                )
            if most and self._claimed and self._claimed + claim > most:
                self._metrics.generations.labels(self._name, "refused").inc(len(jobs))
                raise OverloadedError(
                    f"the request may need {claim} tokens, and {self._claimed} of server.max_inflight_tokens={most} "
                    "are taken: try again later",
                    5.0,
                )
            self._claimed += claim
            self._queue.extend(jobs)
        self._gauges()

    def pending(self) -> bool:
        # A request whose consumer does not read rests; it may rest in a slot that a queued one waits for.
        if self._prompts or self._ready():
            return True
        with self._lock:
            left = any(job.generation.cancelled for job in self._queue)
            return left or bool(self._queue and self._has_room(self._used()))

    def run(self) -> None:
        """Drop what nobody waits for, admit what fits, and run one step."""
        self._sweep()
        self._admit()
        plan = plan_step(self._ready(), self._prompts, self.budget.tokens)
        if plan.decodes or plan.chunks:
            started = time.monotonic()
            for part in plan.passes():
                self._step(part)
            self._learn(plan, time.monotonic() - started)
        self._mailbox.post()
        self._gauges()

    def fail(self, error: Exception) -> None:
        with self._lock:
            queued, self._queue = list(self._queue), deque()
        for job in [*queued, *self._begun()]:
            self._end(job, error)
        self._mailbox.post()
        self._gauges()

    # One step

    def _step(self, plan: StepPlan) -> None:
        try:
            hidden = self.model.network.forward(plan.batch())
            rows = np.asarray(self.model.network.logits(hidden)) if hidden.shape[0] else np.empty((0, 0), np.float32)
        except MemoryError as error:  # boostr's DeviceMemoryError among them: states are as they were before the step
            newest = max(plan.jobs, key=lambda job: job.generation.submitted)
            logger.warning("no memory for a step of model %s: its newest request ends: %s", self._name, error)
            self._end(newest, error)
            return
        except Exception as error:  # whatever a model raises belongs to the requests of this step, not to the lane
            logger.exception("a step of model %s failed", self._name)
            for job in plan.jobs:
                self._end(job, error)
            return
        at = 0
        for sequence in plan.decodes:
            self._draw(sequence, rows[at])
            at += 1
        for chunk in plan.chunks:
            at = self._prompt_step(chunk.job, chunk.size, rows, at)

    def _prompt_step(self, job: Job, size: int, rows: NDArray[np.float32], at: int) -> int:
        """Account for a chunk that ran; `at` is its first row of logits. Returns the next chunk's first row."""
        first = job.done_tokens
        job.done_tokens += size
        count = job.request.prompt_logprobs
        self._metrics.tokens_prompted.labels(self._name).inc(size)
        if count is None and job.remaining:
            return at
        read = 1 if count is None else size
        try:
            if count is not None:
                append_prompt_tokens(job.prompt_tokens, job.request.prompt_ids, first, rows[at : at + read], count)
            if not job.remaining:
                self._branch(job, rows[at + read - 1])
        except Exception as error:  # belongs to this request alone
            logger.exception("a request to model %s failed after its prompt", self._name)
            self._end(job, error)
        return at + read

    def _branch(self, job: Job, logits: NDArray[np.float32]) -> None:
        sequences = job.branch(self.model)
        self._prompts.remove(job)
        self._mailbox.put(job.generation, job.prompt_done())
        self._metrics.time_to_first_token.labels(self._name).observe(time.monotonic() - job.generation.submitted)
        self._decoding.extend(sequences)
        for sequence in sequences:
            if not self._draw(sequence, logits):
                return

    def _draw(self, sequence: Sequence, logits: NDArray[np.float32]) -> bool:
        """Draw one token; False when that failed and ended the whole job."""
        job, before = sequence.job, sequence.drawn_at
        if sequence not in job.running:  # another choice of the job failed in this step
            return False
        try:
            outputs: list[Output] = sequence.accept(logits)
        except Exception as error:  # belongs to this request alone
            logger.warning("a request to model %s failed while drawing: %s", self._name, error)
            self._end(job, error)
            return False
        job.drawn += 1
        self._metrics.tokens_generated.labels(self._name).inc()
        if before:
            self._metrics.inter_token_latency.labels(self._name).observe(sequence.drawn_at - before)
        for output in outputs:
            self._mailbox.put(job.generation, output)
        if sequence.finished:
            job.running.remove(sequence)
            self._decoding.remove(sequence)
            if not job.running:
                self._end(job, None)
        return True

    def _learn(self, plan: StepPlan, seconds: float) -> None:
        used = plan.prompt_tokens
        self._metrics.token_budget_utilization.labels(self._name).set(used / self.budget.tokens)
        self.budget.observe(used, len(plan.decodes), seconds)

    # Coming and going

    def _admit(self) -> None:
        """Begin queued requests while there are free sequence slots; one that is larger than all slots runs alone."""
        used = self._used()
        with self._lock:
            while self._queue and self._has_room(used):
                job = self._queue.popleft()
                used += job.request.n
                job.started_at = time.monotonic()
                self._prompts.append(job)
        for job in self._prompts:
            if job.state is None:
                job.state = self.model.new_state()

    def _ready(self) -> list[Sequence]:
        return [one for one in self._decoding if not one.job.generation.full]

    def _used(self) -> int:
        return len(self._decoding) + sum(job.request.n for job in self._prompts)

    def _has_room(self, used: int) -> bool:
        return not used or used + self._queue[0].request.n <= self.limits.max_sequences

    def _sweep(self) -> None:
        """End requests whose client is gone or whose time is up, wherever they are."""
        now = time.monotonic()
        with self._lock:
            leaving = [job for job in self._queue if _over(job, now)]
            if leaving:
                self._queue = deque(job for job in self._queue if job not in leaving)
        for job in [*leaving, *(job for job in self._begun() if _over(job, now))]:
            self._end(job, deadline_error(job.generation.submitted) if _late(job, now) else None)

    def _begun(self) -> list[Job]:
        return list(dict.fromkeys([*self._prompts, *(one.job for one in self._decoding)]))

    def _end(self, job: Job, error: Exception | None) -> None:
        """Forget a job and its memory; tell its consumer unless that one left."""
        if job in self._prompts:
            self._prompts.remove(job)
        if job.running:
            self._decoding = [one for one in self._decoding if one.job is not job]
        cancelled = job.generation.cancelled
        finished = error is None and not cancelled
        job.running.clear()
        job.state = None
        with self._lock:
            self._claimed -= job.claim
        self._metrics.generations.labels(self._name, _outcome(cancelled, error)).inc()
        if finished:
            usage = job.usage()
            if usage.decode_seconds > 0:
                self._metrics.tokens_per_second.labels(self._name).observe(job.drawn / usage.decode_seconds)
            self._mailbox.put(job.generation, Completed(usage))
        elif error is not None:
            self._mailbox.put(job.generation, error)

    def _gauges(self) -> None:
        metrics, name = self._metrics, self._name
        metrics.queue_depth.labels(name).set(len(self._queue))
        metrics.active_decode_slots.labels(name).set(len(self._decoding))
        metrics.inflight_tokens.labels(name).set(self._claimed)


def _over(job: Job, now: float) -> bool:
    return job.generation.cancelled or _late(job, now)


def _late(job: Job, now: float) -> bool:
    return job.request.deadline is not None and now >= job.request.deadline


def _outcome(cancelled: bool, error: Exception | None) -> str:
    if isinstance(error, RequestTimeoutError):
        return "timeout"
    if cancelled or isinstance(error, ShuttingDownError):
        return "cancelled"
    return "completed" if error is None else "failed"
