"""What a decision family is: how it renders a request to rows, and how it reads answers out of their hidden states.

Knows neither networks nor how rows are run: run.py does that, the same way for every family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["CALIBRATION", "TYPES", "Calibrated", "Family", "Hidden", "Kind", "Plan", "Reading", "Row", "shared_tokens"]

Hidden = NDArray[np.float32]
Kind = Literal["choice", "noul", "score"]

TYPES: tuple[Kind, ...] = ("choice", "noul", "score")
CALIBRATION = "blazr_calibration.json"  # beside the sidecar: temperatures fitted on the user's own labels


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence of tokens. `reads` are the positions in it, ascending, whose hidden states the head needs."""

    ids: Sequence[int]
    reads: Sequence[int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A request rendered.

    rows     what the network reads; may be empty
    prefix   so many first tokens are the state's: the same in all rows, and where a kept state may end. All reads lie
             behind them
    request  what the family needs again to answer
    """

    rows: Sequence[Row]
    prefix: int
    request: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """The logits of one question before any temperature.

    kind    "choice", "noul" or "score"
    names   the answer's keys in the order of the logits: a choice's options, a score's levels, a noul's false and true
    logits  (n,), of a noul no before yes; of a score whose levels are asked alone (n, 2), [no, yes] of each
    """

    kind: Kind
    names: Sequence[str]
    logits: Hidden


class Family(Protocol):
    """One vendor's way to ask and answer. Immutable; used from several threads."""

    name: str
    tells_cached: bool  # whether its usage says how many tokens a kept prefix saved

    @staticmethod
    def recognise(directory: Path, metadata: Mapping[str, Any]) -> bool:
        """Whether its sidecar lies in the directory, or a GGUF header, where given, names this family and no other."""
        ...

    @staticmethod
    def check(directory: Path) -> None:
        """Read the sidecars, so that what is wrong with them is told before weights are read.

        Raises ConfigError, FormatError or ModelNotFoundError.
        """
        ...

    @classmethod
    def open(
        cls, model: LanguageModel, directory: Path, *, fitted: Mapping[str, float] | None = None, limits: Any = None
    ) -> Self:
        """The family around a loaded model or variant.

        fitted  temperatures by type that come before the vendor's
        limits  the family's own limits class, or None for the vendor's numbers
        """
        ...

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """Render the parsed body of a request.

        Raises QuestionError for a malformed one, in the vendor's words, and DecisionLimitError for one over a limit.
        """
        ...

    def answer(self, plan: Plan, hidden: Sequence[Hidden]) -> dict[str, Any]:
        """The body of the answer. hidden[r] is (len(rows[r].reads), hidden_size), behind the final norm.

        Where the wire has `latency_ms`, its 0.0 stands for what whoever ran the request measured.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What `/v1/models` says of the model as JSON: family, readout, temperatures and their sources, limits."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """A family whose temperatures can be fitted on labelled requests."""

    def readings(self, plan: Plan, hidden: Sequence[Hidden]) -> Mapping[str, Reading]:
        """What the answers of a plan are made of, by question in the request's order. Arguments as of `answer`."""
        ...


def shared_tokens(sequences: Sequence[Sequence[int]]) -> int:
    """How many first tokens all sequences have in common; they are lists, or all of them tuples."""
    first, last = min(sequences), max(sequences)  # type: ignore[type-var]
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
