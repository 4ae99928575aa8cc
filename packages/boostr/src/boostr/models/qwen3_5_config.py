"""Configuration of Qwen3.5 and Qwen3-Next: from config.json, from GGUF metadata, or from tensor names and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats import TensorInfo
from boostr.models.fields import LIMITS, Fields
from boostr.models.guess import layer_count, shape_of
from boostr.models.rope_config import RopeConfig, rope_from_gguf, rope_from_hf
from boostr.nn import ACTIVATIONS
from boostr.nn.kernels import MOST_TAPS

__all__ = ["DeltaSizes", "ExpertSizes", "Qwen35Config"]

_HEADS, _HEAD_DIM = LIMITS["heads"], LIMITS["head_dim"]
_PARTIAL = 0.25  # the share of a head's dims that turn, where nothing says it

_ASSUMED = (
    "key heads of {} dims, as wide as value heads, rope_theta 1e7 over a quarter of each head, rms_norm_eps 1e-6 and "
    "context 32768 are assumed: no config.json"
)

# Per model_type, what config.json leaves out means what the published implementation defaults to: experts, how many
# of them a token uses, and their width. The dense types have none.
_HF_EXPERTS = {"qwen3_5_moe": (256, 8, 512), "qwen3_5_moe_text": (256, 8, 512), "qwen3_next": (512, 10, 512)}

# How a checkpoint keeps its experts: a matrix each; one per projection for all; gate and up in one as well.
ExpertStorage = Literal["single", "stacked", "fused"]


@dataclass(frozen=True, slots=True)
class DeltaSizes:
    """The gated delta net layers. `tiled`: value head h goes with key head h % k_heads (GGUF), else h // ratio."""

    k_heads: int
    v_heads: int
    k_dim: int
    v_dim: int
    taps: int
    tiled: bool = False

    def __post_init__(self) -> None:
        if self.v_heads % self.k_heads:
            raise ConfigError(f"{self.v_heads} value heads are no multiple of {self.k_heads} key heads")

    @property
    def channels(self) -> int:
        """Rows of queries, keys and values."""
        return 2 * self.k_heads * self.k_dim + self.v_heads * self.v_dim

    @property
    def v_rows(self) -> int:
        return self.v_heads * self.v_dim


@dataclass(frozen=True, slots=True)
class ExpertSizes:
    """The mixture of experts in place of the MLP of `layers`."""

    count: int
    used: int
    width: int
    shared_width: int
    layers: tuple[bool, ...]
    storage: ExpertStorage
    renormalise: bool = True

    def __post_init__(self) -> None:
        if self.used > self.count:
            raise ConfigError(f"{self.used} experts a token are more than the {self.count} there are")


