"""One change to Hypercorn's HTTP/2: a connection that opens and asks for nothing is closed like any idle one.

Hypercorn stops the idle clock when it sees the preface of HTTP/2, and starts it again only after a first request.
"""

import hypercorn.protocol
from hypercorn.events import Updated
from hypercorn.protocol.h2 import H2Protocol

__all__ = ["close_idle_connections"]


class _IdleFromTheStart(H2Protocol):
    async def initiate(self, headers: list[tuple[bytes, bytes]] | None = None, settings: bytes | None = None) -> None:
        await super().initiate(headers, settings)
        if headers is None:  # with headers an upgraded request is already running
            await self.send(Updated(idle=True))


def close_idle_connections() -> None:
    """From now on, in this process."""
    hypercorn.protocol.H2Protocol = _IdleFromTheStart  # type: ignore[attr-defined]
