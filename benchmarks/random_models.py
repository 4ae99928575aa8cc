"""GGUF files with random weights in the shapes of published models, seeded, written once into the user's cache.

Speed does not depend on the values of weights, so a shape is measured without a download. Text from these models means
nothing. Tensor types follow what llama-quantize writes for a mix such as Q4_K_M.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from boostr.formats.gguf.writer import write_gguf
from boostr.quant import QUANT_TYPES, QuantTensor
from boostr.quant.dequant.base import Dequantizer

Bytes = npt.NDArray[np.uint8]

_SPREAD = 0.02  # standard deviation of the weights
_TILE = 1 << 22  # weights drawn at random; larger tensors repeat them


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a decoder as GGUF names them; `bias` on q, k and v."""

    arch: str
    layers: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    context: int
    theta: float
    bias: bool = False
    pre: str = "llama-bpe"


SHAPES = {
    "llama-1b": Shape("llama", 16, 2048, 8192, 32, 8, 64, 128_256, 131_072, 5e5),
    # Four layers of the same and a small vocabulary: what is measured is the type of the layers, not of the head.
    "llama-slice": Shape("llama", 4, 2048, 8192, 32, 8, 64, 8_192, 131_072, 5e5),
    "qwen2-0.5b": Shape("qwen2", 24, 896, 4864, 14, 2, 64, 151_936, 32_768, 1e6, bias=True, pre="qwen2"),
}

# Where the float16 factor of a block stands, and the one of its minimum or offset.
_FACTORS = {
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS", "IQ2_XXS", "IQ2_XS", "IQ2_S"), (0, None)),
    **dict.fromkeys(("IQ3_XXS", "IQ3_S", "IQ1_S"), (0, None)),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2)),
    "Q2_K": (80, 82),
    "Q3_K": (108, None),
    "Q6_K": (208, None),
    "TQ1_0": (52, None),
    "TQ2_0": (64, None),
}


def cache_dir() -> Path:
    """Where the files are kept: $BOOSTR_BENCH_DIR, or a folder of the user's cache."""
    chosen = os.environ.get("BOOSTR_BENCH_DIR")
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else root / "boostr-bench"


def random_model(shape: str, mix: str) -> Path:
    """The file of `shape` in `mix` ("Q4_K_M", or one type for all matrices); made where it is missing."""
    path = cache_dir() / f"{shape}-{mix}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        write_gguf(unfinished, _metadata(SHAPES[shape]), _tensors(SHAPES[shape], mix))
        unfinished.replace(path)
    return path


def _tensors(shape: Shape, mix: str) -> dict[str, Any]:
    draw: dict[str, Callable[..., Any]] = {}

    def matrix(name: str, rows: int, columns: int, layer: int | None) -> Any:
        kind = tensor_type(mix, name, columns, layer, shape)
        source = draw.setdefault(kind, _source(kind))
        return source(rows, columns)

    tensors: dict[str, Any] = {
        "token_embd.weight": matrix("token_embd", shape.vocab, shape.hidden, None),
        "output_norm.weight": np.ones(shape.hidden, np.float32),
    }
    for layer in range(shape.layers):
        for name, rows, columns in _matrices(shape):
            tensors[f"blk.{layer}.{name}.weight"] = matrix(name, rows, columns, layer)
            if shape.bias and name in ("attn_q", "attn_k", "attn_v"):
                tensors[f"blk.{layer}.{name}.bias"] = np.zeros(rows, np.float32)
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = np.ones(shape.hidden, np.float32)
    return tensors


def _matrices(shape: Shape) -> Iterator[tuple[str, int, int]]:
    q, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    yield from (("attn_q", q, shape.hidden), ("attn_k", kv, shape.hidden), ("attn_v", kv, shape.hidden))
    yield from (("attn_output", shape.hidden, q), ("ffn_gate", shape.feed_forward, shape.hidden))
    yield from (("ffn_up", shape.feed_forward, shape.hidden), ("ffn_down", shape.hidden, shape.feed_forward))


def tensor_type(mix: str, name: str, columns: int, layer: int | None, shape: Shape) -> str:
    """The type llama-quantize gives a matrix in `mix`: Q4_K_M keeps some in Q6_K; odd widths fall back to 32-blocks."""
    kind = mix
    if mix == "Q4_K_M":
        finer = name == "token_embd" or (name in ("attn_v", "ffn_down") and _more_bits(layer or 0, shape.layers))
        kind = "Q6_K" if finer else "Q4_K"
    elif layer is None and mix in QUANT_TYPES and not QUANT_TYPES[mix].dense and mix not in ("Q8_0", "Q6_K"):
        kind = "Q6_K"
    if columns % QUANT_TYPES[kind].block:
        kind = {"Q4_K": "Q5_0", "Q6_K": "Q8_0"}[kind]
    return kind


