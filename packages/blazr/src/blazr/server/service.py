"""What every route needs: the models, the settings, the metrics, and whether the server still takes work."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import Scope

from blazr.config import Settings
from blazr.engine import Lane
from blazr.errors import ShuttingDownError
from blazr.lifecycle.protocol import Models
from blazr.metrics import Metrics

__all__ = ["Service", "deadline_of", "request_id_of", "service_of"]


@dataclass(eq=False)
class Service:
    """One server's state. Changed on the event loop only."""

    models: Models[Lane]
    settings: Settings
    metrics: Metrics
    ping_seconds: float = 15.0  # silence on a stream before a comment line keeps the connection alive
    draining: bool = False
    open_requests: int = 0  # being answered now, probes not counted
    long_texts: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "blazr-long-text"))
    idle: asyncio.Event = field(default_factory=asyncio.Event)  # set while there are none

    def check_accepting(self) -> None:
        """Raises ShuttingDownError while draining."""
        if self.draining:
            raise ShuttingDownError("the server is shutting down and takes no new requests")

    def opened(self) -> None:
        self.open_requests += 1
        self.idle.clear()

    def closed(self) -> None:
        self.open_requests -= 1
        if not self.open_requests:
            self.idle.set()


def service_of(request: Request) -> Service:
    """The service of the app that got the request."""
    service: Service = request.app.state.service
    return service


def deadline_of(scope: Scope) -> float | None:
    """When the request's time limit ends, as time.monotonic(), if it has one."""
    deadline: float | None = scope.get("blazr.deadline")
    return deadline


def request_id_of(scope: Scope) -> str | None:
    """The id that the log and the x-request-id header carry."""
    request_id: str | None = scope.get("blazr.request_id")
    return request_id
