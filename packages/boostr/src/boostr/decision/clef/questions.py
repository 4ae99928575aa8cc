"""Clef's questions: what a request may hold, in the words of the release, and the texts of its record's pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boostr.decision.family import Kind
from boostr.errors import QuestionError

__all__ = ["Field", "check_body", "render"]

_SIDES = {
    "true": "The proposition is true or the answer is yes.",
    "false": "The proposition is false or the answer is no.",
}
_MEDIA = "records with images or videos require a processor"


@dataclass(frozen=True, slots=True)
class Field:
    """One question. `options` are (id, description) in the order of the prompt, `keys` ids in that of the request."""

    name: str
    kind: Kind
    instruction: str
    options: tuple[tuple[str, Any], ...]
    keys: tuple[str, ...]
    legend: tuple[Any, ...] = ()


def render(value: Any) -> str:
    """A string as it is, anything else as compact JSON with sorted keys."""
    return value if isinstance(value, str) else _json(value)


def option_text(option: tuple[str, Any]) -> str:
    """The object that stands for an option; its description comes first, and is left out where null."""
    name, description = option
    return _json({"option_id": name} if description is None else {"description": description, "option_id": name})


def check_body(body: Any) -> list[Field]:
    """The fields of a request. Raises QuestionError for the first fault, in the release's order."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), str) or "state" not in body:
        raise QuestionError("model and state are required")
    questions = body.get("questions")
    if not isinstance(questions, dict) or not questions:
        raise QuestionError("at least one question is required")
    fields = [_field(name, question) for name, question in questions.items()]
    if body.get("images") or body.get("videos"):
        raise QuestionError(_MEDIA)
    return fields


def _field(name: str, question: Any) -> Field:
    if not isinstance(question, dict):
        raise QuestionError(f"{name}: question must be an object")
    kind, criteria = question.get("type"), question.get("criteria")
    if not isinstance(kind, str) or kind not in ("noul", "choice", "score"):
        raise QuestionError(f"{name}: type must be noul, choice, or score")
    if kind != "noul" and not criteria:
        raise QuestionError(f"{name}: criteria must not be empty")
    given = question.get("instructions")
    instruction = name if given is None or given == "" else render(given)
    if not instruction:
        raise QuestionError("a question without an id needs instructions")
    if kind == "noul":
        given_sides = _noul(name, criteria)
        sides = tuple((side, given_sides.get(side, usual)) for side, usual in _SIDES.items())
        return Field(name, "noul", instruction, sides, tuple(_SIDES))
    if kind == "choice":
        if not isinstance(criteria, dict):
            raise QuestionError(f"{name}: choice criteria must be an object")
        # By code point, so that the order in which a client writes them tells the model nothing.
        return Field(name, "choice", instruction, tuple(sorted(criteria.items(), key=_name)), tuple(criteria))
    if not isinstance(criteria, list | dict | str):
        raise QuestionError(f"{name}: score criteria must be a list")
    levels = tuple(criteria)  # of an object its keys, of a text its characters, as the release reads them
    options = tuple((str(at), level) for at, level in enumerate(levels))
    return Field(name, "score", instruction, options, tuple(key for key, _ in options), levels)


def _noul(name: str, criteria: Any) -> Mapping[str, Any]:
    if not criteria:
        return {}
    try:
        return dict(criteria)  # also of pairs, as the release reads them
    except (TypeError, ValueError):
        raise QuestionError(f"{name}: noul criteria must be an object") from None


def _name(option: tuple[str, Any]) -> str:
    return option[0]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def header(number: int, field: Field) -> str:
    """The piece before a question's instruction."""
    return f"\nFIELD {number}\nID: {field.name}\nTYPE: {field.kind}\nINSTRUCTION: "


def pieces_of(fields: Sequence[Field]) -> list[str]:
    """Every piece of the schema in order, each of which is tokenized alone."""
    pieces = ["\n\nSCHEMA FIELDS:\n"]
    for number, field in enumerate(fields, 1):
        pieces += [header(number, field), field.instruction, "\nALLOWED OPTIONS:\n"]
        for at, option in enumerate(field.options, 1):
            pieces += [f"OPTION {at}: ", option_text(option), "\n"]
        pieces.append("END FIELD\n")
    return pieces
