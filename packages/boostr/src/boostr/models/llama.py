"""The Llama family: RMSNorm, grouped-query attention with rotary positions, gated MLP.

Llama 2 and 3, CodeLlama, Solar, Yi, Mistral (sliding window), Qwen2 (biases on q, k, v), Qwen3 (norms of each query
and key head) and InternLM2 (one fused wqkv) are this network with other values in its config.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boostr.models.decoder import Decoder
from boostr.models.llama_config import LlamaConfig
from boostr.models.registry import Order, Unused
from boostr.models.weights import Weights
from boostr.nn import Attention, GatedMLP, RotaryEmbedding
from boostr.state import Step
from boostr.state.spec import LayerSpec
from numr import Tensor

__all__ = ["Llama", "LlamaConfig"]


class LlamaBlock:
    """One layer. `x` is the residual stream, `y` the previous layer's output that is not yet added to it."""

    def __init__(self, config: LlamaConfig, weights: Weights, index: int, rotary: RotaryEmbedding) -> None:
        attention, mlp, eps = weights.within("self_attn"), weights.within("mlp"), config.rms_norm_eps
        self.input_layernorm = weights.norm("input_layernorm", eps)
        self.self_attn = Attention(
            attention.linear("q_proj"),
            attention.linear("k_proj"),
            attention.linear("v_proj"),
            attention.linear("o_proj"),
            index=index,
            head_dim=config.head_dim,
            rotary=rotary,
            window=config.windows[index],
            q_norm=attention.norm("q_norm", eps) if config.qk_norm else None,
            k_norm=attention.norm("k_norm", eps) if config.qk_norm else None,
        )
        self.state_spec: LayerSpec = self.self_attn.state_spec
        self.post_attention_layernorm = weights.norm("post_attention_layernorm", eps)
        self.mlp = GatedMLP(mlp.linear("gate_proj"), mlp.linear("up_proj"), mlp.linear("down_proj"), config.hidden_act)

    def __call__(
        self, x: Tensor, y: Tensor | None, step: Step, rows: NDArray[np.int64] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The new x and y, (T, hidden) each; with `rows`, of those rows only."""
        h = self.input_layernorm(x) if y is None else self.input_layernorm.add(x, y)
        attended = self.self_attn(h, step, rows)
        if rows is not None:
            x = Tensor(x.array[rows])
        return x, self.mlp(self.post_attention_layernorm.add(x, attended), step.adapters_of(rows))


class Llama(Decoder[LlamaBlock]):
    """The stack of blocks, all alike."""

    def __init__(self, config: LlamaConfig, weights: Weights) -> None:
        rotary = RotaryEmbedding(
            config.head_dim,
            config.rope.theta,
            config.rope.scaling,
            rotary_dim=config.rotary_dim,
            interleaved=config.interleaved_rope,
            divisors=weights.divisors("rope_freqs.weight") if config.rope_divisors else None,
        )
        layers = (weights.within(f"layers.{n}") for n in range(config.num_hidden_layers))
        super().__init__(
            config, weights, rotary, [LlamaBlock(config, layer, n, rotary) for n, layer in enumerate(layers)]
        )

    @staticmethod
    def shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
        """Every parameter by attribute path, with its shape."""
        c, hidden = config, (config.hidden_size,)
        q_rows, kv_rows = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
        shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (c.vocab_size, *hidden), "norm.weight": hidden}
        if not c.tie_word_embeddings:
            shapes["lm_head.weight"] = (c.vocab_size, *hidden)
        if c.rope_divisors:
            shapes["rope_freqs.weight"] = (c.rotary_dim // 2,)
        linears = (
            ("self_attn.q_proj", q_rows, c.hidden_size, c.attention_bias),
            ("self_attn.k_proj", kv_rows, c.hidden_size, c.attention_bias),
            ("self_attn.v_proj", kv_rows, c.hidden_size, c.attention_bias),
            ("self_attn.o_proj", c.hidden_size, q_rows, c.attention_out_bias),
            ("mlp.gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
            ("mlp.up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias),
            ("mlp.down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias),
        )
        norms = {"input_layernorm": hidden, "post_attention_layernorm": hidden}
        if c.qk_norm:
            norms |= {"self_attn.q_norm": (c.head_dim,), "self_attn.k_norm": (c.head_dim,)}
        for n in range(c.num_hidden_layers):
            for stem, size in norms.items():
                shapes[f"layers.{n}.{stem}.weight"] = size
            for stem, out, into, bias in linears:
                shapes[f"layers.{n}.{stem}.weight"] = (out, into)
                if bias:
                    shapes[f"layers.{n}.{stem}.bias"] = (out,)
        return shapes

    @staticmethod
    def unused(config: LlamaConfig) -> Unused:
        """No tensors are left on disk."""
        return ()

    @staticmethod
    def published_order(config: LlamaConfig, path: str) -> Order:
        """Rotary pairs of GGUF files are told by the name table; nothing else is reordered."""
        return None, None

    @staticmethod
    def part_rows(config: LlamaConfig, part: str) -> NDArray[np.int64]:
        """Rows of "q", "k" or "v" in InternLM2's wqkv: per key-value head its query heads, then key, then value."""
        group = config.num_attention_heads // config.num_key_value_heads
        shape = (config.num_key_value_heads, group + 2, config.head_dim)
        heads = np.arange(np.prod(shape)).reshape(shape)
        slots = {"q": slice(0, group), "k": slice(group, group + 1), "v": slice(group + 1, group + 2)}
        return heads[:, slots[part]].reshape(-1)
