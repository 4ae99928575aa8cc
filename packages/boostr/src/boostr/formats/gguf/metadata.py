"""GGUF metadata with typed access: a mapping whose `require_*` and `get_*` refuse wrong types and ranges by name.

Values of a file are untrusted; an architecture reads its numbers only through these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats.gguf.values import StringArray

__all__ = ["MAX_BLOCKS", "Metadata", "check_vocabulary", "require_architecture"]

MAX_BLOCKS = 512


class Metadata(Mapping[str, Any]):
    """Keys of one GGUF model. Values: int, float, bool, str, ndarray, StringArray, list of arrays.

    Every typed getter raises ConfigError naming the file and the key.
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

    def require_int(self, key: str, low: int | None = None, high: int | None = None) -> int:
        """An integer in [low, high]."""
        value = self._require(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, "an integer")
        self._within(key, value, low, high)
        return value

    def require_float(self, key: str, low: float | None = None, high: float | None = None) -> float:
        """A finite number (an integer will do) in [low, high]."""
        value = self._require(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong(key, "a finite number")
        self._within(key, value, low, high)
        return float(value)

    def require_str(self, key: str) -> str:
        value = self._require(key)
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        return value

    def require_bool(self, key: str) -> bool:
        value = self._require(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "a boolean")
        return value

    def get_int(self, key: str, default: int, low: int | None = None, high: int | None = None) -> int:
        return self.require_int(key, low, high) if key in self else default

    def get_float(self, key: str, default: float, low: float | None = None, high: float | None = None) -> float:
        return self.require_float(key, low, high) if key in self else default

    def get_str(self, key: str, default: str) -> str:
        return self.require_str(key) if key in self else default

    def get_bool(self, key: str, default: bool) -> bool:
        return self.require_bool(key) if key in self else default

    def strings(self, key: str, length: int | None = None) -> StringArray:
        """An array of strings, of `length` when given."""
        value = self._require(key)
        if not isinstance(value, StringArray):
            raise self._wrong(key, "an array of strings")
        self._sized(key, len(value), length)
        return value

    def numbers(self, key: str, dtype: str, length: int | None = None) -> npt.NDArray[Any]:
        """A numeric array whose elements are exactly `dtype` ("float32", "int32", ...) or of its family.

        `dtype` may be "integer" or "floating" for any width.
        """
        value = self._require(key)
        if not isinstance(value, np.ndarray) or not _is_kind(value.dtype, dtype):
            raise self._wrong(key, f"an array of {dtype}")
        self._sized(key, len(value), length)
        return value

    def per_layer_ints(self, key: str, layers: int, low: int | None = None, high: int | None = None) -> list[int]:
        """One integer for each layer: an array of `layers`, or one number that counts for all."""
        if not isinstance(self._require(key), np.ndarray):
            return [self.require_int(key, low, high)] * layers
        values: list[int] = self.numbers(key, "integer", layers).tolist()
        for value in values:
            self._within(key, value, low, high)
        return values

    def _require(self, key: str) -> Any:
        if key not in self._values:
            raise ConfigError(f"{self.source}: metadata lacks the key {key!r}")
        return self._values[key]

    def _wrong(self, key: str, wanted: str) -> ConfigError:
        return ConfigError(f"{self.source}: {key!r} must be {wanted}, but is {_describe(self._values[key])}")

    def _within(self, key: str, value: float, low: float | None, high: float | None) -> None:
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
            raise ConfigError(f"{self.source}: {key!r} is {value}; it must be {bounds}")

    def _sized(self, key: str, actual: int, wanted: int | None) -> None:
        if wanted is not None and actual != wanted:
            raise ConfigError(f"{self.source}: {key!r} has {actual} elements where {wanted} are needed")


def _is_kind(actual: np.dtype[Any], wanted: str) -> bool:
    if wanted == "integer":
        return bool(np.issubdtype(actual, np.integer))
    if wanted == "floating":
        return bool(np.issubdtype(actual, np.floating))
    return actual == np.dtype(wanted)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.name}"
    if isinstance(value, StringArray):
        return "an array of strings"
    if isinstance(value, list):
        return "an array of arrays"
    if isinstance(value, str):
        return "a string"
    return f"{value!r}"


def require_architecture(metadata: Metadata, known: Iterable[str]) -> str:
    """`general.architecture`, one of `known`, with a sane number of blocks.

    Raises UnsupportedModelError that lists the known ones or says that the file is no model (an adapter, a vision
    projector), or ConfigError for the block count.
    """
    kind = metadata.get("general.type", "model")
    if kind in ("adapter", "mmproj"):
        raise UnsupportedModelError(f"{metadata.source}: general.type is '{kind}': it goes with a model and is none")
    name = metadata.require_str("general.architecture")
    names = sorted(known)
    if name not in names:
        raise UnsupportedModelError(
            f"{metadata.source}: architecture {name!r} is not implemented; known: {', '.join(names)}"
        )
    metadata.require_int(f"{name}.block_count", 1, MAX_BLOCKS)
    return name


def check_vocabulary(metadata: Metadata) -> int:
    """The number of tokens, after checking that scores and token types are one float32 and int32 each per token."""
    count = len(metadata.strings("tokenizer.ggml.tokens"))
    if "tokenizer.ggml.scores" in metadata:
        metadata.numbers("tokenizer.ggml.scores", "float32", count)
    if "tokenizer.ggml.token_type" in metadata:
        metadata.numbers("tokenizer.ggml.token_type", "int32", count)
    if "tokenizer.ggml.merges" in metadata:
        metadata.strings("tokenizer.ggml.merges")
    return count
