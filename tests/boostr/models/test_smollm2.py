"""The real model: greedy ids of SmolLM2-135M-Instruct in precise mode are those of transformers in float32."""

import json
from typing import Any

import pytest

from boostr.models import Network
from tests.boostr.models.networks import DATA, assert_same_until_near_tie, greedy, load
from tests.support.smollm2 import smollm2_gguf

pytestmark = pytest.mark.real_model

REFERENCE = json.loads((DATA / "smollm2/smollm2-reference.json").read_text("utf-8"))
PROMPTS: list[dict[str, Any]] = REFERENCE["transformers"]["gguf_q4_1_dequantised"]
EXACT = (0, 1, 5, 6)  # no step has a margin below 0.02
NEAR_TIES = (2, 3, 4)


@pytest.fixture(scope="module")
def network() -> Network:
    return load(smollm2_gguf(), precision="precise")


@pytest.mark.parametrize("prompt", EXACT)
def test_greedy_ids_are_equal(network: Network, prompt: int) -> None:
    expected = PROMPTS[prompt]["output_ids"]
    tokens, _ = greedy(network, PROMPTS[prompt]["prompt_ids"], len(expected))
    assert tokens == expected


@pytest.mark.parametrize("prompt", NEAR_TIES)
def test_greedy_ids_are_equal_up_to_the_first_near_tie(network: Network, prompt: int) -> None:
    expected = PROMPTS[prompt]["output_ids"]
    tokens, margins = greedy(network, PROMPTS[prompt]["prompt_ids"], len(expected))
    assert_same_until_near_tie(tokens, margins, expected, 0.02)
