"""A submitted request as its consumer sees it, and the crossing from the lane's thread to the event loop."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from blazr.engine.events import Completed, Event
from blazr.engine.request import GenerationRequest
from blazr.errors import RequestTimeoutError

__all__ = ["Generation", "Mailbox", "deadline_error"]

MOST_UNREAD = 256  # events; beyond them the lane lets the request rest until its consumer has read
_ENOUGH_READ = MOST_UNREAD // 2


class Generation:
    """An async iterator of events, ended by Completed; the request's error is raised from it.

    One consumer, on the event loop that submitted it. Leaving early must `cancel()`: the lane then drops the request
    before its next step.
    """

    def __init__(self, request: GenerationRequest, wake: Callable[[], None]) -> None:
        self.request = request
        self.submitted = time.monotonic()
        self.cancelled = False  # written by any thread, read by the lane between steps
        self.loop = asyncio.get_running_loop()
        self._wake = wake
        self._events: deque[Event | Exception] = deque()
        self._arrived = asyncio.Event()
        self._ended = False
        self._put = 0  # counted on the lane's thread
        self._taken = 0  # counted on the event loop

    @property
    def full(self) -> bool:
        """Whether its consumer is so far behind that nothing more should be generated for it."""
        return self._put - self._taken >= MOST_UNREAD and not self.cancelled

    def cancel(self) -> None:
        """Nobody reads any more. Does nothing after the end."""
        if not self._ended and not self.cancelled:
            self.cancelled = True
            self._wake()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._ended:
            raise StopAsyncIteration
        if not self._events:
            await self._wait()
        event = self._events.popleft()
        self._taken += 1
        if self._put - self._taken == _ENOUGH_READ:
            self._wake()
        if isinstance(event, Exception):
            self._ended = True
            raise event
        self._ended = isinstance(event, Completed)
        return event

    async def ready(self, timeout: float | None = None) -> bool:
        """Wait until an event or error can be read; False after `timeout` seconds without one."""
        if self._events or self._ended:
            return True
        try:
            async with asyncio.timeout(timeout):
                await self._wait()
        except TimeoutError as error:
            if isinstance(error, RequestTimeoutError):
                raise
            return False
        return True

    async def _wait(self) -> None:
        self._arrived.clear()
        deadline = self.request.deadline
        try:
            # The lane checks deadlines between steps; this one also holds when a step is slow.
            async with asyncio.timeout_at(deadline):
                await self._arrived.wait()
        except TimeoutError:
            if deadline is None or time.monotonic() < deadline:
                raise
            self.cancel()
            self._ended = True
            raise deadline_error(self.submitted) from None

    def counted(self) -> None:
        """Called on the lane's thread for every event on its way."""
        self._put += 1

    def deliver(self, event: Event | Exception) -> None:
        """Called on the event loop by the mailbox."""
        self._events.append(event)
        self._arrived.set()


class Mailbox:
    """Collects a step's events on the lane's thread and posts them with one call per event loop."""

    def __init__(self) -> None:
        self._letters: dict[asyncio.AbstractEventLoop, list[tuple[Generation, Event | Exception]]] = {}

    def put(self, generation: Generation, event: Event | Exception) -> None:
        """Queue an event until `post`."""
        if not generation.cancelled:
            generation.counted()
            self._letters.setdefault(generation.loop, []).append((generation, event))

    def post(self) -> None:
        """Hand everything over. The requests of a loop that has been closed count as cancelled."""
        letters, self._letters = self._letters, {}
        for loop, batch in letters.items():
            try:
                loop.call_soon_threadsafe(_deliver, batch)
            except RuntimeError:
                for generation, _ in batch:
                    generation.cancelled = True


def deadline_error(submitted: float) -> RequestTimeoutError:
    """The error of a request that ran past its deadline."""
    seconds = time.monotonic() - submitted
    return RequestTimeoutError(
        f"the request did not finish within its time limit (after {seconds:.1f} s); ask for fewer tokens, or raise "
        "server.request_timeout_secs"
    )


def _deliver(batch: list[tuple[Generation, Event | Exception]]) -> None:
    for generation, event in batch:
        generation.deliver(event)
