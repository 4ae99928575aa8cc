"""A time limit for a whole request: 408 before the first byte; after it the route ends its stream with an error event.

The deadline travels in the scope, and lanes and streams honour it themselves. This layer is the backstop for everything
else: a body that trickles in, a load, a template.
"""

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.errors import RequestTimeoutError

__all__ = ["Timeout"]

_GRACE = 0.25  # for the route's own error, which knows more, to come first
_STREAM_GRACE = 5.0  # for the last event to reach a slow client


class Timeout:
    """`seconds` from the request's first line to its last byte."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        now = time.monotonic()
        scope["blazr.deadline"] = now + self._seconds
        try:
            async with asyncio.timeout(self._seconds + _GRACE) as limit:

                async def watched(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        limit.reschedule(asyncio.get_running_loop().time() + self._left(now) + _STREAM_GRACE)
                    await send(message)

                await self.app(scope, receive, watched)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RequestTimeoutError(
                f"the request took longer than {self._seconds:g} s, the limit of server.request_timeout_secs"
            ) from error

    def _left(self, started: float) -> float:
        return max(0.0, started + self._seconds - time.monotonic())
