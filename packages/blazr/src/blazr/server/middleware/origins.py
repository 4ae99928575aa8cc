"""Refuses what a foreign web page makes a visitor's browser send to a server that asks for no key.

Two ways in: a host name that is re-pointed at 127.0.0.1 (DNS rebinding) turns the page's own origin into this server;
and a "simple" POST needs no preflight. With a key neither works, since a page does not know the key.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from blazr.server.errors import AccessDeniedError

__all__ = ["OriginGuard", "is_loopback"]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class OriginGuard:
    """`check_host`: also require that the Host header names this machine itself (a server bound to loopback)."""

    def __init__(self, app: ASGIApp, origins: Sequence[str], check_host: bool) -> None:
        self.app = app
        self._any_origin = "*" in origins
        self._origins = frozenset(origins)
        self._check_host = check_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check(scope["method"], headers.get("host", ""), headers.get("origin"))
        await self.app(scope, receive, send)

    def _check(self, method: str, host: str, origin: str | None) -> None:
        if self._check_host and not is_loopback(_host_name(host)):
            raise AccessDeniedError(
                f"this server is bound to the local machine and was asked for the host {host[:100]!r}; use localhost, "
                "or set an API key (--api-key)"
            )
        if origin is None or self._any_origin or origin in self._origins or method in _READING:
            return
        if urlsplit(origin).netloc.lower() != host.lower():
            raise AccessDeniedError(
                f"pages of {origin[:100]!r} may not use this server; list the origin in server.cors_origins, or set an "
                "API key (--api-key)"
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address literal can only mean this machine."""
    if host.lower().rstrip(".") == "localhost" or host.lower().rstrip(".").endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
