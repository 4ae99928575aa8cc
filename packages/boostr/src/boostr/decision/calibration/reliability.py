"""How well probabilities hold: accuracy, loss and calibration error of records at a temperature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from boostr.decision.calibration.fit import mean_nll
from boostr.decision.calibration.records import Record
from boostr.decision.family import TYPES
from boostr.errors import ParameterError

__all__ = ["BINS", "Reliability", "reliability", "reliability_by_type"]

BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """accuracy  share of records whose likeliest option was right
    nll       mean loss in nats
    ece       expected calibration error: |accuracy - confidence| over bins of equal width, weighted by their records
    bins      per non-empty bin (mean confidence, accuracy, records)
    """

    accuracy: float
    nll: float
    ece: float
    bins: tuple[tuple[float, float, int], ...]


def reliability(records: Sequence[Record], temperature: float) -> Reliability:
    """Figures of records. Confidence is the probability of the likeliest option. Raises ParameterError without any."""
    if not records:
        raise ParameterError("there are no records to tell the reliability of", "records")
    logs = [one.log_probabilities(temperature) for one in records]
    confidence = np.array([np.exp(each.max()) for each in logs])
    right = np.array([int(np.argmax(each)) == one.gold for each, one in zip(logs, records, strict=True)])
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = tuple(
        (float(confidence[here].mean()), float(right[here].mean()), int(here.sum()))
        for here in (place == n for n in range(BINS))
        if here.any()
    )
    ece = sum(count * abs(accuracy - mean) for mean, accuracy, count in bins) / len(records)
    return Reliability(float(right.mean()), mean_nll(records, temperature), float(ece), bins)


def reliability_by_type(records: Sequence[Record], temperatures: Mapping[str, float]) -> dict[str, Reliability]:
    """Figures of every type that has records, at its own temperature; 1 where `temperatures` has none."""
    groups = {kind: [one for one in records if one.kind == kind] for kind in TYPES}
    return {kind: reliability(group, temperatures.get(kind, 1.0)) for kind, group in groups.items() if group}
