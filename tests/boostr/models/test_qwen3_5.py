"""Qwen3.5 beyond the shared parity tests: GGUF and expert layouts, what stays on disk, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from boostr.errors import ConfigError, UnsupportedModelError, WeightsError
from boostr.formats import open_checkpoint
from boostr.models import load_network
from tests.boostr.models.gguf_of_qwen35 import write_qwen35_gguf_of
from tests.boostr.models.networks import ARCH, DATA, assert_same_until_near_tie, golden, greedy, load, one_shot

TOLERANCE = 5e-4
CASES = ("qwen3_5", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")


def assert_golden(path: Path, case: str) -> None:
    network = load(path)
    for prompt in golden(ARCH / case / "golden.safetensors"):
        np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("case", CASES)
def test_a_converted_checkpoint_gives_the_same_logits(case: str, tmp_path: Path) -> None:
    write_qwen35_gguf_of(ARCH / case, tmp_path / "model.gguf")
    assert_golden(tmp_path / "model.gguf", case)


@pytest.fixture(scope="module")
def converted() -> Any:
    """Logits and greedy tokens of transformers in float32 on the values that this file holds.

    The converter added 1 to norms in the float16 of its source, so that the file's norms are not quite the source's.
    """
    return load_file(DATA / "gguf/models/qwen35-F16.golden.safetensors")


@pytest.mark.parametrize("prompt", range(3))
def test_a_file_of_the_converter_gives_the_float32_logits(prompt: int, converted: Any) -> None:
    network, ids = load(DATA / "gguf/models/qwen35-F16.gguf"), converted[f"ids_{prompt}"]
    np.testing.assert_allclose(one_shot(network, ids), converted[f"f32_logits_{prompt}"], rtol=0, atol=1e-3)
    tokens, margins = greedy(network, ids, 16)
    assert_same_until_near_tie(tokens, margins, converted[f"f32_greedy_{prompt}"].tolist(), 1e-3)


def test_prediction_blocks_of_a_gguf_file_stay_on_disk() -> None:
    _, report = load_network(open_checkpoint(DATA / "gguf/models/qwen35-F16.gguf"))
    assert "blk.4.nextn.eh_proj.weight" in report.skipped
    assert len(report.skipped) == 15
    assert set(report.skipped.values()) == {"the multi-token prediction block is not used"}


def test_prediction_block_and_vision_tower_of_a_checkpoint_stay_on_disk() -> None:
    network, report = load_network(open_checkpoint(ARCH / "qwen3_5"))
    stored = load_file(ARCH / "qwen3_5/model.safetensors")
    reasons = {name: reason.split(" is ")[0] for name, reason in report.skipped.items()}
    assert {name for name, what in reasons.items() if what == "the vision tower"} == {
        name for name in stored if name.startswith("model.visual.")
    }
    assert {name for name, what in reasons.items() if what == "the multi-token prediction block"} == {
        name for name in stored if name.startswith("mtp.")
    }
    assert {tensor.name for tensor in report.uploaded} == set(stored) - set(report.skipped)
    assert network.config.mrope_section == (2, 1, 1)


def fuse_experts(tensors: dict[str, Any], count: int) -> dict[str, Any]:
    """As published: (experts, 2 width, hidden), gate rows before up rows, and (experts, hidden, width)."""
    fused = {name: array for name, array in tensors.items() if ".experts." not in name}
    for n in (0, 1):
        stem = f"model.layers.{n}.mlp.experts."
        gate, up, down = (
            np.stack([tensors[f"{stem}{e}.{part}_proj.weight"] for e in range(count)])
            for part in ("gate", "up", "down")
        )
        fused[stem + "gate_up_proj"] = np.concatenate([gate, up], axis=1)
        fused[stem + "down_proj"] = down
    return fused


@pytest.mark.parametrize("nested", [False, True])
def test_fused_experts_as_published(nested: bool, tmp_path: Path) -> None:
    tensors = fuse_experts(load_file(ARCH / "qwen3_5_moe_text/model.safetensors"), 6)
    config = json.loads((ARCH / "qwen3_5_moe_text/config.json").read_text("utf-8"))
    if nested:
        tensors = {name.replace("model.", "model.language_model.", 1): array for name, array in tensors.items()}
        config = {"model_type": "qwen3_5_moe", "text_config": config, "tie_word_embeddings": False}
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert_golden(tmp_path, "qwen3_5_moe_text")


def test_names_alone_tell_the_architecture(tmp_path: Path) -> None:
    shutil.copyfile(ARCH / "qwen3_5_text/model.safetensors", tmp_path / "model.safetensors")
    network, report = load_network(open_checkpoint(tmp_path))
    assert report.architecture == "qwen3_5"
    assert "are assumed: no config.json" in report.assumptions[0]
    told = load(ARCH / "qwen3_5_text").config
    for name in ("delta", "full_attention", "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size"):
        assert getattr(network.config, name) == getattr(told, name)


def test_experts_need_a_configuration(tmp_path: Path) -> None:
    for case, kind in (("qwen3_5_moe_text", "experts a token uses"), ("qwen3_next", "experts a token uses")):
        shutil.copyfile(ARCH / case / "model.safetensors", tmp_path / "model.safetensors")
        with pytest.raises(ConfigError, match=kind):
            load(tmp_path)


def changed(case: str, tmp_path: Path, **values: Any) -> Path:
    shutil.copyfile(ARCH / case / "model.safetensors", tmp_path / "model.safetensors")
    config = json.loads((ARCH / case / "config.json").read_text("utf-8")) | values
    config = {key: value for key, value in config.items() if value is not ...}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    return tmp_path


def test_layer_types_follow_from_the_interval(tmp_path: Path) -> None:
    assert_golden(changed("qwen3_5_text", tmp_path, layer_types=..., full_attention_interval=4), "qwen3_5_text")
    assert_golden(changed("qwen3_5_text", tmp_path, layer_types=...), "qwen3_5_text")


def test_a_quarter_of_each_head_turns_where_nothing_says_it(tmp_path: Path) -> None:
    path = changed("qwen3_5_text", tmp_path, rope_parameters={"rope_theta": 1e7, "rope_type": "default"})
    assert load(path).config.rotary_dim == 4


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"linear_num_key_heads": 3}, ConfigError, "4 value heads are no multiple of 3 key heads"),
        ({"linear_conv_kernel_dim": 1}, ConfigError, "'linear_conv_kernel_dim' is 1, outside 2..16"),
        ({"linear_conv_kernel_dim": 5}, WeightsError, "conv1d.weight is"),
        ({"linear_num_value_heads": 10**9}, ConfigError, "'linear_num_value_heads' is 1000000000"),
        ({"num_attention_heads": 3}, ConfigError, "num_attention_heads 3 is not a multiple"),
        ({"layer_types": ["full_attention"]}, ConfigError, "for each of 4 layers"),
        ({"layer_types": ["sliding_attention"] * 4}, ConfigError, "full_attention or linear_attention"),
        ({"layer_types": ["linear_attention"] * 4}, WeightsError, "missing: model.layers.3.linear_attn.in_proj_qkv"),
        ({"hidden_act": "relu2"}, UnsupportedModelError, "hidden_act 'relu2'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.0}}, ConfigError, "0 of the 16 dims of a head turn"),
        ({"rope_parameters": {"mrope_section": "abc"}}, ConfigError, "'mrope_section'.*must be a list"),
    ],
)
def test_what_cannot_be_is_refused(
    values: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        load(changed("qwen3_5_text", tmp_path, **values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_experts_per_tok": 7}, "7 experts a token are more than the 6 there are"),
        ({"num_experts": 1 << 20}, "'num_experts' is 1048576, outside"),
        ({"num_experts": 7}, "missing: model.layers.0.mlp.experts.6.gate_proj.weight"),
        ({"num_experts": 5}, "left over: model.layers.0.mlp.experts.5"),
    ],
)
def test_experts_that_cannot_be_are_refused(values: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigError, WeightsError), match=message):
        load(changed("qwen3_5_moe_text", tmp_path, **values))


def test_the_edits_are_rounded_once() -> None:
    tensors = load_file(ARCH / "qwen3_5_text/model.safetensors")
    layer: Any = load(ARCH / "qwen3_5_text").layers[0]  # type: ignore[attr-defined]
    norm = tensors["model.layers.0.input_layernorm.weight"].astype(np.float64)
    np.testing.assert_array_equal(layer.input_layernorm.weight.array, (1 + norm).astype(np.float32))
    a = tensors["model.layers.0.linear_attn.A_log"].astype(np.float64)
    np.testing.assert_array_equal(layer.linear_attn.rule.a.array, (-np.exp(a)).astype(np.float32))
    gated = tensors["model.layers.0.linear_attn.norm.weight"].astype(np.float32)
    np.testing.assert_array_equal(layer.linear_attn.rule.norm.array, gated)


def test_weights_of_a_gguf_file_stay_mapped(tmp_path: Path) -> None:
    write_qwen35_gguf_of(ARCH / "qwen3_5_text", tmp_path / "model.gguf", dtype="float16")
    layer: Any = load(tmp_path / "model.gguf").layers[0]  # type: ignore[attr-defined]
    for linear in (layer.linear_attn.in_proj_qkv, layer.linear_attn.out_proj, layer.mlp.down_proj):
        assert not linear.weight.array.flags.owndata
        assert linear.weight.array.dtype == np.float16
