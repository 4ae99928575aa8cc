"""The decider as a Family: a request's body to rows, hidden states to the body of the answer.

Mirrors the vendor's server, which never rewrites options as its library does. Knows no queue and no cache.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.decision.bodies import BodyField, checked_fields, written_out
from boostr.decision.decider.answers import answer
from boostr.decision.decider.config import SIDECAR, DeciderConfig
from boostr.decision.decider.questions import RowText, Shown, question_rows, render_question, render_state
from boostr.decision.decider.rows import Prompt
from boostr.decision.family import TYPES, Hidden, Plan, Reading, Row, shared_tokens
from boostr.decision.header import named_by_header
from boostr.decision.heads.label_tokens import LabelTokenHead
from boostr.decision.readout import finite, probabilities
from boostr.errors import DecisionLimitError, QuestionError, TemplateError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Decider", "DeciderLimits"]

_FIELDS = (
    BodyField("state", required=True),
    BodyField("questions", "map", required=True),
    BodyField("model", "text", nullable=True),
    BodyField("independent", "flag"),
    BodyField("layout", "text", nullable=True),
    BodyField("assets", "map", nullable=True),
)


@dataclass(frozen=True, slots=True)
class DeciderLimits:
    """The vendor's bounds of one request. The state alone is cut; whatever else is too long is refused."""

    state_tokens: int = 32_768
    row_tokens: int = 36_864
    rows: int = 1024
    request_tokens: int = 1_048_576


@dataclass(frozen=True, slots=True)
class _Asked:
    """A rendered request: each question with its rows' types and option counts, and the tokens that it cost."""

    questions: Mapping[str, Shown]
    slots: Sequence[RowText]
    input_tokens: int


