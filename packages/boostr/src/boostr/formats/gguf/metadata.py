"""A GGUF model's metadata: a mapping that knows which file it is of.

Has typed access only to the integers that say how a model is split. What architectures and tokenizers read of it they
check themselves; knows no key by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from boostr.errors import ConfigError

__all__ = ["Metadata"]


class Metadata(Mapping[str, Any]):
    """Keys of one GGUF model. Values: int, float, bool, str, ndarray, StringArray, list of arrays.

    They are the file's, so untrusted. `source` is what error messages call it.
    """

    def __init__(self, values: Mapping[str, Any], source: object = "GGUF metadata") -> None:
        self._values = dict(values)
        self.source = source

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Metadata of {self.source}: {len(self)} keys>"

    def require_int(self, key: str, low: float = -math.inf, high: float = math.inf) -> int:
        """An integer in [low, high]. Raises ConfigError naming the file and the key."""
        if key not in self._values:
            raise ConfigError(f"{self.source}: metadata lacks the key {key!r}")
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{self.source}: {key!r} must be an integer, not {type(value).__name__}")
        if not low <= value <= high:
            raise ConfigError(f"{self.source}: {key!r} is {value}, outside {low}..{high}")
        return value

    def get_int(self, key: str, default: int, low: float = -math.inf, high: float = math.inf) -> int:
        """The same; `default` where the key is absent."""
        return self.require_int(key, low, high) if key in self else default
