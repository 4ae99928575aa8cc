"""JSON answers. Knows no routes."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

__all__ = ["encode_json", "json_reply"]

encode_json = msgspec.json.Encoder().encode


def json_reply(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`data` as UTF-8 JSON."""
    return Response(encode_json(data), status, headers, media_type="application/json")