@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen35Config:
    """Sizes and switches, named as in config.json where they stand there. `full_attention` says it per layer."""

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int  # of the MLP, where a layer has one
    full_attention: tuple[bool, ...]
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope: RopeConfig
    delta: DeltaSizes
    experts: ExpertSizes | None = None
    hidden_act: str = "silu"
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mrope_section: tuple[int, ...] = ()  # frequencies per axis (time, height, width); text has equal positions on all
    extra_blocks: int = 0  # multi-token prediction blocks that follow the layers in a GGUF file
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads {self.num_attention_heads} is not a multiple of num_key_value_heads "
                f"{self.num_key_value_heads}"
            )
        self.rope.dims(self.head_dim)
        if self.hidden_act not in ACTIVATIONS:
            raise UnsupportedModelError(f"hidden_act {self.hidden_act!r} is not one of {', '.join(ACTIVATIONS)}")

    @property
    def num_hidden_layers(self) -> int:
        return len(self.full_attention)

    @property
    def rotary_dim(self) -> int:
        return self.rope.dims(self.head_dim)

    def sparse(self, layer: int) -> bool:
        """Whether a layer has experts in place of an MLP."""
        return self.experts is not None and self.experts.layers[layer]

    @classmethod
    def from_hf(cls, values: Mapping[str, Any], found: Mapping[str, TensorInfo] | None = None) -> Qwen35Config:
        """From a normalised config.json; `found` are the checkpoint's tensors by attribute path."""
        config, found = Fields(values, "config.json"), found or {}
        layers = config.integer("num_hidden_layers", 1, LIMITS["layers"])
        heads = config.integer("num_attention_heads", 1, _HEADS, 16)
        context = config.integer("max_position_embeddings", 1, LIMITS["context"], 32768)
        rope, given = rope_from_hf(config, context), config.within("rope_parameters")
        if "partial_rotary_factor" not in given:
            rope = replace(rope, partial=_PARTIAL)
        experts = _hf_experts(config, config.text("model_type"), layers, found)
        dense = experts is None or not all(experts.layers)
        has_head = "lm_head.weight" in found or not found
        return cls(
            model_type=config.text("model_type"),
            vocab_size=config.integer("vocab_size", 1, LIMITS["vocab"]),
            hidden_size=config.integer("hidden_size", 1, LIMITS["hidden"]),
            intermediate_size=config.integer("intermediate_size", 1, LIMITS["intermediate"]) if dense else 0,
            full_attention=_hf_layers(config, layers),
            num_attention_heads=heads,
            num_key_value_heads=config.integer("num_key_value_heads", 1, _HEADS, heads),
            head_dim=config.integer("head_dim", 2, _HEAD_DIM, 256),
            max_position_embeddings=max(context, rope.context_length),
            rms_norm_eps=config.number("rms_norm_eps", 0.0, 1.0, 1e-6),
            rope=rope,
            delta=DeltaSizes(
                k_heads=config.integer("linear_num_key_heads", 1, _HEADS, 16),
                v_heads=config.integer("linear_num_value_heads", 1, _HEADS, 32),
                k_dim=config.integer("linear_key_head_dim", 1, _HEAD_DIM, 128),
                v_dim=config.integer("linear_value_head_dim", 1, _HEAD_DIM, 128),
                taps=config.integer("linear_conv_kernel_dim", 2, MOST_TAPS, 4),
            ),
            experts=experts,
            hidden_act=config.text("hidden_act", "silu"),
            tie_word_embeddings=config.flag("tie_word_embeddings", not has_head),
            attention_bias=config.flag("attention_bias", False),
            mrope_section=_sections(given, "mrope_section"),
            assumptions=rope.assumptions,
        )

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any], found: Mapping[str, TensorInfo]) -> Qwen35Config:
        """From GGUF metadata; the vocabulary's size is that of the embedding matrix."""
        arch = Fields(metadata, "GGUF metadata").text("general.architecture")
        config = Fields(metadata, "GGUF metadata", f"{arch}.")
        extra = config.integer("nextn_predict_layers", 0, LIMITS["layers"] - 1, 0)
        layers = config.integer("block_count", extra + 1, LIMITS["layers"]) - extra
        heads = config.integer("attention.head_count", 1, _HEADS)
        hidden = config.integer("embedding_length", 1, LIMITS["hidden"])
        head_dim = config.integer("attention.key_length", 2, _HEAD_DIM, max(hidden // heads, 2))
        context = config.integer("context_length", 1, LIMITS["context"], 4096)
        rotary_dim = config.integer("rope.dimension_count", 2, head_dim, int(head_dim * _PARTIAL))
        experts = _gguf_experts(config, layers, found)
        return cls(
            model_type=arch,
            vocab_size=shape_of(found, "embed_tokens.weight")[0],
            hidden_size=hidden,
            intermediate_size=0 if experts else config.integer("feed_forward_length", 1, LIMITS["intermediate"]),
            full_attention=_gguf_layers(config, layers),
            num_attention_heads=heads,
            num_key_value_heads=config.integer("attention.head_count_kv", 1, _HEADS, heads),
            head_dim=head_dim,
            max_position_embeddings=context,
            rms_norm_eps=config.number("attention.layer_norm_rms_epsilon", 0.0, 1.0, 1e-6),
            rope=rope_from_gguf(config, context, rotary_dim / head_dim),
            delta=_gguf_delta(config, tiled=arch != "qwen3next"),
            experts=experts,
            tie_word_embeddings="lm_head.weight" not in found,
            attention_bias=any(path.endswith("self_attn.q_proj.bias") for path in found),
            mrope_section=_sections(config, "rope.dimension_sections"),
            extra_blocks=extra,
        )

    @classmethod
    def from_tensors(cls, model_type: str, found: Mapping[str, TensorInfo]) -> Qwen35Config:
        """From names and shapes alone. What shapes do not tell is assumed, and listed in `assumptions`."""
        if model_type in _HF_EXPERTS:
            raise ConfigError(
                "how many experts a token uses cannot be told from tensors; put the model's config.json next to them"
            )
        vocab, hidden = shape_of(found, "embed_tokens.weight")
        layers = layer_count(found)
        full = tuple(f"layers.{n}.self_attn.q_proj.weight" in found for n in range(layers))
        if all(full) or not any(full):
            raise ConfigError(
                "the tensor names show not both kinds of layers; put the model's config.json next to them"
            )
        attention, linear = f"layers.{full.index(True)}.self_attn.", f"layers.{full.index(False)}.linear_attn."
        head_dim = shape_of(found, attention + "q_norm.weight", 1)[0]
        v_dim, v_heads = shape_of(found, linear + "norm.weight", 1)[0], shape_of(found, linear + "A_log", 1)[0]
        channels, _, taps = shape_of(found, linear + "conv1d.weight", 3)
        k_heads = (channels - v_heads * v_dim) // (2 * v_dim)
        return cls(
            model_type=model_type,
            vocab_size=vocab,
            hidden_size=hidden,
            intermediate_size=shape_of(found, "layers.0.mlp.gate_proj.weight")[0],
            full_attention=full,
            num_attention_heads=max(shape_of(found, attention + "o_proj.weight")[1] // head_dim, 1),
            num_key_value_heads=max(shape_of(found, attention + "k_proj.weight")[0] // head_dim, 1),
            head_dim=head_dim,
            max_position_embeddings=32768,
            rms_norm_eps=1e-6,
            rope=RopeConfig(1e7, partial=_PARTIAL),
            delta=DeltaSizes(max(k_heads, 1), v_heads, v_dim, v_dim, taps),
            tie_word_embeddings="lm_head.weight" not in found,
            assumptions=(_ASSUMED.format(v_dim),),
        )


def _hf_layers(config: Fields, layers: int) -> tuple[bool, ...]:
    kinds = config.sequence("layer_types")
    if kinds is None:
        interval = config.integer("full_attention_interval", 1, LIMITS["layers"], 4)
        return tuple((n + 1) % interval == 0 for n in range(layers))
    if len(kinds) != layers or any(kind not in ("full_attention", "linear_attention") for kind in kinds):
        raise config.fail("layer_types", f"must be full_attention or linear_attention for each of {layers} layers")
    return tuple(kind == "full_attention" for kind in kinds)


def _gguf_layers(config: Fields, layers: int) -> tuple[bool, ...]:
    recurrent = config.get("attention.recurrent_layers")
    if recurrent is None:
        interval = config.integer("full_attention_interval", 1, LIMITS["layers"], 4)
        return tuple((n + 1) % interval == 0 for n in range(layers))
    flags = np.asarray(recurrent)
    if flags.ndim != 1 or len(flags) < layers or flags.dtype.kind not in "biu":
        raise config.fail("attention.recurrent_layers", f"must say for each of {layers} layers whether it is recurrent")
    return tuple(not bool(flag) for flag in flags[:layers])


def _gguf_delta(config: Fields, tiled: bool) -> DeltaSizes:
    v_heads = config.integer("ssm.time_step_rank", 1, _HEADS)
    inner = config.integer("ssm.inner_size", v_heads, v_heads * _HEAD_DIM)
    if inner % v_heads:
        raise config.fail("ssm.inner_size", f"{inner} is not a multiple of ssm.time_step_rank {v_heads}")
    return DeltaSizes(
        k_heads=config.integer("ssm.group_count", 1, _HEADS),
        v_heads=v_heads,
        k_dim=config.integer("ssm.state_size", 1, _HEAD_DIM),
        v_dim=inner // v_heads,
        taps=config.integer("ssm.conv_kernel", 2, MOST_TAPS),
        tiled=tiled,
    )


def _hf_experts(config: Fields, kind: str, layers: int, found: Mapping[str, TensorInfo]) -> ExpertSizes | None:
    if kind not in _HF_EXPERTS:
        return None
    count, used, width = _HF_EXPERTS[kind]
    step = config.integer("decoder_sparse_step", 1, LIMITS["layers"], 1)
    dense = config.sequence("mlp_only_layers") or ()
    return ExpertSizes(
        count=config.integer("num_experts", 1, LIMITS["experts"], count),
        used=config.integer("num_experts_per_tok", 1, LIMITS["experts"], used),
        width=config.integer("moe_intermediate_size", 1, LIMITS["intermediate"], width),
        shared_width=config.integer("shared_expert_intermediate_size", 1, LIMITS["intermediate"], 512),
        layers=tuple(n not in dense and (n + 1) % step == 0 for n in range(layers)),
        storage=_storage(found),
        renormalise=config.flag("norm_topk_prob", True) if kind == "qwen3_next" else True,
    )


def _gguf_experts(config: Fields, layers: int, found: Mapping[str, TensorInfo]) -> ExpertSizes | None:
    if "expert_count" not in config:
        return None
    return ExpertSizes(
        count=config.integer("expert_count", 1, LIMITS["experts"]),
        used=config.integer("expert_used_count", 1, LIMITS["experts"]),
        width=config.integer("expert_feed_forward_length", 1, LIMITS["intermediate"]),
        shared_width=config.integer("expert_shared_feed_forward_length", 1, LIMITS["intermediate"]),
        layers=(True,) * layers,
        storage=_storage(found),
    )


def _storage(found: Mapping[str, TensorInfo]) -> ExpertStorage:
    if any(path.endswith(".mlp.experts.gate_up_proj.weight") for path in found):
        return "fused"
    return "stacked" if any(path.endswith(".mlp.experts.gate_proj.weight") for path in found) else "single"


def _sections(config: Fields, key: str) -> tuple[int, ...]:
    value = config.get(key)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(n, int) and 0 <= n <= _HEAD_DIM for n in value):
        raise config.fail(key, "must be a list of counts of frequencies, one per axis")
    return tuple(value)
