"""Kev: every question on a row of its own, answered by a pointer to the end of one of its options."""

from boostr.decision.kev.config import KevConfig
from boostr.decision.kev.family import Kev, KevLimits

__all__ = ["Kev", "KevConfig", "KevLimits"]
