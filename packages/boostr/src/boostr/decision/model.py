"""A decision model as a researcher holds it: a language model with its family. Knows neither files nor a server."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boostr.decision.family import Family, Plan
from boostr.decision.prefix_cache import PrefixCache
from boostr.decision.run import read_prefix, run_plan
from boostr.errors import QuestionError
from boostr.state import SequenceState

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["DecisionModel"]


class DecisionModel:
    """Made by `boostr.decision.load`: `model` is the network that reads, `family` what is asked of it.

    prefixes  states of earlier requests' state prefixes; a request about the same state runs its questions only
    """

    def __init__(self, model: LanguageModel, family: Family, prefixes: PrefixCache | None = None) -> None:
        self.model = model
        self.family = family
        self.prefixes = PrefixCache(0) if prefixes is None else prefixes

    def __repr__(self) -> str:
        return f"<DecisionModel {self.model.name}: {self.family.name} on {self.model.report.summary()}>"

    def decide(self, state: Any, questions: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """{"answers": ..., "usage": ...} for typed questions about `state`, any JSON value.

        fields  further fields of the request, as the family's wire has them: `independent`, `calibration`
        Raises QuestionError for a malformed question, DecisionLimitError for more than the family takes.
        """
        body = self.answer({"model": self.model.name, "state": state, "questions": questions, **fields})
        return {"answers": body["answers"], "usage": body["usage"]}

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the answer to the parsed body of a request, as the family's server writes it."""
        started = time.perf_counter()
        plan = self.plan(body)
        kept, saved = self._prefix(plan)
        answered = self.family.answer(plan, run_plan(self.model, plan, kept))
        if self.prefixes.most_bytes and self.family.tells_cached:
            answered["usage"] |= {"cached_tokens": saved, "cached_input_tokens": saved}
        if "latency_ms" in answered:
            answered["latency_ms"] = round((time.perf_counter() - started) * 1000, 1)
        return answered

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """The request rendered by the family. Raises QuestionError or DecisionLimitError."""
        return self.family.plan(require_text(body))

    def _prefix(self, plan: Plan) -> tuple[SequenceState | None, int]:
        """A state behind the plan's prefix where such are kept, and how many tokens it saves."""
        if not plan.rows or not self.prefixes.takes(plan.prefix):
            return None, 0
        ids = plan.rows[0].ids[: plan.prefix]
        found = self.prefixes.find(ids)
        if found is not None:
            return found, len(ids)
        state = read_prefix(self.model, ids)
        self.prefixes.keep(ids, state)
        return state, 0

    def close(self) -> None:
        """Release the mapped files, of a variant its base's. The model must not be used afterwards."""
        self.prefixes.clear()
        (self.model.base or self.model).close()


def require_text(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """`body`, or QuestionError where one of its texts holds a lone surrogate: no token stands for it."""
    pending: list[Any] = [body]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise QuestionError(
                    f"a text holds a lone surrogate, U+{ord(value[error.start]):04X}; send valid Unicode"
                ) from None
        elif isinstance(value, Mapping):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            pending += value
    return body
