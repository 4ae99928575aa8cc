"""One temperature that makes given answers likeliest: a coarse grid, then golden section around its best point.

Objective, search and rounding are those of decider-ai 1.10.0; listed and isolated scores are fitted together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostr.decision.calibration.records import Floats, Record, log_probabilities
from boostr.decision.family import TYPES
from boostr.errors import ParameterError

__all__ = ["MIN_ROWS", "Fit", "fit_by_type", "fit_temperature_mixed", "mean_nll"]

MIN_ROWS = 50  # answers of a type below which its temperature stays the vendor's
LEAST, MOST = 0.05, 20.0
GRID = np.exp(np.linspace(math.log(LEAST), math.log(MOST), 801))
STEPS = 40
IMPOSSIBLE = 690.0  # the loss of an answer whose right option had no probability at all


@dataclass(frozen=True, slots=True)
class Fit:
    """Temperatures by type, where there were answers enough, and one for all, each with its mean loss before and after.

    rows  answers of every type
    nll   (at temperature 1, at the fitted one) in nats, by fitted type
    """

    by_type: dict[str, float]
    pooled: float
    rows: dict[str, int]
    nll: dict[str, tuple[float, float]]


class _Stack:
    """Records of one shape side by side, so that a loss over all of them is a few array operations."""

    def __init__(self, records: Sequence[Record]) -> None:
        if not records:
            raise ParameterError("there are no records to fit a temperature to", "records")
        alike: dict[tuple[int, ...], list[Record]] = {}
        for one in records:
            alike.setdefault(one.logits.shape, []).append(one)
        self._groups: list[tuple[Floats, NDArray[np.int64]]] = [
            (np.stack([one.logits for one in group]), np.array([one.gold for one in group])) for group in alike.values()
        ]

    def mean_nll(self, temperature: float) -> float:
        losses = []
        for z, gold in self._groups:
            logs = log_probabilities(z / temperature)
            right = -logs[np.arange(len(gold)), gold]
            losses.append(np.where(np.isfinite(right), right, IMPOSSIBLE))
        return float(np.concatenate(losses).mean())


def mean_nll(records: Sequence[Record], temperature: float) -> float:
    """Mean negative log-likelihood of the right options, in nats. Raises ParameterError without records."""
    return _Stack(records).mean_nll(temperature)


def fit_temperature_mixed(records: Sequence[Record]) -> float:
    """The temperature between 0.05 and 20 of the smallest mean loss, over listed and isolated records alike."""
    loss = _Stack(records).mean_nll
    losses = [loss(t) for t in GRID]
    at = int(np.argmin(losses))
    low, high = math.log(GRID[max(at - 1, 0)]), math.log(GRID[min(at + 1, len(GRID) - 1)])
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(math.exp(left)), loss(math.exp(right))
    for _ in range(STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(math.exp(right))
    found = math.exp((low + high) / 2)
    return found if loss(found) <= losses[at] else float(GRID[at])


def fit_by_type(records: Sequence[Record], min_rows: int = MIN_ROWS) -> Fit:
    """Fit every type that has at least `min_rows` records, and all records together; temperatures to three places."""
    groups = {kind: [one for one in records if one.kind == kind] for kind in TYPES}
    by_type: dict[str, float] = {}
    nll: dict[str, tuple[float, float]] = {}
    for kind, group in groups.items():
        if len(group) >= max(1, min_rows):
            fitted = fit_temperature_mixed(group)
            by_type[kind] = round(fitted, 3)
            nll[kind] = (mean_nll(group, 1.0), mean_nll(group, fitted))
    rows: dict[str, int] = {kind: len(group) for kind, group in groups.items()}
    return Fit(by_type, round(fit_temperature_mixed(records), 3), rows, nll)
