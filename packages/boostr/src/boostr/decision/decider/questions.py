"""The decider's questions: what a request may hold, and the text and options that the model reads. Knows no tokens.

Rules and error words follow decider-ai 1.10.0, `POST /v1/systemone`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boostr.decision.family import Kind
from boostr.errors import QuestionError

__all__ = ["RowText", "Shown", "question_rows", "render_question", "render_state"]

MAX_OPTIONS = 255
LEVELS = range(2, 11)
ANNOTATED_FROM = 8  # lists of so many elements have their positions written in

_FITS = "Which answer fits the context?"
_NUMBER = re.compile(r"^\s*-?\d+\s*:\s*")
_CHOICE = "choice criteria: a map of 2..255 options"
_SCORE = "score criteria: an ordered list of 2..10 level descriptions"
_NOUL = "noul criteria: a map of optional true/false descriptions"
_NO_TEXT = "question without instructions"
_NOTHING = "noul question without instructions: criteria must describe true or false"


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as the model sees it. `names` are the answer's keys, `legend` the texts of a score's levels."""

    kind: Kind
    text: str
    options: tuple[str, ...]
    names: tuple[str, ...]
    legend: tuple[str, ...] = ()
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class RowText:
    """One question of one row: its text and the options that are lettered under it."""

    kind: Kind
    text: str
    options: tuple[str, ...]


def render_state(state: Any) -> str:
    """A string as it is; anything else as Python writes JSON, with positions in its longer lists."""
    return state if isinstance(state, str) else _json(_annotated(state))


def render_question(question: Any, isolated_levels: bool) -> Shown:
    """Raises QuestionError."""
    if not isinstance(question, dict):
        raise QuestionError("a question must be an object")
    kind = question.get("type", "choice")
    criteria = question["criteria"] if "criteria" in question else question.get("options")
    given = question["instructions"] if "instructions" in question else question.get("question", "")
    if kind in ("noul", "bool"):
        return _noul(given, criteria)
    if kind not in ("choice", "score"):
        raise QuestionError(f"unknown question type {kind!r}")
    text = _text(given)
    if not text:
        raise QuestionError(_NO_TEXT)
    if kind == "choice":
        return _choice(text, criteria)
    return _score(text, criteria, isolated_levels and bool(question.get("isolated", True)))


def question_rows(shown: Shown) -> list[RowText]:
    """One row, or one yes/no row for each level of an isolated score."""
    if not shown.isolated:
        return [RowText(shown.kind, shown.text, shown.options)]
    fits = "{}\nProposed answer: {}\nDoes the proposed answer fit?"
    return [
        RowText("score", fits.format(shown.text, _NUMBER.sub("", level, count=1)), ("no", "yes"))
        for level in shown.legend
    ]


def _choice(text: str, criteria: Any) -> Shown:
    described = {str(each): None for each in criteria} if isinstance(criteria, list) else criteria
    if not isinstance(described, dict) or not 2 <= len(described) <= MAX_OPTIONS:
        raise QuestionError(_CHOICE)
    options = tuple(_option(name, description) for name, description in described.items())
    return Shown("choice", text, options, tuple(described))


def _score(text: str, criteria: Any, isolated: bool) -> Shown:
    levels = criteria
    if isinstance(criteria, dict):
        try:
            levels = [criteria[key] for key in sorted(criteria, key=float)]
        except ValueError as error:
            raise QuestionError(str(error)) from None
    if not isinstance(levels, list) or len(levels) not in LEVELS:
        raise QuestionError(_SCORE)
    legend = tuple(_text(level) for level in levels)
    options = tuple(f"{n}: {level}" for n, level in enumerate(legend))
    return Shown("score", text, options, tuple(str(n) for n in range(len(legend))), legend, isolated)


def _noul(given: Any, criteria: Any) -> Shown:
    if not isinstance(criteria, dict | None):
        raise QuestionError(_NOUL)
    sides: Mapping[str, Any] = criteria or {}
    text = "" if given is None else _text(given)
    if not text:
        if all(sides.get(side) in (None, "") for side in ("true", "false")):
            raise QuestionError(_NOTHING)
        text = _FITS
    return Shown(
        "noul", text, (_option("no", sides.get("false")), _option("yes", sides.get("true"))), ("false", "true")
    )


def _option(name: str, description: Any) -> str:
    # 0, false, {} and [] are descriptions; they equal neither null nor "".
    return name if description is None or description == "" else f"{name}: {_text(description)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except ValueError:  # Python writes no integer of more than 4300 digits
        raise QuestionError("a number is too long to be written out; send it as a text") from None


def _annotated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _annotated(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) < ANNOTATED_FROM:
        return [_annotated(each) for each in value]
    return [
        {"_index": at, **_annotated(each)} if isinstance(each, dict) else {"_index": at, "value": _annotated(each)}
        for at, each in enumerate(value)
    ]
