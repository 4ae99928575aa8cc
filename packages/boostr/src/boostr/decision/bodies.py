"""Checks of a request's body that families share, told as the vendors' servers tell them (FastAPI's error lists)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from boostr.errors import QuestionError

__all__ = ["BodyField", "checked_fields", "written_out"]

FieldKind = Literal["any", "map", "text", "flag"]

_FLAGS = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True)
_FLAGS |= dict.fromkeys(("0", "false", "f", "no", "n", "off"), False)


@dataclass(frozen=True, slots=True)
class BodyField:
    """A field of a body. `nullable` lets null stand for what is not given."""

    name: str
    kind: FieldKind = "any"
    required: bool = False
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class _Fault:
    type: str
    msg: str


_NO_MAP = _Fault("dict_type", "Input should be a valid dictionary")
_NO_TEXT = _Fault("string_type", "Input should be a valid string")
_NO_FLAG = _Fault("bool_type", "Input should be a valid boolean")
_UNREADABLE_FLAG = _Fault("bool_parsing", "Input should be a valid boolean, unable to interpret input")


def checked_fields(body: Mapping[str, Any], *fields: BodyField) -> dict[str, Any]:
    """The fields that are given, flags as bools. Raises QuestionError listing every one that is missing or of a wrong
    type, in the order of `fields`.

    Flags are read as pydantic reads them: 0 and 1, and words such as "true", "off" and "n", stand for bools.
    """
    found: dict[str, Any] = {}
    faults: list[dict[str, Any]] = []
    for field in fields:
        loc = ["body", field.name]
        if field.name not in body:
            if field.required:
                faults.append({"type": "missing", "loc": loc, "msg": "Field required", "input": dict(body)})
            continue
        value = body[field.name]
        read = value if value is None and field.nullable else _read(field.kind, value)
        if isinstance(read, _Fault):
            faults.append({"type": read.type, "loc": loc, "msg": read.msg, "input": value})
        found[field.name] = read
    if faults:
        raise QuestionError(faults)
    return found


@contextmanager
def written_out() -> Iterator[None]:
    """Around whatever walks a request's JSON: nesting too deep for that is a QuestionError."""
    try:
        yield
    except RecursionError:
        raise QuestionError("the request is nested too deep to be written out; flatten it") from None


def _read(kind: FieldKind, value: Any) -> Any:
    if kind == "map" and not isinstance(value, dict):
        return _NO_MAP
    if kind == "text" and not isinstance(value, str):
        return _NO_TEXT
    return _flag(value) if kind == "flag" else value


def _flag(value: Any) -> bool | _Fault:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _FLAGS.get(value.lower(), _UNREADABLE_FLAG)
    if not isinstance(value, int | float):
        return _NO_FLAG
    if value in (0, 1):
        return bool(value)
    whole = -(2**63) <= value < 2**63 and value == int(value)  # what pydantic's core takes for an integer
    return _UNREADABLE_FLAG if whole else _NO_FLAG
