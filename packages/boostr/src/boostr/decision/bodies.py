"""Checks of a request's body that families share, told as the vendors' servers tell them (FastAPI's error lists)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boostr.errors import QuestionError

__all__ = ["require_fields"]

_KINDS: dict[type, tuple[str, str]] = {dict: ("dict_type", "Input should be a valid dictionary")}


def require_fields(body: Mapping[str, Any], *fields: tuple[str, type | None]) -> None:
    """Raises QuestionError listing every field that is missing or not of its type; None stands for any."""
    faults: list[dict[str, Any]] = []
    for name, kind in fields:
        loc = ["body", name]
        if name not in body:
            faults.append({"type": "missing", "loc": loc, "msg": "Field required", "input": dict(body)})
        elif kind is not None and not isinstance(body[name], kind):
            code, message = _KINDS[kind]
            faults.append({"type": code, "loc": loc, "msg": message, "input": body[name]})
    if faults:
        raise QuestionError(faults)
