"""Writes a committed SafeTensors checkpoint as the GGUF that a converter would make of it.

Metadata and names are the converter's own, recorded in gguf_map.json; the row permutation is written out here.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from boostr.formats.gguf import write_gguf

_HF = {
    "token_embd": ("model.embed_tokens", "model.tok_embeddings"),
    "output_norm": ("model.norm",),
    "output": ("lm_head", "output"),
    "attn_norm": ("input_layernorm", "attention_norm"),
    "ffn_norm": ("post_attention_layernorm", "ffn_norm"),
    "attn_q": ("self_attn.q_proj",),
    "attn_k": ("self_attn.k_proj",),
    "attn_v": ("self_attn.v_proj",),
    "attn_q_norm": ("self_attn.q_norm",),
    "attn_k_norm": ("self_attn.k_norm",),
    "attn_output": ("self_attn.o_proj", "attention.wo"),
    "ffn_gate": ("mlp.gate_proj", "feed_forward.w1"),
    "ffn_up": ("mlp.up_proj", "feed_forward.w3"),
    "ffn_down": ("mlp.down_proj", "feed_forward.w2"),
}
_PERMUTED = ("llama", "internlm2")


def write_gguf_of(
    directory: Path, target: Path, dtype: str = "float32", divisors: NDArray[np.float32] | None = None
) -> None:
    """`dtype` is that of the matrices; vectors stay float32, as the converter keeps them.

    `divisors` stand in for those that follow from the config.
    """
    described = json.loads((directory / "gguf_map.json").read_text("utf-8"))
    config = json.loads((directory / "config.json").read_text("utf-8"))
    weights = {name: array.astype(np.float32) for name, array in load_file(directory / "model.safetensors").items()}
    _split_wqkv(weights, config)
    tensors = {}
    for name, (_, reversed_shape) in described["tensors"].items():
        array = _tensor(name, weights, config, described["kv"]["general.architecture"])
        array = divisors if name == "rope_freqs.weight" and divisors is not None else array
        assert array.shape == tuple(reversed(reversed_shape)), name
        tensors[name] = array.astype(dtype) if array.ndim == 2 else array
    write_gguf(target, described["kv"], tensors)


def _tensor(name: str, weights: dict[str, Any], config: dict[str, Any], arch: str) -> NDArray[np.float32]:
    stem, kind = name.rsplit(".", 1)
    if stem == "rope_freqs":
        return _llama3_divisors(config)
    layer, part = ("", stem)
    if stem.startswith("blk."):
        _, number, part = stem.split(".")
        layer = f"model.layers.{number}."
    stored = next(hf for hf in _HF[part] if f"{layer}{hf}.{kind}" in weights)
    array: NDArray[np.float32] = weights[f"{layer}{stored}.{kind}"]
    if part in ("attn_q", "attn_k") and arch in _PERMUTED:
        heads = config["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]
        halves = array.reshape(heads, 2, array.shape[0] // heads // 2, *array.shape[1:])
        return halves.swapaxes(1, 2).reshape(array.shape)
    return array


def _llama3_divisors(config: dict[str, Any]) -> NDArray[np.float32]:
    rope, dim = config["rope_parameters"], config["head_dim"]
    original, factor = rope["original_max_position_embeddings"], rope["factor"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    divisors = []
    for i in range(dim // 2):
        wavelength = 2 * math.pi * rope["rope_theta"] ** (2 * i / dim)
        if wavelength < original / high:
            divisors.append(1.0)
        elif wavelength > original / low:
            divisors.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(divisors, np.float32)


def _split_wqkv(weights: dict[str, Any], config: dict[str, Any]) -> None:
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    for name in [name for name in weights if name.endswith("wqkv.weight")]:
        array = weights.pop(name)
        dim = array.shape[0] // (heads + 2 * kv_heads)
        grouped = array.reshape(kv_heads, heads // kv_heads + 2, dim, -1)
        stem = name.replace("attention.wqkv.weight", "self_attn.")
        for part, rows in (("q", grouped[:, :-2]), ("k", grouped[:, -2:-1]), ("v", grouped[:, -1:])):
            weights[f"{stem}{part}_proj.weight"] = rows.reshape(-1, array.shape[1])
