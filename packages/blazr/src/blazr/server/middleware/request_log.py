"""The outermost layer: request ids, the access log, request metrics and the count of open requests.

Logs method, path, status and time; never headers, query strings or bodies, which may hold keys or private text.
"""

import logging
import re
import time
import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blazr.server.service import Service

__all__ = ["PROBES", "RequestLog"]

logger = logging.getLogger("blazr.access")
PROBES = frozenset({"/health", "/metrics"})  # open to everybody, and never limited
_GIVEN_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestLog:
    """`templates` maps an endpoint to its route template: metrics must not have a label per path that someone tried."""

    def __init__(self, app: ASGIApp, service: Service, templates: Mapping[object, str], log: bool) -> None:
        self.app = app
        self._service = service
        self._templates = templates
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        scope["blazr.request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        started = time.monotonic()
        self._begin(scope)
        try:
            await self.app(scope, receive, send_with_id)
        finally:
            self._end(scope, scope.get("blazr.status", status), time.monotonic() - started)

    def _begin(self, scope: Scope) -> None:
        self._service.metrics.requests_active.inc()
        if scope["path"] not in PROBES:
            self._service.opened()

    def _end(self, scope: Scope, status: int, seconds: float) -> None:
        metrics = self._service.metrics
        metrics.requests_active.dec()
        if scope["path"] not in PROBES:
            self._service.closed()
        method = scope["method"] if scope["method"] in _METHODS else "other"
        path = self._templates.get(scope.get("endpoint"), "unmatched")
        metrics.requests.labels(method, path).inc()
        metrics.request_duration.labels(method, path, str(status)).observe(seconds)
        if self._log:
            client = (scope.get("client") or ("-",))[0]
            logger.log(
                logging.DEBUG if scope["path"] in PROBES else logging.INFO,
                "%s %s %s %d %.1f ms %s",
                client,
                method,
                _printable(scope["path"]),
                status,
                1000 * seconds,
                scope["blazr.request_id"],
            )


def _printable(path: str) -> str:
    """A path that cannot forge log lines."""
    return path[:200].encode("unicode_escape").decode("ascii")
