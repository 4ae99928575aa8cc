"""The Llama family's configuration: defaults, window rules, limits, and what each of its three sources tells."""

from typing import Any

import numpy as np
import pytest

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats import TensorInfo
from boostr.formats.hf_config import normalise_config
from boostr.models.llama_config import LlamaConfig

HF = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
GGUF = {
    "general.architecture": "llama",
    "llama.block_count": 4,
    "llama.context_length": 512,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 96,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
}
EMBEDDING = {"embed_tokens.weight": TensorInfo("token_embd.weight", "F32", (100, 64), 25600)}


def hf(**changes: Any) -> LlamaConfig:
    return LlamaConfig.from_hf(normalise_config({**HF, **changes}))


def gguf(**changes: Any) -> LlamaConfig:
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return LlamaConfig.from_gguf({**GGUF, **dotted}, EMBEDDING)


def test_head_dim_is_its_own_number_where_given() -> None:
    assert hf().head_dim == 16
    assert hf(head_dim=None).head_dim == 16
    assert hf(head_dim=32).head_dim == 32
    assert gguf().head_dim == 16
    assert gguf(llama__attention__key_length=32).head_dim == 32


def test_key_value_heads_default_to_the_query_heads() -> None:
    assert hf(num_key_value_heads=None).num_key_value_heads == 4
    assert LlamaConfig.from_gguf({k: v for k, v in GGUF.items() if "kv" not in k}, EMBEDDING).num_key_value_heads == 4


@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({"model_type": "mistral", "sliding_window": 8}, (8, 8, 8, 8)),
        ({"model_type": "mistral", "sliding_window": None}, (0, 0, 0, 0)),
        ({"model_type": "llama", "sliding_window": 8}, (0, 0, 0, 0)),
        ({"model_type": "qwen2", "sliding_window": 8}, (0, 0, 0, 0)),
        ({"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": False}, (0, 0, 0, 0)),
        ({"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": True}, (0, 0, 0, 0)),
        (
            {"model_type": "qwen2", "sliding_window": 8, "use_sliding_window": True, "max_window_layers": 3},
            (0, 0, 0, 8),
        ),
        (
            {
                "model_type": "qwen3",
                "sliding_window": 8,
                "use_sliding_window": True,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
            },
            (8, 0, 8, 0),
        ),
    ],
)
def test_which_layers_slide(changes: dict[str, Any], windows: tuple[int, ...]) -> None:
    assert hf(**changes).windows == windows


def test_biases_and_norms_follow_the_type_and_the_switches() -> None:
    assert not hf().attention_bias
    qwen2 = hf(model_type="qwen2")
    assert (qwen2.attention_bias, qwen2.attention_out_bias, qwen2.qk_norm) == (True, False, False)
    both = hf(attention_bias=True, mlp_bias=True)
    assert (both.attention_bias, both.attention_out_bias, both.mlp_bias) == (True, True, True)
    assert hf(model_type="qwen3").qk_norm
    internlm2 = hf(model_type="internlm2", bias=True)
    assert (internlm2.attention_bias, internlm2.attention_out_bias, internlm2.mlp_bias) == (True, True, False)


def test_rope_scaling_of_both_dialects_is_one() -> None:
    numbers = {"factor": 4.0, "original_max_position_embeddings": 128}
    old = hf(rope_theta=5e5, rope_scaling={"type": "yarn", **numbers})
    new = hf(rope_parameters={"rope_type": "yarn", "rope_theta": 5e5, **numbers})
    assert old.rope == new.rope
    assert (old.rope.theta, old.rope.scaling.kind, old.rope.scaling.factor) == (5e5, "yarn", 4.0)


def test_yarn_stretches_the_context() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
    assert hf(rope_scaling=scaling).max_position_embeddings == 2048
    assert hf(rope_scaling={**scaling, "original_max_position_embeddings": 64}).max_position_embeddings == 512


def test_dynamic_scaling_is_left_out_and_said_so() -> None:
    config = hf(model_type="internlm2", rope_scaling={"type": "dynamic", "factor": 2.0})
    assert config.rope.scaling.kind == "default"
    assert "dynamic" in config.assumptions[0]


@pytest.mark.parametrize("kind", ["longrope", "su", "no such"])
def test_unknown_rope_scalings_name_the_known(kind: str) -> None:
    with pytest.raises(UnsupportedModelError, match="default, linear, llama3, yarn"):
        hf(rope_scaling={"type": kind, "factor": 2.0})
    with pytest.raises(UnsupportedModelError, match="default, linear, llama3, yarn"):
        gguf(llama__rope__scaling__type=kind)


def test_gguf_rope_keys() -> None:
    assert gguf().rope.theta == 10000.0
    assert gguf(llama__rope__freq_base=5e5).rope.theta == 5e5
    old = gguf(llama__rope__scale_linear=2.0).rope.scaling
    assert (old.kind, old.factor) == ("linear", 2.0)
    new = gguf(
        llama__rope__scaling__type="yarn",
        llama__rope__scaling__factor=4.0,
        llama__rope__scaling__original_context_length=128,
    ).rope.scaling
    assert (new.kind, new.factor, new.original_context) == ("yarn", 4.0, 128)
    assert gguf(llama__rope__dimension_count=8).rotary_dim == 8


