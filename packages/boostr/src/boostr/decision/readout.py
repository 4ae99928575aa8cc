"""What every family does with a question's logits before its own rounding: softmax, and no answer out of NaN."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from boostr.decision.family import Hidden
from boostr.errors import NumericalError

__all__ = ["finite", "probabilities"]

Numbers = TypeVar("Numbers", list[float], Hidden)


def finite(values: Numbers, of: str) -> Numbers:
    """`values`, or NumericalError where one is NaN or infinite. `of` says whose they are."""
    if not np.isfinite(values).all():
        raise NumericalError(f"{of}: the model produced no finite distribution, its weights are broken")
    return values


def probabilities(logits: Hidden, temperature: float, of: str) -> list[float]:
    """softmax(z / T) of (n,) in float32, as Python floats.

    Raises NumericalError for logits that are not finite, or that overflow at a tiny T.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        z = logits.astype(np.float32) / np.float32(temperature)
        e = np.exp(z - z.max())
        found: list[float] = (e / e.sum(dtype=np.float32)).tolist()
    return finite(found, of)
