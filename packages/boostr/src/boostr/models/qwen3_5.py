"""Qwen3.5 and Qwen3-Next, text: gated delta net layers, and gated full attention in every fourth; MLP or experts.

A layer keeps either keys and values, or the window and state of a recurrence. Multi-token prediction blocks and vision
towers of a checkpoint stay on disk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostr.models.decoder import Decoder
from boostr.models.qwen3_5_config import Qwen35Config
from boostr.models.registry import Order, Unused
from boostr.models.weights import Weights
from boostr.nn import Attention, DeltaRule, GatedDeltaNet, GatedMLP, RotaryEmbedding, SparseMoE
from boostr.state import Step
from boostr.state.spec import LayerSpec
from numr import Tensor

__all__ = ["Qwen35", "Qwen35Config"]

Shapes = dict[str, tuple[int, ...]]


class Qwen35Block:
    """One layer. `x` is the residual stream, `y` the previous layer's output that is not yet added to it.

    mixer  `self_attn` or `linear_attn`, whichever the layer has
    """

    def __init__(self, config: Qwen35Config, weights: Weights, layer: int, rotary: RotaryEmbedding) -> None:
        self.input_layernorm = weights.norm("input_layernorm", config.rms_norm_eps)
        before = config.full_attention[:layer]
        self.self_attn: Attention | None = None
        self.linear_attn: GatedDeltaNet | None = None
        self.mixer: Attention | GatedDeltaNet
        if config.full_attention[layer]:
            self.mixer = self.self_attn = _attention(config, weights.within("self_attn"), sum(before), rotary)
        else:
            index = len(before) - sum(before)
            self.mixer = self.linear_attn = _delta_net(config, weights.within("linear_attn"), index)
        self.state_spec: LayerSpec = self.mixer.state_spec
        self.post_attention_layernorm = weights.norm("post_attention_layernorm", config.rms_norm_eps)
        mlp = weights.within("mlp")
        self.mlp = _experts(config, mlp) if config.sparse(layer) else _mlp(config, mlp)

    def __call__(
        self, x: Tensor, y: Tensor | None, step: Step, rows: NDArray[np.int64] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The new x and y, (T, hidden) each; with `rows`, of those rows only."""
        h = self.input_layernorm(x) if y is None else self.input_layernorm.add(x, y)
        mixed = self.mixer(h, step, rows)
        if rows is not None:
            x = Tensor(x.array[rows])
        return x, self.mlp(self.post_attention_layernorm.add(x, mixed), step.adapters_of(rows))


def _attention(config: Qwen35Config, weights: Weights, index: int, rotary: RotaryEmbedding) -> Attention:
    return Attention(
        weights.linear("q_proj"),
        weights.linear("k_proj"),
        weights.linear("v_proj"),
        weights.linear("o_proj"),
        index=index,
        head_dim=config.head_dim,
        rotary=rotary,
        q_norm=weights.norm("q_norm", config.rms_norm_eps),
        k_norm=weights.norm("k_norm", config.rms_norm_eps),
        gated=True,
    )


def _delta_net(config: Qwen35Config, weights: Weights, index: int) -> GatedDeltaNet:
    sizes = config.delta
    conv = weights.floats("conv1d.weight")  # (channels, taps)
    return GatedDeltaNet(
        weights.linear("in_proj_qkv"),
        weights.linear("in_proj_z"),
        weights.linear("in_proj_b"),
        weights.linear("in_proj_a"),
        weights.linear("out_proj"),
        conv_weight=Tensor(np.ascontiguousarray(conv.T)),
        rule=DeltaRule(
            sizes.k_heads,
            sizes.v_heads,
            sizes.k_dim,
            sizes.v_dim,
            a=Tensor(weights.floats("A_log")),
            dt_bias=Tensor(weights.floats("dt_bias")),
            norm=Tensor(weights.floats("norm.weight")),
            eps=config.rms_norm_eps,
            tiled=sizes.tiled,
        ),
        index=index,
    )


