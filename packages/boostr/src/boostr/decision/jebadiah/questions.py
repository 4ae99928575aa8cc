"""Jebadiah's questions: what its server refuses, in its words, and the text and options that the model reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boostr.decision.family import Kind
from boostr.errors import QuestionError

__all__ = ["Shown", "render_question", "render_questions", "render_state", "user_text"]

LEVELS = range(2, 11)
_TOO_MANY = (
    "{n} 'criteria' options is more than the {most} this node can report a probability for. One engine call carries "
    "back the top {most} labels, so a wider option set would answer with a distribution missing its tail"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as the model sees it: `lines` are the options behind their labels, `names` the answer's keys."""

    kind: Kind
    text: str
    lines: tuple[str, ...]
    names: tuple[str, ...]


def render_state(state: Any) -> str:
    """Null is nothing, a string stays as it is, else it is compact JSON with sorted keys. Raises QuestionError."""
    if state is None:
        return ""
    if isinstance(state, str):
        return state
    try:
        return json.dumps(state, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise QuestionError(f"'state' is not JSON-serializable: {error}") from None


def render_questions(questions: Any, most_options: int) -> dict[str, Shown]:
    """All questions by id. Raises QuestionError for the first fault; equal options are looked for last, as the vendor's
    server does."""
    if not isinstance(questions, dict) or not questions:
        raise QuestionError("'questions' must be a non-empty object of {id: question}")
    found: dict[str, Shown] = {}
    for name, question in questions.items():
        if _blank(name):
            raise QuestionError("every question id must be a non-empty string")
        found[name] = render_question(name, question, most_options)
    for name, shown in found.items():
        _require_distinct(name, shown.lines)
    return found


def render_question(name: str, question: Any, most_options: int) -> Shown:
    """One question under its id, its options perhaps equal. Raises QuestionError."""
    if not isinstance(question, dict):
        raise QuestionError(f"question '{name}' must be an object")
    kind, text, criteria = question.get("type"), question.get("instructions"), question.get("criteria")
    if kind not in ("choice", "noul", "score"):
        raise QuestionError(f"question '{name}': 'type' must be one of choice, noul, score (got {kind!r})")
    if not isinstance(text, str) or not text.strip():
        raise QuestionError(f"question '{name}' needs a non-empty 'instructions' string")
    try:
        if kind == "choice":
            options = _choice(criteria, most_options)
        elif kind == "noul":
            options = _noul(criteria)
        else:
            options = _score(criteria)
    except QuestionError as error:
        raise QuestionError(f"question '{name}': {error.detail}") from None
    names, lines = zip(*options, strict=True)
    return Shown(kind, text.strip(), lines, names)


def _require_distinct(name: str, lines: Sequence[str]) -> None:
    twice = sorted(line for line, count in Counter(lines).items() if count > 1)
    if twice:
        raise QuestionError(
            f"question '{name}': duplicate options {twice}. Every option must be distinct so an answer is unambiguous"
        )


def _choice(criteria: Any, most: int) -> list[tuple[str, str]]:
    options = _described(criteria, "choice")
    if len(options) < 2:
        raise QuestionError(f"a choice needs at least 2 'criteria' options, got {len(options)}")
    if len(options) > most:
        raise QuestionError(_TOO_MANY.format(n=len(options), most=most))
    return options


def _noul(criteria: Any) -> list[tuple[str, str]]:
    if criteria is None:
        criteria = {}
    if not isinstance(criteria, dict):
        raise QuestionError("'criteria' must be an object of {true: description, false: description}")
    lines = {"true": "true", "false": "false"}
    for key, description in criteria.items():
        side = key.strip() if isinstance(key, str) else key
        if side not in lines:
            raise QuestionError(f"a noul's 'criteria' names only 'true' and 'false' (got {key!r})")
        lines[side] = _line(side, description, named=side)
    return list(lines.items())


def _score(criteria: Any) -> list[tuple[str, str]]:
    if isinstance(criteria, list):
        for level in criteria:
            if _blank(level):
                raise QuestionError(f"every 'criteria' level must be a non-empty string (got {level!r})")
        options = [(level.strip(), level.strip()) for level in criteria]
    elif isinstance(criteria, dict):
        options = _described(criteria, "score")
    else:
        raise QuestionError(
            "a score question needs 'criteria', either an ordered list of levels or an object of {level: description}"
        )
    if len(options) not in LEVELS:
        raise QuestionError(f"a score's 'criteria' needs 2 to 10 ordered levels, got {len(options)}")
    if len({name for name, _ in options}) < len(options):
        raise QuestionError(
            "'criteria' repeats a level name. Every level must be distinct so a score names one of them"
        )
    return options


def _described(criteria: Any, kind: str) -> list[tuple[str, str]]:
    if not isinstance(criteria, dict) or not criteria:
        raise QuestionError(f"a {kind} question needs a non-empty 'criteria' object of {{name: description}}")
    options = []
    for key, description in criteria.items():
        if _blank(key):
            raise QuestionError(f"every 'criteria' name must be a non-empty string (got {key!r})")
        options.append((key.strip(), _line(key.strip(), description, named=key)))
    return options


def _line(name: str, description: Any, named: str) -> str:
    """An option's line; `named` is what a refusal calls it."""
    if description is not None and not isinstance(description, str):
        raise QuestionError(f"the 'criteria' description for '{named}' must be a string")
    words = (description or "").split()
    return f"{name}: {' '.join(words)}" if words else name


def _blank(text: Any) -> bool:
    return not isinstance(text, str) or not text.strip()


def user_text(state: str, shown: Shown, labels: Sequence[str]) -> str:
    """The user's turn: state, question, and the options behind their labels."""
    options = [f"{label}. {line}" for label, line in zip(labels, shown.lines, strict=False)]
    closing = "Answer with the label of one option and nothing else."
    return "\n".join(["STATE:", state, "", f"QUESTION: {shown.text}", "", "OPTIONS:", *options, "", closing])
