"""The beginning of a stream: the status line waits for the first event, so that an early error is still a status."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from blazr.server.openai.running import RunningRequest
from blazr.server.sse import EventStream

__all__ = ["start_stream"]

Chunks = Callable[[AsyncGenerator[Any, None]], AsyncGenerator[Any, None]]


async def start_stream(running: RunningRequest, chunks: Chunks, ping_seconds: float) -> EventStream:
    """Wait for the first event, or one ping interval; raises the error if that comes first.

    From then on the stream owns `running` and closes it.
    """
    events = running.events(ping_seconds)
    first = await anext(events)
    return EventStream(chunks(_after(first, events)), running.close)


async def _after(first: Any, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    try:
        yield first
        async for item in events:
            yield item
    finally:
        await events.aclose()
