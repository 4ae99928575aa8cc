"""Random members of the family against a textbook float64 forward pass, which itself is held to transformers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from tests.boostr.models import reference_llama
from tests.boostr.models.networks import ARCH, golden, load, one_shot

_FAMILY = ("llama", "mistral", "qwen2", "qwen3")
NAMED_AS_LLAMA = sorted(
    path.parent.name
    for path in ARCH.glob("*/config.json")
    if json.loads(path.read_text("utf-8"))["model_type"] in _FAMILY
)


@pytest.mark.parametrize("case", NAMED_AS_LLAMA)
def test_the_reference_agrees_with_transformers(case: str) -> None:
    config = json.loads((ARCH / case / "config.json").read_text("utf-8"))
    prompt = golden(ARCH / case / "golden.safetensors")[1]
    found = reference_llama.forward(config, load_file(ARCH / case / "model.safetensors"), prompt["input_ids"].tolist())
    np.testing.assert_allclose(found, prompt["logits"], rtol=0, atol=1e-4)


ROPES = (
    {"rope_type": "default", "rope_theta": 10000.0},
    {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0},
    {
        "rope_type": "llama3",
        "rope_theta": 500.0,
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 3.0,
        "original_max_position_embeddings": 24,
    },
    {"rope_type": "yarn", "rope_theta": 500.0, "factor": 3.0, "original_max_position_embeddings": 24},
)


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads = draw(st.integers(1, 3))
    return {
        "model_type": draw(st.sampled_from(["llama", "mistral", "qwen2", "qwen3"])),
        "vocab_size": draw(st.integers(5, 40)),
        "hidden_size": draw(st.integers(1, 24)) * 2,
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": kv_heads * draw(st.integers(1, 3)),
        "num_key_value_heads": kv_heads,
        "head_dim": 2 * draw(st.integers(2, 9)),
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
        "sliding_window": draw(st.integers(1, 12)),
        "use_sliding_window": draw(st.booleans()),
        "max_window_layers": draw(st.integers(0, 3)),
        "max_position_embeddings": 64,
        "rope_parameters": draw(st.sampled_from(ROPES)),
    }


def random_weights(config: dict[str, Any], seed: int) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q_rows, kv_rows = (config[f"num_{kind}_heads"] * config["head_dim"] for kind in ("attention", "key_value"))
    qkv_bias = config["attention_bias"] or config["model_type"] == "qwen2"
    weights: dict[str, NDArray[np.float32]] = {}

    def linear(name: str, out: int, into: int, bias: bool) -> None:
        weights[name + ".weight"] = random.normal(0, into**-0.5, (out, into)).astype(np.float32)
        if bias:
            weights[name + ".bias"] = random.normal(0, 0.3, out).astype(np.float32)

    def norm(name: str, size: int) -> None:
        weights[name + ".weight"] = random.normal(1, 0.2, size).astype(np.float32)

    weights["model.embed_tokens.weight"] = random.normal(0, 1, (vocab, hidden)).astype(np.float32)
    norm("model.norm", hidden)
    if not config["tie_word_embeddings"]:
        linear("lm_head", vocab, hidden, False)
    for n in range(config["num_hidden_layers"]):
        p = f"model.layers.{n}."
        norm(p + "input_layernorm", hidden)
        norm(p + "post_attention_layernorm", hidden)
        linear(p + "self_attn.q_proj", q_rows, hidden, qkv_bias)
        linear(p + "self_attn.k_proj", kv_rows, hidden, qkv_bias)
        linear(p + "self_attn.v_proj", kv_rows, hidden, qkv_bias)
        linear(p + "self_attn.o_proj", hidden, q_rows, config["attention_bias"])
        if config["model_type"] == "qwen3":
            norm(p + "self_attn.q_norm", config["head_dim"])
            norm(p + "self_attn.k_norm", config["head_dim"])
        linear(p + "mlp.gate_proj", inner, hidden, config["mlp_bias"])
        linear(p + "mlp.up_proj", inner, hidden, config["mlp_bias"])
        linear(p + "mlp.down_proj", hidden, inner, config["mlp_bias"])
    return weights


@settings(max_examples=40, deadline=None)
@given(config=configs(), seed=st.integers(0, 1 << 32), length=st.integers(1, 30))
def test_random_networks_agree(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any], seed: int, length: int
) -> None:
    if config["model_type"] not in ("qwen2", "qwen3"):
        config["use_sliding_window"] = False
    directory: Path = tmp_path_factory.mktemp("network")
    (directory / "config.json").write_text(json.dumps(config), "utf-8")
    weights = random_weights(config, seed)
    save_file(weights, directory / "model.safetensors")
    ids = np.random.default_rng(seed).integers(0, config["vocab_size"], length)
    expected = reference_llama.forward(config, weights, ids.tolist())
    np.testing.assert_allclose(one_shot(load(directory), ids), expected, rtol=1e-4, atol=1e-4)
