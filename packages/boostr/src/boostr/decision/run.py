"""Runs the rows of decision requests: a prefix that rows share once, its state forked, rows packed into passes.

Knows no family; keeps nothing between calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from boostr.decision.family import Hidden, Plan, Row
from boostr.generate.decode import PREFILL_CHUNK, chunks
from boostr.state import SequenceState

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["read_prefix", "run_plan", "run_rows"]


def run_plan(model: LanguageModel, plan: Plan, kept: SequenceState | None = None) -> list[Hidden]:
    """Hidden states of every row at its reads, (len(reads), hidden_size) float32 each.

    kept  a state that has read the plan's prefix; without one, several rows read their prefix once
    """
    if kept is None and plan.prefix and len(plan.rows) > 1:
        kept = read_prefix(model, plan.rows[0].ids[: plan.prefix])
    return run_rows(model, plan.rows, kept)


def read_prefix(model: LanguageModel, ids: Sequence[int]) -> SequenceState:
    """The state after `ids`."""
    state = model.new_state()
    for chunk in chunks(ids):
        model.network.forward(model.pack([(chunk, state)], read="none"))
    return state


def run_rows(model: LanguageModel, rows: Sequence[Row], kept: SequenceState | None = None) -> list[Hidden]:
    """Hidden states of each row at its reads; of rows behind `kept`, what it has read is not run again.

    A row has a state of its own, a fork of `kept`, from its first pass to its last: few rows hold memory at a time.
    """
    found: list[list[Hidden]] = [[] for _ in rows]
    done = 0 if kept is None else kept.length
    live: dict[int, SequenceState] = {}
    for piece in _passes([len(row.ids) - done for row in rows]):
        sequences, reads = [], []
        for at, count in piece:
            state = live.pop(at, None) or (model.new_state() if kept is None else kept.fork())
            start, row = state.length, rows[at]
            sequences.append((row.ids[start : start + count], state))
            reads.append([read - start for read in row.reads if start <= read < start + count])
            if start + count < len(row.ids):
                live[at] = state
        hidden = np.asarray(model.network.forward(model.pack(sequences, read=reads)))
        ends = np.cumsum([len(each) for each in reads])[:-1]
        for (at, _), part in zip(piece, np.split(hidden, ends), strict=True):
            found[at].append(part)
    return [np.concatenate(parts) for parts in found]


def _passes(lengths: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """(row, tokens) of every pass. Rows are cut as any prompt is, and one that fits a pass is never cut, so that where
    rows are cut does not depend on their company."""
    piece: list[tuple[int, int]] = []
    room = PREFILL_CHUNK
    for at, length in enumerate(lengths):
        for chunk in chunks(range(length)):
            if len(chunk) > room:
                yield piece
                piece, room = [], PREFILL_CHUNK
            piece.append((at, len(chunk)))
            room -= len(chunk)
    if piece:
        yield piece
