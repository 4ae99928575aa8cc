"""A sequence's logits do not depend on how its tokens are cut, who shares the pass, or whether its state was forked."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr.errors import ParameterError
from boostr.models import Network
from boostr.state import Batch, SequenceState
from tests.boostr.models.networks import ARCH, FLOAT32_TOLERANCE, Logits, golden, load, one_shot, run

# Grouped queries with llama3 scaling, a sliding window, norms of heads, windows on some layers only; then recurrences
# between attention layers, with an MLP, and with experts.
ATTENTION = ("llama", "mistral", "qwen3", "qwen2_window")
RECURRENT = ("qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")
CASES = ATTENTION + RECURRENT
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


@settings(max_examples=40, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_a_fork_at_any_position_goes_on_as_if_alone(data: st.DataObject, case: str) -> None:
    net, ids = network(case), prompt(case)
    at = data.draw(st.integers(0, len(ids)))
    parent = SequenceState(net.state_spec, "float32")
    if at:
        run(net, ids[:at], parent)
    forks = [parent.fork() for _ in range(2)]
    order = data.draw(st.permutations([parent, *forks]))
    run(net, ids[:5], order[0])  # other tokens than the rest reads: they must not reach it
    for state in order[1:]:
        if at < len(ids):
            close(run(net, ids[at:], state), case, at)
    if at < len(ids):
        step = data.draw(st.integers(1, 5))
        child = parent.fork(0)
        batch = Batch.pack([(ids[:at] + ids[at : at + step], child)], read="all")
        close(np.asarray(net.logits(net.forward(batch))), case)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES))
def test_forks_run_in_one_batch(data: st.DataObject, case: str) -> None:
    net, ids = network(case), prompt(case)
    at = data.draw(st.integers(1, len(ids) - 6))
    parent = SequenceState(net.state_spec, "float32")
    run(net, ids[:at], parent)
    states = [parent, *(parent.fork() for _ in range(data.draw(st.integers(1, 3))))]
    pieces = [(ids[at:][: data.draw(st.integers(1, 6))], state) for state in states]
    batch = Batch.pack(pieces, read="all")
    rows = np.asarray(net.logits(net.forward(batch)))
    for span in batch.spans:
        close(rows[span.start : span.stop], case, at)
    for piece, state in pieces:
        close(run(net, ids[at + len(piece) :], state), case, at + len(piece)) if at + len(piece) < len(ids) else None


@settings(max_examples=25, deadline=None)
@given(data=st.data(), case=st.sampled_from(ATTENTION))
def test_a_fork_of_a_prefix_goes_on_as_if_alone(data: st.DataObject, case: str) -> None:
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


@pytest.mark.parametrize("case", RECURRENT)
def test_a_snapshot_takes_tokens_back_where_a_recurrence_cannot(case: str) -> None:
    net, ids = network(case), prompt(case)
    state = SequenceState(net.state_spec, "float32")
    run(net, ids[:10], state)
    snapshot = state.snapshot()
    for _ in range(2):
        run(net, ids[:7], state)
        with pytest.raises(ParameterError, match="cannot go back from 17 to 10 tokens; take a snapshot"):
            state.truncate(10)
        state.restore(snapshot)
        close(run(net, ids[10:], state), case, 10)
        state.restore(snapshot)
    state.truncate(0)
    close(run(net, ids, state), case)


@pytest.mark.parametrize("case", ATTENTION)
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


def test_a_pass_that_failed_spoils_a_recurrence_and_says_so() -> None:
    net, ids = network("qwen3_5_text"), prompt("qwen3_5_text")
    state = SequenceState(net.state_spec, "float32")
    run(net, ids[:10], state)
    Batch.pack([(ids[:3], state.fork())]).begin()  # a pass of a fork writes elsewhere
    run(net, ids[10:12], state)
    snapshot = state.snapshot()
    run(net, ids[12:14], state)
    Batch.pack([(ids[:3], state)]).begin()  # as a pass does before its layers run; this one never finishes
    for refused in (lambda: run(net, ids[14:], state), state.fork, state.snapshot, lambda: state.truncate(14)):
        with pytest.raises(ParameterError, match="a pass failed after 14 tokens"):
            refused()
    state.restore(snapshot)
    close(run(net, ids[12:], state), "qwen3_5_text", 12)


def test_a_pass_that_failed_leaves_the_state_usable() -> None:
    net, ids = network("llama"), prompt("llama")
    state = SequenceState(net.state_spec, "float32")
    run(net, ids[:10], state)
    state.reserve(300)  # as a pass does before its layers run; this one never finishes
    close(run(net, ids[10:], state), "llama", 10)
