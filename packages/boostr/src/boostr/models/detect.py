"""Which architecture a checkpoint is: from its metadata, its config.json, or its tensor names alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats import Checkpoint
from boostr.models.registry import MODEL_TYPES

__all__ = ["detect_architecture"]

# GGUF's general.type of LoRA weights and of vision or audio projectors.
_COMPANIONS = ("adapter", "mmproj")

# Where model_type is missing: a piece of architectures[0] in lower case -> model_type, specific ones first.
_CLASS_NAMES = (
    ("internlm2", "internlm2"),
    ("qwen3_5moe", "qwen3_5_moe"),
    ("qwen3_5", "qwen3_5"),
    ("qwen3next", "qwen3_next"),
    ("qwen3moe", "qwen3_moe"),
    ("qwen3", "qwen3"),
    ("qwen2moe", "qwen2_moe"),
    ("qwen2", "qwen2"),
    ("mixtral", "mixtral"),
    ("mistral", "mistral"),
    ("llama", "llama"),
)

# Where there is no config.json: a piece that some tensor name holds -> architecture, specific ones first.
_TENSOR_NAMES = (
    (".linear_attn.in_proj_qkvz", "qwen3_next"),
    (".linear_attn.", "qwen3_5"),
    (".mixer.", "mamba2"),
    ("mamba2.", "mamba2"),
    ("mamba3.", "mamba3"),
    (".kv_a_proj_with_mqa", "deepseek_v3"),
    (".w_dkv", "deepseek_v2"),
    (".block_sparse_moe.", "mixtral"),
    (".experts.", "qwen3_moe"),
    (".query_key_value", "falcon"),
    (".qkv_proj", "phi3"),
    (".attention.wqkv", "internlm2"),
    (".self_attn.q_norm", "qwen3"),
    (".self_attn.q_proj", "llama"),
)


def detect_architecture(checkpoint: Checkpoint, config: Mapping[str, Any] | None) -> str:
    """GGUF's architecture name, or the model_type of a SafeTensors model. Raises ConfigError, UnsupportedModelError."""
    if checkpoint.format == "gguf":
        return _from_metadata(checkpoint.metadata, checkpoint.path)
    if config is not None and (named := _named(config)) is not None:
        return named
    return _from_names(checkpoint.names(), checkpoint.path)


def _from_metadata(metadata: Mapping[str, Any], path: object) -> str:
    kind = metadata.get("general.type")
    # An adapter names the architecture it is for, so that only the type tells it from a model.
    if isinstance(kind, str) and kind in _COMPANIONS:
        raise UnsupportedModelError(
            f"{path}: general.type is {kind!r}: the file goes with a model and is none; give the model's own file"
        )
    arch = metadata.get("general.architecture")
    if not isinstance(arch, str):
        raise ConfigError(f"{path}: the metadata key 'general.architecture' is missing")
    return arch


def _named(config: Mapping[str, Any]) -> str | None:
    kind = config.get("model_type")
    if isinstance(kind, str) and kind:
        return kind
    classes = config.get("architectures")
    name = str(classes[0]).lower() if isinstance(classes, list) and classes else ""
    return next((kind for piece, kind in _CLASS_NAMES if piece in name), None)


def _from_names(names: Iterable[str], path: object) -> str:
    names = list(names)
    kind = next((kind for piece, kind in _TENSOR_NAMES if any(piece in name for name in names)), None)
    if kind is None:
        raise UnsupportedModelError(
            f"{path}: neither a config.json nor tensor names tell the architecture (first names: "
            f"{', '.join(names[:3])}); known: {', '.join(sorted(MODEL_TYPES))}"
        )
    if kind == "qwen3_5" and any(".mlp.shared_expert_gate." in name for name in names):
        return "qwen3_5_moe"
    if kind == "llama" and not any(name.endswith(".o_proj.bias") for name in names):
        return "qwen2" if any(name.endswith(".q_proj.bias") for name in names) else "llama"
    return kind
