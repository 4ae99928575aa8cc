"""Configuration of the Llama family: from config.json, from GGUF metadata, or from tensor names and shapes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats import TensorInfo
from boostr.models.fields import LIMITS, Fields
from boostr.models.guess import guess_head_dim, layer_count, shape_of
from boostr.models.names import GGUF_NAMES
from boostr.models.rope_config import RopeConfig, rope_from_gguf, rope_from_hf
from boostr.nn import ACTIVATIONS

__all__ = ["LlamaConfig"]

# What config.json leaves out means what the published implementation of the type defaults to.
_HF_CONTEXT = {"llama": 2048, "internlm2": 2048, "mistral": 131072, "qwen2": 32768, "qwen3": 32768}
_HF_HEAD_DIM = {"qwen3": 128}
_LONG_THETA = ("qwen2", "qwen3", "internlm2")  # published with rope_theta 1e6 where nothing says so


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig:
    """Sizes and switches, named as in config.json. `windows` is each layer's sliding window, 0 for full attention."""

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope: RopeConfig
    windows: tuple[int, ...]
    hidden_act: str = "silu"
    tie_word_embeddings: bool = False
    attention_bias: bool = False  # on q, k and v
    attention_out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    interleaved_rope: bool = False  # GGUF files of some architectures store q and k rows in rotary pairs
    rope_divisors: bool = False  # GGUF files of llama3-scaled models carry the divisors as a tensor
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        heads, kv_heads = self.num_attention_heads, self.num_key_value_heads
        if heads % kv_heads:
            raise ConfigError(f"num_attention_heads {heads} is not a multiple of num_key_value_heads {kv_heads}")
        if self.head_dim % 2:
            raise ConfigError(f"head_dim {self.head_dim} is odd: rotary positions turn pairs")
        self.rope.dims(self.head_dim)
        if self.hidden_act not in ACTIVATIONS:
            raise UnsupportedModelError(f"hidden_act {self.hidden_act!r} is not one of {', '.join(ACTIVATIONS)}")

    @property
    def rotary_dim(self) -> int:
        return self.rope.dims(self.head_dim)

    @classmethod
    def from_hf(cls, values: Mapping[str, Any], found: Mapping[str, TensorInfo] | None = None) -> LlamaConfig:
        """From a normalised config.json; `found` are the checkpoint's tensors by attribute path."""
        config, found = Fields(values, "config.json"), found or {}
        kind = config.text("model_type", "llama")
        hidden, heads = config.integer("hidden_size", 1, LIMITS["hidden"]), _heads(config, "num_attention_heads")
        layers = config.integer("num_hidden_layers", 1, LIMITS["layers"])
        context = config.integer("max_position_embeddings", 1, LIMITS["context"], _HF_CONTEXT.get(kind, 2048))
        rope = rope_from_hf(config, context)
        attention_bias = config.flag("attention_bias", False) or config.flag("bias", False)
        has_head = "lm_head.weight" in found or not found
        return cls(
            model_type=kind,
            vocab_size=config.integer("vocab_size", 1, LIMITS["vocab"]),
            hidden_size=hidden,
            intermediate_size=config.integer("intermediate_size", 1, LIMITS["intermediate"]),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=_heads(config, "num_key_value_heads", heads),
            head_dim=_hf_head_dim(config, kind, hidden, heads),
            max_position_embeddings=max(context, rope.context_length),
            rms_norm_eps=config.number("rms_norm_eps", 0.0, 1.0, 1e-6),
            rope=rope,
            windows=_hf_windows(config, kind, layers),
            hidden_act=config.text("hidden_act", "silu"),
            # Files without a head are tied even where the config forgets to say it.
            tie_word_embeddings=config.flag("tie_word_embeddings", not has_head),
            attention_bias=attention_bias or kind == "qwen2" or "layers.0.self_attn.q_proj.bias" in found,
            attention_out_bias=attention_bias or "layers.0.self_attn.o_proj.bias" in found,
            mlp_bias=config.flag("mlp_bias", False) or "layers.0.mlp.up_proj.bias" in found,
            qk_norm=kind == "qwen3" or "layers.0.self_attn.q_norm.weight" in found,
            assumptions=rope.assumptions,
        )

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any], found: Mapping[str, TensorInfo]) -> LlamaConfig:
        """From GGUF metadata; the vocabulary's size is that of the embedding matrix."""
        arch = Fields(metadata, "GGUF metadata").text("general.architecture")
        config = Fields(metadata, "GGUF metadata", f"{arch}.")
        hidden = config.integer("embedding_length", 1, LIMITS["hidden"])
        heads = _heads(config, "attention.head_count")
        head_dim = config.integer("attention.key_length", 1, LIMITS["head_dim"], max(hidden // heads, 1))
        context = config.integer("context_length", 1, LIMITS["context"], 4096)
        layers = config.integer("block_count", 1, LIMITS["layers"])
        rotary_dim = config.integer("rope.dimension_count", 2, head_dim, head_dim)
        window = config.integer("attention.sliding_window", 0, LIMITS["context"], 0)
        rope = rope_from_gguf(config, context, rotary_dim / head_dim)
        return cls(
            model_type=arch,
            vocab_size=shape_of(found, "embed_tokens.weight")[0],
            hidden_size=hidden,
            intermediate_size=config.integer("feed_forward_length", 1, LIMITS["intermediate"]),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=_heads(config, "attention.head_count_kv", heads),
            head_dim=head_dim,
            max_position_embeddings=context,
            rms_norm_eps=config.number("attention.layer_norm_rms_epsilon", 0.0, 1.0, 1e-5),
            rope=rope,
            windows=(window,) * layers,
            interleaved_rope=GGUF_NAMES[arch]["layers.{n}.self_attn.q_proj"].paired,
            rope_divisors="rope_freqs.weight" in found,
            **_switches(found),
        )

    @classmethod
    def from_tensors(cls, model_type: str, found: Mapping[str, TensorInfo]) -> LlamaConfig:
        """From names and shapes alone. What shapes do not tell is assumed, and listed in `assumptions`."""
        vocab, hidden = shape_of(found, "embed_tokens.weight")
        layers = layer_count(found)
        _, q_rows = shape_of(found, "layers.0.self_attn.o_proj.weight")
        kv_rows = shape_of(found, "layers.0.self_attn.k_proj.weight")[0]
        if model_type == "internlm2":  # k_proj is a part of wqkv: q rows, and k and v rows
            kv_rows = (kv_rows - q_rows) // 2
        if "layers.0.self_attn.q_norm.weight" in found:
            head_dim, note = shape_of(found, "layers.0.self_attn.q_norm.weight", 1)[0], ""
        else:
            head_dim, note = guess_head_dim(hidden, q_rows, kv_rows, model_type == "qwen2")
        theta = 1e6 if model_type in _LONG_THETA else 1e4
        eps = 1e-6 if model_type.startswith("qwen") else 1e-5
        notes = (note, f"rope_theta {theta:g}, rms_norm_eps {eps:g} and context 2048 are assumed: no config.json")
        return cls(
            model_type=model_type,
            vocab_size=vocab,
            hidden_size=hidden,
            intermediate_size=shape_of(found, "layers.0.mlp.gate_proj.weight")[0],
            num_hidden_layers=layers,
            num_attention_heads=max(q_rows // head_dim, 1),
            num_key_value_heads=max(kv_rows // head_dim, 1),
            head_dim=head_dim,
            max_position_embeddings=2048,
            rms_norm_eps=eps,
            rope=RopeConfig(theta),
            windows=(0,) * layers,
            assumptions=tuple(filter(None, notes)),
            **_switches(found),
        )


def _heads(config: Fields, key: str, default: int | None = None) -> int:
    """A head count. GGUF may give one per layer; they must agree."""
    per_layer = config.get(key)
    per_layer = per_layer.tolist() if isinstance(per_layer, np.ndarray) else per_layer
    if not isinstance(per_layer, list):
        return config.integer(key, 1, LIMITS["heads"], default)
    counts = [config.with_value(key, count).integer(key, 1, LIMITS["heads"]) for count in per_layer]
    if len(set(counts)) != 1:
        raise UnsupportedModelError(f"'{key}' differs between layers, which is not implemented for this architecture")
    return counts[0]


def _hf_head_dim(config: Fields, kind: str, hidden: int, heads: int) -> int:
    if "head_dim" not in config and kind not in _HF_HEAD_DIM and hidden % heads:
        raise config.fail("head_dim", f"is missing, and hidden_size {hidden} is not a multiple of {heads} heads")
    return config.integer("head_dim", 2, LIMITS["head_dim"], _HF_HEAD_DIM.get(kind, hidden // heads))


def _hf_windows(config: Fields, kind: str, layers: int) -> tuple[int, ...]:
    """Each layer's window. Qwen counts it only with use_sliding_window, and then from max_window_layers on."""
    qwen = kind in ("qwen2", "qwen3")
    used = kind == "mistral" or (qwen and config.flag("use_sliding_window", False))
    if not used or "sliding_window" not in config:
        return (0,) * layers
    window = config.integer("sliding_window", 1, LIMITS["context"])
    kinds = config.sequence("layer_types")
    if kinds is None:
        first = config.integer("max_window_layers", 0, LIMITS["context"], 28) if qwen else 0
        return tuple(window if n >= first else 0 for n in range(layers))
    if len(kinds) != layers or any(name not in ("full_attention", "sliding_attention") for name in kinds):
        raise config.fail("layer_types", f"must be full_attention or sliding_attention for each of {layers} layers")
    return tuple(window if name == "sliding_attention" else 0 for name in kinds)


def _switches(found: Mapping[str, TensorInfo]) -> dict[str, Any]:
    """What the presence of tensors says."""
    first = "layers.0."
    return {
        "tie_word_embeddings": "lm_head.weight" not in found,
        "attention_bias": first + "self_attn.q_proj.bias" in found,
        "attention_out_bias": first + "self_attn.o_proj.bias" in found,
        "mlp_bias": first + "mlp.up_proj.bias" in found,
        "qk_norm": first + "self_attn.q_norm.weight" in found,
    }
