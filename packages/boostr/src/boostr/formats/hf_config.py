"""config.json and its neighbours in both dialects of the Hugging Face world, turned into one.

Published configs spell the rotary embedding as top-level rope_theta and rope_scaling, and the dtype as torch_dtype;
transformers 5 writes rope_parameters and dtype. Vision models nest the language model's part under text_config.
Knows no architecture's defaults: a value that the file does not give is absent from the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boostr.errors import ConfigError
from boostr.formats.json_file import read_json_object

__all__ = [
    "model_torch_dtype",
    "normalise_config",
    "read_config",
    "read_generation_config",
    "read_json_object",
    "read_tokenizer_config",
]

_CONFIG_LIMIT = 4 << 20
_DTYPES = {
    "float32": "float32",
    "float": "float32",
    "f32": "float32",
    "fp32": "float32",
    "float16": "float16",
    "half": "float16",
    "f16": "float16",
    "fp16": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
}


def read_config(directory: Path) -> dict[str, Any] | None:
    """config.json of a model directory as it stands; None when there is none. Raises FormatError."""
    return _read_optional(directory / "config.json")


def read_generation_config(directory: Path) -> dict[str, Any]:
    """generation_config.json, or {}."""
    return _read_optional(directory / "generation_config.json") or {}


def read_tokenizer_config(directory: Path) -> dict[str, Any]:
    """tokenizer_config.json, or {}. It may list every added token, so it gets the general size limit."""
    path = directory / "tokenizer_config.json"
    return read_json_object(path) if path.exists() else {}


def _read_optional(path: Path) -> dict[str, Any] | None:
    return read_json_object(path, _CONFIG_LIMIT) if path.exists() else None


def model_torch_dtype(config: Mapping[str, Any]) -> str | None:
    """The dtype the model was saved for: "float32", "float16" or "bfloat16".

    Read from torch_dtype, then dtype, then both under text_config; None when none of them says (the caller's default
    counts then). ConfigError for any other value.
    """
    text = config.get("text_config")
    for source in (config, text if isinstance(text, Mapping) else {}):
        for key in ("torch_dtype", "dtype"):
            value = source.get(key)
            if value is not None:
                return _dtype(key, value)
    return None


def _dtype(key: str, value: Any) -> str:
    name = value.removeprefix("torch.") if isinstance(value, str) else None
    if name not in _DTYPES:
        raise ConfigError(f"config.json: {key} is {value!r}; it must be float32, float16 or bfloat16")
    return _DTYPES[name]


def normalise_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """One flat dict for either dialect. `config` itself is not changed.

    - text_config is merged over the outer keys and removed; model_type, architectures, tie_word_embeddings and
      quantization_config stay the outer ones where the outer config has them. `text_model_type` is the inner one's.
    - `dtype` is model_torch_dtype's answer, absent when that is None; torch_dtype is removed.
    - `rope_parameters` holds rope_type ("default", "linear", "llama3", "yarn", "longrope", "dynamic", ...), rope_theta,
      partial_rotary_factor and the numbers of the scaling, as far as the file gives them anywhere. It is absent when
      the file says nothing about rotary embeddings. rope_theta, rope_scaling, rotary_pct, rotary_emb_base,
      partial_rotary_factor and attn_rotary_emb are removed from the top. A config with one set per layer type keeps
      that: {"full_attention": {...}, "sliding_attention": {...}}.

    ConfigError when a part that must be an object is not one.
    """
    flat = _merge_text_config(config)
    dtype = model_torch_dtype(config)
    flat.pop("torch_dtype", None)
    flat.pop("dtype", None)
    if dtype is not None:
        flat["dtype"] = dtype
    rope = _rope_parameters(flat)
    for key in _ROPE_KEYS:
        flat.pop(key, None)
    if rope:
        flat["rope_parameters"] = rope
    return flat


_OUTER_WINS = ("model_type", "architectures", "tie_word_embeddings", "quantization_config")


def _merge_text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    flat = dict(config)
    text = flat.pop("text_config", None)
    if text is None:
        return flat
    if not isinstance(text, Mapping):
        raise ConfigError("config.json: text_config must be an object")
    inner = {key: value for key, value in text.items() if key not in _OUTER_WINS or key not in flat}
    flat.update(inner)
    if "model_type" in text:
        flat["text_model_type"] = text["model_type"]
    return flat


_ROPE_KEYS = (
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_emb_base",
    "partial_rotary_factor",
    "rotary_pct",
    "attn_rotary_emb",
    "rope_local_base_freq",
)
_OLD_TYPES = {"su": "longrope", "mrope": "default"}
_STRETCHED = ("longrope", "yarn", "llama3", "dynamic")


def _rope_parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    given = _rope_object(config, "rope_parameters") or _rope_object(config, "rope_scaling")
    if given and all(isinstance(value, Mapping) for value in given.values()):
        return {kind: _one_rope(config, dict(value)) for kind, value in given.items()}
    rope = _one_rope(config, given)
    local = config.get("rope_local_base_freq")
    if local is None:
        return rope
    # Two bases, the scaling belonging to the global layers only (gemma3 as first published).
    return {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": local}}


def _rope_object(config: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = config.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"config.json: {key} must be an object, not {type(value).__name__}")
    return dict(value)


def _one_rope(config: Mapping[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    rope = dict(given)
    old_type = rope.pop("type", None)
    kind = rope.get("rope_type") or old_type
    _fill(rope, "rope_theta", config.get("rope_theta"), config.get("rotary_emb_base"), _attn_config_theta(config))
    _fill(
        rope, "partial_rotary_factor", config.get("partial_rotary_factor"), config.get("rotary_pct"), _by_dims(config)
    )
    if not rope and kind is None:
        return {}
    if kind is not None and not isinstance(kind, str):
        raise ConfigError(f"config.json: rope_type must be a string, not {kind!r}")
    kind = "default" if kind is None else _OLD_TYPES.get(kind, kind)
    if kind == "yarn" and "short_factor" in rope and "long_factor" in rope:
        kind = "longrope"  # early phi3 configs call it yarn
    rope["rope_type"] = kind
    if kind in _STRETCHED:
        _fill(rope, "original_max_position_embeddings", config.get("original_max_position_embeddings"))
    return rope


def _fill(rope: dict[str, Any], key: str, *sources: Any) -> None:
    if rope.get(key) is None:
        rope.pop(key, None)
        value = next((source for source in sources if source is not None), None)
        if value is not None:
            rope[key] = value


def _attn_config_theta(config: Mapping[str, Any]) -> Any:
    nested = config.get("attn_config")  # dbrx
    return nested.get("rope_theta") if isinstance(nested, Mapping) else None


def _by_dims(config: Mapping[str, Any]) -> float | None:
    # bamba gives the rotated dims of a head instead of their share.
    dims, heads, hidden = (config.get(key) for key in ("attn_rotary_emb", "num_attention_heads", "hidden_size"))
    head_dim = config.get("head_dim")
    if head_dim is None and isinstance(hidden, int) and isinstance(heads, int) and heads > 0:
        head_dim = hidden // heads
    return dims / head_dim if isinstance(dims, int) and isinstance(head_dim, int) and head_dim > 0 else None
