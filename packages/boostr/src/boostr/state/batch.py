"""The packed ragged batch: the tokens of all sequences in one pass, one after the other, without padding.

The one calling convention of every network. Knows nothing of requests, sampling or layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from boostr.errors import ParameterError
from boostr.quant.crossover import MANY_ROWS
from boostr.quant.path import path
from boostr.state.adapters import AdaptedRows, Hidden
from boostr.state.memory import MemoryLayer, MemorySpan, MemoryTable
from boostr.state.sequence import SequenceState
from numr import Tensor
from numr.nn import SPAN, KVLayer, KVTable

__all__ = ["Batch", "Read", "Reads", "Span", "Step", "long_prompt"]

Read = Literal["last", "all", "none"]
Reads = Read | Sequence[Read | Sequence[int]]


@dataclass(slots=True)
class Span:
    """Rows [start, stop) of the batch: the next tokens of one sequence, under at most one adapter."""

    start: int
    stop: int
    state: SequenceState
    adapter: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """What layers need of a pass besides activations; made once, read by every layer."""

    table: KVTable  # the spans, and the segments with their keys and values
    kv_layers: tuple[KVLayer, ...]  # where each attention layer's blocks lie in a segment
    positions: Tensor  # (T,) int64
    length: int  # all positions are below
    memory: MemoryTable | None = None  # where recurrent layers find and leave each span's memory
    memory_layers: tuple[MemoryLayer, ...] = ()  # where each recurrent layer's part of it lies
    adapters: AdaptedRows | None = None  # which rows run under which adapter; None: none does

    def adapters_of(self, rows: NDArray[np.int64] | None) -> AdaptedRows | None:
        """The adapters of those rows, in their order; None stands for all rows."""
        return self.adapters if rows is None or self.adapters is None else self.adapters.take(rows)

    def read(self, hidden: Tensor, rows: NDArray[np.int64] | None) -> Tensor:
        """Hidden states of `rows` as `forward` returns them: with their adapters, where the pass has some."""
        return hidden if self.adapters is None else Hidden(hidden.array, self.adapters_of(rows))


@dataclass(slots=True)
class Batch:
    """One pass. `rows` are the rows whose hidden state the network returns; None means all T."""

    token_ids: NDArray[np.int64]  # (T,)
    positions: NDArray[np.int64]  # (T,) each token's place in its own sequence
    spans: list[Span]
    rows: NDArray[np.int64] | None = None
    many: bool | None = None  # the native path of rounded products: see quant/path.py

    @classmethod
    def pack(
        cls,
        sequences: Sequence[tuple[Sequence[int], SequenceState]],
        read: Reads = "last",
        adapters: Sequence[Any] | None = None,
        many: bool | None = None,
    ) -> Batch:
        """Pack (token ids, state) pairs; every id follows what its state has read.

        read      which rows are read: of each sequence its "last", "all" or "none", or those of its tokens here that a
                  list names in ascending order; one word, or one for each sequence
        adapters  the adapter of each sequence, or None for the bare network; in any order
        many      whether rounded products take the path of many rows; None: by their number. Pass `long_prompt` of
                  prompts and False of decoded tokens, in passes of their own, and company never changes a bit

        Raises ParameterError for a sequence without tokens, a state that occurs twice, or another number of adapters.
        """
        if not sequences:
            raise ParameterError("a batch needs at least one sequence", "sequences")
        if len({id(state) for _, state in sequences}) < len(sequences):
            raise ParameterError("one state stands twice in the batch; fork it", "sequences")
        if adapters is not None and len(adapters) != len(sequences):
            raise ParameterError(f"{len(adapters)} adapters for {len(sequences)} sequences", "adapters")
        spans, positions, start = [], [], 0
        for at, (ids, state) in enumerate(sequences):
            if len(ids) == 0:
                raise ParameterError(f"sequence {at} of the batch has no tokens", "sequences")
            stop = start + len(ids)
            spans.append(Span(start, stop, state, None if adapters is None else adapters[at]))
            positions.append(np.arange(state.length, state.length + len(ids), dtype=np.int64))
            start = stop
        token_ids = np.concatenate([np.asarray(ids, np.int64) for ids, _ in sequences])
        return cls(token_ids, np.concatenate(positions), spans, _rows_read(spans, read), many)

    def begin(self) -> Step:
        """Reserve room in every state and describe the pass to the layers. Raises DeviceMemoryError."""
        path.many = self.many
        first = self.spans[0].state
        layout, memory_layout = first.layout, first.memory_layout
        spans = np.empty((len(self.spans), 5), np.int64)
        tables, owners, segment, length = [], [], 0, 0
        for at, span in enumerate(self.spans):
            state, count = span.state, span.stop - span.start
            if (state.layout, state.memory_layout) != (layout, memory_layout):
                raise ParameterError("the states of one batch must be of one network and one cache dtype", "sequences")
            state.reserve(count)
            table = state.segments
            spans[at] = (span.start, count, state.length, segment, len(table))
            segment += len(table)
            length = max(length, state.length + count)
            tables.append(table)
            owners.append(state.owners)
        segments = tables[0] if len(tables) == 1 else np.concatenate(tables)
        kv = KVTable(spans.view(SPAN).reshape(-1), segments, layout.dtype, owners)
        memory = self._memories() if memory_layout.layers else None
        adapters = AdaptedRows.of([(span.stop - span.start, span.adapter) for span in self.spans])
        return Step(kv, layout.layers, Tensor(self.positions), length, memory, memory_layout.layers, adapters)

    def _memories(self) -> MemoryTable:
        # After all states have their room: from start_memory on, a pass that fails spoils a state.
        rows = [(span.start, span.stop - span.start, *span.state.start_memory()) for span in self.spans]
        owners = [span.state for span in self.spans]
        return MemoryTable(np.array(rows, np.int64).view(MemorySpan).reshape(-1), owners)

    def finish(self) -> None:
        """Advance every state by its tokens, after the last layer has written them."""
        path.many = None
        for span in self.spans:
            span.state.advance(span.stop - span.start)


def long_prompt(tokens: int) -> bool:
    """Whether a prompt of so many tokens is worth the path of many rows, in whatever parts it is read."""
    return tokens >= MANY_ROWS


def _rows_read(spans: Sequence[Span], read: Reads) -> NDArray[np.int64] | None:
    each = [read] * len(spans) if isinstance(read, str) else read
    if len(each) != len(spans):
        raise ParameterError(f"read names {len(each)} sequences of {len(spans)}", "read")
    rows: list[int] = []
    for span, word in zip(spans, each, strict=True):
        rows.extend(_rows_of(span, word))
    return None if len(rows) == spans[-1].stop else np.array(rows, np.int64)


def _rows_of(span: Span, word: Read | Sequence[int]) -> Sequence[int]:
    if isinstance(word, str):
        first = {"last": span.stop - 1, "all": span.start, "none": span.stop}.get(word)
        if first is None:
            raise ParameterError(f"read is {word!r}: use last, all or none, or name tokens", "read")
        return range(first, span.stop)
    rows = [span.start + token for token in word]
    if rows != sorted(set(rows)) or (rows and not span.start <= rows[0] <= rows[-1] < span.stop):
        raise ParameterError(
            f"read is {list(word)}: tokens of a sequence of {span.stop - span.start}, ascending", "read"
        )
    return rows
