"""adapter_config.json: what LoRA needs of it, and every setting that would change results and is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostr.errors import AdapterFormatError, FormatError
from boostr.formats.json_file import read_json_object
from boostr.peft.patterns import MOST_PATTERNS, check_pattern, check_patterns, value_of
from boostr.peft.shown import shown

__all__ = ["CONFIG_NAME", "LoraConfig"]

CONFIG_NAME = "adapter_config.json"
_MAX_BYTES = 4 << 20

# Key -> why an adapter that sets it cannot be applied as plain LoRA. Other keys are training's own and are ignored.
_REFUSED = {
    "use_dora": "DoRA rescales whole weight matrices, which needs them merged; train without use_dora",
    "fan_in_fan_out": "it is of a network with transposed weights (Conv1D), which none here has",
    "lora_bias": "biases of lora_B are not implemented; train with lora_bias false",
    "modules_to_save": "it replaces whole modules instead of adding to them; train with LoRA on these modules, "
    "or merge the adapter into its base",
    "trainable_token_indices": "trained embedding rows are not implemented; merge the adapter into its base",
    "layer_replication": "it repeats layers of the base; merge the adapter into its base",
    "target_parameters": "adapters of bare parameters, such as fused experts, are not implemented; target modules",
    "alora_invocation_tokens": "activated LoRA, which begins at certain tokens, is not implemented",
    "use_qalora": "QALoRA pools its inputs, which is not implemented",
    "use_bdlora": "block-diagonal LoRA is not implemented",
    "arrow_config": "routing among adapters is not implemented",
    "kasa_config": "KaSA changes the base weights; merge the adapter into its base",
    "monteclora_config": "sampled adapters are not implemented",
    "target_modules_to_tie": "adapters tied to an embedding are not implemented; merge the adapter into its base",
}

# Ways to start training that leave the base as it is. The others put a remainder in its place.
_INITS = (None, True, False, "gaussian", "eva", "orthogonal")


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Ranks and scales. `values` is the whole file."""

    r: int
    alpha: float
    rslora: bool
    rank_pattern: Mapping[str, float]
    alpha_pattern: Mapping[str, float]
    base_model_name: str | None
    values: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> LoraConfig:
        """Raises AdapterFormatError naming file and key."""
        if not path.is_file():
            raise AdapterFormatError(
                f"{path.parent} has no {path.name}, which holds its rank and scale; copy it beside the weights"
            )
        try:
            values = read_json_object(path, _MAX_BYTES)
        except FormatError as error:
            raise AdapterFormatError(str(error)) from error
        _refuse_others(values, path)
        base = values.get("base_model_name_or_path")
        return cls(
            r=int(_number(values, "r", path, _rank)),
            alpha=_number(values, "lora_alpha", path, _alpha),
            rslora=bool(values.get("use_rslora")),
            rank_pattern=_patterns(values, "rank_pattern", path, _rank),
            alpha_pattern=_patterns(values, "alpha_pattern", path, _alpha),
            base_model_name=base if isinstance(base, str) and base else None,
            values=values,
        )

    def check_modules(self, modules: Iterable[str], where: object) -> None:
        """Raises AdapterFormatError where to find the ranks and scales of all of them would take very long."""
        modules = list(modules)
        check_patterns(self.rank_pattern, modules, f"{where}: rank_pattern")
        check_patterns(self.alpha_pattern, modules, f"{where}: alpha_pattern")

    def rank(self, module: str) -> int:
        """The rank of a module, by its path in the base model."""
        return int(value_of(self.rank_pattern, module, self.r))

    def scale(self, module: str) -> float:
        """What the module's update is multiplied by: alpha / r, or alpha / sqrt(r) with use_rslora."""
        rank = self.rank(module)
        return value_of(self.alpha_pattern, module, self.alpha) / (math.sqrt(rank) if self.rslora else rank)


def _refuse_others(values: Mapping[str, Any], path: Path) -> None:
    kind = values.get("peft_type")
    if kind != "LORA":
        raise AdapterFormatError(f"{path}: peft_type is {shown(kind)}; only 'LORA' adapters can be applied")
    for key, why in _REFUSED.items():
        if values.get(key):
            raise AdapterFormatError(f"{path}: {key} is {shown(values[key])}: {why}")
    if values.get("bias") not in (None, "none"):
        raise AdapterFormatError(
            f"{path}: bias is {shown(values['bias'])}: trained biases of the base are not implemented; "
            "train with bias 'none'"
        )
    init = values.get("init_lora_weights")
    if init not in _INITS:
        raise AdapterFormatError(
            f"{path}: init_lora_weights is {shown(init)}, which changes the base weights; save the adapter with "
            "path_initial_model_for_weight_conversion, which makes it a plain one"
        )


Check = Callable[[Any], bool]


def _rank(value: Any) -> bool:
    return type(value) is int and value >= 1


def _alpha(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e30 and value != 0  # false for NaN


_WANTED: dict[Check, str] = {_rank: "a whole number of at least 1", _alpha: "a number other than 0"}


def _number(values: Mapping[str, Any], key: str, path: Path, check: Check) -> float:
    if key not in values:
        raise AdapterFormatError(f"{path} has no {key}: an adapter's scale is lora_alpha / r, and both must be there")
    if not check(values[key]):
        raise AdapterFormatError(f"{path}: {key} is {shown(values[key])}, but must be {_WANTED[check]}")
    return float(values[key])


def _patterns(values: Mapping[str, Any], key: str, path: Path, check: Check) -> dict[str, float]:
    patterns = values.get(key) or {}
    if not isinstance(patterns, dict):
        raise AdapterFormatError(f"{path}: {key} must map module patterns to numbers")
    if len(patterns) > MOST_PATTERNS:
        raise AdapterFormatError(f"{path}: {key} has {len(patterns)} patterns; {MOST_PATTERNS} are the most")
    for pattern, value in patterns.items():
        check_pattern(pattern, f"{path}: {key}")
        if not check(value):
            raise AdapterFormatError(
                f"{path}: {key} gives {shown(pattern)} the value {shown(value)}, but it must be {_WANTED[check]}"
            )
    return {pattern: float(value) for pattern, value in patterns.items()}
