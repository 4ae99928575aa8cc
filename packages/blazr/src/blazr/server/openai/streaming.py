"""From a model that is asked for to an answer, whole or as a stream, with the model given back in every case.

A stream's status line waits for the first event, so that an early error is still a status. Knows no wire shape.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

from starlette.types import ASGIApp

from blazr.server.openai.running import RunningRequest
from blazr.server.openai.sampling import keep_alive_seconds
from blazr.server.openai.schemas import GenerationFields
from blazr.server.replies import json_reply
from blazr.server.service import Service
from blazr.server.sse import EventStream

__all__ = ["Answer", "respond"]


class Answer(Protocol):
    """What a route makes of the events of a running request."""

    async def whole(self) -> dict[str, Any]:
        """One object, when all is done."""
        ...

    def chunks(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """The objects of a stream; None, for a moment of silence, passes through."""
        ...


async def respond(
    service: Service, asked: GenerationFields, begin: Callable[[RunningRequest], Awaitable[Answer]]
) -> ASGIApp:
    """Hold the model that is asked for, have `begin` submit the work, and answer."""
    lease = await service.models.acquire(
        asked.model, adapter=asked.lora_adapter, keep_alive=keep_alive_seconds(asked.keep_alive)
    )
    running = RunningRequest(lease)
    try:
        answer = await begin(running)
        if asked.stream:
            return await _start_stream(running, answer, service.ping_seconds)
        reply = json_reply(await answer.whole())
    except BaseException:
        running.close()
        raise
    running.close()
    return reply


async def _start_stream(running: RunningRequest, answer: Answer, ping_seconds: float) -> EventStream:
    """Wait for the first event, or one ping interval; raises the error if that comes first.

    From then on the stream owns `running` and closes it.
    """
    events = running.events(ping_seconds)
    first = await anext(events)
    return EventStream(answer.chunks(_after(first, events)), running.close)


async def _after(first: Any, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    try:
        yield first
        async for item in events:
            yield item
    finally:
        await events.aclose()
