"""From probabilities to Clef's answers: confidence is the chosen option's own probability, four digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostr.decision.clef.questions import Field

__all__ = ["answer"]


def answer(field: Field, p: Sequence[float]) -> dict[str, Any]:
    """The answer object. `p` follows the prompt's order of options, the answer the request's."""
    by_name = {name: each for (name, _), each in zip(field.options, p, strict=True)}
    if field.kind == "noul":
        return {"type": "noul", "noul": round(by_name["true"], 4)}
    best = max(field.keys, key=by_name.__getitem__)
    each = {name: round(by_name[name], 4) for name in field.keys}
    if field.kind == "choice":
        return {"type": "choice", "choice": best, "confidence": round(by_name[best], 4), "probabilities": each}
    return {
        "type": "score",
        "score": round(sum(level * value for level, value in enumerate(p)), 4),
        "confidence": round(by_name[best], 4),
        "legend": dict(zip(field.keys, field.legend, strict=True)),
        "probabilities": each,
    }
