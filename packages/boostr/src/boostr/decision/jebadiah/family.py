"""Jebadiah as a Family: a request's body to rows, hidden states to the body of the answer.

Mirrors the vendor's server for what is refused and answered, its training contract for the prompt. Knows no queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.decision.bodies import written_out
from boostr.decision.family import TYPES, Hidden, Plan, Reading, Row, shared_tokens
from boostr.decision.header import named_by_header
from boostr.decision.heads.label_tokens import LabelTokenHead
from boostr.decision.jebadiah.answers import answer
from boostr.decision.jebadiah.config import JebadiahConfig, has_sidecar
from boostr.decision.jebadiah.questions import Shown, render_questions, render_state
from boostr.decision.jebadiah.rows import Cut, Head, Prompt
from boostr.decision.readout import finite, probabilities
from boostr.errors import DecisionLimitError, QuestionError, TemplateError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Jebadiah", "JebadiahLimits", "describe"]


@dataclass(frozen=True, slots=True)
class JebadiahLimits:
    """prompt_tokens  of one question's prompt
    options        of a choice; None: as many as the tokenizer has single labels in a row (68 in Qwen3.5's). The
                   vendor's own server stops at 20, since its engine reports no more
    cut            shorten long states as the trainer does, in place of refusing them; answers then list `warnings`
    rows           questions of a request, and
    request_tokens tokens of all its prompts: the vendor's server takes any number, and these are the decider's
    allow_contract_mismatch  log what differs from prompt_contract.json, in place of refusing to load
    """

    prompt_tokens: int = 8192
    options: int | None = None
    cut: Cut | None = None
    rows: int = 1024
    request_tokens: int = 1_048_576
    allow_contract_mismatch: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    questions: Mapping[str, Shown]
    raw: bool  # without temperatures
    input_tokens: int
    cut: Sequence[str]  # questions that did not read the whole state


class Jebadiah:
    """One loaded Jebadiah. `open` makes it of a model and its directory."""

    name = "jebadiah"
    tells_cached = True

    def __init__(
        self,
        config: JebadiahConfig,
        prompt: Prompt,
        head: Any,
        limits: JebadiahLimits | None = None,
        model_name: str = "jebadiah",
    ) -> None:
        self.config = config
        self.limits = limits or JebadiahLimits()
        self._prompt = prompt
        self._head = head
        self._model_name = model_name

    @staticmethod
    def recognise(directory: Path, metadata: Mapping[str, Any]) -> bool:
        return has_sidecar(directory) or named_by_header(
            metadata, "jebadiah", ("jebadiah",), {"typed-decisions", "ainode"}
        )

    @staticmethod
    def check(directory: Path) -> None:
        JebadiahConfig.read(directory)

    @classmethod
    def open(
        cls,
        model: LanguageModel,
        directory: Path,
        *,
        fitted: Mapping[str, float] | None = None,
        limits: JebadiahLimits | None = None,
    ) -> Jebadiah:
        """Raises ConfigError, TemplateError or TokenizerError."""
        if model.chat_template is None:
            raise TemplateError(f"{model.path} has no chat template, which Jebadiah's prompt is written in")
        config = replace(JebadiahConfig.read(directory), fitted=dict(fitted or {}))
        prompt = Prompt(model.require_tokenizer(), model.chat_template)
        limits = limits or JebadiahLimits()
        config.check_contract(model.chat_template.text, len(prompt.labels), strict=not limits.allow_contract_mismatch)
        more = (limits.options or 0) > len(prompt.labels)
        labels = prompt.more_labels if more else prompt.labels
        head = LabelTokenHead(model.network.lm_head.weight, [label.id for label in labels])
        return cls(config, prompt, head, limits, model.name)

    def plan(self, body: Mapping[str, Any]) -> Plan:
        # Fields are checked in the order in which the vendor's server does.
        _require_model(body.get("model"))
        with written_out():
            questions = render_questions(body.get("questions"), self._most_options)
            state = render_state(body.get("state"))
            raw = _is_raw(body.get("calibration"))
        if len(questions) > self.limits.rows:
            raise DecisionLimitError(
                f"too many questions: the request has {len(questions)}, the limit is {self.limits.rows} "
                "(inference.decision.max_rows)"
            )
        rows, end, cut = self._rows(state, questions)
        return Plan(rows, end, _Asked(questions, raw, sum(len(row.ids) for row in rows), cut))

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        """The server's body. Raises NumericalError where a question's probabilities are no numbers."""
        asked: _Asked = plan.request
        answers = {}
        for name, shown, z in self._logits(asked, hidden):
            temperature = 1.0 if asked.raw else self.config.temperature(shown.kind)
            answers[name] = answer(shown, probabilities(z, temperature, f"question '{name}'"))
        temperatures = self.config.all_temperatures()
        body = {
            "model": self._model_name,
            "answers": answers,
            "usage": {"input_tokens": asked.input_tokens, "output_tokens": len(answers)},
            "latency_ms": 0.0,
            "calibration": {"applied": bool(temperatures) and not asked.raw, "temperatures": temperatures or None},
        }
        if self.limits.cut is not None:  # told as the vendor's client does, which cuts
            most = self.limits.prompt_tokens
            body["warnings"] = [f"{name}: the state was cut to {most} prompt tokens" for name in asked.cut]
        return body

    def readings(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Reading]:
        """What the answers are made of, by question: see Reading. Raises NumericalError as `answer` does."""
        found = {}
        for name, shown, z in self._logits(plan.request, hidden):
            # The prompt shows true before false.
            order = slice(None, None, -1) if shown.kind == "noul" else slice(None)
            found[name] = Reading(shown.kind, shown.names[order], finite(z, f"question '{name}'")[order])
        return found

    def describe(self) -> dict[str, Any]:
        return describe(self.config, self.limits, len(self._prompt.labels))

    @property
    def _most_options(self) -> int:
        return self.limits.options or len(self._prompt.labels)

    def _logits(self, asked: _Asked, hidden: Sequence[Hidden]) -> Iterator[tuple[str, Shown, Hidden]]:
        """Each question with the logits of the labels that it was shown, in option order."""
        column = {token: at for at, token in enumerate(self._head.ids)}
        rows = self._head(np.concatenate(hidden))
        for (name, shown), z in zip(asked.questions.items(), rows, strict=True):
            yield name, shown, z[[column[label.id] for label in self._prompt.labels_for(len(shown.lines))]]

    def _rows(self, state: str, questions: Mapping[str, Shown]) -> tuple[list[Row], int, list[str]]:
        """The rows, how many first tokens of them are the state's, and the questions that do not read all of it."""
        rows: list[Row] = []
        cut: list[str] = []
        whole: list[int] = []  # the state, where it is cut
        head: Head | None = None
        tokens = 0
        for name, shown in questions.items():
            row = self._whole(name, state, shown, head)
            if head is None:
                head = self._prompt.head(state, shown, row)
            if self.limits.cut is not None and len(row.ids) > self.limits.prompt_tokens:
                whole = whole or self._prompt.encode(state)
                kept = self._prompt.cut_state(whole, len(row.ids), shown, self.limits.prompt_tokens, self.limits.cut)
                row = self._prompt.row(kept, shown)
                cut.append(name)
            rows.append(row)
            tokens += len(row.ids)
            if tokens > self.limits.request_tokens:
                raise DecisionLimitError(
                    f"too many tokens: the prompts of {len(rows)} of {len(questions)} questions have {tokens} tokens, "
                    f"the limit is {self.limits.request_tokens} (inference.decision.max_request_tokens)"
                )
        first = [] if head is None else list(head.ids)
        return rows, shared_tokens([first, *(list(row.ids[: len(first)]) for row in rows)]), cut

    def _whole(self, name: str, state: str, shown: Shown, head: Head | None) -> Row:
        """The row of an uncut state. Raises DecisionLimitError where it is too long and may not be cut."""
        most, refuse = self.limits.prompt_tokens, self.limits.cut is None
        if refuse and (tokens := self._prompt.exceeds(state, shown, most)):
            raise self._too_long(name, f"over {tokens}")
        row = self._prompt.row(state, shown, head)
        if refuse and len(row.ids) > most:
            raise self._too_long(name, str(len(row.ids)))
        return row

    def _too_long(self, name: str, tokens: str) -> DecisionLimitError:
        most = self.limits.prompt_tokens
        return DecisionLimitError(
            f"question '{name}': the prompt is {tokens} tokens, more than the {most} this server takes "
            "(inference.decision.max_prompt_tokens). The state is refused, not cut"
        )


def describe(config: JebadiahConfig, limits: JebadiahLimits, labels: int | None = None) -> dict[str, Any]:
    """What a Jebadiah says of itself, known without its weights.

    labels  single-token labels of the loaded tokenizer; None: as many as the contract names
    """
    return {
        "family": "jebadiah",
        "readout": "label_tokens",
        "base": config.base,
        "rank": config.rank,
        "temperatures": {kind: config.temperature(kind) for kind in TYPES},
        "temperature_sources": config.sources(),
        "limits": {
            "prompt_tokens": limits.prompt_tokens,
            "rows": limits.rows,
            "request_tokens": limits.request_tokens,
            "options": limits.options or labels or config.labels,
            "levels": 10,
        },
    }


def _require_model(model: Any) -> None:
    if model is not None and (not isinstance(model, str) or not model.strip()):
        raise QuestionError("'model' must be a non-empty string when given")


def _is_raw(calibration: Any) -> bool:
    """Whether probabilities without temperatures are asked for."""
    if calibration not in (None, "raw"):
        raise QuestionError(f"'calibration' must be \"raw\" when given (got {calibration!r})")
    return calibration is not None
