"""Which class implements a model type or GGUF architecture. Classes are imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from numpy.typing import NDArray

from boostr.errors import UnsupportedModelError
from boostr.formats import TensorInfo
from boostr.models.network import Network
from boostr.models.weights import Weights

__all__ = ["GGUF_ARCHITECTURES", "MODEL_TYPES", "Architecture", "ConfigReader", "Order", "Unused", "architecture"]

# Patterns of whole checkpoint names that a network leaves on disk, with the reason.
Unused = Sequence[tuple[str, str]]

# Which row of the published checkpoint each row of a linear map is, and which column; None: the same one.
Order = tuple[NDArray[Any] | None, NDArray[Any] | None]

# config.json's model_type -> "module:network class:config class"
_LLAMA = "llama:Llama:LlamaConfig"
_QWEN35 = "qwen3_5:Qwen35:Qwen35Config"
MODEL_TYPES = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "internlm2": _LLAMA,
    "qwen3_5": _QWEN35,
    "qwen3_5_text": _QWEN35,
    "qwen3_5_moe": _QWEN35,
    "qwen3_5_moe_text": _QWEN35,
    "qwen3_next": _QWEN35,
}

# GGUF's general.architecture -> the same
GGUF_ARCHITECTURES = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "internlm2": _LLAMA,
    "qwen35": _QWEN35,
    "qwen35moe": _QWEN35,
    "qwen3next": _QWEN35,
}


class ConfigReader(Protocol):
    """The three places a configuration comes from. `found` are the checkpoint's tensors by attribute path."""

    def from_hf(self, values: Mapping[str, Any], found: Mapping[str, TensorInfo]) -> Any: ...
    def from_gguf(self, metadata: Mapping[str, Any], found: Mapping[str, TensorInfo]) -> Any: ...
    def from_tensors(self, model_type: str, found: Mapping[str, TensorInfo]) -> Any: ...


class Architecture(Protocol):
    """A network class: what it needs of a checkpoint, and how it is made."""

    def __call__(self, config: Any, weights: Weights) -> Network: ...
    def shapes(self, config: Any) -> dict[str, tuple[int, ...]]: ...
    def part_rows(self, config: Any, part: str) -> NDArray[Any]: ...
    def unused(self, config: Any) -> Unused: ...
    def published_order(self, config: Any, path: str) -> Order: ...


def architecture(name: str, table: Mapping[str, str] = MODEL_TYPES) -> tuple[Architecture, ConfigReader]:
    """The network and config classes behind a name. Raises UnsupportedModelError, listing what is known."""
    entry = table.get(name)
    if entry is None:
        raise UnsupportedModelError(f"the architecture {name!r} is not implemented; known: {', '.join(sorted(table))}")
    module, network, config = entry.split(":")
    loaded = import_module(f"boostr.models.{module}")
    return getattr(loaded, network), getattr(loaded, config)
