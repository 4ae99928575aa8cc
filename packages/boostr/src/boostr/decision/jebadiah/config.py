"""Jebadiah's sidecars: temperatures.json, and prompt_contract.json, which says what prompt the weights were trained on.

Knows no weights. Rules and words follow jebadiah-decide 0.3.0's server.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boostr.errors import ConfigError, FormatError
from boostr.formats.json_file import MAX_JSON_BYTES, read_json_object

__all__ = ["CONTRACT", "TEMPERATURES", "JebadiahConfig", "parse_temperatures"]

TEMPERATURES = "temperatures.json"
CONTRACT = "prompt_contract.json"
TYPES = ("choice", "noul", "score")

# Of the vendor's renderer, whose prompt rows.py writes.
PROMPT_SOURCE = "d2660ebec28bd3f1704235bda88d24a397c1c62475e740519cb8ef2d08f25fdd"
TEMPLATE_VARIABLES: dict[str, Any] = {"add_generation_prompt": True, "enable_thinking": False, "thinking": False}


@dataclass(frozen=True, slots=True)
class JebadiahConfig:
    """Fitted temperatures by type (none: there is no calibration), and the contract where one lies there."""

    temperatures: Mapping[str, float] = field(default_factory=dict)
    contract: Mapping[str, Any] | None = None
    fitted: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, directory: Path) -> JebadiahConfig:
        """Raises FormatError for a contract that is no JSON. Temperatures that cannot be read count as missing."""
        contract = directory / CONTRACT
        return cls(
            temperatures=_read_temperatures(directory / TEMPERATURES),
            contract=read_json_object(contract) if contract.exists() else None,
        )

    def temperature(self, kind: str) -> float:
        """T of a type: one fitted on the user's labels, else the vendor's, else 1."""
        return self.fitted.get(kind, self.temperatures.get(kind, 1.0))

    def all_temperatures(self) -> dict[str, float]:
        """Those that are set, by type."""
        merged = {**self.temperatures, **self.fitted}
        return {kind: merged[kind] for kind in TYPES if kind in merged}

    def sources(self) -> dict[str, str]:
        """Per type, the file that its temperature comes from."""
        named = dict.fromkeys(self.temperatures, TEMPERATURES) | dict.fromkeys(self.fitted, "blazr_calibration.json")
        return {kind: named.get(kind, "none") for kind in TYPES}

    def check_contract(self, template: str, labels: int) -> None:
        """Raises ConfigError where the contract names another prompt, chat template or vocabulary than these."""
        if self.contract is None:
            return
        digest = hashlib.sha256(template.encode()).hexdigest()
        checks = {
            "prompt_source_sha256 differs from the bundled renderer": ("prompt_source_sha256", PROMPT_SOURCE),
            "chat_template_sha256 differs from the tokenizer's template": ("chat_template_sha256", digest),
            "single_token_labels differs from this tokenizer": ("single_token_labels", labels),
            "chat_template_kwargs differ (thinking must be off)": ("chat_template_kwargs", TEMPLATE_VARIABLES),
        }
        for fault, (key, expected) in checks.items():
            if key in self.contract and self.contract[key] != expected:
                raise ConfigError(f"{CONTRACT}: prompt contract: {fault}")


def _read_temperatures(path: Path) -> dict[str, float]:
    try:
        text = path.read_bytes()[: MAX_JSON_BYTES + 1].decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return parse_temperatures(text)


def parse_temperatures(text: str) -> dict[str, float]:
    """Usable temperatures of temperatures.json: finite, above zero, numbers or numbers in strings, never booleans."""
    try:
        values = json.loads(text)["temperatures"]
        items = [(kind, values[kind]) for kind in TYPES if kind in values]
    except (ValueError, KeyError, TypeError, RecursionError, FormatError):
        return {}
    return {kind: number for kind, value in items if (number := _number(value)) is not None}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None
