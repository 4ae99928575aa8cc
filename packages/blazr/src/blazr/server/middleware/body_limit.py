"""Bounds request bodies, whether they announce their length or come in chunks."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.server.errors import PayloadTooLargeError

__all__ = ["BodyLimit"]


class BodyLimit:
    """At most `limit` bytes; beyond it PayloadTooLargeError, before more is read."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isascii() and announced.isdigit() and int(announced[:20]) > self._limit:
            raise self._error()
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                if taken > self._limit:
                    raise self._error()
            return message

        await self.app(scope, bounded, send)

    def _error(self) -> PayloadTooLargeError:
        return PayloadTooLargeError(f"the body is larger than {self._limit} bytes, the limit of server.max_body_size")
