"""Writes a committed Qwen3.5 or Qwen3-Next checkpoint as the GGUF that a converter would make of it.

Metadata and names are the converter's own, recorded in gguf_map.json; its edits and orders are written out here.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from boostr.formats.gguf import write_gguf

Array = NDArray[np.float32]

_TOP = {"token_embd.weight": "embed_tokens.weight", "output_norm.weight": "norm.weight"}
_LAYER = {
    "attn_norm.weight": "input_layernorm.weight",
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "attn_qkv.weight": "linear_attn.in_proj_qkv.weight",
    "attn_gate.weight": "linear_attn.in_proj_z.weight",
    "ssm_alpha.weight": "linear_attn.in_proj_a.weight",
    "ssm_beta.weight": "linear_attn.in_proj_b.weight",
    "ssm_ba.weight": "linear_attn.in_proj_ba.weight",
    "ssm_a": "linear_attn.A_log",
    "ssm_dt.bias": "linear_attn.dt_bias",
    "ssm_conv1d.weight": "linear_attn.conv1d.weight",
    "ssm_norm.weight": "linear_attn.norm.weight",
    "ssm_out.weight": "linear_attn.out_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "ffn_gate_inp.weight": "mlp.gate.weight",
    "ffn_gate_shexp.weight": "mlp.shared_expert.gate_proj.weight",
    "ffn_up_shexp.weight": "mlp.shared_expert.up_proj.weight",
    "ffn_down_shexp.weight": "mlp.shared_expert.down_proj.weight",
    "ffn_gate_inp_shexp.weight": "mlp.shared_expert_gate.weight",
}
_EXPERTS = {"ffn_gate_exps": "gate_proj", "ffn_up_exps": "up_proj", "ffn_down_exps": "down_proj"}
_MTP = {
    "nextn.eh_proj.weight": "mtp.fc.weight",
    "nextn.enorm.weight": "mtp.pre_fc_norm_embedding.weight",
    "nextn.hnorm.weight": "mtp.pre_fc_norm_hidden.weight",
    "nextn.shared_head_norm.weight": "mtp.norm.weight",
}
_PLUS_ONE = ("norm.weight", "enorm.weight", "hnorm.weight")


def write_qwen35_gguf_of(
    directory: Path, target: Path, dtype: str = "float32", described: Mapping[str, Any] | None = None
) -> None:
    """`dtype` is that of the matrices; the convolution and vectors stay float32, as the converter keeps them.

    described  in place of gguf_map.json: metadata as "kv", {name: (type, shape reversed)} as "tensors"
    """
    if described is None:
        described = json.loads((directory / "gguf_map.json").read_text("utf-8"))
    config = json.loads((directory / "config.json").read_text("utf-8"))
    config = config.get("text_config", config)
    weights = {name: array.astype(np.float32) for name, array in load_file(directory / "model.safetensors").items()}
    tiled = described["kv"]["general.architecture"] != "qwen3next"
    tensors = {}
    for name, (_, reversed_shape) in described["tensors"].items():
        array = _edited(name, _stored(name, weights, config), config, tiled)
        assert array.size == np.prod(reversed_shape), name
        array = array.reshape(tuple(reversed(reversed_shape)))
        tensors[name] = array.astype(dtype) if array.ndim > 1 and "conv1d" not in name else array
    write_gguf(target, described["kv"], tensors)


def described_tensors(directory: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The "tensors" of a text model's checkpoint without MTP layers and experts."""
    named = {theirs: ours for ours, theirs in (_LAYER | _TOP).items()} | {"lm_head.weight": "output.weight"}
    found = {}
    for name, array in load_file(directory / "model.safetensors").items():
        stem = name.removeprefix("model.")
        if stem.startswith("layers."):
            _, number, part = stem.split(".", 2)
            known = f"blk.{number}.{named[part]}"
        else:
            known = named[stem]
        shape = array.squeeze(1).shape if "conv1d" in name else array.shape
        found[known] = ("F32", shape[::-1])
    return found


def _stored(name: str, weights: dict[str, Array], config: dict[str, Any]) -> Array:
    model = "model.language_model." if any(key.startswith("model.language_model.") for key in weights) else "model."
    if name == "output.weight":
        return weights["lm_head.weight"]
    if name in _TOP:
        return weights[model + _TOP[name]]
    _, number, part = name.split(".", 2)
    layer = f"{model}layers.{number}."
    if int(number) >= config["num_hidden_layers"]:
        layer = "mtp.layers.0."
    if part in _MTP:
        return weights[_MTP[part]]
    stem = part.removesuffix(".weight")
    if stem in _EXPERTS:
        names = (f"{layer}mlp.experts.{e}.{_EXPERTS[stem]}.weight" for e in range(config["num_experts"]))
        return np.stack([weights[one] for one in names])
    if stem in ("attn_qkv", "attn_gate") and f"{layer}linear_attn.in_proj_qkvz.weight" in weights:
        return _split_qkvz(weights[f"{layer}linear_attn.in_proj_qkvz.weight"], config)[stem == "attn_gate"]
    return weights[layer + _LAYER[part]]


def _split_qkvz(array: Array, config: dict[str, Any]) -> tuple[Array, Array]:
    k_heads, k_dim, v_heads, v_dim = _sizes(config)
    columns = array.shape[1]
    width = v_heads // k_heads * v_dim
    pieces = np.split(array.reshape(k_heads, -1, columns), [k_dim, 2 * k_dim, 2 * k_dim + width], axis=1)
    q, k, v, z = (piece.reshape(-1, columns) for piece in pieces)
    return np.concatenate([q, k, v]), z


def _edited(name: str, array: Array, config: dict[str, Any], tiled: bool) -> Array:
    if name.endswith("ssm_a"):
        array = -np.exp(array)
    if name.endswith(_PLUS_ONE) and not name.endswith("ssm_norm.weight"):
        array = array + 1
    return _tiled(name.split(".", 2)[-1], array, config) if tiled else array


def _tiled(part: str, array: Array, config: dict[str, Any]) -> Array:
    """Value heads from grouped by key head (k0v0 k0v1 k1v0 k1v1) to tiled over key heads (k0v0 k1v0 k0v1 k1v1)."""
    k_heads, k_dim, v_heads, _ = _sizes(config)
    ratio, first = v_heads // k_heads, 2 * k_heads * k_dim

    def tile(rows: Array) -> Array:
        return rows.reshape(k_heads, ratio, -1).swapaxes(0, 1).reshape(rows.shape)

    if part in ("attn_qkv.weight", "ssm_conv1d.weight"):
        return np.concatenate([array[:first], tile(array[first:])])
    if part in ("attn_gate.weight", "ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"):
        return tile(array)
    return np.ascontiguousarray(tile(np.ascontiguousarray(array.T)).T) if part == "ssm_out.weight" else array


def _sizes(config: dict[str, Any]) -> tuple[int, int, int, int]:
    k_heads, v_heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
    return k_heads, config["linear_key_head_dim"], v_heads, config["linear_value_head_dim"]
