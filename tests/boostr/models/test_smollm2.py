"""The real model: greedy ids of SmolLM2-135M-Instruct in precise mode are those of transformers in float32, the default
mode leaves them only where tokens are close, and neither depends on what else is in the batch."""

import json
from typing import Any

import numpy as np
import pytest

from boostr.models import Network
from boostr.quant.kernels import kernels
from boostr.state import Batch, SequenceState
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


@pytest.mark.parametrize("prompt", range(7))
def test_the_default_mode_leaves_float32_only_at_a_small_margin(network: Network, prompt: int) -> None:
    ids = PROMPTS[prompt]["prompt_ids"]
    exact, margins = greedy(network, ids, 24)
    tokens, _ = greedy(load(smollm2_gguf(), precision="fast"), ids, 24)
    assert_same_until_near_tie(tokens, margins, exact, 1.0)


@pytest.mark.skipif(kernels() is None, reason="BLAS orders its sums by the shape")
@pytest.mark.parametrize("company", [1, 2, 7])
def test_default_logits_have_the_same_bits_in_any_company(company: int) -> None:
    network = load(smollm2_gguf(), precision="fast")
    prompts = [PROMPTS[n]["prompt_ids"] for n in range(company)]

    def last_logits(some: list[list[int]]) -> list[np.ndarray]:
        states = [SequenceState(network.state_spec) for _ in some]
        network.forward(Batch.pack(list(zip(some, states, strict=True)), many=False))
        hidden = network.forward(Batch.pack([([100 + n], state) for n, state in enumerate(states)], many=False))
        return list(np.asarray(network.logits(hidden)))

    alone = last_logits(prompts[:1])[0]
    np.testing.assert_array_equal(last_logits(prompts)[0], alone)
