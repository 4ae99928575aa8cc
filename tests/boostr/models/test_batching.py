"""A sequence's logits do not depend on how its tokens are cut, who shares the pass, or whether its state was forked."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr.models import Network
from boostr.state import Batch, SequenceState
from tests.boostr.models.networks import ARCH, FLOAT32_TOLERANCE, Logits, golden, load, one_shot, run

# Grouped queries with llama3 scaling, a sliding window, norms of heads, windows on some layers only.
CASES = ("llama", "mistral", "qwen3", "qwen2_window")
FLOAT16_TOLERANCE = 2e-2  # keys and values rounded to 11 bits; logits have a deviation of 1.6
FLOAT16_CHUNKING = 4e-3  # both round; a last bit of float32 turns a rounding here and there


@cache
def network(case: str) -> Network:
    return load(ARCH / case)


@cache
def prompt(case: str) -> tuple[int, ...]:
    return tuple(golden(ARCH / case / "golden.safetensors")[-1]["input_ids"].tolist())


@cache
def expected(case: str) -> Logits:
    return one_shot(network(case), prompt(case))


def close(found: Logits, case: str, start: int = 0, tolerance: float = FLOAT32_TOLERANCE) -> None:
    np.testing.assert_allclose(found, expected(case)[start : start + len(found)], rtol=0, atol=tolerance)


@st.composite
def cuts(draw: st.DrawFn, length: int) -> list[slice]:
    points = sorted(draw(st.sets(st.integers(1, length - 1), max_size=6)))
    return [slice(a, b) for a, b in zip([0, *points], [*points, length], strict=True)]


@settings(max_examples=25, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_any_chunking_equals_one_shot(data: st.DataObject, case: str) -> None:
    ids, state = prompt(case), SequenceState(network(case).state_spec, "float32")
    for cut in data.draw(cuts(len(ids))):
        close(run(network(case), ids[cut], state), case, cut.start)
    assert state.length == len(ids)


@pytest.mark.parametrize("case", CASES)
def test_token_by_token_equals_one_shot(case: str) -> None:
    state = SequenceState(network(case).state_spec, "float32")
    close(np.concatenate([run(network(case), [token], state) for token in prompt(case)]), case)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_any_packing_of_sequences_equals_each_alone(data: st.DataObject, case: str) -> None:
    net, ids = network(case), prompt(case)
    # Sequences begin somewhere in the prompt and each has read some of it; a pass takes the next tokens of each.
    starts = data.draw(st.lists(st.integers(0, len(ids) - 4), min_size=2, max_size=4))
    states, alone = [], []
    for start in starts:
        states.append(SequenceState(net.state_spec, "float32"))
        alone.append(one_shot(net, ids[start:]))
    for _ in range(3):
        pieces = [
            (ids[start:][state.length :][: data.draw(st.integers(1, 9))], at)
            for at, (start, state) in enumerate(zip(starts, states, strict=True))
            if start + state.length < len(ids)
        ]
        if not pieces:
            break
        begins = [states[at].length for _, at in pieces]
        batch = Batch.pack([(piece, states[at]) for piece, at in pieces], read="all")
        rows = np.asarray(net.logits(net.forward(batch)))
        for span, (_, at), begin in zip(batch.spans, pieces, begins, strict=True):
            found = rows[span.start : span.stop]
            np.testing.assert_allclose(found, alone[at][begin:][: len(found)], rtol=0, atol=FLOAT32_TOLERANCE)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_a_fork_at_any_position_goes_on_as_if_alone(data: st.DataObject, case: str) -> None:
    net, ids = network(case), prompt(case)
    read = data.draw(st.integers(1, len(ids)))
    parent = SequenceState(net.state_spec, "float32")
    run(net, ids[:read], parent)
    at = data.draw(st.integers(0, read))
    child = parent.fork(at)
    run(net, ids[:5], child)  # other tokens than the parent's: they must not reach it, nor the next fork
    if read < len(ids):
        close(run(net, ids[read:], parent), case, read)
    if at < len(ids):
        close(run(net, ids[at:], parent.fork(at)), case, at)


@pytest.mark.parametrize("case", CASES)
def test_truncating_takes_tokens_back(case: str) -> None:
    net, ids = network(case), prompt(case)
    state = SequenceState(net.state_spec, "float32")
    run(net, [*ids[:10], *ids[:7]], state)
    state.truncate(10)
    close(run(net, ids[10:], state), case, 10)


@pytest.mark.parametrize("case", CASES)
def test_a_float16_cache_stays_close(case: str) -> None:
    whole = one_shot(network(case), prompt(case), "float16")
    close(whole, case, tolerance=FLOAT16_TOLERANCE)
    state = SequenceState(network(case).state_spec, "float16")
    parts = [run(network(case), prompt(case)[at : at + 4], state) for at in range(0, len(prompt(case)), 4)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=0, atol=FLOAT16_CHUNKING)


@pytest.mark.parametrize("case", CASES)
def test_only_the_rows_that_are_read_come_back(case: str) -> None:
    net, ids = network(case), prompt(case)
    states = [SequenceState(net.state_spec, "float32") for _ in range(3)]
    batch = Batch.pack(
        [(ids[:9], states[0]), (ids[:20], states[1]), (ids[:3], states[2])], read=["last", "none", "all"]
    )
    found = np.asarray(net.logits(net.forward(batch)))
    np.testing.assert_allclose(found, expected(case)[[8, 0, 1, 2]], rtol=0, atol=FLOAT32_TOLERANCE)
    assert net.forward(Batch.pack([(ids[9:12], states[0])], read="none")).shape == (0, net.hidden_size)
    close(run(net, ids[12:], states[0]), case, 12)
    close(run(net, ids[20:], states[1]), case, 20)


def test_a_pass_that_failed_leaves_the_state_usable() -> None:
    net, ids = network("llama"), prompt("llama")
    state = SequenceState(net.state_spec, "float32")
    run(net, ids[:10], state)
    state.reserve(300)  # as a pass does before its layers run; this one never finishes
    close(run(net, ids[10:], state), "llama", 10)
