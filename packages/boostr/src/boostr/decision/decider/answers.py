"""From probabilities to the decider's answers: confidence and rounding.

Follows decider-ai 1.10.0 digit for digit: everything in Python floats, `round` at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from boostr.decision.decider.questions import Shown

__all__ = ["answer", "certainty", "choice_confidence", "combined", "score_confidence"]

_LITTLE = 1e-9  # stands for the sum where no level fits at all


def combined(fits: Sequence[float]) -> tuple[list[float], float]:
    """Probabilities of levels, each of which was asked alone, and the sum of what they were given."""
    mass = sum(fits) or _LITTLE
    return [fit / mass for fit in fits], mass


def answer(shown: Shown, rows: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The answer object. `rows` are the probabilities of the question's rows."""
    fits: list[float] = []
    if shown.isolated:
        fits = [row[1] for row in rows]
        p, mass = combined(fits)
    else:
        p, mass = list(rows[0]), 0.0
    total = sum(p) or 1.0
    p = [each / total for each in p]
    if shown.kind == "noul":
        return {"type": "noul", "noul": round(p[1], 4)}
    best = max(range(len(p)), key=p.__getitem__)
    shared = {"x_p_max": round(p[best], 4), "certainty": round(certainty(p), 4)}
    each = {name: round(value, 4) for name, value in zip(shown.names, p, strict=True)}
    if shown.kind == "choice":
        confidence = round(choice_confidence(p), 4)
        head = {"type": "choice", "choice": shown.names[best], "confidence": confidence}
        return {**head, **shared, "probabilities": each}
    head = {
        "type": "score",
        "score": round(sum(level * value for level, value in enumerate(p)), 2) + 0.0,
        "confidence": round(score_confidence(p), 4),
    }
    legend = dict(zip(shown.names, shown.legend, strict=True))
    whole = {**head, **shared, "legend": legend, "probabilities": each}
    if shown.isolated:
        level_fit = {name: round(fit, 4) for name, fit in zip(shown.names, fits, strict=True)}
        whole |= {"level_fit": level_fit, "fit_mass": round(mass, 4)}
    return whole


def choice_confidence(p: Sequence[float]) -> float:
    """How far the best option stands above chance: 0 at chance, 1 at certainty."""
    n = len(p)
    if n <= 1:
        return 1.0
    total = sum(p)
    best = max(p) / total if total else 1 / n
    return min(1.0, max(0.0, (n * best - 1) / (n - 1)))


def score_confidence(p: Sequence[float]) -> float:
    """1 less the mean distance from the likeliest level, over the distance that uniform levels would have."""
    n = len(p)
    if n <= 1:
        return 1.0
    total = sum(p)
    q = [each / total for each in p] if total else [1 / n] * n
    mode = max(range(n), key=q.__getitem__)
    spread = sum(abs(level - (n - 1) / 2) for level in range(n)) / n
    return min(1.0, max(0.0, 1 - sum(each * abs(level - mode) for level, each in enumerate(q)) / spread))


def certainty(p: Sequence[float]) -> float:
    """1 less the entropy over its greatest value."""
    if len(p) <= 1:
        return 1.0
    return max(0.0, 1 + sum(each * math.log(each) for each in p if each > 0) / math.log(len(p)))
