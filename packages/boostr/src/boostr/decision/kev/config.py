"""A Kev directory: head.pt, and beside it an adapter or whole weights. Knows no network.

Keys, defaults and words follow Kev 1.0's checkpoint reader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from boostr.decision.heads.pointer import PointerHead
from boostr.errors import ConfigError, FormatError
from boostr.formats.json_file import read_json_object
from boostr.formats.torch_pickle import load_torch_file

__all__ = ["HEAD", "KevConfig"]

HEAD = "head.pt"
_TENSORS = ("q.weight", "q.bias", "k.weight", "k.bias")


@dataclass(frozen=True, slots=True)
class KevConfig:
    """What head.pt says, and the head itself."""

    directory: Path
    head: PointerHead = field(repr=False)
    base: str
    base_revision: str | None
    rank: int
    weights: Literal["lora", "full"]
    weights_dtype: str
    temperature: float
    fitted: Mapping[str, float] = field(default_factory=dict)  # by type, over head.pt's one

    @classmethod
    def read(cls, directory: Path) -> KevConfig:
        """Raises FormatError for a file that is no head, ConfigError for one that cannot be served."""
        path = directory / HEAD
        values = load_torch_file(path)
        if not isinstance(values, dict) or not isinstance(values.get("head"), dict):
            raise FormatError(f"{path} holds no head: Kev's is a dict with the key 'head'")
        for switch in ("option_isolation", "special_embeddings"):
            if values.get(switch):
                raise ConfigError(
                    f"{path} says {switch}: such a model needs another attention or embeddings of its own"
                )
        config = cls(
            directory=directory,
            head=_head(values["head"], values.get("head_dim"), path),
            base=_text(values.get("base"), "base", path),
            base_revision=values.get("base_revision"),
            rank=int(values.get("lora") or 0),
            weights=values.get("weights", "lora"),
            weights_dtype=str(values.get("weights_dtype", "fp32")),
            temperature=_positive(values.get("temperature", 1.0), path),
        )
        config._check_form()
        return config

    @property
    def bases(self) -> tuple[str, ...]:
        """Names of the base model, the one to try first in front: head.pt's, then the adapter's."""
        named = self.base
        adapter = self.directory / "adapter_config.json"
        if adapter.is_file():
            other = read_json_object(adapter).get("base_model_name_or_path")
            if isinstance(other, str) and other and other != named:
                return named, other
        return (named,)

    def temperature_of(self, kind: str) -> float:
        return self.fitted.get(kind, self.temperature)

    def _check_form(self) -> None:
        adapter = (self.directory / "adapter_config.json").is_file()
        whole = (self.directory / "config.json").is_file() and any(self.directory.glob("model*.safetensors"))
        holds = "an adapter" if adapter else "backbone weights" if whole else "neither an adapter nor backbone weights"
        if self.weights not in ("lora", "full") or not (adapter if self.weights == "lora" else whole and not adapter):
            raise ConfigError(f"{self.directory}: {HEAD} says weights={self.weights!r} but the directory holds {holds}")


def _head(tensors: Mapping[str, Any], head_dim: Any, path: Path) -> PointerHead:
    if set(tensors) != set(_TENSORS):
        raise FormatError(f"{path} holds the head tensors {sorted(tensors)}: Kev's are {', '.join(_TENSORS)}")
    if not all(isinstance(tensor, np.ndarray) and np.isfinite(tensor).all() for tensor in tensors.values()):
        raise FormatError(f"{path}: a head tensor is no array of finite numbers")
    shape = tensors["q.weight"].shape
    rows = shape[:1]
    if len(shape) != 2 or tensors["k.weight"].shape != shape or any(tensors[f"{n}.bias"].shape != rows for n in "qk"):
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        raise FormatError(f"{path}: the head's tensors do not fit each other: {shapes}")
    if head_dim is not None and head_dim != shape[0]:
        raise FormatError(f"{path} says head_dim {head_dim} and holds a head of {shape[0]}")
    return PointerHead(*(tensors[name] for name in _TENSORS))


def _text(value: Any, name: str, path: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{path} has no {name}: it says which model the adapter belongs to")
    return value


def _positive(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ConfigError(f"{path}: its temperature is {value!r}; it must be a finite number > 0")
    return float(value)
