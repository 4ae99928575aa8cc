"""An upper bound on requests that are open at one time, so that a flood costs an answer each and not memory."""

from starlette.types import ASGIApp, Receive, Scope, Send

from blazr.errors import OverloadedError
from blazr.server.middleware.request_log import PROBES

__all__ = ["ConcurrencyLimit"]


class ConcurrencyLimit:
    """Beyond `limit` open requests: 503. How many of them run, and which wait, is the lanes' matter."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self._limit = limit
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        if self._open >= self._limit:
            raise OverloadedError(f"{self._open} requests are open, which is the limit: try again later", 2.0)
        self._open += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._open -= 1
