"""A variant is a language model that shares everything with its base but the adapter."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import boostr
from boostr.peft import PeftAdapter
from tests.boostr.peft.adapters import LORA, base, random_update, variant, write_adapter

PATH = Path(__file__).parents[2] / "data" / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(PATH, precise=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def adapted(model: boostr.LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> boostr.LanguageModel:
    c, rng = model.config, np.random.default_rng(4)
    names = [f"model.layers.{n}.mlp.up_proj" for n in range(c.num_hidden_layers)]
    updates = {name: random_update((c.intermediate_size, c.hidden_size), rng) for name in names}
    return model.derive_with_adapter(write_adapter(tmp_path_factory.mktemp("a") / "tuned", updates))


def test_a_variant_knows_its_base_and_adapter() -> None:
    model, tuned = base("llama"), variant("llama_plain")
    assert (tuned.base, tuned.name) == (model, "llama:llama_plain")
    assert tuned.adapter is not None
    assert tuned.adapter.rank == 4
    assert (model.base, model.adapter, model.span_adapter) == (None, None, None)
    assert "rank 4" in repr(tuned)
    assert "rank" not in repr(model)
    assert model.derive_with_adapter(tuned.adapter, "support").name == "support"


def test_it_costs_its_adapter_and_no_more() -> None:
    adapter = PeftAdapter.load(LORA / "llama_all_linear")
    tuned = base("llama").derive_with_adapter(adapter)
    for shared in ("network", "tokenizer", "chat_template", "report"):
        assert getattr(tuned, shared) is getattr(base("llama"), shared)
    assert tuned.span_adapter is not None
    assert tuned.span_adapter.nbytes == adapter.nbytes
    read = {id(matrix) for module in adapter.modules.values() for matrix in module[:2]}
    assert {id(matrix) for update in tuned.span_adapter.updates.values() for matrix in (update.a, update.b)} == read


def test_it_generates_as_its_own_logits_say(adapted: boostr.LanguageModel) -> None:
    ids = adapted.encode("hello world")
    for completion in adapted.complete(ids, n=2, max_tokens=4, temperature=0, ignore_eos=True):
        context = list(ids)
        for token in completion.token_ids:
            assert token == int(np.asarray(adapted.logits(context))[-1].argmax())
            context.append(token)


def test_base_and_variant_tell_different_things(model: boostr.LanguageModel, adapted: boostr.LanguageModel) -> None:
    texts = [one.generate("hello", max_tokens=16, temperature=0, ignore_eos=True) for one in (model, adapted, model)]
    assert texts[0] == texts[2] != texts[1]


def test_closing_a_variant_leaves_its_base_open(model: boostr.LanguageModel, tmp_path: Path) -> None:
    c = model.config
    update = random_update((c.intermediate_size, c.hidden_size), np.random.default_rng(4))
    before = np.asarray(model.logits([1, 2, 3]))
    opened = model._checkpoint
    assert opened is not None
    model.derive_with_adapter(write_adapter(tmp_path / "a", {"model.layers.0.mlp.up_proj": update})).close()
    opened.tensor("output_norm.weight")  # raises where its files were closed
    np.testing.assert_array_equal(np.asarray(model.logits([1, 2, 3])), before)
