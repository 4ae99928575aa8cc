"""A sequence has the same bits alone and in a crowd: rounded activations once made other texts of a last bit."""

from __future__ import annotations

import numpy as np
import pytest

import boostr
from boostr.generate.decode import prefill
from boostr.generate.language_model import LanguageModel
from boostr.state import SequenceState
from tests.support.smollm2 import smollm2_gguf

pytestmark = pytest.mark.real_model

LONG = [(37 * at) % 997 + 3 for at in range(150)]
SHORT = LONG[20:60]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return boostr.load(smollm2_gguf(), context_length=256)


def others(model: LanguageModel, count: int) -> list[tuple[list[int], SequenceState]]:
    return [(LONG[at : at + 70], model.new_state()) for at in range(count)]


@pytest.mark.parametrize("cuts", [(150,), (70, 80), (2, 148), (64, 64, 22)])
def test_a_long_prompt(model: LanguageModel, cuts: tuple[int, ...]) -> None:
    state, at = model.new_state(), 0
    for size in cuts:
        batch = model.pack([*others(model, 2), (LONG[at : at + size], state)], many=True)
        crowd = np.asarray(model.network.logits(model.network.forward(batch)))[-1]
        at += size
    np.testing.assert_array_equal(crowd, prefill(model, LONG, model.new_state()))


def test_a_short_prompt_and_a_decoded_token(model: LanguageModel) -> None:
    alone, crowded = model.new_state(), model.new_state()
    expected = prefill(model, SHORT, alone)
    batch = model.pack([*others(model, 2), (SHORT, crowded)], many=False)
    np.testing.assert_array_equal(np.asarray(model.network.logits(model.network.forward(batch)))[-1], expected)
    one = model.network.logits(model.network.forward(model.pack([([9], alone)], many=False)))
    batch = model.pack([([9], crowded), *others(model, 2)], many=False)
    np.testing.assert_array_equal(np.asarray(model.network.logits(model.network.forward(batch)))[0], np.asarray(one)[0])
