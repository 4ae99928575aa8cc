"""The Mapika decider: lettered options read as one label token each, scores level by level where trained so."""

from boostr.decision.decider.config import DeciderConfig
from boostr.decision.decider.family import Decider, DeciderLimits

__all__ = ["Decider", "DeciderConfig", "DeciderLimits"]
