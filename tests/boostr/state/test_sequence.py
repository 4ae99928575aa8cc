"""SequenceState: growth by segments, forks that share them, and what each may write. Memory is checked by value."""

import copy
import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boostr.errors import DeviceMemoryError, ParameterError
from boostr.state import Batch, KVSpec, SequenceState, StateSpec, resident_bytes, sequence
from numr import Tensor
from numr.nn import KVLayer, kv_append

SPEC = StateSpec((KVSpec(kv_heads=1, k_dim=4, v_dim=2), KVSpec(kv_heads=2, k_dim=3, v_dim=5)))
TOKEN_BYTES = 4 * (1 * (4 + 2) + 2 * (3 + 5))  # of SPEC in float32


def state_of(values: list[int] | range = range(0)) -> SequenceState:
    state = SequenceState(SPEC, "float32")
    feed(state, list(values))
    return state


def feed(state: SequenceState, values: list[int]) -> None:
    """Append tokens whose keys and values all say who they are, as a network does: through a batch."""
    if not values:
        return
    batch = Batch.pack([(values, state)])
    step = batch.begin()
    column = np.array(values, np.float32)[:, None]
    for layer in step.kv_layers:
        keys = Tensor(np.repeat(column, layer.kv_heads * layer.k_dim, axis=1))
        kv_append(keys, Tensor(np.repeat(column, layer.kv_heads * layer.v_dim, axis=1)), step.table, layer)
    batch.finish()


def contents(state: SequenceState) -> list[float]:
    """The value of every token, in order; all heads, dims and layers must agree on it."""
    tokens: list[Any] = []
    for base, capacity, start, length in state.segments.tolist():
        assert start == len(tokens)
        blocks = [block for layer in state.layout.layers for block in _blocks(base, capacity, layer)]
        rows = np.concatenate([block.swapaxes(0, 1).reshape(capacity, -1) for block in blocks], axis=1)[:length]
        assert (rows == rows[:, :1]).all()
        tokens.extend(rows[:, 0].tolist())
    return tokens[: state.length]


def _blocks(base: int, capacity: int, layer: KVLayer) -> list[np.ndarray[Any, Any]]:
    places = ((layer.k_offset, layer.k_dim), (layer.v_offset, layer.v_dim))
    blocks = []
    for offset, dim in places:
        count = layer.kv_heads * capacity * dim
        memory = (ctypes.c_float * count).from_address(base + capacity * offset)
        blocks.append(np.ctypeslib.as_array(memory).reshape(layer.kv_heads, capacity, dim))
    return blocks


def test_tokens_are_kept_across_segments() -> None:
    state = state_of(range(3))
    feed(state, list(range(3, 700)))
    feed(state, list(range(700, 5000)))
    assert contents(state) == list(range(5000))
    assert len(state.segments) > 2


def test_growth_doubles_and_copies_nothing() -> None:
    state = state_of(range(10))
    first = int(state.segments["base"][0])
    while state.length < 6000:
        feed(state, [state.length] * 100)
    capacities = state.segments["capacity"].tolist()
    assert capacities == [256, 256, 512, 1024, 2048, 4096]
    assert int(state.segments["base"][0]) == first


def test_one_large_pass_gets_large_segments() -> None:
    assert state_of(range(3000)).segments["capacity"].tolist() == [3008]


def test_buffers_lie_on_cache_lines() -> None:
    assert all(base % 64 == 0 for base in state_of(range(5000)).segments["base"].tolist())


def test_a_fork_shares_memory_and_costs_rows_only() -> None:
    parent = state_of(range(1000))
    child = parent.fork()
    assert child.segments["base"].tolist() == parent.segments["base"].tolist()
    assert (child.own_nbytes, child.nbytes) == (0, parent.nbytes)
    assert resident_bytes([parent, child]) == parent.nbytes


def test_parent_and_forks_do_not_see_what_the_others_add() -> None:
    parent = state_of(range(10))
    first, second = parent.fork(), parent.fork(4)
    feed(first, [100])
    feed(parent, [200])
    feed(second, [300])
    grandchild = first.fork(3)
    feed(grandchild, [400])
    assert contents(parent) == [*range(10), 200]
    assert contents(first) == [*range(10), 100]
    assert contents(second) == [*range(4), 300]
    assert contents(grandchild) == [*range(3), 400]


