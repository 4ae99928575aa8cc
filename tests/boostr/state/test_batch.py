"""Batch.pack and begin: rows, positions, tables, and what is refused."""

import numpy as np
import pytest

from boostr.errors import ParameterError
from boostr.state import Batch, KVSpec, SequenceState, StateSpec

SPEC = StateSpec((KVSpec(1, 2, 2),))


def state(length: int = 0) -> SequenceState:
    made = SequenceState(SPEC, "float32")
    made.reserve(length)
    made.advance(length)
    return made


def test_rows_stand_one_after_the_other_at_their_own_positions() -> None:
    batch = Batch.pack([([5, 6, 7], state(2)), ([8], state()), ([9, 9], state(300))])
    assert batch.token_ids.tolist() == [5, 6, 7, 8, 9, 9]
    assert batch.positions.tolist() == [2, 3, 4, 0, 300, 301]
    assert [(span.start, span.stop) for span in batch.spans] == [(0, 3), (3, 4), (4, 6)]


@pytest.mark.parametrize(
    ("read", "rows"),
    [
        ("last", [2, 3]),
        ("none", []),
        (["all", "none"], [0, 1, 2]),
        (["none", "last"], [3]),
        (["last", "all"], [2, 3]),
        ([[0, 2], "none"], [0, 2]),
        ([[], [0]], [3]),
    ],
)
def test_the_rows_read_are_those_asked_for(read: object, rows: list[int]) -> None:
    batch = Batch.pack([([5, 6, 7], state()), ([8], state())], read=read)  # type: ignore[arg-type]
    assert batch.rows is not None
    assert batch.rows.tolist() == rows


@pytest.mark.parametrize("read", ["all", ["all", "all"]])
def test_no_row_list_stands_for_all_rows(read: object) -> None:
    assert Batch.pack([([5], state()), ([8, 9], state())], read=read).rows is None  # type: ignore[arg-type]


def test_a_step_of_single_tokens_reads_all_rows() -> None:
    assert Batch.pack([([5], state()), ([8], state())], read="last").rows is None


def test_the_table_describes_every_span() -> None:
    long, fresh = state(256), state()
    step = Batch.pack([([1, 2], long), ([3], fresh)]).begin()
    assert step.table.spans.tolist() == [(0, 2, 256, 0, 2), (2, 1, 0, 2, 1)]
    assert step.table.segments[["start", "length"]].tolist() == [(0, 256), (256, 2), (0, 1)]
    assert step.length == 258
    assert np.asarray(step.positions).tolist() == [256, 257, 0]


def test_finish_advances_and_begin_alone_does_not() -> None:
    one = state(3)
    batch = Batch.pack([([1, 2], one)])
    batch.begin()
    assert one.length == 3
    batch.finish()
    assert one.length == 5


def test_adapters_go_with_their_spans() -> None:
    batch = Batch.pack([([1], state()), ([2], state())], adapters=[None, "variant"])
    assert [span.adapter for span in batch.spans] == [None, "variant"]


def test_what_cannot_be_packed_is_refused() -> None:
    one = state()
    with pytest.raises(ParameterError, match="at least one sequence"):
        Batch.pack([])
    with pytest.raises(ParameterError, match="sequence 1 of the batch has no tokens"):
        Batch.pack([([1], state()), ([], state())])
    with pytest.raises(ParameterError, match="twice"):
        Batch.pack([([1], one), ([2], one)])
    with pytest.raises(ParameterError, match="read is"):
        Batch.pack([([1], one)], read=["first"])  # type: ignore[list-item]
    for tokens in ([2], [-1], [1, 0], [0, 0]):
        with pytest.raises(ParameterError, match="ascending"):
            Batch.pack([([1, 2], one)], read=[tokens])


def test_states_of_two_cache_dtypes_do_not_mix() -> None:
    with pytest.raises(ParameterError, match="one cache dtype"):
        Batch.pack([([1], state()), ([2], SequenceState(SPEC, "float16"))]).begin()
