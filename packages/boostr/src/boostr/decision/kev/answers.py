"""From probabilities to Kev's answers: sums and rounding in Python floats, four digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from boostr.decision.family import Kind

__all__ = ["answer"]


def answer(kind: Kind, keys: Sequence[str], p: Sequence[float], legend: Sequence[str] = ()) -> dict[str, Any]:
    """The answer object of one question."""
    if kind == "noul":
        return {"type": "noul", "noul": round(p[1], 4)}
    total = math.fsum(p)
    shares = [each / total for each in p] if total else [1 / len(p)] * len(p)
    each = {key: round(value, 4) for key, value in zip(keys, p, strict=True)}
    if kind == "choice":
        best = max(range(len(p)), key=p.__getitem__)
        head = {"type": "choice", "choice": keys[best], "confidence": round(_above_chance(shares), 4)}
        return {**head, "probabilities": each}
    score = math.fsum(level * value for level, value in enumerate(p))
    return {
        "type": "score",
        "score": round(score, 4),
        "legend": dict(zip(keys, legend, strict=True)),
        "probabilities": each,
        "confidence": round(_closeness(shares), 4),
    }


def _above_chance(shares: Sequence[float]) -> float:
    n = len(shares)
    return 1.0 if n == 1 else (max(shares) - 1 / n) / (1 - 1 / n)


def _closeness(shares: Sequence[float]) -> float:
    n = len(shares)
    if n == 1:
        return 1.0
    mode = max(range(n), key=shares.__getitem__)
    spread = sum(abs(level - (n - 1) / 2) for level in range(n)) / n
    return max(0.0, 1 - math.fsum(share * abs(level - mode) for level, share in enumerate(shares)) / spread)
