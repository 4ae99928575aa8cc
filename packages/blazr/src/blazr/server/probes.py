"""GET /health and GET /metrics: for orchestrators and Prometheus. Open to everybody; they name no private thing."""

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.requests import Request
from starlette.responses import Response

import blazr
from blazr.server.replies import json_reply
from blazr.server.service import service_of

__all__ = ["health", "metrics"]


async def health(request: Request) -> Response:
    """200 when requests are taken; 503 while the start model loads and while the server shuts down."""
    service = service_of(request)
    status = "draining" if service.draining else "ok" if service.models.ready else "loading"
    body = {
        "status": status,
        "version": blazr.__version__,
        "loaded_models": [one.description.id for one in service.models.running()],
    }
    return json_reply(body, 200 if status == "ok" else 503, {} if status == "ok" else {"Retry-After": "5"})


async def metrics(request: Request) -> Response:
    """Prometheus text format 0.0.4."""
    service = service_of(request)
    service.metrics.models_loaded.set(len(service.models.running()))
    service.metrics.models_available.set(len(await service.models.names()))
    return Response(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
