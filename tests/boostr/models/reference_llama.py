"""A textbook forward pass of the Llama family in float64: no cache, no batching, nothing shared with the package.

Parameters are dicts named as in a Hugging Face checkpoint. `test_reference.py` holds it to transformers' goldens.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def forward(config: dict[str, Any], weights: dict[str, NDArray[Any]], ids: list[int]) -> Array:
    """Logits (n, vocab) of `ids`."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    cos, sin = rotation(config, len(ids))
    x = w["model.embed_tokens.weight"][ids]
    for n in range(config["num_hidden_layers"]):
        p = f"model.layers.{n}."
        h = rms_norm(x, w[p + "input_layernorm.weight"], config["rms_norm_eps"])
        x = x + attention(config, w, p + "self_attn.", h, cos, sin, windows(config)[n])
        h = rms_norm(x, w[p + "post_attention_layernorm.weight"], config["rms_norm_eps"])
        gate, up = linear(w, p + "mlp.gate_proj", h), linear(w, p + "mlp.up_proj", h)
        x = x + linear(w, p + "mlp.down_proj", gate / (1 + np.exp(-gate)) * up)
    x = rms_norm(x, w["model.norm.weight"], config["rms_norm_eps"])
    head = "model.embed_tokens" if config["tie_word_embeddings"] else "lm_head"
    return x @ w[head + ".weight"].T


def attention(
    config: dict[str, Any], w: dict[str, Array], p: str, h: Array, cos: Array, sin: Array, window: int
) -> Array:
    n, heads, kv_heads, dim = len(h), config["num_attention_heads"], config["num_key_value_heads"], head_dim(config)
    q = linear(w, p + "q_proj", h).reshape(n, heads, dim)
    k = linear(w, p + "k_proj", h).reshape(n, kv_heads, dim)
    v = linear(w, p + "v_proj", h).reshape(n, kv_heads, dim)
    if p + "q_norm.weight" in w:
        q = rms_norm(q, w[p + "q_norm.weight"], config["rms_norm_eps"])
        k = rms_norm(k, w[p + "k_norm.weight"], config["rms_norm_eps"])
    q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    out = np.zeros((n, heads, dim))
    for head in range(heads):
        shared = head // (heads // kv_heads)
        for i in range(n):
            first = max(0, i - window + 1) if window else 0
            scores = k[first : i + 1, shared] @ q[i, head] / math.sqrt(dim)
            weights = np.exp(scores - scores.max())
            out[i, head] = weights / weights.sum() @ v[first : i + 1, shared]
    return linear(w, p + "o_proj", out.reshape(n, heads * dim))


def linear(w: dict[str, Array], name: str, x: Array) -> Array:
    bias: Array = w.get(name + ".bias", np.zeros(1))
    return x @ w[name + ".weight"].T + bias


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    normed: Array = x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)
    return normed * weight


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    c, s = cos[:, None], sin[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


def rotation(config: dict[str, Any], n: int) -> tuple[Array, Array]:
    rope, dim = config["rope_parameters"], head_dim(config)
    kind, theta, factor = rope["rope_type"], rope["rope_theta"], rope.get("factor", 1.0)
    inv = np.array([theta ** (-2 * i / dim) for i in range(dim // 2)])
    scale = 1.0
    if kind == "linear":
        inv = inv / factor
    elif kind == "llama3":
        inv = np.array([llama3(f, rope) for f in inv])
    elif kind == "yarn":
        original = rope["original_max_position_embeddings"]
        fast, slow = rope.get("beta_fast", 32.0), rope.get("beta_slow", 1.0)
        low, high = (dim * math.log(original / (b * 2 * math.pi)) / (2 * math.log(theta)) for b in (fast, slow))
        if rope.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, dim - 1)
        mix = np.array([min(max((i - low) / (high - low), 0), 1) for i in range(dim // 2)])
        inv = inv / factor * mix + inv * (1 - mix)
        scale = rope.get("attention_factor") or 0.1 * math.log(factor) + 1
    angles = np.arange(n)[:, None] * inv[None, :]
    return np.cos(angles) * scale, np.sin(angles) * scale


def llama3(frequency: float, rope: dict[str, Any]) -> float:
    original = float(rope["original_max_position_embeddings"])
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    wavelength = 2 * math.pi / frequency
    if wavelength > original / low:
        return frequency / float(rope["factor"])
    if wavelength < original / high:
        return frequency
    smooth = (original / wavelength - low) / (high - low)
    return (1 - smooth) * frequency / float(rope["factor"]) + smooth * frequency


def head_dim(config: dict[str, Any]) -> int:
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def windows(config: dict[str, Any]) -> list[int]:
    layers, window = config["num_hidden_layers"], config.get("sliding_window") or 0
    if config["model_type"] == "mistral":
        return [window] * layers
    if config.get("use_sliding_window"):
        return [window if n >= config["max_window_layers"] else 0 for n in range(layers)]
    return [0] * layers
