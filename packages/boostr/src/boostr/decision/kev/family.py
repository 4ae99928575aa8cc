"""Kev as a Family: a request's body to rows, hidden states to the body of the answer. Knows no queue and no cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostr.decision.bodies import written_out
from boostr.decision.family import CALIBRATION, TYPES, Hidden, Plan, Row
from boostr.decision.header import declared_family
from boostr.decision.kev.answers import answer
from boostr.decision.kev.config import HEAD, KevConfig
from boostr.decision.kev.questions import Shown, check_body, render, render_question
from boostr.decision.kev.rows import Delimited
from boostr.decision.readout import probabilities
from boostr.errors import ConfigError, DecisionLimitError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["Kev", "KevLimits"]

DEFAULT_MODEL = "kev-latest"


@dataclass(frozen=True, slots=True)
class KevLimits:
    """state_tokens     of the state, its delimiter with it
    row_tokens       of the state and one question
    truncate_states  read only the first tokens of longer states, and say so, in place of refusing them
    """

    state_tokens: int = 65_536
    row_tokens: int = 73_728
    truncate_states: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    questions: Mapping[str, Shown]
    state_tokens: int
    state_tokens_used: int
    input_tokens: int


class Kev:
    """One loaded Kev. `open` makes it of a model and its directory."""

    name = "kev"
    tells_cached = False

    def __init__(self, config: KevConfig, rows: Delimited, limits: KevLimits | None = None) -> None:
        self.config = config
        self.limits = limits or KevLimits()
        self._rows = rows

    @staticmethod
    def recognise(directory: Path, metadata: Mapping[str, Any]) -> bool:
        return (directory / HEAD).is_file() or declared_family(metadata) == "kev"

    @staticmethod
    def check(directory: Path) -> None:
        KevConfig.read(directory)

    @classmethod
    def open(
        cls,
        model: LanguageModel,
        directory: Path,
        *,
        fitted: Mapping[str, float] | None = None,
        limits: KevLimits | None = None,
    ) -> Kev:
        """`model` is the base under Kev's adapter, or whole weights.

        Raises ConfigError, FormatError, or TokenizerError for a base without Kev's delimiters.
        """
        config = replace(KevConfig.read(directory), fitted=dict(fitted or {}))
        width, hidden = config.head.q_weight.shape[1], model.network.hidden_size
        if width != hidden:
            raise ConfigError(f"{directory / HEAD} reads hidden states of {width}, and {model.name} has {hidden}")
        return cls(config, Delimited(model.require_tokenizer()), limits)

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """Rows of a body: the state and one question each, in the request's order.

        Raises QuestionError, and DecisionLimitError for the state first, then for questions in order.
        """
        checked = check_body(body)
        with written_out():
            questions = {name: render_question(each) for name, each in checked["questions"].items()}
            text = render(checked["state"])
        whole = self._rows.state(text)
        state = self._fitting(whole)
        rows = [self._row(state, shown) for shown in questions.values()]
        counted = len(state) + sum(len(row.ids) - len(state) for row in rows)
        model = checked.get("model", DEFAULT_MODEL)
        return Plan(rows, len(state), _Asked(model, questions, len(whole), len(state), counted))

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        """Kev's body, in its order of keys. hidden[r] is (options + 1, hidden_size): options' ends, then the decision.

        `latency_ms` is 0.0 and stays in its place: whoever serves sets it to milliseconds from a request's arrival to
        its answer, with one decimal. Raises NumericalError for logits that are not finite.
        """
        asked: _Asked = plan.request
        answers = {}
        for (name, shown), states in zip(asked.questions.items(), hidden, strict=True):
            logits = self.config.head(states[-1], states[:-1])
            p = probabilities(logits, self.config.temperature_of(shown.kind), f"question '{name}'")
            answers[name] = answer(shown.kind, shown.keys, p, shown.legend)
        usage = {"input_tokens": asked.input_tokens, "output_tokens": self._rows.count(json.dumps(answers))}
        body = {"model": asked.model, "answers": answers, "usage": usage, "latency_ms": 0.0}
        if self.limits.truncate_states:
            usage |= {"state_tokens": asked.state_tokens, "state_tokens_used": asked.state_tokens_used}
            body["truncated"] = asked.state_tokens_used < asked.state_tokens
        return body

    def describe(self) -> dict[str, Any]:
        return describe(self.config, self.limits)

    def _fitting(self, state: list[int]) -> list[int]:
        most = self.limits.state_tokens
        if len(state) <= most or self.limits.truncate_states:
            return state[:most]
        raise DecisionLimitError(
            f"state is {len(state):,} tokens, over the {most:,}-token limit (the <state> token included): shorten the "
            "document or split it across requests; or start the server with --decision-truncate-states to read only "
            f"its first {most:,} tokens (responses then say truncated: true)"
        )

    def _row(self, state: list[int], shown: Shown) -> Row:
        row = self._rows.row(state, shown)
        branch, most = len(row.ids) - len(state), self.limits.row_tokens
        if len(row.ids) > most:
            raise DecisionLimitError(
                f"branch too long: {branch} tokens with a {len(state)}-token state (row limit {most})"
            )
        return row


def describe(config: KevConfig, limits: KevLimits) -> dict[str, Any]:
    """What a Kev says of itself, known without its weights."""
    sources = {kind: CALIBRATION if kind in config.fitted else HEAD for kind in TYPES}
    return {
        "family": "kev",
        "readout": "pointer",
        "base": config.base,
        "base_revision": config.base_revision,
        "rank": config.rank or None,
        "head_width": config.head.q_weight.shape[0],
        "head_dtype": "float32",
        "temperature": config.temperature,
        "temperatures": {kind: config.temperature_of(kind) for kind in sources},
        "temperature_sources": sources,
        "limits": {
            "state_tokens": limits.state_tokens,
            "row_tokens": limits.row_tokens,
            "options": 255,
            "levels": 255,
            "truncate_states": limits.truncate_states,
        },
    }
