"""Every member of the Llama family gives the logits and the greedy text of transformers, in both config dialects.

Weights are random and stored in bfloat16; goldens were computed in float32 from the same files.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.boostr.models.networks import ARCH, assert_same_until_near_tie, golden, greedy, load, one_shot

CASES = sorted(path.parent.name for path in ARCH.glob("*/golden.safetensors"))
TOLERANCE = 2e-4


@pytest.mark.parametrize("case", CASES)
def test_logits_and_greedy_text(case: str) -> None:
    network = load(ARCH / case)
    for prompt in golden(ARCH / case / "golden.safetensors"):
        np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=TOLERANCE)
        tokens, margins = greedy(network, prompt["input_ids"], len(prompt["greedy"]))
        assert_same_until_near_tie(tokens, margins, prompt["greedy"].tolist(), TOLERANCE)


@pytest.mark.parametrize("config", sorted(ARCH.glob("*/config.hub_style.json")), ids=lambda path: path.parent.name)
def test_the_older_config_dialect_gives_the_same_network(config: Path, tmp_path: Path) -> None:
    shutil.copyfile(config, tmp_path / "config.json")
    shutil.copyfile(config.parent / "model.safetensors", tmp_path / "model.safetensors")
    prompt = golden(config.parent / "golden.safetensors")[-1]
    network = load(tmp_path)
    np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=TOLERANCE)


def test_all_cases_are_there() -> None:
    assert set(CASES) >= {"llama", "llama_linear_rope", "llama_yarn", "llama_yarn_exact", "llama_tied_bias"}
    assert set(CASES) >= {"mistral", "qwen2", "qwen2_window", "qwen3", "internlm2"}
