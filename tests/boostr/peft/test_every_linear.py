"""An adapter on every linear map of every architecture gives what merging it into the weights gives."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import boostr
from boostr.models import resolve_adapter
from boostr.peft import PeftAdapter
from tests.boostr.models.networks import ARCH
from tests.boostr.models.test_qwen3_5 import fuse_experts
from tests.boostr.peft.adapters import Array, base, random_update, write_adapter, write_gguf

CASES = sorted(path.parent.name for path in ARCH.glob("*/model.safetensors"))
# A GGUF file of Mistral has no sliding window, and so other logits.
CONVERTED = sorted(path.parent.name for path in ARCH.glob("*/gguf_map.json") if path.parent.name != "mistral")
IDS = list(range(3, 40))
SCALE = 2.0
# Merged weights are rounded to float32 once more, and sums go another way; logits are of size 5.
TOLERANCE = 3e-4


def linear_maps(tensors: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Modules of a published checkpoint that are linear maps of the text network, with their shapes."""
    aside = ("embed", "visual.", "mtp.")
    return {
        name.removesuffix(".weight"): array.shape
        for name, array in tensors.items()
        if array.ndim == 2 and name.endswith(".weight") and not any(piece in name for piece in aside)
    }


def updates_of(case: str) -> dict[str, tuple[Array, Array]]:
    rng = np.random.default_rng(5)
    tensors = load_file(ARCH / case / "model.safetensors")
    return {name: random_update(shape, rng) for name, shape in linear_maps(tensors).items()}


def adapter_of(case: str, tmp_path: Path) -> PeftAdapter:
    return write_adapter(tmp_path / "adapter", updates_of(case), alpha=3 * SCALE)


def logits(model: boostr.LanguageModel) -> Array:
    return np.asarray(model.logits(IDS))


def merged(case: str, target: Path) -> boostr.LanguageModel:
    target.mkdir()
    tensors = {name: np.asarray(t, np.float32) for name, t in load_file(ARCH / case / "model.safetensors").items()}
    for name, (a, b) in updates_of(case).items():
        tensors[f"{name}.weight"] = tensors[f"{name}.weight"] + np.float32(SCALE) * (b @ a)
    save_file(tensors, target / "model.safetensors")
    if (ARCH / case / "config.json").exists():
        shutil.copyfile(ARCH / case / "config.json", target / "config.json")
    return boostr.load(target, precise=True)


@pytest.mark.parametrize("case", CASES)
def test_equals_merged_weights(case: str, tmp_path: Path) -> None:
    adapter = adapter_of(case, tmp_path)
    expected = logits(merged(case, tmp_path / "merged"))
    found = logits(base(case).derive_with_adapter(adapter))
    assert np.abs(expected - logits(base(case))).max() > 0.5
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("case", CONVERTED)
def test_a_gguf_base_gives_the_same(case: str, tmp_path: Path) -> None:
    write_gguf(case, tmp_path / "model.gguf")
    adapter = adapter_of(case, tmp_path)
    model = boostr.load(tmp_path / "model.gguf", precise=True)
    expected = logits(base(case).derive_with_adapter(adapter))
    np.testing.assert_allclose(logits(model.derive_with_adapter(adapter)), expected, rtol=0, atol=TOLERANCE)


def test_experts_that_are_stored_fused(tmp_path: Path) -> None:
    case, target = "qwen3_5_moe_text", tmp_path / "fused"
    target.mkdir()
    save_file(fuse_experts(load_file(ARCH / case / "model.safetensors"), 6), target / "model.safetensors")
    shutil.copyfile(ARCH / case / "config.json", target / "config.json")
    adapter = adapter_of(case, tmp_path)
    model = boostr.load(target, precise=True)
    expected = logits(base(case).derive_with_adapter(adapter))
    np.testing.assert_allclose(logits(model.derive_with_adapter(adapter)), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("prefix", ["model.language_model.", "language_model.model.", ""])
def test_the_text_model_may_have_been_wrapped_in_other_ways(prefix: str, tmp_path: Path) -> None:
    updates = updates_of("qwen3_5_text")
    renamed = {prefix + name.removeprefix("model."): update for name, update in updates.items()}
    model = base("qwen3_5_text")
    found = logits(model.derive_with_adapter(write_adapter(tmp_path / "renamed", renamed)))
    expected = logits(model.derive_with_adapter(write_adapter(tmp_path / "plain", updates)))
    np.testing.assert_array_equal(found, expected)


def test_a_tied_output_matrix_is_changed_as_output_only(tmp_path: Path) -> None:
    model = base("qwen2")
    assert model.config.tie_word_embeddings
    a, b = random_update((model.vocab_size, model.network.hidden_size), np.random.default_rng(2))
    found = model.derive_with_adapter(write_adapter(tmp_path / "head", {"lm_head": (a, b)}, alpha=3.0))
    state = model.new_state()
    hidden = np.asarray(model.network.forward(model.pack([(IDS, state)], read="all")))
    expected = logits(model) + hidden @ a.T @ b.T
    np.testing.assert_allclose(logits(found), expected, rtol=0, atol=TOLERANCE)


def test_a_quantized_base_stays_quantized(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "data/gguf/models/llama-bpe-Q4_K_M.gguf"
    model = boostr.load(path, precise=True)
    size = model.network.hidden_size
    update = random_update((size, model.config.num_attention_heads * model.config.head_dim), np.random.default_rng(3))
    adapter = write_adapter(tmp_path / "adapter", {"model.layers.0.self_attn.o_proj": update})
    before = logits(model)
    variant = model.derive_with_adapter(adapter)
    assert np.abs(logits(variant) - before).max() > 0.05
    assert variant.network is model.network
    np.testing.assert_array_equal(logits(model), before)


def test_the_names_of_a_base_are_its_own_published_ones(tmp_path: Path) -> None:
    updates = updates_of("internlm2")
    assert "model.layers.0.attention.wqkv" in updates
    resolved = resolve_adapter(adapter_of("internlm2", tmp_path), base("internlm2").network, base("internlm2").report)
    config = json.loads((ARCH / "internlm2/config.json").read_text("utf-8"))
    assert len(resolved.updates) == len(updates) + 2 * config["num_hidden_layers"]  # wqkv is three maps here
