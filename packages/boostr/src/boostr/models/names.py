"""How checkpoints name their tensors: one table per family and format, from attribute path to checkpoint name.

Stems only: ".weight" and ".bias" follow. `{n}` is the layer. Facts; loading.py reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["GGUF_NAMES", "HF_NAMES", "INERT_GGUF", "INERT_HF", "NameTable", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where one module's tensors are in a checkpoint.

    part    the module's rows within a fused tensor, under the name the architecture knows them by ("q", "k", "v")
    paired  the rows of each head stand in rotary pairs: row 2i of the file is row i of the published checkpoint, row
            2i + 1 is row i + head_dim/2. The rotation is interleaved then, and an adapter trained on the published
            checkpoint must have its output rows reordered alike.
    """

    name: str
    part: Literal["q", "k", "v"] | None = None
    paired: bool = False


NameTable = Mapping[str, Source]


_HF = "model.layers.{n}."

_LLAMA_HF = {
    "embed_tokens": Source("model.embed_tokens"),
    "norm": Source("model.norm"),
    "lm_head": Source("lm_head"),
} | {
    "layers.{n}." + stem: Source(_HF + stem)
    for stem in (
        "input_layernorm",
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "self_attn.q_norm",
        "self_attn.k_norm",
        "post_attention_layernorm",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    )
}

# Rows of wqkv per key-value head: its group of query heads, then the key head, then the value head.
_INTERNLM2_HF = {
    "embed_tokens": Source("model.tok_embeddings"),
    "norm": Source("model.norm"),
    "lm_head": Source("output"),
    "layers.{n}.input_layernorm": Source(_HF + "attention_norm"),
    "layers.{n}.self_attn.q_proj": Source(_HF + "attention.wqkv", part="q"),
    "layers.{n}.self_attn.k_proj": Source(_HF + "attention.wqkv", part="k"),
    "layers.{n}.self_attn.v_proj": Source(_HF + "attention.wqkv", part="v"),
    "layers.{n}.self_attn.o_proj": Source(_HF + "attention.wo"),
    "layers.{n}.post_attention_layernorm": Source(_HF + "ffn_norm"),
    "layers.{n}.mlp.gate_proj": Source(_HF + "feed_forward.w1"),
    "layers.{n}.mlp.up_proj": Source(_HF + "feed_forward.w3"),
    "layers.{n}.mlp.down_proj": Source(_HF + "feed_forward.w2"),
}

_QWEN_GGUF = {
    "embed_tokens": Source("token_embd"),
    "norm": Source("output_norm"),
    "lm_head": Source("output"),
    "rope_freqs": Source("rope_freqs"),
    "layers.{n}.input_layernorm": Source("blk.{n}.attn_norm"),
    "layers.{n}.self_attn.q_proj": Source("blk.{n}.attn_q"),
    "layers.{n}.self_attn.k_proj": Source("blk.{n}.attn_k"),
    "layers.{n}.self_attn.v_proj": Source("blk.{n}.attn_v"),
    "layers.{n}.self_attn.o_proj": Source("blk.{n}.attn_output"),
    "layers.{n}.self_attn.q_norm": Source("blk.{n}.attn_q_norm"),
    "layers.{n}.self_attn.k_norm": Source("blk.{n}.attn_k_norm"),
    "layers.{n}.post_attention_layernorm": Source("blk.{n}.ffn_norm"),
    "layers.{n}.mlp.gate_proj": Source("blk.{n}.ffn_gate"),
    "layers.{n}.mlp.up_proj": Source("blk.{n}.ffn_up"),
    "layers.{n}.mlp.down_proj": Source("blk.{n}.ffn_down"),
}

_LLAMA_GGUF = _QWEN_GGUF | {
    "layers.{n}.self_attn.q_proj": Source("blk.{n}.attn_q", paired=True),
    "layers.{n}.self_attn.k_proj": Source("blk.{n}.attn_k", paired=True),
}

HF_NAMES: dict[str, NameTable] = {
    "llama": _LLAMA_HF,
    "mistral": _LLAMA_HF,
    "qwen2": _LLAMA_HF,
    "qwen3": _LLAMA_HF,
    "internlm2": _INTERNLM2_HF,
}

GGUF_NAMES: dict[str, NameTable] = {
    "llama": _LLAMA_GGUF,
    "mistral": _LLAMA_GGUF,
    "internlm2": _LLAMA_GGUF,
    "qwen2": _QWEN_GGUF,
    "qwen3": _QWEN_GGUF,
}

# Tensors that carry nothing: (pattern of the whole name, why they are skipped).
INERT_HF = (
    (r"(.*\.)?rotary_emb\.(inv_freq|cos_cached|sin_cached)", "rotary angles are computed from the configuration"),
    (r"(.*\.)?(attn|attention|self_attn)\.(masked_)?bias", "a causal mask, not a parameter"),
)
INERT_GGUF = ((r"blk\.\d+\.attn_rot_embd\.weight", "rotary angles are computed from the metadata"),)
