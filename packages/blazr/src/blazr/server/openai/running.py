"""One request while it runs: its hold on the model, its generations, and their events as one sequence.

Knows no wire shape. Whoever makes a RunningRequest must `close` it; that cancels what has not finished.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from blazr.engine import Completed, Event, Generation, GenerationRequest, Lane, Usage
from blazr.lifecycle.protocol import Lease

__all__ = ["RunningRequest", "usage_object"]

Indexed = tuple[int, Event]  # (prompt index, event)


class RunningRequest:
    """Generations of one HTTP request, one for each prompt."""

    def __init__(self, lease: Lease[Lane]) -> None:
        self.lease = lease
        self.started = time.monotonic()
        self.usages: list[Usage] = []
        self._generations: list[Generation] = []

    def submit(self, requests: Sequence[GenerationRequest]) -> None:
        """Run the prompts as the model or variant that is held. Raises what Lane.submit_all raises."""
        adapter = self.lease.model.span_adapter
        self._generations = self.lease.lane.submit_all([replace(one, adapter=adapter) for one in requests])

    def close(self) -> None:
        """Cancel what still runs and give the model back."""
        for generation in self._generations:
            generation.cancel()
        self.lease.release()

    async def events(self, ping_seconds: float | None = None) -> AsyncGenerator[Indexed | None, None]:
        """All events as they come; None after every `ping_seconds` without one. Raises the request's error."""
        if len(self._generations) == 1:
            source = _single(self._generations[0], ping_seconds)
        else:
            source = _merged(self._generations, ping_seconds)
        async with aclosing(source):
            async for item in source:
                if item is not None and isinstance(item[1], Completed):
                    self.usages.append(item[1].usage)
                yield item

    def usage(self) -> dict[str, Any]:
        """OpenAI's usage object with the server's timings; complete after the last event."""
        return usage_object(self.usages, time.monotonic() - self.started, self.lease.load_seconds)


def usage_object(usages: Sequence[Usage], seconds: float, load_seconds: float) -> dict[str, Any]:
    """Tokens over all prompts and choices; times in milliseconds, left out where they are zero."""
    prompt = sum(usage.prompt_tokens for usage in usages)
    completion = sum(usage.completion_tokens for usage in usages)
    decode = max((usage.decode_seconds for usage in usages), default=0.0)
    timings = {
        "total_duration_ms": round(1000 * seconds, 3),
        "prompt_eval_duration_ms": round(1000 * max((usage.prompt_seconds for usage in usages), default=0.0), 3),
        "load_duration_ms": round(1000 * load_seconds, 3),
        "tokens_per_second": round(completion / decode, 2) if decode > 0 else 0.0,
    }
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **{name: value for name, value in timings.items() if value},
    }


async def _single(generation: Generation, ping_seconds: float | None) -> AsyncGenerator[Indexed | None, None]:
    while True:
        if not await generation.ready(ping_seconds):
            yield None
            continue
        try:
            event = await anext(generation)
        except StopAsyncIteration:
            return
        yield 0, event


async def _merged(
    generations: Sequence[Generation], ping_seconds: float | None
) -> AsyncGenerator[Indexed | None, None]:
    queue: asyncio.Queue[Indexed | Exception] = asyncio.Queue()

    async def forward(index: int, generation: Generation) -> None:
        try:
            async for event in generation:
                queue.put_nowait((index, event))
        except Exception as error:  # raised again where the events are read
            queue.put_nowait(error)

    tasks = [asyncio.create_task(forward(index, one)) for index, one in enumerate(generations)]
    left = len(tasks)
    try:
        while left:
            try:
                async with asyncio.timeout(ping_seconds):
                    item = await queue.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(item, Exception):
                raise item
            left -= isinstance(item[1], Completed)
            yield item
    finally:
        for task in tasks:
            task.cancel()