def _more_bits(layer: int, layers: int) -> bool:
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def _source(kind: str) -> Callable[[int, int], Any]:
    """A maker of (rows, columns) weights of one type, which repeats one random tile."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    quant = QUANT_TYPES[kind]
    if quant.dense:
        dtype = ml_dtypes.bfloat16 if kind == "BF16" else quant.dtype
        tile = (rng.standard_normal(_TILE, np.float32) * np.float32(_SPREAD)).astype(dtype)
        return lambda rows, columns: np.resize(tile, (rows, columns))
    blocks = random_blocks(kind, _TILE // quant.block, rng)

    def quantized(rows: int, columns: int) -> QuantTensor:
        return QuantTensor(np.resize(blocks, (rows, quant.row_bytes(columns))), quant, (rows, columns))

    return quantized


def random_blocks(kind: str, count: int, rng: np.random.Generator) -> Bytes:
    """`count` blocks of random codes whose factors give weights around zero with a deviation of 0.02."""
    quant = QUANT_TYPES[kind]
    blocks = rng.integers(0, 256, (count, quant.block_bytes), np.uint8)
    decode = Dequantizer.registry[kind].decode
    if kind == "MXFP4":
        blocks[:, 0] = 121  # 2**-7 for doubled values up to 12
        return blocks
    if kind == "IQ1_M":  # its factor is the top nibbles of four words
        _set_iq1m_factor(blocks, 1.0)
        _set_iq1m_factor(blocks, _SPREAD / float(decode(blocks[:512]).std()))
        return blocks
    factor, offset = _FACTORS[kind]
    _set_half(blocks, factor, 1.0)
    if offset is None:
        _set_half(blocks, factor, _SPREAD / float(decode(blocks[:512]).std()))
        return blocks
    _set_half(blocks, offset, 0.0)
    mean = float(decode(blocks[:512]).mean())
    _set_half(blocks, factor, 0.0)
    _set_half(blocks, offset, 1.0)
    ratio = -mean / float(decode(blocks[:512]).mean())
    _set_half(blocks, factor, 1.0)
    _set_half(blocks, offset, ratio)
    scale = _SPREAD / float(decode(blocks[:512]).std())
    _set_half(blocks, factor, scale)
    _set_half(blocks, offset, scale * ratio)
    return blocks


def _set_half(blocks: Bytes, start: int, value: float) -> None:
    blocks[:, start : start + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)


def _set_iq1m_factor(blocks: Bytes, value: float) -> None:
    bits = int(np.float16(value).view(np.uint16))
    for word in range(4):
        top = np.uint8((bits >> (4 * word) & 15) << 4)
        blocks[:, 49 + 2 * word] = blocks[:, 49 + 2 * word] & 15 | top


def _metadata(shape: Shape) -> dict[str, Any]:
    arch = shape.arch
    return {
        "general.architecture": arch,
        "general.name": "random weights",
        f"{arch}.block_count": shape.layers,
        f"{arch}.context_length": shape.context,
        f"{arch}.embedding_length": shape.hidden,
        f"{arch}.feed_forward_length": shape.feed_forward,
        f"{arch}.attention.head_count": shape.heads,
        f"{arch}.attention.head_count_kv": shape.kv_heads,
        f"{arch}.attention.key_length": shape.head_dim,
        f"{arch}.attention.value_length": shape.head_dim,
        f"{arch}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{arch}.rope.freq_base": shape.theta,
        f"{arch}.rope.dimension_count": shape.head_dim,
        f"{arch}.vocab_size": shape.vocab,
        **tokenizer_metadata(shape.vocab, shape.pre),
    }


def tokenizer_metadata(vocab: int, pre: str) -> dict[str, Any]:
    """A byte-level vocabulary without merges."""
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": _tokens(vocab),
        "tokenizer.ggml.token_type": np.ones(vocab, np.int32),
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
    }


def _tokens(count: int) -> list[str]:
    """Byte-level tokens first, then made-up ones."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + at) for at in range(len(rest))]
    return [*letters, "ab", *(f"t{number}" for number in range(count - 257))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("mix", help="Q4_K_M, or a tensor type")
    options = parser.parse_args()
    print(random_model(options.shape, options.mix))
