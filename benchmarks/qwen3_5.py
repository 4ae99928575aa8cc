"""The Qwen3.5 0.8B shape with random weights: boostr beside llama.cpp on the same GGUF files, and beside transformers.

    python benchmarks/qwen3_5.py [--peer-python PY] [--pairs 3] [--json FILE]

Every measurement is a process of its own, the engines in turn, so that a machine whose speed drifts is fair to all.
Prints tokens/s of prefill (64, 512, 2048 tokens) and decode, and our speed over each peer's: the median of the ratios
of each round, with its range. The files are made once, in the user's cache (random_models.py says where).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pairs import PEER, child, has_peer
from random_models import cache_dir, random_blocks, tokenizer_metadata
from safetensors.numpy import save_file

from boostr.formats.gguf.writer import write_gguf
from boostr.quant import QUANT_TYPES, QuantTensor

TRANSFORMERS = "transformers"
MIXES = ("Q8_0", "Q4_K_M")
PREFILLS = (64, 512, 2048)

LAYERS, EVERY = 24, 4  # every fourth layer is full attention
HIDDEN, FEED_FORWARD, VOCAB, CONTEXT = 1024, 3584, 248_320, 262_144
HEADS, KV_HEADS, HEAD_DIM = 8, 2, 256
K_HEADS, V_HEADS, STATE, TAPS = 16, 16, 128, 4
CHANNELS = 2 * K_HEADS * STATE + V_HEADS * STATE
ROTARY, THETA, EPS = 64, 1e7, 1e-6

_SPREAD = 0.02
_TILE = 1 << 22  # weights drawn at random; larger tensors repeat them

Floats = npt.NDArray[np.float32]

_ATTENTION = (("attn_q", 2 * HEADS * HEAD_DIM), ("attn_k", KV_HEADS * HEAD_DIM), ("attn_v", KV_HEADS * HEAD_DIM))
_DELTA = (("attn_qkv", CHANNELS), ("attn_gate", V_HEADS * STATE), ("ssm_alpha", V_HEADS), ("ssm_beta", V_HEADS))


def full(layer: int) -> bool:
    return layer % EVERY == EVERY - 1


def matrices(layer: int) -> list[tuple[str, int, int]]:
    """(GGUF name, rows, columns) of a layer's matrices."""
    mixer = _ATTENTION if full(layer) else _DELTA
    out = ("attn_output", HIDDEN, HEADS * HEAD_DIM) if full(layer) else ("ssm_out", HIDDEN, V_HEADS * STATE)
    mlp = [("ffn_gate", FEED_FORWARD, HIDDEN), ("ffn_up", FEED_FORWARD, HIDDEN), ("ffn_down", HIDDEN, FEED_FORWARD)]
    return [*((name, rows, HIDDEN) for name, rows in mixer), out, *mlp]


def tensor_type(mix: str, name: str, layer: int) -> str:
    """As llama-quantize mixes: Q4_K_M has the head, and v and down of half the layers, in Q6_K; fused qkv in Q5_K."""
    if mix != "Q4_K_M":
        return mix
    if name == "attn_qkv":
        return "Q5_K"
    eighth = LAYERS // 8
    finer = layer < eighth or layer >= 7 * eighth or (layer - eighth) % 3 == 2
    return "Q6_K" if name == "token_embd" or (finer and name in ("attn_v", "ffn_down")) else "Q4_K"


def vectors(layer: int, rng: np.random.Generator) -> dict[str, Floats]:
    """A layer's small tensors by GGUF name, with decays from slow to fast, as in trained models."""
    found = {"attn_norm.weight": np.ones(HIDDEN, np.float32), "post_attention_norm.weight": np.ones(HIDDEN, np.float32)}
    if full(layer):
        return found | {f"attn_{part}_norm.weight": np.ones(HEAD_DIM, np.float32) for part in "qk"}
    return found | {
        "ssm_a": -rng.uniform(0.05, 4, V_HEADS).astype(np.float32),
        "ssm_dt.bias": rng.uniform(-6, 0, V_HEADS).astype(np.float32),
        "ssm_conv1d.weight": (rng.standard_normal((CHANNELS, TAPS)) * 0.3).astype(np.float32),
        "ssm_norm.weight": np.ones(STATE, np.float32),
    }


