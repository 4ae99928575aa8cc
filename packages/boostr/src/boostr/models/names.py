"""How checkpoints name their tensors: one table per family and format, from attribute path to checkpoint name.

Stems, unless `whole`: ".weight" and ".bias" follow. `{n}` is the layer, `{e}` an expert in it. Facts; loading.py reads
them.
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
    whole   `name` and the attribute path are whole: no ".weight" or ".bias" follows either
    edit    what the tensor goes through when loaded, once and in the compute dtype; a key of loading.EDITS
    paired  the rows of each head stand in rotary pairs: row 2i of the file is row i of the published checkpoint, row
            2i + 1 is row i + head_dim/2. The rotation is interleaved then, and an adapter trained on the published
            checkpoint must have its output rows reordered alike.
    """

    name: str
    part: str | None = None
    paired: bool = False
    whole: bool = False
    edit: Literal["one_plus", "minus_exp"] | None = None


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

# "Gemma's" norms hold w of 1 + w; only the gated norm of linear_attn is plain. GGUF files hold 1 + w and -exp(A_log).
_QWEN35_HF = {
    "embed_tokens": Source("model.embed_tokens"),
    "norm": Source("model.norm", edit="one_plus"),
    "lm_head": Source("lm_head"),
    "layers.{n}.linear_attn.dt_bias": Source(_HF + "linear_attn.dt_bias", whole=True),
    "layers.{n}.linear_attn.A_log": Source(_HF + "linear_attn.A_log", whole=True, edit="minus_exp"),
    "layers.{n}.mlp.experts.gate_up_proj.weight": Source(_HF + "mlp.experts.gate_up_proj", whole=True),
    "layers.{n}.mlp.experts.down_proj.weight": Source(_HF + "mlp.experts.down_proj", whole=True),
}
_QWEN35_HF |= {
    "layers.{n}." + stem: Source(_HF + stem, edit="one_plus")
    for stem in ("input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm")
}
_QWEN35_HF |= {
    "layers.{n}." + stem: Source(_HF + stem)
    for stem in (
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "linear_attn.in_proj_qkv",
        "linear_attn.in_proj_z",
        "linear_attn.in_proj_b",
        "linear_attn.in_proj_a",
        "linear_attn.conv1d",
        "linear_attn.norm",
        "linear_attn.out_proj",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
        "mlp.gate",
        "mlp.experts.{e}.gate_proj",
        "mlp.experts.{e}.up_proj",
        "mlp.experts.{e}.down_proj",
        "mlp.shared_expert.gate_proj",
        "mlp.shared_expert.up_proj",
        "mlp.shared_expert.down_proj",
        "mlp.shared_expert_gate",
    )
}

# Rows of the two fused matrices per key head: q, k, its value heads' v, their z; and its value heads' b, their a.
_QWEN3_NEXT_HF = _QWEN35_HF | {
    "layers.{n}.linear_attn.in_proj_qkv": Source(_HF + "linear_attn.in_proj_qkvz", part="qkv"),
    "layers.{n}.linear_attn.in_proj_z": Source(_HF + "linear_attn.in_proj_qkvz", part="z"),
    "layers.{n}.linear_attn.in_proj_b": Source(_HF + "linear_attn.in_proj_ba", part="b"),
    "layers.{n}.linear_attn.in_proj_a": Source(_HF + "linear_attn.in_proj_ba", part="a"),
}

_QWEN35_GGUF = {path: source for path, source in _QWEN_GGUF.items() if path != "rope_freqs"} | {
    "layers.{n}.linear_attn.dt_bias": Source("blk.{n}.ssm_dt.bias", whole=True),
    "layers.{n}.linear_attn.A_log": Source("blk.{n}.ssm_a", whole=True),
    "layers.{n}.linear_attn.in_proj_qkv": Source("blk.{n}.attn_qkv"),
    "layers.{n}.linear_attn.in_proj_z": Source("blk.{n}.attn_gate"),
    "layers.{n}.linear_attn.in_proj_b": Source("blk.{n}.ssm_beta"),
    "layers.{n}.linear_attn.in_proj_a": Source("blk.{n}.ssm_alpha"),
    "layers.{n}.linear_attn.conv1d": Source("blk.{n}.ssm_conv1d"),
    "layers.{n}.linear_attn.norm": Source("blk.{n}.ssm_norm"),
    "layers.{n}.linear_attn.out_proj": Source("blk.{n}.ssm_out"),
    "layers.{n}.post_attention_layernorm": Source("blk.{n}.post_attention_norm"),
    "layers.{n}.mlp.gate": Source("blk.{n}.ffn_gate_inp"),
    "layers.{n}.mlp.experts.gate_proj": Source("blk.{n}.ffn_gate_exps"),
    "layers.{n}.mlp.experts.up_proj": Source("blk.{n}.ffn_up_exps"),
    "layers.{n}.mlp.experts.gate_up_proj": Source("blk.{n}.ffn_gate_up_exps"),
    "layers.{n}.mlp.experts.down_proj": Source("blk.{n}.ffn_down_exps"),
    "layers.{n}.mlp.shared_expert.gate_proj": Source("blk.{n}.ffn_gate_shexp"),
    "layers.{n}.mlp.shared_expert.up_proj": Source("blk.{n}.ffn_up_shexp"),
    "layers.{n}.mlp.shared_expert.down_proj": Source("blk.{n}.ffn_down_shexp"),
    "layers.{n}.mlp.shared_expert_gate": Source("blk.{n}.ffn_gate_inp_shexp"),
}

_QWEN3_NEXT_GGUF = _QWEN35_GGUF | {
    "layers.{n}.linear_attn.in_proj_b": Source("blk.{n}.ssm_ba", part="b"),
    "layers.{n}.linear_attn.in_proj_a": Source("blk.{n}.ssm_ba", part="a"),
}

HF_NAMES: dict[str, NameTable] = {
    "llama": _LLAMA_HF,
    "mistral": _LLAMA_HF,
    "qwen2": _LLAMA_HF,
    "qwen3": _LLAMA_HF,
    "internlm2": _INTERNLM2_HF,
    "qwen3_5": _QWEN35_HF,
    "qwen3_5_text": _QWEN35_HF,
    "qwen3_5_moe": _QWEN35_HF,
    "qwen3_5_moe_text": _QWEN35_HF,
    "qwen3_next": _QWEN3_NEXT_HF,
}

GGUF_NAMES: dict[str, NameTable] = {
    "llama": _LLAMA_GGUF,
    "mistral": _LLAMA_GGUF,
    "internlm2": _LLAMA_GGUF,
    "qwen2": _QWEN_GGUF,
    "qwen3": _QWEN_GGUF,
    "qwen35": _QWEN35_GGUF,
    "qwen35moe": _QWEN35_GGUF,
    "qwen3next": _QWEN3_NEXT_GGUF,
}

# Tensors that carry nothing: (pattern of the whole name, why they are skipped).
INERT_HF = (
    (r"(.*\.)?rotary_emb\.(inv_freq|cos_cached|sin_cached)", "rotary angles are computed from the configuration"),
    (r"(.*\.)?(attn|attention|self_attn)\.(masked_)?bias", "a causal mask, not a parameter"),
)
INERT_GGUF = ((r"blk\.\d+\.attn_rot_embd\.weight", "rotary angles are computed from the metadata"),)
