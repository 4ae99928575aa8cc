"""A token bucket per client: the API key where there are keys, else the address."""

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from blazr.errors import RateLimitError
from blazr.server.middleware.request_log import PROBES

__all__ = ["RateLimit"]

_MOST_CLIENTS = 10_000  # remembered; the longest unseen is forgotten first, and by then its bucket is mostly full


class RateLimit:
    """`per_minute` requests a minute, of which as many may come at once."""

    def __init__(self, app: ASGIApp, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self._rate = per_minute / 60
        self._burst = max(1.0, per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client -> (tokens, at)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PROBES:
            self._take(scope.get("blazr.client") or (scope.get("client") or ("unknown",))[0])
        await self.app(scope, receive, send)

    def _take(self, client: str) -> None:
        now = self._clock()
        tokens, at = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        enough = tokens >= 1
        self._buckets[client] = (tokens - 1 if enough else tokens, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if not enough:
            wait = (1 - tokens) / self._rate
            raise RateLimitError(f"more than {60 * self._rate:g} requests a minute: wait {wait:.0f} s", wait)
