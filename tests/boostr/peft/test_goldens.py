"""Adapters give the logits and greedy text of transformers with peft, over SafeTensors bases and GGUF ones."""

import numpy as np
import pytest

import boostr
from boostr import LanguageModel
from boostr.peft import PeftAdapter
from tests.boostr.models.networks import assert_same_until_near_tie
from tests.boostr.peft.adapters import LORA, base, base_of, golden, greedy, variant, write_gguf

ADAPTERS = sorted(path.parent.name for path in LORA.glob("*/golden.safetensors"))
# As of the bases alone; the delta rule in chunks, as the goldens have it, differs from rows by up to 3e-4.
TOLERANCE = {"llama": 2e-4, "qwen3_5_text": 5e-4}


@pytest.fixture(scope="module")
def gguf_bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LanguageModel]:
    folder, bases = tmp_path_factory.mktemp("gguf"), {}
    for case in TOLERANCE:
        write_gguf(case, folder / f"{case}.gguf")
        bases[case] = boostr.load(folder / f"{case}.gguf", precise=True)
    return bases


def check(model: LanguageModel, adapter: str) -> None:
    tolerance = TOLERANCE[base_of(adapter)]
    for prompt in golden(adapter):
        ids = prompt["input_ids"].tolist()
        np.testing.assert_allclose(np.asarray(model.logits(ids)), prompt["logits"], rtol=0, atol=tolerance)
        tokens, margins = greedy(model, ids, len(prompt["greedy"]))
        assert_same_until_near_tie(tokens, margins, prompt["greedy"].tolist(), tolerance)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_over_a_safetensors_base(adapter: str) -> None:
    check(variant(adapter), adapter)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_over_a_gguf_base(adapter: str, gguf_bases: dict[str, LanguageModel]) -> None:
    check(gguf_bases[base_of(adapter)].derive_with_adapter(PeftAdapter.load(LORA / adapter)), adapter)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_base_answers_as_before(adapter: str) -> None:
    ids = golden(adapter)[0]["input_ids"].tolist()
    model = base(base_of(adapter))
    before = np.asarray(model.logits(ids))
    changed = np.asarray(variant(adapter).logits(ids))
    assert np.abs(changed - before).max() > 0.05
    np.testing.assert_array_equal(np.asarray(model.logits(ids)), before)
