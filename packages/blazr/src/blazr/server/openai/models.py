"""GET /v1/models and /v1/models/{id}: what could be loaded by name, described without loading."""

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from blazr.errors import BlazrError
from blazr.lifecycle.protocol import ModelDescription
from blazr.server.replies import json_reply
from blazr.server.service import Service, service_of
from boostr.errors import BoostrError

__all__ = ["describe_all", "list_models", "show_model"]


async def list_models(request: Request) -> Response:
    """Every model."""
    described = await describe_all(service_of(request))
    return json_reply({"object": "list", "data": [_entry(one) for one in described]})


async def show_model(request: Request) -> Response:
    """One model, 404 when there is none of that name."""
    described = await service_of(request).models.describe(request.path_params["id"])
    return json_reply(_entry(described))


async def describe_all(service: Service) -> list[ModelDescription]:
    """Descriptions of every name; a model whose files vanished or cannot be read is left out of lists."""
    names = await service.models.names()
    found = await asyncio.gather(*(service.models.describe(name) for name in names), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, BlazrError | BoostrError | OSError):
            raise one
    return [one for one in found if isinstance(one, ModelDescription)]


def _entry(described: ModelDescription) -> dict[str, Any]:
    return {
        "id": described.id,
        "object": "model",
        "created": described.created,
        "owned_by": "local",
        **({"context_length": described.context_length} if described.context_length else {}),
        **described.extra,
    }