class Decider:
    """One loaded decider. `open` makes it of a model and its directory."""

    name = "decider"
    tells_cached = True

    def __init__(
        self, config: DeciderConfig, prompt: Prompt, head: LabelTokenHead, limits: DeciderLimits | None = None
    ) -> None:
        self.config = config
        self.limits = limits or DeciderLimits()
        self._prompt = prompt
        self._head = head

    @staticmethod
    def recognise(directory: Path, metadata: Mapping[str, Any]) -> bool:
        sidecar = (directory / SIDECAR).is_file()
        return sidecar or named_by_header(metadata, "decider", ("decider ", "decider-"), {"one-pass", "system-one"})

    @staticmethod
    def check(directory: Path) -> None:
        DeciderConfig.read(directory)

    @classmethod
    def open(
        cls,
        model: LanguageModel,
        directory: Path,
        *,
        fitted: Mapping[str, float] | None = None,
        limits: DeciderLimits | None = None,
    ) -> Decider:
        """Raises ConfigError, TemplateError or TokenizerError."""
        config = DeciderConfig.read(directory)
        if not (directory / SIDECAR).is_file() and any(directory.glob("*.gguf")):
            warnings.warn(
                f"{directory} has no {SIDECAR}, which a release keeps beside its GGUF file: answers are at "
                "temperature 1 and list score levels, and released deciders are read otherwise",
                stacklevel=2,
            )
        if fitted:
            config = replace(config, temperatures=replace(config.temperatures, fitted=dict(fitted)))
        template = model.chat_template if config.layout == "chat" else None
        if config.layout == "chat" and template is None:
            raise TemplateError(f"{SIDECAR} asks for the chat layout, and {model.path} has no chat template")
        prompt = Prompt(model.require_tokenizer(), template)
        softcap = getattr(model.config, "final_logit_softcapping", None)
        return cls(config, prompt, LabelTokenHead(model.network.lm_head.weight, prompt.labels, softcap), limits)

    def plan(self, body: Mapping[str, Any]) -> Plan:
        given = checked_fields(body, *_FIELDS)
        if given.get("assets"):
            raise QuestionError("this server was started without image support")
        independent = given.get("independent", True)
        isolated = self.config.isolated_levels and independent
        with written_out():
            questions = {name: render_question(each, isolated) for name, each in given["questions"].items()}
            state = render_state(given["state"])
        slots = [row for shown in questions.values() for row in question_rows(shown)]
        if not slots:
            return Plan((), 0, _Asked(questions, slots, 0))
        groups = [[slot] for slot in slots] if independent else [slots]
        self._check_rows(len(groups))
        context = self._prompt.state_ids(state, self.limits.state_tokens)
        ends = [self._prompt.questions(group) for group in groups]
        lengths = [len(context) + len(end.ids) for end in ends]
        self._check_tokens(lengths)
        # Joined only now: a thousand rows behind the longest state would hold more memory than all that may run.
        rows = [Row([*context, *end.ids], [len(context) + read for read in end.reads]) for end in ends]
        shared = len(context) + shared_tokens([list(end.ids) for end in ends]) if len(rows) > 1 else 0
        counted = shared + sum(length - shared for length in lengths)
        return Plan(rows, len(context), _Asked(questions, slots, counted))

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        asked: _Asked = plan.request
        temperatures = self.config.temperatures
        read = [
            probabilities(z[: len(slot.options)], temperatures.of(slot.kind, len(slot.options)), "the request")
            for slot, z in zip(asked.slots, self._logits(hidden), strict=True)
        ]
        return {
            "model": f"decider-{self.config.version}",
            "answers": dict(_answers(asked.questions, iter(read))),
            "usage": {"input_tokens": asked.input_tokens, "output_tokens": 0},
        }

    def readings(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Reading]:
        """What the answers are made of, by question: see Reading. Raises NumericalError as `answer` does."""
        asked: _Asked = plan.request
        rows = iter(self._logits(hidden))
        found = {}
        for name, shown in asked.questions.items():
            logits = np.stack([next(rows)[: len(slot.options)] for slot in question_rows(shown)])
            found[name] = Reading(shown.kind, shown.names, logits if shown.isolated else logits[0])
        return found

    def describe(self) -> dict[str, Any]:
        return describe(self.config, self.limits)

    def _logits(self, hidden: Sequence[Hidden]) -> Sequence[Hidden]:
        """Label logits of every slot. Raises NumericalError where they are not finite."""
        if not len(hidden):
            return ()
        return list(finite(self._head(np.concatenate(hidden)), "the request"))

    def _check_rows(self, rows: int) -> None:
        if rows > self.limits.rows:
            raise DecisionLimitError(
                f"too many questions: the request expands to {rows} scoring rows, the limit is {self.limits.rows} "
                "(inference.decision.max_rows)"
            )

    def _check_tokens(self, lengths: Sequence[int]) -> None:
        longest, total = max(lengths), sum(lengths)
        if longest > self.limits.row_tokens:
            raise DecisionLimitError(
                f"too many tokens: one row has {longest} tokens, the limit is {self.limits.row_tokens} per row "
                "(inference.decision.max_row_tokens)"
            )
        if total > self.limits.request_tokens:
            raise DecisionLimitError(
                f"too many tokens: the request has {total} tokens over {len(lengths)} rows, the limit is "
                f"{self.limits.request_tokens} (inference.decision.max_request_tokens)"
            )


def describe(config: DeciderConfig, limits: DeciderLimits) -> dict[str, Any]:
    """What a decider says of itself, known without its weights."""
    temperatures = config.temperatures
    rule = temperatures.by_options
    return {
        "family": "decider",
        "readout": "label_tokens",
        "version": config.version,
        "layout": config.layout,
        "isolated_levels": config.isolated_levels,
        "temperatures": {kind: temperatures.of(kind, 2) for kind in TYPES},
        "temperature_by_options": None if rule is None else dict(zip(("a", "b", "min"), rule, strict=True)),
        "temperature_sources": temperatures.sources(),
        "limits": {
            "state_tokens": limits.state_tokens,
            "row_tokens": limits.row_tokens,
            "rows": limits.rows,
            "request_tokens": limits.request_tokens,
            "options": 255,
            "levels": 10,
        },
    }


def _answers(questions: Mapping[str, Shown], read: Iterator[list[float]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, shown in questions.items():
        yield name, answer(shown, [next(read) for _ in question_rows(shown)])
