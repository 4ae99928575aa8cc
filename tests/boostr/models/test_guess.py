"""Checkpoints without a configuration: sizes from shapes, head size guessed as published models have it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from boostr.errors import ConfigError
from boostr.formats import open_checkpoint
from boostr.models import load_network
from boostr.models.guess import guess_head_dim
from tests.boostr.models.networks import ARCH, golden, load, one_shot

# (model, hidden size, rows of q_proj, rows of k_proj, biases on q, head size)
PUBLISHED = [
    ("Llama-2-7B", 4096, 4096, 4096, False, 128),
    ("Llama-2-70B", 8192, 8192, 1024, False, 128),
    ("Llama-3.2-1B", 2048, 2048, 512, False, 64),
    ("Llama-3.2-3B", 3072, 3072, 1024, False, 128),
    ("Llama-3.1-8B", 4096, 4096, 1024, False, 128),
    ("TinyLlama-1.1B", 2048, 2048, 256, False, 64),
    ("SmolLM2-135M", 576, 576, 192, False, 64),
    ("Mistral-7B", 4096, 4096, 1024, False, 128),
    ("Mistral-Nemo-12B", 5120, 4096, 1024, False, 128),
    ("Qwen2.5-0.5B", 896, 896, 128, True, 64),
    ("Qwen2.5-1.5B", 1536, 1536, 256, True, 128),
    ("Qwen2.5-3B", 2048, 2048, 256, True, 128),
    ("Qwen2.5-7B", 3584, 3584, 512, True, 128),
    ("InternLM2-1.8B", 2048, 2048, 1024, False, 128),
    ("Open-Llama-3B", 3200, 3200, 3200, False, 100),
]
# What shapes cannot tell: width says 64 (or nothing fits 128 and 64), the model has another size.
MISGUESSED = {"InternLM2-1.8B", "Open-Llama-3B"}


@pytest.mark.parametrize(("name", "hidden", "q", "k", "bias", "head_dim"), PUBLISHED)
def test_published_models(name: str, hidden: int, q: int, k: int, bias: bool, head_dim: int) -> None:
    guess, note = guess_head_dim(hidden, q, k, bias)
    assert (guess == head_dim) is (name not in MISGUESSED)
    assert f"head_dim {guess} is guessed" in note


def test_the_note_names_other_sizes_that_fit() -> None:
    assert "(128 would fit as well)" in guess_head_dim(2048, 2048, 512)[1]
    assert "would fit" not in guess_head_dim(576, 576, 192)[1]


def test_sizes_that_share_no_heads_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"config\.json"):
        guess_head_dim(64, 60, 7)


def test_qwen3_runs_from_its_tensors_alone(tmp_path: Path) -> None:
    shutil.copyfile(ARCH / "qwen3/model.safetensors", tmp_path / "model.safetensors")
    network, report = load_network(open_checkpoint(tmp_path))
    prompt = golden(ARCH / "qwen3/golden.safetensors")[1]
    np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=2e-4)
    assert report.architecture == "qwen3"
    assert any("rope_theta 1e+06" in note for note in report.assumptions)


@pytest.mark.parametrize("case", ["llama", "qwen2", "internlm2"])
def test_families_are_told_by_their_names(case: str, tmp_path: Path) -> None:
    shutil.copyfile(ARCH / case / "model.safetensors", tmp_path / "model.safetensors")
    network, report = load_network(open_checkpoint(tmp_path))
    assert report.architecture == case
    assert network.config.intermediate_size == 112
    # Heads of 16 are no published size: the guess is said.
    assert any("head_dim" in note for note in report.assumptions)


def test_names_without_the_outer_prefix_are_the_same_model(tmp_path: Path) -> None:
    tensors = load_file(ARCH / "qwen2/model.safetensors")
    save_file({name.removeprefix("model."): array for name, array in tensors.items()}, tmp_path / "model.safetensors")
    shutil.copyfile(ARCH / "qwen2/config.json", tmp_path / "config.json")
    prompt = golden(ARCH / "qwen2/golden.safetensors")[0]
    np.testing.assert_allclose(one_shot(load(tmp_path), prompt["input_ids"]), prompt["logits"], rtol=0, atol=2e-4)
