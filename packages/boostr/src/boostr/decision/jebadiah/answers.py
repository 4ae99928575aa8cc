"""From probabilities to Jebadiah's answers, as the vendor's server forms them: everything from them rounded to
six places, so that options which tie after rounding go to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostr.decision.jebadiah.questions import Shown

__all__ = ["answer"]


def answer(shown: Shown, p: Sequence[float]) -> dict[str, Any]:
    """The answer object of one question."""
    rounded = [round(each, 6) for each in p]
    n, best = len(rounded), max(range(len(rounded)), key=rounded.__getitem__)
    if shown.kind == "noul":
        return {"type": "noul", "noul": rounded[0]}
    confidence = round(min(1.0, max(0.0, (n * rounded[best] - 1) / (n - 1))), 6)
    if shown.kind == "choice":
        each = dict(zip(shown.names, rounded, strict=True))
        return {"type": "choice", "choice": shown.names[best], "confidence": confidence, "probabilities": each}
    levels = [str(level) for level in range(n)]
    return {
        "type": "score",
        "score": round(sum(level * each for level, each in enumerate(rounded)), 6),
        "confidence": confidence,
        "legend": dict(zip(levels, shown.names, strict=True)),
        "probabilities": dict(zip(levels, rounded, strict=True)),
    }
