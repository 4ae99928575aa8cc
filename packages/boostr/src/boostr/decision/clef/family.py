"""Clef as a Family: a request's body to one record, its hidden states through the joint head to the body of the answer.

No state is shared between requests: the head reads the whole record. Knows no queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostr.decision.bodies import written_out
from boostr.decision.clef.answers import answer
from boostr.decision.clef.questions import Field, check_body, render
from boostr.decision.clef.record import Record, encode_record
from boostr.decision.family import Hidden, Plan, Row
from boostr.decision.header import declared_family
from boostr.decision.heads.joint_schema import CONFIG, WEIGHTS, JointSchemaConfig, JointSchemaHead, Question
from boostr.decision.readout import probabilities
from boostr.errors import ConfigError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel
    from boostr.tokenizers.base import Tokenizer

__all__ = ["Clef", "ClefLimits"]

_TYPES = {"noul": 0, "choice": 1, "score": 2}


@dataclass(frozen=True, slots=True)
class ClefLimits:
    """record_tokens  of one request, whose state is cut to fit
    state_tokens   a tighter cut of the state, or None
    """

    record_tokens: int = 16_384
    state_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    fields: Sequence[Field]
    record: Record


class Clef:
    """One loaded Clef. `open` makes it of a model and its directory."""

    name = "clef"
    tells_cached = False

    def __init__(self, tokenizer: Tokenizer, head: JointSchemaHead, limits: ClefLimits | None = None) -> None:
        self.limits = limits or ClefLimits()
        self._tokenizer = tokenizer
        self._head = head

    @staticmethod
    def recognise(directory: Path, metadata: Mapping[str, Any]) -> bool:
        head = (directory / CONFIG).is_file() and (directory / WEIGHTS).is_file()
        return head or declared_family(metadata) == "clef"

    @staticmethod
    def check(directory: Path) -> None:
        JointSchemaConfig.read(directory)

    @classmethod
    def open(
        cls,
        model: LanguageModel,
        directory: Path,
        *,
        fitted: Mapping[str, float] | None = None,
        limits: ClefLimits | None = None,
    ) -> Clef:
        """`fitted` must be empty: Clef has no temperature. Raises ConfigError, FormatError or WeightsError."""
        if fitted:
            raise ConfigError(f"{directory}: Clef's probabilities have no temperature: remove its calibration file")
        head = JointSchemaHead.load(directory, model.network.lm_head.weight)
        if head.config.hidden_size != model.network.hidden_size:
            raise ConfigError(
                f"{directory / CONFIG} reads hidden states of {head.config.hidden_size}, and {model.name} has "
                f"{model.network.hidden_size}"
            )
        return cls(model.require_tokenizer(), head, limits)

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """One row, the record, of which every position is read.

        Raises QuestionError, and DecisionLimitError where the questions alone are over `record_tokens`.
        """
        with written_out():
            fields, state = check_body(body), render(body["state"])
            record = encode_record(self._tokenizer, state, fields, self.limits.record_tokens, self.limits.state_tokens)
        row = Row(record.ids, range(len(record.ids)))
        return Plan((row,), 0, _Asked(body["model"], fields, record))

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        """Clef's body, in its order of keys. hidden[0] is (T, hidden_size), of every position of the record.

        Raises NumericalError for logits that are not finite.
        """
        asked: _Asked = plan.request
        questions = [
            Question(_TYPES[field.kind], place.question, place.options)
            for field, place in zip(asked.fields, asked.record.places, strict=True)
        ]
        logits = self._head(hidden[0], asked.record.ids, questions)
        answers = {
            field.name: answer(field, probabilities(each, 1.0, f"question '{field.name}'"))
            for field, each in zip(asked.fields, logits, strict=True)
        }
        usage = {"input_tokens": len(asked.record.ids), "output_tokens": 0}
        return {"model": asked.model, "answers": answers, "usage": usage}

    def describe(self) -> dict[str, Any]:
        return describe(self._head.config, self.limits)


def describe(config: JointSchemaConfig, limits: ClefLimits) -> dict[str, Any]:
    """What a Clef says of itself, known without its weights."""
    return {
        "family": "clef",
        "readout": "joint_schema",
        "head_width": config.width,
        "head_dtype": "float32",
        "temperatures": None,
        "limits": {"record_tokens": limits.record_tokens, "state_tokens": limits.state_tokens},
    }
