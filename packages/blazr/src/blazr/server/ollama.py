"""GET /api/tags, POST /api/show and GET /api/ps: the management routes that Ollama's clients ask for."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from blazr.errors import RequestError
from blazr.lifecycle.protocol import ModelDescription
from blazr.server.openai.fields import parse_body
from blazr.server.openai.models import describe_all
from blazr.server.replies import json_reply
from blazr.server.service import service_of

__all__ = ["running", "show", "tags"]


class ShowRequest(msgspec.Struct, kw_only=True):
    name: str | None = None
    model: str | None = None
    verbose: bool | None = None


async def tags(request: Request) -> Response:
    """Every model on disk."""
    described = await describe_all(service_of(request))
    models = [{**_named(one), "modified_at": _rfc3339(one.created), "size": one.size} for one in described]
    return json_reply({"models": models})


async def show(request: Request, body: bytes) -> ASGIApp:
    """{name} -> what is known about the model, the chat template in use among it."""
    asked = parse_body(body, ShowRequest)
    name = asked.model or asked.name
    if not name:
        raise RequestError("name is missing: say which model", "name")
    one = await service_of(request).models.describe(name)
    defaults = service_of(request).settings.generation
    return json_reply(
        {
            "modelfile": f"FROM {one.id}\n",
            "parameters": f"temperature {defaults.temperature:g}\ntop_p {defaults.top_p:g}\ntop_k {defaults.top_k}",
            "template": one.chat_template,
            "template_text": one.chat_template_text,
            "details": _details(one),
            "model_info": dict(one.info),
        }
    )


async def running(request: Request) -> Response:
    """Models in memory."""
    models = [
        {
            **_named(one.description),
            "size": one.size,
            "size_vram": one.size_vram,
            # Ollama's clients parse a date; the year 9999 stands for "does not expire".
            "expires_at": _rfc3339(one.expires_at) if one.expires_at is not None else "9999-12-31T23:59:59+00:00",
        }
        for one in service_of(request).models.running()
    ]
    return json_reply({"models": models})


def _named(one: ModelDescription) -> dict[str, Any]:
    return {"name": one.id, "model": one.id, "details": _details(one)}


def _details(one: ModelDescription) -> dict[str, Any]:
    return {
        "format": one.format or "",
        "family": one.family or "",
        "parameter_size": one.parameter_size or "",
        "quantization_level": one.quantization or "",
    }


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