def test_gguf_row_order_follows_the_architecture() -> None:
    assert gguf().interleaved_rope
    qwen2 = {key.replace("llama.", "qwen2."): value for key, value in GGUF.items()} | {"general.architecture": "qwen2"}
    assert not LlamaConfig.from_gguf(qwen2, EMBEDDING).interleaved_rope


def test_head_counts_per_layer_must_agree() -> None:
    assert gguf(llama__attention__head_count_kv=[2, 2, 2, 2]).num_key_value_heads == 2
    assert gguf(llama__attention__head_count=np.array([4] * 4, np.uint32)).num_attention_heads == 4
    with pytest.raises(UnsupportedModelError, match="head_count_kv"):
        gguf(llama__attention__head_count_kv=[2, 2, 1, 2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": 513}, r"'num_hidden_layers' is 513, outside 1\.\.512"),
        ({"num_hidden_layers": 0}, "'num_hidden_layers' is 0"),
        ({"num_hidden_layers": "4"}, "'num_hidden_layers' is '4', not a whole number"),
        ({"num_hidden_layers": True}, "not a whole number"),
        ({"num_hidden_layers": 2.5}, "not a whole number"),
        ({"hidden_size": 10**30}, "'hidden_size' is 10"),
        ({"hidden_size": None}, "'hidden_size' is missing"),
        ({"vocab_size": -1}, "'vocab_size'"),
        ({"intermediate_size": [1]}, "'intermediate_size'"),
        ({"num_attention_heads": 3, "num_key_value_heads": 2}, "'head_dim' is missing"),
        ({"num_attention_heads": 3, "num_key_value_heads": 2, "head_dim": 16}, "3 is not a multiple of"),
        ({"head_dim": 15}, "head_dim 15 is odd"),
        ({"head_dim": 16, "partial_rotary_factor": 0.44}, "7 of the 16 dims of a head turn"),
        ({"head_dim": 16, "partial_rotary_factor": 0.0}, "0 of the 16 dims of a head turn"),
        ({"rms_norm_eps": float("nan")}, "'rms_norm_eps' is nan"),
        ({"rms_norm_eps": "x" * 100}, "'rms_norm_eps' is 'x{56}\\.\\.\\., not a number"),
        ({"rope_theta": 0}, "'rope_theta' is 0"),
        ({"rope_scaling": {"type": "linear"}}, "'factor' is missing"),
        ({"rope_scaling": {"type": "linear", "factor": 1e300}}, "'factor' is 1e"),
        ({"tie_word_embeddings": "no"}, "'tie_word_embeddings' is 'no', not true or false"),
        ({"model_type": "mistral", "sliding_window": -4}, "'sliding_window'"),
        ({"model_type": "mistral", "sliding_window": 8, "layer_types": ["full_attention"]}, "'layer_types' must be"),
        ({"model_type": "mistral", "sliding_window": 8, "layer_types": [[]] * 4}, "'layer_types' must be"),
        ({"model_type": "mistral", "sliding_window": 8, "layer_types": "full"}, "'layer_types' is 'full', not a list"),
        ({"num_key_value_heads": [[2], [2, 2]]}, r"'num_key_value_heads' is \[2\]"),
        (
            {
                "rope_scaling": {
                    "type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 4.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 64,
                }
            },
            "'low_freq_factor' must be below",
        ),
    ],
)
def test_impossible_values_are_refused_by_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        hf(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"llama__block_count": 1 << 30}, r"'llama.block_count' is 1073741824, outside 1\.\.512"),
        ({"llama__embedding_length": 0}, "'llama.embedding_length'"),
        ({"llama__attention__head_count": 4096}, "'llama.attention.head_count'"),
        ({"llama__rope__dimension_count": 999}, "'llama.rope.dimension_count'"),
        ({"llama__attention__layer_norm_rms_epsilon": -1.0}, "'llama.attention.layer_norm_rms_epsilon'"),
    ],
)
def test_impossible_metadata_is_refused_by_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        gguf(**changes)


def test_a_gguf_without_embeddings_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"embed_tokens\.weight' is missing"):
        LlamaConfig.from_gguf(GGUF, {})


def test_rotary_settings_per_layer_type_are_refused() -> None:
    rope = {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}}
    with pytest.raises(UnsupportedModelError, match="differ between layers"):
        hf(rope_parameters=rope)


def test_unknown_activations_name_the_known() -> None:
    with pytest.raises(UnsupportedModelError, match="hidden_act 'relu6' is not one of silu"):
        hf(hidden_act="relu6")


def test_the_dims_that_turn_come_in_pairs() -> None:
    assert gguf(llama__attention__key_length=88, llama__rope__dimension_count=60).rotary_dim == 60
    with pytest.raises(ConfigError, match="7 of the 16 dims of a head turn: it must be an even number"):
        gguf(llama__rope__dimension_count=7)