def _mlp(config: Qwen35Config, weights: Weights) -> GatedMLP:
    return GatedMLP(
        weights.linear("gate_proj"), weights.linear("up_proj"), weights.linear("down_proj"), config.hidden_act
    )


def _experts(config: Qwen35Config, weights: Weights) -> SparseMoE:
    sizes = config.experts
    assert sizes is not None, "sparse layers have experts"

    def expert(number: int) -> GatedMLP:
        if sizes.storage == "single":
            return _mlp(config, weights.within(f"experts.{number}"))
        if sizes.storage == "stacked":
            gate, up = weights.stacked("experts.gate_proj", number), weights.stacked("experts.up_proj", number)
        else:  # rows of the gate first
            gate = weights.stacked("experts.gate_up_proj", number, slice(0, sizes.width))
            up = weights.stacked("experts.gate_up_proj", number, slice(sizes.width, 2 * sizes.width))
        return GatedMLP(gate, up, weights.stacked("experts.down_proj", number), config.hidden_act)

    return SparseMoE(
        weights.linear("gate"),
        expert,
        top_k=sizes.used,
        renormalise=sizes.renormalise,
        shared=_mlp(config, weights.within("shared_expert")),
        shared_gate=weights.linear("shared_expert_gate"),
    )


class Qwen35(Decoder[Qwen35Block]):
    """The stack of blocks of both kinds."""

    def __init__(self, config: Qwen35Config, weights: Weights) -> None:
        # Norms of what a state gives, which may be near zero, enlarge a difference of 1e-7 about tenfold a layer.
        weights = weights.steady()
        rotary = RotaryEmbedding(config.head_dim, config.rope.theta, config.rope.scaling, rotary_dim=config.rotary_dim)
        layers = (weights.within(f"layers.{n}") for n in range(config.num_hidden_layers))
        super().__init__(
            config, weights, rotary, [Qwen35Block(config, layer, n, rotary) for n, layer in enumerate(layers)]
        )

    @staticmethod
    def shapes(config: Qwen35Config) -> Shapes:
        """Every parameter by attribute path, with its shape."""
        hidden = config.hidden_size
        shapes: Shapes = {"embed_tokens.weight": (config.vocab_size, hidden), "norm.weight": (hidden,)}
        if not config.tie_word_embeddings:
            shapes["lm_head.weight"] = (config.vocab_size, hidden)
        attention, delta = _attention_shapes(config), _delta_shapes(config)
        dense, sparse = _mlp_shapes("mlp.", hidden, config.intermediate_size), _expert_shapes(config)
        norms: Shapes = {"input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,)}
        for n, full in enumerate(config.full_attention):
            parts = norms | (attention if full else delta) | (sparse if config.sparse(n) else dense)
            shapes |= {f"layers.{n}.{path}": shape for path, shape in parts.items()}
        return shapes

    @staticmethod
    def unused(config: Qwen35Config) -> Unused:
        """The multi-token prediction block, in a GGUF file those after the layers, and the vision tower."""
        reason = "the multi-token prediction block is not used"
        first = config.num_hidden_layers
        return (
            (r"mtp\..*", reason),
            (r"(model\.)?visual\..*", "the vision tower is not used: text only"),
            *((rf"blk\.{n}\..*", reason) for n in range(first, first + config.extra_blocks)),
        )

    @staticmethod
    def published_order(config: Qwen35Config, path: str) -> Order:
        """GGUF files tile value heads over key heads; the published checkpoint has them grouped by key head."""
        d = config.delta
        head = d.k_heads * d.k_dim * 2  # rows of queries and keys, which stay
        orders: dict[str, Order] = {
            "in_proj_qkv": (np.concatenate([np.arange(head), head + _tiled(config, d.v_dim)]), None),
            "in_proj_z": (_tiled(config, d.v_dim), None),
            "in_proj_b": (_tiled(config, 1), None),
            "in_proj_a": (_tiled(config, 1), None),
            "out_proj": (None, _tiled(config, d.v_dim)),
        }
        module = path.rpartition("linear_attn.")[2]
        return orders.get(module, (None, None)) if d.tiled and module != path else (None, None)

    @staticmethod
    def part_rows(config: Qwen35Config, part: str) -> NDArray[np.int64]:
        """Rows of "qkv", "z", "b" or "a" in Qwen3-Next's matrices, which are fused per key head."""
        d = config.delta
        ratio = d.v_heads // d.k_heads
        if part in "ba":  # per key head the b of its value heads, then their a
            pairs = np.arange(2 * d.v_heads).reshape(d.k_heads, 2, ratio)
            return pairs[:, "ba".index(part)].reshape(-1)
        widths = np.cumsum([d.k_dim, d.k_dim, ratio * d.v_dim, ratio * d.v_dim])  # q, k, v, z
        rows = np.arange(d.k_heads * widths[-1]).reshape(d.k_heads, -1)
        q, k, v, z = (piece.reshape(-1) for piece in np.split(rows, widths[:-1], axis=1))
        return z if part == "z" else np.concatenate([q, k, v])


def _tiled(config: Qwen35Config, width: int) -> NDArray[np.int64]:
    """For tiled value heads of `width` rows, the row of the grouped order that stands at each place."""
    d = config.delta
    return np.arange(d.v_heads * width).reshape(d.k_heads, -1, width).swapaxes(0, 1).reshape(-1)


def _attention_shapes(config: Qwen35Config) -> Shapes:
    hidden, q_rows = config.hidden_size, config.num_attention_heads * config.head_dim
    kv_rows = config.num_key_value_heads * config.head_dim
    sizes = {"q_proj": (2 * q_rows, hidden), "k_proj": (kv_rows, hidden), "v_proj": (kv_rows, hidden)}
    sizes["o_proj"] = (hidden, q_rows)
    shapes: Shapes = {f"self_attn.{name}.weight": size for name, size in sizes.items()}
    if config.attention_bias:
        shapes |= {f"self_attn.{name}.bias": size[:1] for name, size in sizes.items()}
    return shapes | {"self_attn.q_norm.weight": (config.head_dim,), "self_attn.k_norm.weight": (config.head_dim,)}


def _delta_shapes(config: Qwen35Config) -> Shapes:
    d, hidden = config.delta, config.hidden_size
    return {
        "linear_attn.in_proj_qkv.weight": (d.channels, hidden),
        "linear_attn.in_proj_z.weight": (d.v_rows, hidden),
        "linear_attn.in_proj_b.weight": (d.v_heads, hidden),
        "linear_attn.in_proj_a.weight": (d.v_heads, hidden),
        "linear_attn.conv1d.weight": (d.channels, d.taps),
        "linear_attn.A_log": (d.v_heads,),
        "linear_attn.dt_bias": (d.v_heads,),
        "linear_attn.norm.weight": (d.v_dim,),
        "linear_attn.out_proj.weight": (hidden, d.v_rows),
    }


def _mlp_shapes(stem: str, hidden: int, width: int) -> Shapes:
    return {
        f"{stem}gate_proj.weight": (width, hidden),
        f"{stem}up_proj.weight": (width, hidden),
        f"{stem}down_proj.weight": (hidden, width),
    }


def _expert_shapes(config: Qwen35Config) -> Shapes:
    sizes, hidden = config.experts, config.hidden_size
    if sizes is None:
        return {}
    shapes: Shapes = {"mlp.gate.weight": (sizes.count, hidden), "mlp.shared_expert_gate.weight": (1, hidden)}
    shapes |= _mlp_shapes("mlp.shared_expert.", hidden, sizes.shared_width)
    if sizes.storage == "single":
        for n in range(sizes.count):
            shapes |= _mlp_shapes(f"mlp.experts.{n}.", hidden, sizes.width)
        return shapes
    shapes["mlp.experts.down_proj.weight"] = (sizes.count, hidden, sizes.width)
    if sizes.storage == "fused":
        return shapes | {"mlp.experts.gate_up_proj.weight": (sizes.count, 2 * sizes.width, hidden)}
    both = (sizes.count, sizes.width, hidden)
    return shapes | {"mlp.experts.gate_proj.weight": both, "mlp.experts.up_proj.weight": both}
