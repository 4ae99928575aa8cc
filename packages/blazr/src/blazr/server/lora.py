"""GET and POST /v1/lora, DELETE /v1/lora/{name}: which adapters are served as variants of which model."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from blazr.errors import RequestError
from blazr.lifecycle.variants import Variant
from blazr.server.openai.fields import parse_body
from blazr.server.replies import json_reply
from blazr.server.service import service_of

__all__ = ["add_adapter", "list_adapters", "remove_adapter"]


class AdapterRequest(msgspec.Struct, kw_only=True):
    path: str
    name: str | None = None
    model: str | None = None


async def list_adapters(request: Request) -> Response:
    """Every registered variant, and whether it is in memory."""
    models = service_of(request).models
    loaded = {one.description.id for one in models.running()}
    data = [{**_entry(one), "loaded": one.id in loaded} for one in models.variants()]
    return json_reply({"object": "list", "data": data})


async def add_adapter(request: Request, body: bytes) -> ASGIApp:
    """{path, name, model} -> the variant, built and ready."""
    asked = parse_body(body, AdapterRequest)
    if not asked.path:
        raise RequestError("path is empty: say which adapter directory", "path")
    models = service_of(request).models
    variant = await models.register(asked.path, model=asked.model or None, name=asked.name or None)
    return json_reply(_done(variant))


async def remove_adapter(request: Request) -> Response:
    """Requests that run on the variant finish; later ones are 404."""
    service = service_of(request)
    service.check_accepting()
    name, model = request.path_params["name"], request.query_params.get("model") or None
    return json_reply(_done(await service.models.unregister(name, model=model)))


def _done(variant: Variant) -> dict[str, Any]:
    return {"status": "ok", "model": variant.base, "adapter": variant.name, **_entry(variant)}


def _entry(variant: Variant) -> dict[str, Any]:
    return {
        "id": variant.id,
        "object": "model",
        "name": variant.name,
        "base": variant.base,
        "path": str(variant.path),
        "rank": variant.rank,
        "adapted_modules": variant.module_count,
        "created": variant.created,
    }
