"""Server-sent events: JSON chunks, comments that keep a quiet connection open, and errors after the first byte."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from starlette.types import Receive, Scope, Send

from blazr.server.errors import describe_error
from blazr.server.replies import encode_json
from blazr.server.service import request_id_of
from blazr.server.waiting import ClientStalledError

__all__ = ["EventStream"]

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # nginx would collect the events
]


class EventStream:
    """An ASGI response that sends `chunks` as they come; None among them stands for a moment of silence.

    Ends with [DONE], or with one error event when the chunks fail. `cleanup` runs in every case.
    """

    def __init__(self, chunks: AsyncGenerator[Any, None], cleanup: Callable[[], None]) -> None:
        self._chunks = chunks
        self._cleanup = cleanup

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._chunks) as chunks:
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                await self._send_all(chunks, scope, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._cleanup()

    async def _send_all(self, chunks: AsyncGenerator[Any, None], scope: Scope, send: Send) -> None:
        try:
            async for chunk in chunks:
                line = b": ping\n\n" if chunk is None else b"data: " + encode_json(chunk) + b"\n\n"
                await send({"type": "http.response.body", "body": line, "more_body": True})
            last = b"data: [DONE]\n\n"
        except ClientStalledError:
            raise
        except Exception as error:  # the status line is gone: the error must travel as an event
            last = b"data: " + encode_json(describe_error(error, request_id_of(scope))[1]) + b"\n\n"
        await send({"type": "http.response.body", "body": last, "more_body": True})