def test_the_parent_goes_on_in_its_own_segment() -> None:
    parent = state_of(range(10))
    child = parent.fork()
    feed(parent, [10])
    assert len(parent.segments) == 1
    feed(child, [11])
    assert child.segments["capacity"].tolist() == [256, 64]


def test_truncation_below_a_fork_does_not_rewrite_what_the_fork_reads() -> None:
    parent = state_of(range(10))
    child = parent.fork()
    parent.truncate(5)
    feed(parent, [50, 60])
    assert contents(child) == list(range(10))
    assert contents(parent) == [*range(5), 50, 60]


def test_truncation_frees_segments_that_nobody_else_reads() -> None:
    state = state_of(range(200))
    feed(state, list(range(200, 900)))
    before = state.nbytes
    state.truncate(100)
    assert state.nbytes < before
    assert contents(state) == list(range(100))
    state.truncate(0)
    assert state.nbytes == 0


def test_a_snapshot_can_be_returned_to_again_and_again() -> None:
    state = state_of(range(8))
    snapshot = state.snapshot()
    for value in (90, 91):
        feed(state, [value] * 300)
        state.restore(snapshot)
        assert contents(state) == list(range(8))
    feed(state, [92])
    other = SequenceState(SPEC, "float32")
    other.restore(snapshot)
    feed(other, [93])
    assert contents(state) == [*range(8), 92]
    assert contents(other) == [*range(8), 93]


def test_memory_outlives_the_state_that_made_it() -> None:
    parent = state_of(range(300))
    child = parent.fork(250)
    del parent
    assert contents(child) == list(range(250))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_history_keeps_every_state_apart(data: st.DataObject) -> None:
    """States under random feeding, forking, truncating and restoring agree with plain lists."""
    states: list[tuple[SequenceState, list[float]]] = [(state_of(), [])]
    value = 0
    for _ in range(data.draw(st.integers(1, 25))):
        at = data.draw(st.integers(0, len(states) - 1))
        state, model = states[at]
        action = data.draw(st.sampled_from(["feed", "feed", "fork", "truncate", "restore"]))
        if action == "feed":
            values = list(range(value, value + data.draw(st.sampled_from([1, 3, 40, 300]))))
            value += len(values)
            feed(state, values)
            model.extend(values)
        elif action == "fork":
            n = data.draw(st.integers(0, len(model)))
            states.append((state.fork(n), model[:n]))
        elif action == "truncate":
            n = data.draw(st.integers(0, len(model)))
            state.truncate(n)
            del model[n:]
        else:
            donor, donated = states[data.draw(st.integers(0, len(states) - 1))]
            state.restore(donor.snapshot())
            states[at] = (state, list(donated))
        for one, expected in states:
            assert contents(one) == expected


def test_bytes_are_those_of_the_layout() -> None:
    state = state_of(range(1))
    assert state.layout.token_bytes == TOKEN_BYTES
    assert state.nbytes == 256 * TOKEN_BYTES + sequence.ALIGNMENT
    assert SequenceState(SPEC, "float16").layout.token_bytes == TOKEN_BYTES // 2


def test_positions_outside_the_state_are_refused() -> None:
    state = state_of(range(5))
    for refused in (lambda: state.truncate(6), lambda: state.fork(6), lambda: state.fork(-1), lambda: state.advance(1)):
        with pytest.raises(ParameterError):
            refused()
    assert contents(state) == list(range(5))


def test_snapshots_of_another_layout_are_refused() -> None:
    with pytest.raises(ParameterError, match="another network or cache dtype"):
        SequenceState(SPEC, "float16").restore(state_of(range(3)).snapshot())


def test_an_unknown_cache_dtype_is_refused() -> None:
    with pytest.raises(ParameterError, match="float16, float32") as caught:
        SequenceState(SPEC, "bfloat16")
    assert caught.value.param == "cache_dtype"


def test_memory_that_cannot_be_had_is_named() -> None:
    huge = SequenceState(StateSpec((KVSpec(1 << 20, 1 << 20, 1 << 20),)), "float32")
    with pytest.raises(DeviceMemoryError, match="keys and values of 256 more tokens"):
        huge.reserve(1)
    assert huge.nbytes == 0


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_states_are_forked_and_never_copied(duplicate: Callable[[Any], Any]) -> None:
    state = state_of(range(3))
    for one in (state, state.snapshot()):
        with pytest.raises(TypeError, match=rf"a {type(one).__name__} cannot be copied or pickled.*fork"):
            duplicate(one)
