"""Jebadiah: a chat prompt of lettered options, answered by one label token."""

from boostr.decision.jebadiah.config import JebadiahConfig
from boostr.decision.jebadiah.family import Jebadiah, JebadiahLimits, describe

__all__ = ["Jebadiah", "JebadiahConfig", "JebadiahLimits", "describe"]
