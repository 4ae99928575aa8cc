"""The one worker thread of a loaded model. Gives each kind of work its turn; knows no requests' contents."""

import logging
import threading
from collections.abc import Sequence

from blazr.engine.generation import Generation
from blazr.engine.limits import LaneLimits
from blazr.engine.request import GenerationRequest
from blazr.engine.scheduler import Scheduler
from blazr.engine.work import Work
from blazr.errors import ShuttingDownError
from blazr.metrics import Metrics
from boostr.generate.language_model import LanguageModel

__all__ = ["Lane"]

logger = logging.getLogger("blazr.engine")


class Lane:
    """Runs a model's work on one thread, so that its states have one owner.

    Kinds of work beyond generation are passed as `more_work`; kinds with something to do take turns, one short piece
    each. Make it on any thread; `submit` belongs to an event loop.
    """

    def __init__(
        self,
        model: LanguageModel,
        limits: LaneLimits | None = None,
        metrics: Metrics | None = None,
        more_work: Sequence[Work] = (),
    ) -> None:
        self.model = model
        self.limits = limits or LaneLimits()
        self._metrics = metrics or Metrics()
        self._scheduler = Scheduler(model, self.limits, self._metrics)
        self._works: tuple[Work, ...] = (self._scheduler, *more_work)
        self._condition = threading.Condition()
        self._draining = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"lane {model.name}", daemon=True)
        self._thread.start()

    @property
    def active(self) -> int:
        """Requests queued or running now, of every kind."""
        return sum(work.active for work in self._works)

    @property
    def queued(self) -> int:
        """Generation requests whose prompt has not begun."""
        return self._scheduler.queued

    @property
    def alive(self) -> bool:
        """Whether the thread still serves; /health reports it."""
        return self._thread.is_alive()

    def submit(self, request: GenerationRequest) -> Generation:
        """Queue a request. Raises ParameterError, ContextLengthError, OverloadedError or ShuttingDownError at once."""
        return self.submit_all([request])[0]

    def submit_all(self, requests: Sequence[GenerationRequest]) -> list[Generation]:
        """Queue several requests, all or none."""
        for request in requests:
            request.check(self.model.vocab_size, self.model.context_length)
        generations = [Generation(request, self.wake) for request in requests]
        with self._condition:
            if self._draining:
                raise ShuttingDownError(f"model {self.model.name} is shutting down and takes no new requests")
            self._scheduler.submit(generations)
            self._condition.notify_all()
        return generations

    def wake(self) -> None:
        """Make the thread look at its work again: something was queued or cancelled."""
        with self._condition:
            self._condition.notify_all()

    def close(self, drain_seconds: float = 0.0) -> None:
        """Refuse new work, let running work finish for at most `drain_seconds`, fail the rest.

        Blocks until the thread has ended: a step in progress cannot be interrupted, and reads the model's weights.
        Closing again does nothing.
        """
        with self._condition:
            self._draining = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self.active, timeout=drain_seconds)
            self._stopping = True
            self._condition.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while self._wait():
            for work in self._works:
                if work.pending() and not self._stopping:
                    self._run_piece(work)
        error = ShuttingDownError("the server is shutting down; the request was not finished")
        for work in self._works:
            work.fail(error)
        self._metrics.forget_model(self.model.name)

    def _wait(self) -> bool:
        """Sleep until there is work; False when the lane must stop."""
        with self._condition:
            while not self._stopping and not any(work.pending() for work in self._works):
                self._condition.notify_all()  # a drain waits for this moment
                self._condition.wait()
            return not self._stopping

    def _run_piece(self, work: Work) -> None:
        try:
            work.run()
        except Exception as error:  # a fault of ours: its requests fail, the lane and other kinds of work go on
            logger.exception("the lane of model %s failed", self.model.name)
            work.fail(error)
