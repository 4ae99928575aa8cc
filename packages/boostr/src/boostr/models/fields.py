"""A configuration's values by key, each checked for type and range before anything is built or allocated from it.

Serves config.json and GGUF metadata alike; knows no key by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from boostr.errors import ConfigError

__all__ = ["LIMITS", "Fields"]

# Largest sizes that are accepted, well above any published model: what a hostile file may make us allocate.
LIMITS = {
    "layers": 512,
    "heads": 1024,
    "head_dim": 1024,
    "hidden": 1 << 17,
    "intermediate": 1 << 20,
    "vocab": 1 << 22,
    "context": 1 << 28,
    "experts": 4096,
}


class Fields:
    """`values` under keys `prefix + key`. Every error is a ConfigError that names `source` and the whole key.

    A default of None makes a key required; null in the file counts as absent.
    """

    def __init__(self, values: Mapping[str, Any], source: str, prefix: str = "") -> None:
        self._values = values
        self._source = source
        self._prefix = prefix

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def fail(self, key: str, problem: str) -> ConfigError:
        """An error about `key`, to raise."""
        return ConfigError(f"{self._source}: '{self._prefix}{key}' {problem}")

    def get(self, key: str) -> Any:
        """The value as it stands, or None."""
        return self._values.get(self._prefix + key)

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
            raise self.fail(key, f"is {_shown(value)}, not a whole number")
        if not low <= value <= high:
            raise self.fail(key, f"is {_shown(value)}, outside {low}..{high}")
        return int(value)

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(key, f"is {_shown(value)}, not a number")
        if not low <= value <= high:
            raise self.fail(key, f"is {_shown(value)}, outside {low}..{high}")
        return float(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"is {_shown(value)}, not true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.fail(key, f"is {_shown(value)}, not a string")
        return value

    def sequence(self, key: str) -> Sequence[Any] | None:
        value = self.get(key)
        if value is not None and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise self.fail(key, f"is {_shown(value)}, not a list")
        return value

    def with_value(self, key: str, value: Any) -> Fields:
        """The same fields with another value under `key`."""
        return Fields({**self._values, self._prefix + key: value}, self._source, self._prefix)

    def within(self, key: str) -> Fields:
        """The object under `key`; empty where it is absent or null."""
        value = self.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise self.fail(key, f"is {_shown(value)}, not an object")
        return Fields(value or {}, f"{self._source}: '{self._prefix}{key}'")

    def _value(self, key: str, default: Any) -> Any:
        value = self.get(key)
        if value is None:
            value = default
        if value is None:
            raise self.fail(key, "is missing")
        return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
