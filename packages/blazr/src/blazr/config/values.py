"""How one configuration value is read from TOML or from text, checked, and shown. Knows no key by name.

A value arrives either typed (TOML, click) or as text (environment). `convert` accepts both and raises ValueError
with what would have been right; the caller adds the name of the key and where the value came from.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)\s*(ms|s|m|h|)", re.IGNORECASE)
LARGEST_INTEGER = 2**63 - 1  # what TOML has, and more than anything here needs
_SIZE_SHIFT = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_DURATION_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


@dataclasses.dataclass(frozen=True, slots=True)
class Converter:
    """Reads one value; `kind` says in a word what it takes, for help texts."""

    kind: str
    read: Callable[[object], Any]

    def __call__(self, value: object) -> Any:
        return self.read(value)


def integer(minimum: int | None = None, maximum: int | None = None) -> Converter:
    """Whole numbers in [minimum, maximum]; a float or a bool is not one."""

    def convert(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,40}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("must be a whole number")
        _within(value, minimum, maximum)
        _within(value, -LARGEST_INTEGER - 1, LARGEST_INTEGER)
        return value

    return Converter("integer", convert)


def number(minimum: float | None = None, maximum: float | None = None) -> Converter:
    """Finite numbers in [minimum, maximum]."""

    def convert(value: object) -> float:
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise ValueError("must be a number") from None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError("must be a finite number")
        _within(value, minimum, maximum)
        return float(value)

    return Converter("number", convert)


def _boolean(value: object) -> bool:
    """true and false, in TOML or in the usual spellings."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise ValueError("must be true or false")


def _text(value: object) -> str:
    """Text without NUL characters; the empty text is refused, since it is always a slip."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a text that is not empty")
    return value


def choice(*names: str) -> Converter:
    """One of `names`, spelled exactly."""

    def convert(value: object) -> str:
        if value not in names:
            raise ValueError("must be one of " + ", ".join(names))
        return str(value)

    return Converter("|".join(names), convert)


def optional(convert: Converter) -> Converter:
    """None stays None."""
    return Converter(convert.kind, lambda value: None if value is None else convert(value))


def _texts(value: object) -> tuple[str, ...]:
    """A list of texts. As text: a JSON list, or items separated by commas."""
    if isinstance(value, str):
        value = _json(value) if value.lstrip().startswith("[") else [item.strip() for item in value.split(",")]
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of texts")
    return tuple(_text(item) for item in value)


def _secrets(value: object) -> tuple[str, ...]:
    """Texts that an HTTP header can carry."""
    for secret in (found := _texts(value)):
        if not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise ValueError("must hold only visible ASCII characters, since no client could send others")
    return found


def _token_biases(value: object) -> dict[int, float]:
    """A table from token id to a bias in [-100, 100]. As text: a JSON object."""
    if isinstance(value, str):
        value = _json(value)
    if not isinstance(value, Mapping):
        raise ValueError("must be a table of token id = bias")
    bias = number(-100, 100)
    return {integer(0)(key): bias(item) for key, item in value.items()}


def _size(value: object) -> int:
    """Bytes: a whole number, or a text such as 512M or 8G (powers of 1024)."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        value = int(float(match[1]) * (1 << _SIZE_SHIFT[match[2].lower()]))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a size such as 512M or 8G")
    return value


def _duration(value: object) -> float:
    """Seconds: a number, or a text such as 30s, 5m or 1h. Any negative one means for ever and becomes math.inf."""
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        value = float(match[1]) * _DURATION_SECONDS[match[2].lower()]
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError("must be a time such as 30s, 5m or 1h, 0 for at once, or -1 for ever")
    return math.inf if value < 0 else float(value)


boolean = Converter("true|false", _boolean)
text = Converter("text", _text)
texts = Converter("list", _texts)
secrets = Converter("list", _secrets)
token_biases = Converter("table", _token_biases)
size = Converter("size", _size)
duration = Converter("time", _duration)


def key(default: Any, convert: Converter, help: str, shown: str | None = None) -> Any:
    """A dataclass field that is a configuration key. `shown` replaces the default in the documentation."""
    metadata = {"convert": convert, "help": help, "shown": shown}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _within(value: float, minimum: float | None, maximum: float | None) -> None:
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        if maximum is None:
            raise ValueError(f"must be at least {minimum}")
        raise ValueError(f"must be between {minimum} and {maximum}")


def _json(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError("is not valid JSON") from None
