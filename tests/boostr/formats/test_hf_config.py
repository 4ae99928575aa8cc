"""Both dialects of config.json come out as one, and the saved dtype is found in the documented order."""

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr.errors import ConfigError, FormatError
from boostr.formats.hf_config import (
    model_torch_dtype,
    normalise_config,
    read_config,
    read_generation_config,
    read_tokenizer_config,
)

CONFIGS = Path(__file__).parents[2] / "data/formats/configs"
NAMES = sorted(path.name.removesuffix(".hub_style.json") for path in CONFIGS.glob("*.hub_style.json"))

# What only one of the two spells out, whatever the reader does.
DROPPED_ON_SAVE = {"transformers_version", "scoring_func", "topk_method", "moe_layer_freq", "ep_size", "vision_config"}


def load(name: str) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((CONFIGS / name).read_text("utf-8"))
    return config


@pytest.mark.parametrize("name", NAMES)
def test_both_spellings_of_one_model_are_the_same(name: str) -> None:
    new, published = (normalise_config(load(name + end)) for end in (".json", ".hub_style.json"))
    for config in (new, published):
        for key in DROPPED_ON_SAVE:
            config.pop(key, None)
    assert new == published


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama", {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0}),
        ("gpt_neox", {"rope_type": "default", "partial_rotary_factor": 0.25}),
        ("phi3_longrope", {"rope_type": "longrope", "original_max_position_embeddings": 32}),
        ("deepseek_v3", {"rope_type": "yarn", "mscale_all_dim": 1.0}),
        ("qwen3_5", {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 1e7}),
        ("dbrx", {"rope_theta": 500000.0}),
    ],
)
def test_published_rope_settings_are_gathered(name: str, expected: dict[str, Any]) -> None:
    rope = normalise_config(load(name + ".hub_style.json"))["rope_parameters"]
    assert {key: rope[key] for key in expected} == expected


def test_the_input_is_left_alone() -> None:
    config = load("qwen3_5.hub_style.json")
    before = copy.deepcopy(config)
    normalise_config(config)
    assert config == before


def test_the_text_config_comes_to_the_top_and_the_outer_names_stay() -> None:
    config = normalise_config(load("qwen3_5.json"))
    assert "text_config" not in config
    assert (config["model_type"], config["text_model_type"]) == ("qwen3_5", "qwen3_5_text")
    assert (config["hidden_size"], config["vision_config"]["hidden_size"]) == (64, 32)
    assert config["dtype"] == "bfloat16"


