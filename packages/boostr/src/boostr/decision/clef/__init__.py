"""Clef: one record for all questions, which a head of its own decides jointly."""

from boostr.decision.clef.family import Clef, ClefLimits

__all__ = ["Clef", "ClefLimits"]
