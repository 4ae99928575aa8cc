"""Rotary settings out of config.json or GGUF metadata, as one RopeScaling. Knows the dialects, computes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.models.fields import LIMITS, Fields
from boostr.nn import SCALINGS, RopeScaling

__all__ = ["RopeConfig", "rope_from_gguf", "rope_from_hf"]

_FACTOR = (1e-6, 1e6)


@dataclass(frozen=True, slots=True)
class RopeConfig:
    """theta, how positions are stretched, and the share of each head's dims that turn."""

    theta: float = 10000.0
    scaling: RopeScaling = field(default_factory=RopeScaling)
    partial: float = 1.0
    context_length: int = 0  # where the scaling implies one, else 0
    assumptions: tuple[str, ...] = ()

    def dims(self, head_dim: int) -> int:
        """How many of a head's dims turn. Raises ConfigError where they are not pairs."""
        dims = int(head_dim * self.partial + 1e-6)  # a share like 58/100 may come out a hair below
        if dims < 2 or dims % 2:
            raise ConfigError(f"{dims} of the {head_dim} dims of a head turn: it must be an even number, at least 2")
        return dims


def rope_from_hf(config: Fields, context: int, theta: float = 10000.0) -> RopeConfig:
    """From a normalised config.json: `rope_parameters` with rope_theta and rope_type. `context` is its own length."""
    rope = config.within("rope_parameters")
    if "full_attention" in rope or "sliding_attention" in rope:
        raise UnsupportedModelError(
            "rotary settings that differ between layers are not implemented for this architecture"
        )
    kind = rope.text("rope_type", "default")
    read = RopeConfig(
        rope.number("rope_theta", 1.0, 1e12, theta), partial=rope.number("partial_rotary_factor", 0.0, 1.0, 1.0)
    )
    if kind == "dynamic":
        # It raises theta only for sequences longer than the trained context, which is where contexts end here.
        return replace(read, assumptions=(f"dynamic rope scaling is not used: the context ends at {context}",))
    original = rope.integer("original_max_position_embeddings", 1, LIMITS["context"], context)
    scaling = RopeScaling(
        kind=_known(kind),
        factor=_hf_factor(rope, kind, context / original),
        original_context=original,
        low_freq_factor=rope.number("low_freq_factor", *_FACTOR, 1.0),
        high_freq_factor=rope.number("high_freq_factor", *_FACTOR, 4.0),
        beta_fast=rope.number("beta_fast", *_FACTOR, 32.0),
        beta_slow=rope.number("beta_slow", *_FACTOR, 1.0),
        truncate=rope.flag("truncate", True),
        attention_factor=rope.number("attention_factor", *_FACTOR) if "attention_factor" in rope else None,
        mscale=rope.number("mscale", 0.0, 1e3, 0.0),
        mscale_all_dim=rope.number("mscale_all_dim", 0.0, 1e3, 0.0),
    )
    if kind == "llama3" and scaling.low_freq_factor >= scaling.high_freq_factor:
        raise rope.fail("low_freq_factor", "must be below high_freq_factor")
    stretched = int(original * scaling.factor) if kind == "yarn" else 0
    return replace(read, scaling=scaling, context_length=min(stretched, LIMITS["context"]))


def rope_from_gguf(metadata: Fields, context: int, partial: float = 1.0) -> RopeConfig:
    """From GGUF keys `<arch>.rope.*`; llama3's divisors are a tensor and not seen here."""
    theta = metadata.number("rope.freq_base", 1.0, 1e12, 10000.0)
    kind = metadata.text("rope.scaling.type", "none")
    # "rope.scale_linear" is what files of 2023 say.
    linear = metadata.number("rope.scale_linear", *_FACTOR, 1.0)
    if kind == "none":
        return RopeConfig(theta, RopeScaling("linear", linear) if linear != 1.0 else RopeScaling(), partial)
    factor = metadata.number("rope.scaling.factor", *_FACTOR, linear)
    scaling = RopeScaling(
        kind=_known(kind),
        factor=factor,
        original_context=metadata.integer("rope.scaling.original_context_length", 1, LIMITS["context"], context),
        beta_fast=metadata.number("rope.scaling.yarn_beta_fast", *_FACTOR, 32.0),
        beta_slow=metadata.number("rope.scaling.yarn_beta_slow", *_FACTOR, 1.0),
        attention_factor=metadata.number("rope.scaling.attn_factor", *_FACTOR)
        if "rope.scaling.attn_factor" in metadata
        else None,
    )
    return RopeConfig(theta, scaling, partial)


def _hf_factor(rope: Fields, kind: str, implied: float) -> float:
    if kind == "default":
        return 1.0
    return rope.number("factor", *_FACTOR, implied if kind == "yarn" else None)


def _known(kind: str) -> str:
    if kind not in SCALINGS:
        raise UnsupportedModelError(f"rope scaling {kind!r} is not implemented; known: {', '.join(SCALINGS)}, dynamic")
    return kind