def test_the_outer_tie_counts() -> None:
    text = {"tie_word_embeddings": False, "hidden_size": 8}
    assert normalise_config({"tie_word_embeddings": True, "text_config": text})["tie_word_embeddings"] is True
    assert normalise_config({"text_config": text})["tie_word_embeddings"] is False


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, {"rope_type": "linear", "factor": 2.0}),
        ({"rope_scaling": {"type": "su", "long_factor": [1]}}, {"rope_type": "longrope", "long_factor": [1]}),
        (
            {"rope_scaling": {"type": "yarn", "long_factor": [1], "short_factor": [1]}},
            {"rope_type": "longrope", "long_factor": [1], "short_factor": [1]},
        ),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [1]}}, {"rope_type": "default", "mrope_section": [1]}),
        ({"rope_scaling": {"type": "linear", "rope_type": "yarn"}}, {"rope_type": "yarn"}),
        (
            {"rotary_emb_base": 5.0, "rotary_pct": 0.5},
            {"rope_type": "default", "rope_theta": 5.0, "partial_rotary_factor": 0.5},
        ),
        ({"attn_config": {"rope_theta": 7.0}}, {"rope_type": "default", "rope_theta": 7.0}),
        (
            {"attn_rotary_emb": 8, "hidden_size": 64, "num_attention_heads": 4},
            {"rope_type": "default", "partial_rotary_factor": 0.5},
        ),
        ({"rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0}}, {"rope_type": "default", "rope_theta": 2.0}),
        (
            {"original_max_position_embeddings": 9, "rope_scaling": {"type": "yarn"}},
            {"rope_type": "yarn", "original_max_position_embeddings": 9},
        ),
        ({"original_max_position_embeddings": 9, "rope_theta": 1.0}, {"rope_type": "default", "rope_theta": 1.0}),
        (
            {"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
            {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        ),
        (
            {"rope_parameters": {"full_attention": {"rope_theta": 1.0}, "sliding_attention": {"rope_theta": 2.0}}},
            {
                "full_attention": {"rope_type": "default", "rope_theta": 1.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 2.0},
            },
        ),
    ],
)
def test_old_spellings(config: dict[str, Any], expected: dict[str, Any]) -> None:
    assert normalise_config(config)["rope_parameters"] == expected


def test_silence_about_rope_stays_silence() -> None:
    assert normalise_config({"hidden_size": 8, "rope_scaling": None}) == {"hidden_size": 8}


# Keys and values that the reader looks at, in any combination: whatever comes, the only error is a ConfigError.
NAMES_READ = ["rope_type", "type", "rope_theta", "factor", "full_attention", "short_factor", "long_factor"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["yarn", "su", "float32", "x"])
NESTED = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(st.sampled_from(NAMES_READ), LEAVES, max_size=4)
TOP = ["dtype", "torch_dtype", "rope_scaling", "rope_parameters", "rope_theta", "attn_config", "attn_rotary_emb"]
TOP += ["hidden_size", "num_attention_heads", "head_dim", "partial_rotary_factor", "rope_local_base_freq"]
FLAT = st.dictionaries(st.sampled_from(TOP), NESTED, max_size=6)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(outer=FLAT, inner=st.none() | FLAT | LEAVES)
def test_any_values_give_a_config_or_a_config_error(outer: dict[str, Any], inner: Any) -> None:
    with contextlib.suppress(ConfigError):
        normalise_config({**outer, "text_config": inner})


def test_a_rope_type_that_is_no_string() -> None:
    with pytest.raises(ConfigError, match="rope_type must be a string, not 5"):
        normalise_config({"rope_scaling": {"rope_type": 5}})


@pytest.mark.parametrize("key", ["text_config", "rope_scaling", "rope_parameters"])
def test_parts_that_must_be_objects(key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        normalise_config({key: 5})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"torch_dtype": "float16", "dtype": "bfloat16"}, "float16"),
        ({"dtype": "bfloat16", "text_config": {"torch_dtype": "float32"}}, "bfloat16"),
        ({"text_config": {"torch_dtype": "float32", "dtype": "bfloat16"}}, "float32"),
        ({"text_config": {"dtype": "bfloat16"}}, "bfloat16"),
        ({"torch_dtype": None, "dtype": "float32"}, "float32"),
        ({"torch_dtype": "torch.bfloat16"}, "bfloat16"),
        ({}, None),
    ],
)
def test_the_saved_dtype_is_read_in_order(config: dict[str, Any], expected: str | None) -> None:
    assert model_torch_dtype(config) == expected


@pytest.mark.parametrize("value", ["float8_e4m3fn", "auto", 16, ["float32"]])
def test_other_dtypes_are_refused_by_key(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"torch_dtype is .*float32, float16 or bfloat16"):
        model_torch_dtype({"torch_dtype": value})


def test_files_that_may_be_absent(tmp_path: Path) -> None:
    assert read_config(tmp_path) is None
    assert read_generation_config(tmp_path) == {}
    assert read_tokenizer_config(tmp_path) == {}
    for name in ("config", "generation_config", "tokenizer_config"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"from": name}), "utf-8")
    assert read_config(tmp_path) == {"from": "config"}
    assert read_generation_config(tmp_path) == {"from": "generation_config"}
    assert read_tokenizer_config(tmp_path) == {"from": "tokenizer_config"}


def test_a_config_of_many_megabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"a": "' + "x" * (5 << 20) + '"}', "utf-8")
    with pytest.raises(FormatError, match="larger than"):
        read_config(tmp_path)
