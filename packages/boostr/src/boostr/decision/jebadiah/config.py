"""Jebadiah's sidecars: temperatures.json, and prompt_contract.json, which says what prompt the weights were trained on.

Knows no weights. Rules and words follow jebadiah-decide 0.3.0's server.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boostr.decision.family import CALIBRATION, TYPES
from boostr.errors import ConfigError, FormatError
from boostr.formats.json_file import MAX_JSON_BYTES, read_json_object

__all__ = ["CONTRACT", "TEMPERATURES", "JebadiahConfig", "has_sidecar", "parse_temperatures"]

_log = logging.getLogger(__name__)

TEMPERATURES = "temperatures.json"
CONTRACT = "prompt_contract.json"
ADAPTER = "adapter_config.json"

# Of the vendor's renderer, whose prompt rows.py writes.
PROMPT_SOURCE = "d2660ebec28bd3f1704235bda88d24a397c1c62475e740519cb8ef2d08f25fdd"
QWEN35_LABELS = 68  # A to Z, AA to BP: BQ is two tokens
TEMPLATE_VARIABLES: dict[str, Any] = {"add_generation_prompt": True, "enable_thinking": False, "thinking": False}


@dataclass(frozen=True, slots=True)
class JebadiahConfig:
    """What lies beside the weights, or beside the adapter.

    temperatures  by type; none: there is no calibration
    contract      None: there is none
    base, rank    of a release that holds an adapter: the base it names, and its rank
    fitted        temperatures that come before the vendor's
    """

    temperatures: Mapping[str, float] = field(default_factory=dict)
    contract: Mapping[str, Any] | None = None
    fitted: Mapping[str, float] = field(default_factory=dict)
    base: str | None = None
    rank: int | None = None

    @classmethod
    def read(cls, directory: Path) -> JebadiahConfig:
        """Raises FormatError for a file that is no JSON. Temperatures that cannot be read count as missing."""
        contract, adapter = directory / CONTRACT, directory / ADAPTER
        settings = read_json_object(adapter) if adapter.exists() else {}
        base, rank = settings.get("base_model_name_or_path"), settings.get("r")
        return cls(
            temperatures=_read_temperatures(directory / TEMPERATURES),
            contract=read_json_object(contract) if contract.exists() else None,
            base=base if isinstance(base, str) else None,
            rank=rank if isinstance(rank, int) else None,
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
        named = dict.fromkeys(self.temperatures, TEMPERATURES) | dict.fromkeys(self.fitted, CALIBRATION)
        return {kind: named.get(kind, "none") for kind in TYPES}

    @property
    def labels(self) -> int:
        """Single-token labels that the contract names, else those of Qwen3.5's vocabulary, which every release has."""
        named = (self.contract or {}).get("single_token_labels")
        return named if isinstance(named, int) and not isinstance(named, bool) else QWEN35_LABELS

    def check_contract(self, template: str, labels: int, *, strict: bool = True) -> None:
        """Raises ConfigError where the contract names another prompt, chat template or vocabulary than these.

        strict  False logs that instead, as a missing contract always is
        """
        if self.contract is None:
            _log.warning("prompt contract: no %s in the model directory", CONTRACT)
            return
        faults = "; ".join(_faults(self.contract, hashlib.sha256(template.encode()).hexdigest(), labels))
        if faults and strict:
            raise ConfigError(
                f"{CONTRACT}: prompt contract: {faults}. These weights were trained on another prompt than they would "
                "read; use the release's own tokenizer and chat template, or load with allow_contract_mismatch"
            )
        if faults:
            _log.warning("%s: prompt contract: %s", CONTRACT, faults)


def _faults(contract: Mapping[str, Any], template_sha256: str, labels: int) -> Iterator[str]:
    # The two hashes must be there; the first releases' contracts may lack the other keys.
    if contract.get("prompt_source_sha256") != PROMPT_SOURCE:
        yield "prompt_source_sha256 differs from the bundled renderer"
    if contract.get("chat_template_sha256") != template_sha256:
        yield "chat_template_sha256 differs from the tokenizer's template"
    if contract.get("single_token_labels") not in (None, labels):
        yield "single_token_labels differs from this tokenizer"
    if contract.get("chat_template_kwargs") not in (None, TEMPLATE_VARIABLES):
        yield "chat_template_kwargs differ (thinking must be off)"


def has_sidecar(directory: Path) -> bool:
    """Whether a contract that names a prompt's source lies there, or a file of usable temperatures."""
    contract = directory / CONTRACT
    if contract.is_file() and b"prompt_source_sha256" in _beginning(contract, 65536):
        return True
    return bool(_read_temperatures(directory / TEMPERATURES))


def _beginning(path: Path, count: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError:
        return b""


def _read_temperatures(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    try:
        text = _beginning(path, MAX_JSON_BYTES).decode("utf-8")
    except UnicodeDecodeError:
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
