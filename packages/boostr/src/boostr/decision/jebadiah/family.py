"""Jebadiah as a Family: a request's body to rows, hidden states to the body of the answer.

Mirrors the vendor's server for what is refused and answered, its training contract for the prompt. Knows no queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.decision.family import Hidden, Plan, Row
from boostr.decision.heads.label_tokens import LabelTokenHead
from boostr.decision.jebadiah.answers import answer, probabilities
from boostr.decision.jebadiah.config import CONTRACT, TEMPERATURES, JebadiahConfig, parse_temperatures
from boostr.decision.jebadiah.questions import Shown, render_questions, render_state
from boostr.decision.jebadiah.rows import Cut, Prompt
from boostr.errors import DecisionLimitError, QuestionError, TemplateError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Jebadiah", "JebadiahLimits"]


@dataclass(frozen=True, slots=True)
class JebadiahLimits:
    """prompt_tokens  of one question's prompt
    options        of a choice; None: as many as the tokenizer has single labels in a row (68 in Qwen3.5's). The
                   vendor's own server stops at 20, since its engine reports no more
    cut            shorten long states as the trainer does, in place of refusing them
    """

    prompt_tokens: int = 8192
    options: int | None = None
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    questions: Mapping[str, Shown]
    raw: bool  # without temperatures
    input_tokens: int


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
        """Whether one of its sidecars lies there, or a GGUF header names this family and no other."""
        contract, temperatures = directory / CONTRACT, directory / TEMPERATURES
        if contract.is_file() and b"prompt_source_sha256" in contract.read_bytes()[:65536]:
            return True
        if temperatures.is_file() and parse_temperatures(temperatures.read_text("utf-8", "replace")):
            return True
        decision = metadata.get(f"{metadata.get('general.architecture')}.decision.type")
        if decision is not None:
            return bool(decision == "jebadiah")
        return (
            str(metadata.get("general.basename", "")).lower() == "jebadiah"
            or str(metadata.get("general.name", "")).lower().startswith("jebadiah")
            or {"typed-decisions", "ainode"} <= set(metadata.get("general.tags") or ())
        )

    @classmethod
    def open(
        cls,
        model: LanguageModel,
        directory: Path,
        *,
        fitted: Mapping[str, float] | None = None,
        limits: JebadiahLimits | None = None,
    ) -> Jebadiah:
        """The family around a loaded model or variant. Raises ConfigError, TemplateError or TokenizerError.

        fitted  temperatures by type that come before the sidecar's
        """
        if model.chat_template is None:
            raise TemplateError(f"{model.path} has no chat template, which Jebadiah's prompt is written in")
        config = replace(JebadiahConfig.read(directory), fitted=dict(fitted or {}))
        prompt = Prompt(model.require_tokenizer(), model.chat_template)
        config.check_contract(model.chat_template.text, len(prompt.labels))
        limits = limits or JebadiahLimits()
        more = (limits.options or 0) > len(prompt.labels)
        labels = prompt.more_labels if more else prompt.labels
        head = LabelTokenHead(model.network.lm_head.weight, [label.id for label in labels])
        return cls(config, prompt, head, limits, model.name)

    def plan(self, body: Mapping[str, Any]) -> Plan:
        raw = self._check_fields(body)
        most = self.limits.options or len(self._prompt.labels)
        questions = render_questions(body.get("questions"), most)
        state = render_state(body.get("state"))
        rows = [self._row(name, state, shown) for name, shown in questions.items()]
        end = self._prompt.state_end(state, rows, next(iter(questions.values())))
        return Plan(rows, end, _Asked(questions, raw, sum(len(row.ids) for row in rows)))

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        asked: _Asked = plan.request
        logits = self._head(np.concatenate(hidden))
        answers = {}
        for (name, shown), z in zip(asked.questions.items(), logits, strict=True):
            temperature = 1.0 if asked.raw else self.config.temperature(shown.kind)
            answers[name] = answer(shown, probabilities(self._columns(z, shown), temperature))
        temperatures = self.config.all_temperatures()
        return {
            "model": self._model_name,
            "answers": answers,
            "usage": {"input_tokens": asked.input_tokens, "output_tokens": len(answers)},
            "latency_ms": 0.0,
            "calibration": {"applied": bool(temperatures) and not asked.raw, "temperatures": temperatures or None},
        }

    def describe(self) -> dict[str, Any]:
        return {
            "family": "jebadiah",
            "readout": "label_tokens",
            "temperatures": {kind: self.config.temperature(kind) for kind in ("choice", "noul", "score")},
            "temperature_sources": self.config.sources(),
            "limits": {
                "prompt_tokens": self.limits.prompt_tokens,
                "options": self.limits.options or len(self._prompt.labels),
                "levels": 10,
            },
        }

    def _columns(self, z: Hidden, shown: Shown) -> Hidden:
        """The logits of the labels that the question was shown, in option order."""
        wanted = [label.id for label in self._prompt.labels_for(len(shown.lines))]
        column = {token: at for at, token in enumerate(self._head.ids)}
        return z[[column[token] for token in wanted]]

    def _row(self, name: str, state: str, shown: Shown) -> Row:
        most = self.limits.prompt_tokens
        if self.limits.cut is not None:
            state = self._prompt.cut_state(state, shown, most, self.limits.cut)
        row = self._prompt.row(state, shown)
        if self.limits.cut is None and len(row.ids) > most:
            raise DecisionLimitError(
                f"question '{name}': the prompt is {len(row.ids)} tokens, more than the {most} this server takes "
                "(inference.decision.max_prompt_tokens). The state is refused, not cut"
            )
        return row

    def _check_fields(self, body: Mapping[str, Any]) -> bool:
        """Whether raw probabilities are asked for."""
        calibration, model = body.get("calibration"), body.get("model")
        if calibration not in (None, "raw"):
            raise QuestionError(f"'calibration' must be \"raw\" when given (got {calibration!r})")
        if model is not None and (not isinstance(model, str) or not model.strip()):
            raise QuestionError("'model' must be a non-empty string when given")
        return calibration == "raw"
