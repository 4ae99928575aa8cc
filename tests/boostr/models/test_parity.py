"""Every architecture gives the logits and the greedy text of transformers, in both config dialects.

Weights are random and stored in bfloat16; goldens were computed in float32 from the same files.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.boostr.models.networks import ARCH, assert_same_until_near_tie, golden, greedy, load, one_shot

CASES = sorted(path.parent.name for path in ARCH.glob("*/golden.safetensors"))
TOLERANCE = 2e-4
# The gated delta rule in chunks, as the goldens have it, and row by row, as we run it, differ by up to 3e-4.
RECURRENT_TOLERANCE = 5e-4


def tolerance(case: str) -> float:
    return RECURRENT_TOLERANCE if case.startswith(("qwen3_5", "qwen3_next")) else TOLERANCE


@pytest.mark.parametrize("case", CASES)
def test_logits_and_greedy_text(case: str) -> None:
    network = load(ARCH / case)
    for prompt in golden(ARCH / case / "golden.safetensors"):
        logits = one_shot(network, prompt["input_ids"])
        np.testing.assert_allclose(logits, prompt["logits"], rtol=0, atol=tolerance(case))
        tokens, margins = greedy(network, prompt["input_ids"], len(prompt["greedy"]))
        assert_same_until_near_tie(tokens, margins, prompt["greedy"].tolist(), tolerance(case))


@pytest.mark.parametrize("config", sorted(ARCH.glob("*/config.hub_style.json")), ids=lambda path: path.parent.name)
def test_the_older_config_dialect_gives_the_same_network(config: Path, tmp_path: Path) -> None:
    shutil.copyfile(config, tmp_path / "config.json")
    shutil.copyfile(config.parent / "model.safetensors", tmp_path / "model.safetensors")
    prompt = golden(config.parent / "golden.safetensors")[-1]
    network = load(tmp_path)
    logits = one_shot(network, prompt["input_ids"])
    np.testing.assert_allclose(logits, prompt["logits"], rtol=0, atol=tolerance(config.parent.name))


def test_all_cases_are_there() -> None:
    assert set(CASES) >= {"llama", "llama_linear_rope", "llama_yarn", "llama_yarn_exact", "llama_tied_bias"}
    assert set(CASES) >= {"mistral", "qwen2", "qwen2_window", "qwen3", "internlm2"}
    assert set(CASES) >= {"qwen3_5", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next"}