def gguf_file(mix: str) -> Path:
    """The model in a mix of block types; made where it is missing."""
    return _made(cache_dir() / f"qwen3_5-0.8b-{mix}.gguf", lambda path: _write_gguf(path, mix))


def checkpoint() -> Path:
    """The model as a directory of bfloat16 SafeTensors, which transformers loads in float32."""
    return _made(cache_dir() / "qwen3_5-0.8b", _write_checkpoint)


def _made(path: Path, make: Callable[[Path], None]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        make(unfinished)
        unfinished.replace(path)
    return path


def _write_gguf(path: Path, mix: str) -> None:
    rng = np.random.default_rng(5)
    blocks: dict[str, npt.NDArray[np.uint8]] = {}

    def matrix(name: str, rows: int, columns: int, layer: int) -> QuantTensor:
        kind = tensor_type(mix, name, layer)
        quant = QUANT_TYPES[kind]
        if kind not in blocks:
            blocks[kind] = random_blocks(kind, _TILE // quant.block, rng)
        return QuantTensor(np.resize(blocks[kind], (rows, quant.row_bytes(columns))), quant, (rows, columns))

    tensors: dict[str, Any] = {"token_embd.weight": matrix("token_embd", VOCAB, HIDDEN, 0)}
    tensors["output_norm.weight"] = np.ones(HIDDEN, np.float32)
    for layer in range(LAYERS):
        for name, rows, columns in matrices(layer):
            tensors[f"blk.{layer}.{name}.weight"] = matrix(name, rows, columns, layer)
        tensors |= {f"blk.{layer}.{name}": array for name, array in vectors(layer, rng).items()}
    write_gguf(path, metadata(), tensors)


def metadata() -> dict[str, Any]:
    sizes = {
        "block_count": LAYERS,
        "context_length": CONTEXT,
        "embedding_length": HIDDEN,
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "attention.layer_norm_rms_epsilon": EPS,
        "rope.freq_base": THETA,
        "rope.dimension_count": ROTARY,
        "rope.dimension_sections": np.array([11, 11, 10, 0], np.int32),
        "ssm.conv_kernel": TAPS,
        "ssm.state_size": STATE,
        "ssm.group_count": K_HEADS,
        "ssm.time_step_rank": V_HEADS,
        "ssm.inner_size": V_HEADS * STATE,
        "full_attention_interval": EVERY,
        "attention.recurrent_layers": [not full(n) for n in range(LAYERS)],
        "vocab_size": VOCAB,
    }
    named = {f"qwen35.{key}": value for key, value in sizes.items()}
    general = {"general.architecture": "qwen35", "general.name": "random weights"}
    return general | named | tokenizer_metadata(VOCAB, "qwen35")


# GGUF names of a layer's tensors as transformers names them.
_NAMES = {
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
    "ssm_out.weight": "linear_attn.out_proj.weight",
    "ssm_a": "linear_attn.A_log",
    "ssm_dt.bias": "linear_attn.dt_bias",
    "ssm_conv1d.weight": "linear_attn.conv1d.weight",
    "ssm_norm.weight": "linear_attn.norm.weight",
    "attn_norm.weight": "input_layernorm.weight",
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


def _write_checkpoint(path: Path) -> None:
    import ml_dtypes

    rng = np.random.default_rng(5)
    tile = (rng.standard_normal(_TILE, np.float32) * np.float32(_SPREAD)).astype(ml_dtypes.bfloat16)
    tensors: dict[str, Any] = {"model.embed_tokens.weight": np.resize(tile, (VOCAB, HIDDEN))}
    tensors["model.norm.weight"] = np.zeros(HIDDEN, ml_dtypes.bfloat16)
    for layer in range(LAYERS):
        stored = {f"{name}.weight": np.resize(tile, (rows, columns)) for name, rows, columns in matrices(layer)}
        for name, array in vectors(layer, rng).items():
            value = array
            if name.endswith("norm.weight") and name != "ssm_norm.weight":
                value = array - 1
            elif name == "ssm_a":
                value = np.log(-array)
            elif name == "ssm_conv1d.weight":
                value = array[:, None]
            stored[name] = value.astype(ml_dtypes.bfloat16)
        tensors |= {f"model.layers.{layer}.{_NAMES[name]}": array for name, array in stored.items()}
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config(), indent=1) + "\n")
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})


