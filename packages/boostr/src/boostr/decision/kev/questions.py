"""Kev's questions: what a request may hold, told as its server (pydantic) does, and the texts that the model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boostr.decision.family import Kind
from boostr.errors import QuestionError

__all__ = ["Shown", "check_body", "render", "render_question"]

OPTIONS = range(1, 256)


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as the model sees it. `keys` are the answer's keys, `legend` the texts of a score's levels."""

    kind: Kind
    text: str
    options: tuple[str, ...]
    keys: tuple[str, ...]
    legend: tuple[str, ...] = ()


def render(value: Any, level: int = 0) -> str:
    """A JSON value as indented text; a string is itself."""
    pad = "  " * level
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(f"{pad}- {render(item, level + 1).lstrip()}" for item in value)
    if isinstance(value, dict):
        return "\n".join(
            f"{pad}{key}:\n{render(item, level + 1)}"
            if isinstance(item, dict | list)
            else f"{pad}{key}: {render(item)}"
            for key, item in value.items()
        )
    return _number(value)


def _number(value: int | float) -> str:
    try:
        return str(value)
    except ValueError:
        raise QuestionError("a whole number has too many digits to be written out; send it as a string") from None


def render_question(question: dict[str, Any]) -> Shown:
    """Texts of a question that `check_body` has let through."""
    kind: Kind = question["type"]
    text = render(question.get("instructions"))
    criteria: Any = question.get("criteria")
    if kind == "noul":
        sides = criteria or {}
        options = _option("no", sides.get("false")), _option("yes", sides.get("true"))
        return Shown(kind, text, options, ("false", "true"))
    if kind == "choice":
        return Shown(kind, text, tuple(_option(name, each) for name, each in criteria.items()), tuple(criteria))
    levels = tuple(render(level) for level in criteria)
    return Shown(kind, text, levels, tuple(str(n) for n in range(len(levels))), levels)


def _option(name: str, description: Any) -> str:
    return name if description is None or description == "" else f"{name}: {render(description)}"


def check_body(body: Any) -> dict[str, Any]:
    """The body, or QuestionError with an entry for every fault, in the order of the vendor's fields."""
    if not isinstance(body, dict):
        raise QuestionError([_no_object(["body"], body)])
    faults: list[dict[str, Any]] = []
    if "state" not in body:
        faults.append(_fault("missing", ["body", "state"], "Field required", body))
    if not isinstance(body.get("model", ""), str):
        faults.append(_fault("string_type", ["body", "model"], "Input should be a valid string", body["model"]))
    faults += _question_faults(body)
    if faults:
        raise QuestionError(faults)
    return body


def _question_faults(body: dict[str, Any]) -> list[dict[str, Any]]:
    loc = ["body", "questions"]
    if "questions" not in body:
        return [_fault("missing", loc, "Field required", body)]
    questions = body["questions"]
    if not isinstance(questions, dict):
        return [_fault("dict_type", loc, "Input should be a valid dictionary", questions)]
    if not questions:
        return [_fault("too_short", loc, "Dictionary should have at least 1 item after validation, not 0", questions)]
    return [fault for name, each in questions.items() for fault in _faults_of(each, [*loc, name])]


def _faults_of(question: Any, loc: Sequence[Any]) -> list[dict[str, Any]]:
    """Faults of one question as none of the three types; the vendor lists them type by type, Noul's first."""
    if not isinstance(question, dict):
        return [_no_object([*loc, name], question) for name in ("Noul", "Choice", "Score")]
    kind, criteria = question.get("type"), question.get("criteria")
    if kind == "noul":
        if isinstance(criteria, dict | None):
            return []
        return [_fault("dict_type", [*loc, "Noul", "criteria"], "Input should be a valid dictionary", criteria)]
    if kind == "choice" and isinstance(criteria, dict) and len(criteria) in OPTIONS:
        return []
    if kind == "score" and isinstance(criteria, list) and len(criteria) in OPTIONS:
        return []
    at = [*loc, "Noul", "type"]
    if "type" not in question:
        return [_fault("missing", at, "Field required", question)]
    first = _fault("literal_error", at, "Input should be 'noul'", kind)
    if kind == "choice":
        return [first, _choice_fault(criteria, question, [*loc, "Choice", "criteria"])]
    if kind == "score":
        return [first, _score_fault(criteria, question, [*loc, "Score", "criteria"])]
    return [first]


def _choice_fault(criteria: Any, question: dict[str, Any], at: list[Any]) -> dict[str, Any]:
    if "criteria" not in question:
        return _fault("missing", at, "Field required", question)
    if not isinstance(criteria, dict):
        return _fault("dict_type", at, "Input should be a valid dictionary", criteria)
    return _fault("value_error", at, "Value error, criteria must have 1..255 options", criteria)


def _score_fault(criteria: Any, question: dict[str, Any], at: list[Any]) -> dict[str, Any]:
    if "criteria" not in question:
        return _fault("missing", at, "Field required", question)
    if not isinstance(criteria, list):
        return _fault("list_type", at, "Input should be a valid list", criteria)
    if not criteria:
        return _fault("too_short", at, "List should have at least 1 item after validation, not 0", criteria)
    message = f"List should have at most 255 items after validation, not {len(criteria)}"
    return _fault("too_long", at, message, criteria)


def _no_object(loc: list[Any], value: Any) -> dict[str, Any]:
    message = "Input should be a valid dictionary or object to extract fields from"
    return _fault("model_attributes_type", loc, message, value)


def _fault(kind: str, loc: Sequence[Any], message: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "loc": list(loc), "msg": message, "input": value}
