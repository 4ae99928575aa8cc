"""Spans of a base and of its variants run in one batch, each as if it were alone."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr import LanguageModel
from boostr.errors import ParameterError
from boostr.state import Batch, Hidden
from tests.boostr.models.networks import FLOAT32_TOLERANCE as TOLERANCE
from tests.boostr.peft.adapters import Array, base, golden, variant
from tests.boostr.peft.test_every_linear import adapter_of

VARIANTS = {
    "llama": ("llama_all_linear", "llama_lm_head", "llama_patterns", "llama_rslora"),
    "qwen3_5_text": ("qwen3_5_all_linear", "qwen3_5_plain", "qwen3_5_rslora"),
}
PROMPT = tuple(golden("llama_plain")[-1]["input_ids"].tolist())


@cache
def models(case: str) -> tuple[LanguageModel, ...]:
    return (base(case), *(variant(name) for name in VARIANTS[case]))


@cache
def alone(model: LanguageModel, ids: tuple[int, ...]) -> Array:
    return np.asarray(model.logits(ids))


def run(batch: Batch, model: LanguageModel) -> Array:
    return np.asarray(model.network.logits(model.network.forward(batch)))


def check_packing(data: st.DataObject, choices: Sequence[LanguageModel]) -> None:
    """Sequences of drawn models and lengths, cut into drawn chunks, several in a pass, in drawn orders.

    Each chunk also runs alone, over a state of its own.
    """
    one = st.tuples(st.integers(0, len(choices) - 1), st.integers(0, 50), st.integers(1, 20))
    drawn = data.draw(st.lists(one, min_size=2, max_size=5))
    sequences = [(choices[at], PROMPT[start : start + length]) for at, start, length in drawn]
    states, twins = ([model.new_state() for model, _ in sequences] for _ in range(2))
    while waiting := [n for n, (_, ids) in enumerate(sequences) if states[n].length < len(ids)]:
        chosen = data.draw(st.permutations(waiting))[: data.draw(st.integers(1, len(waiting)))]
        pieces = [sequences[n][1][states[n].length :][: data.draw(st.integers(1, 8))] for n in chosen]
        batch = Batch.pack(
            [(piece, states[n]) for piece, n in zip(pieces, chosen, strict=True)],
            read="all",
            adapters=[sequences[n][0].span_adapter for n in chosen],
        )
        rows = run(batch, choices[0])
        for span, n, piece in zip(batch.spans, chosen, pieces, strict=True):
            model = sequences[n][0]
            expected = run(model.pack([(piece, twins[n])], read="all"), model)
            np.testing.assert_allclose(rows[span.start : span.stop], expected, rtol=0, atol=TOLERANCE)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=st.sampled_from(sorted(VARIANTS)))
def test_any_packing_of_base_and_variants_equals_each_alone(data: st.DataObject, case: str) -> None:
    check_packing(data, models(case))


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> tuple[LanguageModel, ...]:
    model = base("qwen3_5_moe_text")
    folder: Path = tmp_path_factory.mktemp("mixture")
    return model, model.derive_with_adapter(adapter_of("qwen3_5_moe_text", folder))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_rows_of_variants_meet_their_own_experts(data: st.DataObject, mixture: tuple[LanguageModel, ...]) -> None:
    check_packing(data, mixture)


def test_only_rows_that_are_read_reach_the_output_matrix() -> None:
    plain, head = base("llama"), variant("llama_lm_head")
    order = [head, plain, head, plain]
    batch = Batch.pack(
        [(PROMPT[:9], model.new_state()) for model in order],
        read=["last", "all", "all", "none"],
        adapters=[model.span_adapter for model in order],
    )
    expected = np.concatenate([alone(head, PROMPT[:9])[-1:], alone(plain, PROMPT[:9]), alone(head, PROMPT[:9])])
    np.testing.assert_allclose(run(batch, plain), expected, rtol=0, atol=TOLERANCE)


def test_hidden_states_keep_their_adapters_when_rows_are_taken() -> None:
    plain, head = base("llama"), variant("llama_lm_head")
    batch = Batch.pack(
        [(PROMPT[:4], plain.new_state()), (PROMPT[:4], head.new_state())],
        read="all",
        adapters=[None, head.span_adapter],
    )
    hidden = plain.network.forward(batch)
    expected = np.concatenate([alone(plain, PROMPT[:4]), alone(head, PROMPT[:4])])
    for rows in (slice(2, 6), slice(None, None, -1), np.array([7, 0, 4]), slice(0, 2)):
        taken = hidden[rows]
        assert isinstance(taken, Hidden)
        np.testing.assert_allclose(np.asarray(plain.network.logits(taken)), expected[rows], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(np.asarray(plain.network.logits(hidden[5:, :])), expected[5:], rtol=0, atol=TOLERANCE)


def test_a_batch_without_adapters_does_nothing_for_them() -> None:
    plain = base("llama")
    batch = Batch.pack([(PROMPT[:4], plain.new_state())], adapters=[None])
    assert batch.begin().adapters is None
    assert not isinstance(plain.network.forward(Batch.pack([(PROMPT[:4], plain.new_state())])), Hidden)


def test_spans_of_one_adapter_share_its_products() -> None:
    one, other = variant("llama_plain").span_adapter, variant("llama_rslora").span_adapter
    plain = base("llama")
    adapters = [one, None, one, other, other]
    step = Batch.pack([(PROMPT[:2], plain.new_state()) for _ in adapters], adapters=adapters).begin()
    assert step.adapters is not None
    first, second = step.adapters.parts
    assert (first.adapter, second.adapter) == (one, other)
    assert np.asarray(first.rows).tolist() == [0, 1, 4, 5]
    assert (second.rows, second.first, second.size) == (slice(6, 10), 6, 4)


def test_there_must_be_an_adapter_or_none_for_each_sequence() -> None:
    with pytest.raises(ParameterError, match="1 adapters for 2 sequences"):
        Batch.pack([([1], base("llama").new_state()), ([1], base("llama").new_state())], adapters=[None])


@settings(max_examples=20, deadline=None)
@given(data=st.data(), name=st.sampled_from(VARIANTS["llama"]))
def test_any_chunking_of_a_variant_equals_one_shot(data: st.DataObject, name: str) -> None:
    model, ids = variant(name), PROMPT[:30]
    points = sorted(data.draw(st.sets(st.integers(1, 29), max_size=6)))
    state = model.new_state()
    chunks = [ids[a:b] for a, b in zip([0, *points], [*points, 30], strict=True)]
    found = np.concatenate([run(model.pack([(chunk, state)], read="all"), model) for chunk in chunks])
    np.testing.assert_allclose(found, alone(model, ids), rtol=0, atol=TOLERANCE)


def test_forks_of_a_variant_go_on_as_if_alone() -> None:
    model = variant("qwen3_5_all_linear")
    state = model.new_state()
    model.network.forward(model.pack([(PROMPT[:10], state)], read="none"))
    forks = [state.fork(), state.fork()]
    rows = run(model.pack([(PROMPT[10:15], forks[0]), (PROMPT[10:12], forks[1])], read="all"), model)
    expected = alone(model, PROMPT[:20])[10:15]
    np.testing.assert_allclose(rows[:5], expected, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(rows[5:], expected[:2], rtol=0, atol=TOLERANCE)