def config() -> dict[str, Any]:
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "dtype": "bfloat16",
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": EPS,
        "layer_types": ["full_attention" if full(n) else "linear_attention" for n in range(LAYERS)],
        "linear_conv_kernel_dim": TAPS,
        "linear_key_head_dim": STATE,
        "linear_value_head_dim": STATE,
        "linear_num_key_heads": K_HEADS,
        "linear_num_value_heads": V_HEADS,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": THETA,
            "partial_rotary_factor": ROTARY / HEAD_DIM,
            "mrope_section": [11, 11, 10],
            "mrope_interleaved": True,
        },
        "tie_word_embeddings": True,
        "vocab_size": VOCAB,
        "hidden_act": "silu",
    }


class Rounds:
    """Figures of every engine and file, one list entry a round."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.figures: dict[str, list[dict[str, float]]] = {}

    def run(self, engine: str, model: Path, python: str) -> None:
        o = self.options
        sizes = [f"--threads={o.threads}", f"--decode={o.decode}", "--depth=64", f"--repeats={o.repeats}"]
        prompts = [f"--prompt={count}" for count in o.prefill]
        found = child(python, "measure.py", engine, str(model), *sizes, *prompts)
        label = engine if engine == TRANSFORMERS else f"{engine} {_mix(model)}"
        self.figures.setdefault(label, []).append(found)
        speeds = {
            name.removesuffix("_tokens_per_s"): round(x, 1) for name, x in found.items() if name.endswith("per_s")
        }
        print(f"{label:20}", speeds, flush=True)

    def ratios(self) -> dict[str, dict[str, dict[str, Any]]]:
        """{our file: {figure: {ours, and per peer its speed, the ratio and its range}}}."""
        rows: dict[str, dict[str, dict[str, Any]]] = {}
        for mix in self.options.mixes:
            mine = self.figures[f"boostr {mix}"]
            peers = [label for label in (f"{PEER} {mix}", TRANSFORMERS) if label in self.figures]
            rows[mix] = {}
            for figure in (name for name in mine[0] if name.endswith("per_s")):
                row: dict[str, Any] = {"ours": statistics.median(run[figure] for run in mine)}
                for peer in peers:
                    row[peer] = _beside([run[figure] for run in mine], [run[figure] for run in self.figures[peer]])
                rows[mix][figure] = row
        return rows


def _beside(mine: list[float], theirs: list[float]) -> dict[str, Any]:
    ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
    return {"speed": statistics.median(theirs), "ratio": statistics.median(ratios), "range": [min(ratios), max(ratios)]}


def _mix(model: Path) -> str:
    return next(mix for mix in MIXES if mix in model.name)


def show(rows: dict[str, dict[str, dict[str, Any]]]) -> None:
    for mix, figures in rows.items():
        for figure, row in figures.items():
            line = f"{mix:7} {figure.removesuffix('_tokens_per_s'):14} {row['ours']:8.1f} tokens/s"
            for peer, other in row.items():
                if peer != "ours":
                    low, high = other["range"]
                    line += f"   {peer} {other['speed']:.1f}, ratio {other['ratio']:.2f} ({low:.2f} to {high:.2f})"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=3, help="rounds of all engines")
    parser.add_argument("--repeats", type=int, default=2, help="of each figure within a process; the best counts")
    parser.add_argument("--decode", type=int, default=24, help="tokens decoded")
    parser.add_argument("--prefill", type=int, nargs="*", default=list(PREFILLS))
    parser.add_argument("--mixes", nargs="*", default=list(MIXES), choices=MIXES)
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--without-transformers", action="store_true")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter with llama-cpp-python and torch")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    peer = None if options.without_peer or not has_peer(options.peer_python) else options.peer_python
    rounds = Rounds(options)
    files = {mix: gguf_file(mix) for mix in options.mixes}
    for _ in range(options.pairs):
        for model in files.values():
            rounds.run("boostr", model, sys.executable)
            if peer:
                rounds.run(PEER, model, peer)
        if peer and not options.without_transformers:
            rounds.run(TRANSFORMERS, checkpoint(), peer)
    rows = rounds.ratios()
    print(f"\n{options.threads} threads, {platform.machine()}; medians of {options.pairs} rounds")
    show(rows)
    if options.json:
        options.json.write_text(json.dumps({"ratios": rows, "rounds": rounds.figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
