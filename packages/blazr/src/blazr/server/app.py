"""The application: its routes and the order of its middleware. Knows neither sockets nor signals: see run.py."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route

from blazr.config import ServerSettings, Settings
from blazr.engine import Lane, LaneLimits
from blazr.lifecycle.protocol import Models
from blazr.metrics import Metrics
from blazr.server import lora, ollama, probes, text
from blazr.server.errors import http_exception_reply
from blazr.server.middleware.api_keys import ApiKeys, read_key_file
from blazr.server.middleware.body_limit import BodyLimit
from blazr.server.middleware.concurrency import ConcurrencyLimit
from blazr.server.middleware.cors import Cors
from blazr.server.middleware.error_replies import ErrorReplies
from blazr.server.middleware.origins import OriginGuard, is_loopback
from blazr.server.middleware.rate_limit import RateLimit
from blazr.server.middleware.request_log import RequestLog
from blazr.server.middleware.timeout import Timeout
from blazr.server.openai.chat import chat_completions
from blazr.server.openai.completions import completions
from blazr.server.openai.models import list_models, show_model
from blazr.server.service import Service
from blazr.server.waiting import WaitingEndpoint

__all__ = ["create_app", "lane_limits"]


def create_app(
    models: Models[Lane],
    settings: Settings | None = None,
    metrics: Metrics | None = None,
    *,
    ping_seconds: float = 15.0,
) -> Starlette:
    """The ASGI application over `models`. `app.state.service` holds its state.

    `ping_seconds` is how long a stream may be silent before a comment line is sent. Raises SettingsError.
    """
    settings = settings or Settings()
    service = Service(models, settings, metrics or Metrics(), ping_seconds)
    routes = _routes()
    app = Starlette(
        routes=routes,
        middleware=_middleware(service, routes),
        exception_handlers={HTTPException: http_exception_reply},
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


def lane_limits(server: ServerSettings) -> LaneLimits:
    """What the server's settings mean for each model's lane."""
    return LaneLimits(server.max_concurrent_requests, server.max_queue, server.max_inflight_tokens)


def _routes() -> list[Route]:
    return [
        Route("/health", probes.health),
        Route("/metrics", probes.metrics),
        Route("/v1/models", list_models),
        Route("/v1/models/{id:path}", show_model),
        Route("/v1/completions", WaitingEndpoint(completions), methods=["POST"]),
        Route("/v1/chat/completions", WaitingEndpoint(chat_completions), methods=["POST"]),
        Route("/v1/lora", lora.list_adapters),
        Route("/v1/lora", WaitingEndpoint(lora.add_adapter), methods=["POST"]),
        Route("/v1/lora/{name}", lora.remove_adapter, methods=["DELETE"]),
        Route("/apply-template", WaitingEndpoint(text.apply_template), methods=["POST"]),
        Route("/tokenize", WaitingEndpoint(text.tokenize), methods=["POST"]),
        Route("/detokenize", WaitingEndpoint(text.detokenize), methods=["POST"]),
        Route("/api/tags", ollama.tags),
        Route("/api/show", WaitingEndpoint(ollama.show), methods=["POST"]),
        Route("/api/ps", ollama.running),
    ]


def _middleware(service: Service, routes: Sequence[Route]) -> list[Middleware]:
    """Outermost first. Errors become answers inside CORS, so that a browser may read them; access comes before limits,
    limits before work."""
    server = service.settings.server
    keys = [*server.api_keys, *(read_key_file(server.api_key_file) if server.api_key_file else [])]
    origins = server.cors_origins if server.cors_enabled else ()
    limits = lane_limits(server)
    stack = [Middleware(RequestLog, service, {route.endpoint: route.path for route in routes}, server.request_logging)]
    if origins:
        stack.append(Middleware(Cors, origins))
    stack.append(Middleware(ErrorReplies))
    if keys:
        stack.append(Middleware(ApiKeys, keys))
    else:
        stack.append(Middleware(OriginGuard, origins, is_loopback(server.host)))
    if server.rate_limit:
        stack.append(Middleware(RateLimit, server.rate_limit))
    stack.append(Middleware(ConcurrencyLimit, server.max_models * (limits.max_sequences + limits.max_queue)))
    if server.request_timeout_secs:
        stack.append(Middleware(Timeout, server.request_timeout_secs))
    stack.append(Middleware(BodyLimit, server.max_body_size))
    return stack
