"""Labelled requests run on a decision model: what its head said, beside which answer was right, as records to fit on.

Rules and words for labels are those of decider-ai 1.10.0. Knows no family: any that gives `readings` will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.decision.calibration.records import Record
from boostr.decision.family import Calibrated, Reading
from boostr.decision.run import run_plan
from boostr.errors import DecisionError, ParameterError

if TYPE_CHECKING:
    from boostr.decision.model import DecisionModel

__all__ = ["Labelled", "collect", "read_labelled"]

_FIELDS = ("state", "questions", "labels")


@dataclass(frozen=True, slots=True)
class Labelled:
    """number  of the line or place it came from, for messages
    labels  by question: a choice's option name, a noul's true or false, a score's level from 0. Questions without one
            are not counted
    """

    number: int
    state: Any
    questions: Mapping[str, Any]
    labels: Mapping[str, Any]


def read_labelled(number: int, value: Any) -> Labelled:
    """Check the JSON {"state", "questions", "labels"} of request `number`. Raises ParameterError that begins with
    "request <number>: "."""
    if not isinstance(value, dict):
        raise _fault(number, "not a JSON object")
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        raise _fault(number, f"has no {' and no '.join(missing)}; a labelled request has {', '.join(_FIELDS)}")
    for name in ("questions", "labels"):
        if not isinstance(value[name], dict):
            raise _fault(number, f"{name} must be an object by question id, got {type(value[name]).__name__}")
    unasked = sorted(set(value["labels"]) - set(value["questions"]))
    if unasked:
        raise _fault(number, f"labels has {unasked[0]!r}, which is not among the questions")
    return Labelled(number, value["state"], value["questions"], value["labels"])


def collect(model: DecisionModel, requests: Iterable[Labelled]) -> Iterator[Record]:
    """Run requests one by one; a record of each labelled question, at temperature 1 and as the model serves it.

    Raises ParameterError, naming the request, for one that is malformed or whose label is not an answer of its
    question, and at once for a family without temperatures.
    """
    family = model.family
    if not isinstance(family, Calibrated):
        raise ParameterError(
            f"{family.name} cannot be fitted on requests; give records that hold logits or probabilities", "model"
        )
    return _collected(model, family, requests)


def _collected(model: DecisionModel, family: Calibrated, requests: Iterable[Labelled]) -> Iterator[Record]:
    for request in requests:
        body = {"model": model.model.name, "state": request.state, "questions": request.questions}
        try:
            plan = model.plan(body)
        except DecisionError as error:
            raise _fault(request.number, str(error)) from error
        readings = family.readings(plan, run_plan(model.model, plan))
        for name, reading in readings.items():
            if name not in request.labels:
                continue
            try:
                gold = _gold(name, reading, request.labels[name])
            except ValueError as error:
                raise _fault(request.number, str(error)) from None
            yield Record(reading.kind, reading.logits.astype(np.float64), gold)


def _gold(name: str, reading: Reading, label: Any) -> int:
    """The index of the right answer among the logits."""
    names: Sequence[str] = reading.names
    if reading.kind == "noul":
        if not isinstance(label, int | float) or label not in (0, 1):
            raise ValueError(f"gold of noul question {name!r} must be true or false, got {label!r}")
        return int(label)
    if reading.kind == "score":
        if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < len(names):
            raise ValueError(
                f"gold of score question {name!r} must be a level index in 0..{len(names) - 1}, got {label!r}"
            )
        return label
    if not isinstance(label, str) or label not in names:
        raise ValueError(f"gold of choice question {name!r} is not one of its options: {label!r}")
    return list(names).index(label)


def _fault(number: int, message: str) -> ParameterError:
    return ParameterError(f"request {number}: {message}", "labels")
