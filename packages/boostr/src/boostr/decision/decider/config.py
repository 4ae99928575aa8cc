"""decider_config.json, the sidecar: layout, temperatures and how scores are read. Knows no weights.

Its faults are told in the words of the vendor's package (decider-ai 1.10.0), whose users know them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from boostr.decision.family import CALIBRATION, TYPES
from boostr.errors import ConfigError
from boostr.formats.json_file import read_json_object

__all__ = ["SIDECAR", "DeciderConfig", "Temperatures"]

SIDECAR = "decider_config.json"

_KEYS = (
    'the keys are "choice", "noul" and "score" (a /decide "bool" field is "noul", a "scale" field is "score"; '
    'a /v1/systemone "bool" question is "noul")'
)
_BY_OPTIONS = '{"a": number, "b": number, "min": number > 0 (optional)}'


@dataclass(frozen=True, slots=True)
class Temperatures:
    """T of a row: by its number of options where a rule says so, else by its type, else one for all.

    A type in `fitted` comes before both: it was fitted on the user's own labels.
    """

    general: float = 1.0
    by_type: Mapping[str, float] = field(default_factory=dict)
    by_options: tuple[float, float, float] | None = None  # a, b, least
    fitted: Mapping[str, float] = field(default_factory=dict)

    def of(self, kind: str, options: int) -> float:
        """T for a row of type `kind` with so many options."""
        if kind in self.fitted:
            return self.fitted[kind]
        if self.by_options is not None:
            a, b, least = self.by_options
            return max(least, a + b * math.log(max(options, 2)))
        return self.by_type.get(kind, self.general)

    def sources(self) -> dict[str, str]:
        """Per type, the file that its temperature comes from."""
        return {kind: CALIBRATION if kind in self.fitted else SIDECAR for kind in TYPES}


@dataclass(frozen=True, slots=True)
class DeciderConfig:
    """What the sidecar says, checked."""

    version: str = "dev"
    layout: Literal["plain", "chat"] = "plain"
    isolated_levels: bool = False
    temperatures: Temperatures = Temperatures()
    release_date: str = "2026-09-17"

    @classmethod
    def read(cls, directory: Path) -> DeciderConfig:
        """The directory's sidecar, or the defaults where there is none. Raises ConfigError."""
        file = directory / SIDECAR
        return cls.of(read_json_object(file)) if file.exists() else cls()

    @classmethod
    def of(cls, values: Mapping[str, Any], temperature: Any = None) -> DeciderConfig:
        """Check the sidecar's `values`; an explicit `temperature` replaces all of its temperatures."""
        return cls(
            version=str(values.get("version", "dev")),
            layout=_layout(values),
            isolated_levels=bool(values.get("isolated_levels", False)),
            temperatures=_temperatures(values, temperature),
            release_date=str(values.get("release_date", "2026-09-17")),
        )


def _layout(values: Mapping[str, Any]) -> Literal["plain", "chat"]:
    named, templated = values.get("layout"), values.get("chat_template") is True
    if named is None:
        return "chat" if templated else "plain"
    if named == "plain" and templated:
        raise ConfigError(f'{SIDECAR} says "layout": "plain" and "chat_template": true; these contradict each other')
    if named == "plain":
        return "plain"
    if named == "chat":
        return "chat"
    raise ConfigError(
        f"{SIDECAR} names the prompt layout {named!r}; known are 'plain', 'chat'. Check the model's config."
    )


def _temperatures(values: Mapping[str, Any], explicit: Any) -> Temperatures:
    by_options, by_type = values.get("temperature_by_options"), values.get("temperature_by_type")
    if by_options is not None and by_type:
        raise ConfigError(f'{SIDECAR}: "temperature_by_options" and "temperature_by_type" cannot both be set')
    general = _positive(values.get("temperature", 1.0), '"temperature"', strings=True)
    types = {} if by_type is None else _by_type(by_type)
    rule = None if by_options is None else _by_options(by_options)
    if explicit is not None:
        return Temperatures(_positive(explicit, "the given temperature", strings=True))
    return Temperatures(general, types, rule)


def _by_type(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        found = type(value).__name__
        raise ConfigError(
            f'{SIDECAR} "temperature_by_type" must be a map {{answer type: temperature}}, got {found}; {_KEYS}'
        )
    for key in value:
        if key not in TYPES:
            raise ConfigError(f'{SIDECAR} "temperature_by_type" has the unknown key {key!r}; {_KEYS}')
    return {key: _positive(each, f"\"temperature_by_type\"['{key}']") for key, each in value.items()}


def _by_options(value: Any) -> tuple[float, float, float]:
    fault = ConfigError(f'{SIDECAR} "temperature_by_options" must be {_BY_OPTIONS}, got {value!r}')
    if not isinstance(value, dict) or not {"a", "b"} <= set(value) <= {"a", "b", "min"}:
        raise fault
    numbers = [value["a"], value["b"], value.get("min", 0.05)]
    if not all(_is_finite(number) for number in numbers) or numbers[2] <= 0:
        raise fault
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _positive(value: Any, name: str, strings: bool = False) -> float:
    number = value
    if strings and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    if not _is_finite(number) or number <= 0:
        raise ConfigError(f"{SIDECAR} {name} must be a finite number > 0, got {value!r}")
    return float(number)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
