"""An upper bound on requests that are open at one time, so that a flood costs an answer each and not memory.

A request counts from when its body is complete: clients that announce a body and do not send it shut nobody out.
"""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.errors import OverloadedError, RequestTimeoutError
from blazr.server.middleware.request_log import PROBES

__all__ = ["ConcurrencyLimit"]

BODY_SECONDS = 20.0  # the longest silence in the middle of a body


class ConcurrencyLimit:
    """Beyond `limit` open requests: 503. How many of them run, and which wait, is the lanes' matter.

    As many more may be sending their bodies; when one too many begins, the one that has taken longest is cut (408).
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self._limit = limit
        self._open = 0
        self._sending: dict[object, asyncio.Timeout] = {}  # oldest first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        turn = _Turn(self)
        try:
            if _has_body(scope):
                await self.app(scope, _after_body(receive, turn), send)
            else:
                turn.begin()
                await self.app(scope, receive, send)
        finally:
            turn.end()


class _Turn:
    """One request's place: first among those that send a body, then among the open ones."""

    def __init__(self, limits: ConcurrencyLimit) -> None:
        self._limits = limits
        self.begun = False

    def begin(self) -> None:
        """Raises OverloadedError when there is no room."""
        limits = self._limits
        limits._sending.pop(self, None)
        if limits._open >= limits._limit:
            raise OverloadedError(f"{limits._open} requests are open, which is the limit: try again later", 2.0)
        limits._open += 1
        self.begun = True

    def waits(self, timeout: asyncio.Timeout) -> None:
        """The next piece of the body is awaited."""
        sending = self._limits._sending
        if self not in sending and len(sending) >= self._limits._limit:
            oldest = next(iter(sending))
            sending.pop(oldest).reschedule(asyncio.get_running_loop().time())
        sending[self] = timeout

    def end(self) -> None:
        self._limits._sending.pop(self, None)
        self._limits._open -= self.begun


def _after_body(receive: Receive, turn: _Turn) -> Receive:
    async def pieces() -> Message:
        if turn.begun:
            return await receive()
        try:
            async with asyncio.timeout(BODY_SECONDS) as timeout:
                turn.waits(timeout)
                message = await receive()
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise RequestTimeoutError("the rest of the request's body did not arrive in time") from error
        if message["type"] == "http.request" and not message.get("more_body"):
            turn.begin()
        return message

    return pieces


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    announced = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return announced and scope["method"] not in ("GET", "HEAD", "DELETE", "OPTIONS")
