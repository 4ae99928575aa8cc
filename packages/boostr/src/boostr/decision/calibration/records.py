"""A calibration record: the logits of one answer at temperature 1, and which option was right.

The JSON is that of decider-ai's `calibrate.py`, and so are the words of what is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostr.decision.family import TYPES, Kind
from boostr.errors import ParameterError

__all__ = ["Floats", "Record", "log_probabilities", "read_record"]

KEYS = ("logits", "probs", "level_logits", "level_probs")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Record:
    """kind    "choice", "noul" or "score"
    logits  one per option (n,); of an isolated score one [no, yes] per level (n, 2)
    gold    the option that was right: of a noul 0 is no and 1 is yes
    """

    kind: Kind
    logits: Floats
    gold: int

    @property
    def isolated(self) -> bool:
        return self.logits.ndim == 2

    def log_probabilities(self, temperature: float) -> Floats:
        """Natural logs of the options' probabilities (n,) at a temperature; -inf where there is none."""
        return np.asarray(log_probabilities(self.logits[None] / temperature)[0])


def log_probabilities(z: Floats) -> Floats:
    """Logs (R, n) of options (R, n), or of isolated levels (R, n, 2): each level's yes, shared out over the levels."""
    logs = z - _log_sum(z)[..., None]
    if z.ndim == 2:
        return np.asarray(logs)
    yes = logs[..., 1]
    return np.asarray(yes - _log_sum(yes)[..., None])


def read_record(number: int, value: Any) -> Record:
    """Check the JSON of record `number`. Raises ParameterError that begins with "record <number>: "."""
    try:
        return _read(value)
    except ValueError as error:
        raise ParameterError(f"record {number}: {error}", "records") from None


def _read(value: Any) -> Record:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    kind = value.get("type")
    if kind not in TYPES:
        raise ValueError(f"type {kind!r}, expected one of {', '.join(TYPES)}")
    given = [key for key in KEYS if key in value]
    if len(given) != 1:
        raise ValueError(f"give exactly one of {', '.join(KEYS)}")
    logits = _logits(given[0], value[given[0]], kind)
    gold, count = value.get("gold"), len(logits)
    if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold < count:
        raise ValueError(f"gold must be an integer index in 0..{count - 1}, got {gold!r}")
    return Record(kind, logits, gold)


def _logits(key: str, value: Any, kind: str) -> Floats:
    isolated = key.startswith("level_")
    if isolated and kind != "score":
        raise ValueError(f"isolated levels (level_logits / level_probs) belong to a score record, not {kind!r}")
    try:
        array = np.asarray(value, np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"{key} is not a numeric array") from None
    if isolated and (array.ndim != 2 or array.shape[0] < 2 or array.shape[1] != 2):
        raise ValueError(f"{key} must be one [no, yes] pair per level, at least two levels; got shape {array.shape}")
    if not isolated and (array.ndim != 1 or len(array) < 2):
        raise ValueError(f"{key} must be one value per option, at least two options; got shape {array.shape}")
    if kind == "noul" and len(array) != 2:
        raise ValueError(f"a noul record has exactly two options (false, true); got {len(array)}")
    if key.endswith("probs"):
        array = _logs_of(key, array)
    if np.isnan(array).any() or (array == np.inf).any() or not np.isfinite(array).any(axis=-1).all():
        raise ValueError(f"{key} must be finite or -inf, with a finite value per row")
    if isolated and not np.isfinite(array[:, 1]).any():
        raise ValueError("no level has a yes probability above 0, so the served Score answer has no distribution")
    return array


def _logs_of(key: str, p: Floats) -> Floats:
    if not ((p >= 0) & (p <= 1)).all() or not (p.sum(axis=-1) > 0).all():
        raise ValueError(f"{key} must be probabilities in [0, 1] with positive mass per row")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def _log_sum(z: Floats) -> Floats:
    most = z.max(axis=-1, keepdims=True)
    return np.asarray(most[..., 0] + np.log(np.exp(z - most).sum(axis=-1)))
