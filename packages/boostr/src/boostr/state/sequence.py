"""The state of one sequence: how many tokens it has read, the segments that hold their keys and values, and what its
recurrent layers made of them.

A segment views the first tokens of a buffer. Buffers are written by the state that made them and only past what
another state reads, so that a fork shares its prefix without copying. One thread at a time; knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from boostr.errors import DeviceMemoryError, ParameterError
from boostr.state.memory import ALIGNMENT, SequenceMemory
from boostr.state.spec import StateSpec
from numr.nn import SEGMENT

__all__ = ["SequenceState", "Snapshot", "resident_bytes"]

FIRST_SEGMENT = 256  # tokens a new sequence reserves
FORK_SEGMENT = 64  # tokens a fork reserves: it often adds a short suffix only
LARGEST_SEGMENT = 4096  # growth doubles up to here, so that a long context wastes at most this much

_CAPACITY, _LENGTH = 1, 3  # columns of a segment row (base, capacity, start, length)


class _Buffer:
    """Memory for `capacity` tokens of all layers. Its first `frozen` tokens are read by others: never rewritten."""

    __slots__ = ("base", "capacity", "frozen", "memory", "start", "writer")

    def __init__(self, capacity: int, token_bytes: int, start: int, writer: object) -> None:
        size = capacity * token_bytes
        try:
            self.memory = np.empty(size + ALIGNMENT, np.uint8)
        except MemoryError:
            raise DeviceMemoryError(
                f"{size} bytes for the keys and values of {capacity} more tokens cannot be had; "
                "shorten the context, run fewer sequences, or use cache_dtype float16"
            ) from None
        address = int(self.memory.ctypes.data)
        self.base = address + -address % ALIGNMENT
        self.capacity = capacity
        self.start = start
        self.frozen = 0
        self.writer = writer


def _refuse_copy(self: object) -> NoReturn:
    """Stands in for `__reduce__`: a copy would point into the memory of its original."""
    raise TypeError(
        f"a {type(self).__name__} cannot be copied or pickled: kernels know its memory by address; "
        "use SequenceState.fork() for a second state, and run the tokens again in another process"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A state at one moment: `restore` returns to it, any number of times. Shares memory with the state."""

    spec: StateSpec
    cache_dtype: str
    length: int
    _buffers: tuple[_Buffer, ...]
    _rows: NDArray[np.int64]
    _memory: SequenceMemory | None

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers that this snapshot keeps alive."""
        return sum(_held(self).values())

    __reduce__ = _refuse_copy


class SequenceState:
    """What a network remembers of one sequence.

    spec         what each layer keeps
    cache_dtype  "float16" or "float32": the element type of cached keys and values
    """

    def __init__(self, spec: StateSpec, cache_dtype: str = "float16") -> None:
        self.spec = spec
        self.layout = spec.kv_layout(cache_dtype)
        self.memory_layout = spec.memory_layout
        self.recurrent = bool(self.memory_layout.layers)
        self.length = 0  # tokens read so far
        self._growth = FIRST_SEGMENT
        self._key = object()  # names this state as the writer of its buffers
        self._buffers: list[_Buffer] = []
        self._end = 0  # tokens that the segments cover: past `length` while a pass runs
        self._memory: SequenceMemory | None = None  # what recurrent layers made of the first `length` tokens
        self._next: SequenceMemory | None = None  # where a pass leaves it; the same object where nobody else reads it
        self._torn = False  # a pass that writes `_memory` in place has begun and not finished
        self._hold(np.empty((0, 4), np.int64))

    def __repr__(self) -> str:
        return f"<SequenceState {self.length} tokens in {len(self._buffers)} segments, {self.nbytes} bytes>"

    __reduce__ = _refuse_copy

    @property
    def cache_dtype(self) -> str:
        return self.layout.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers that this state reads; see `own_nbytes` and `resident_bytes` about shared ones."""
        return sum(_held(self).values())

    @property
    def own_nbytes(self) -> int:
        """Bytes of the buffers that this state made and may still write."""
        own = sum(buffer.memory.nbytes for buffer in self._buffers if buffer.writer is self._key)
        return own if self._memory is None or self._memory.frozen else own + self._memory.nbytes

    @property
    def segments(self) -> NDArray[Any]:
        """The segment table (n,) of numr.nn.SEGMENT: a live view that the next reserve changes."""
        return self._segments

    @property
    def owners(self) -> tuple[object, ...]:
        """The objects whose memory the segment table points into."""
        return tuple(self._buffers)

    def reserve(self, n: int) -> None:
        """Make room for a pass of `n` tokens: afterwards the segments cover `length + n`.

        Raises DeviceMemoryError, and ParameterError where a pass that failed has left half of its tokens behind.
        """
        if self.recurrent:
            self._reserve_memory()
        target = self.length + n
        if self._end > self.length:  # a pass that failed left its tokens covered
            self._cover(self.length)
        while self._end < target:
            last = self._buffers[-1] if self._buffers else None
            if last is None or not self._writable(last):
                last = self._grow(target - self._end)
            end = min(target, last.start + last.capacity)
            self._rows[-1, _LENGTH] = end - last.start
            self._end = end

    def advance(self, n: int) -> None:
        """Count the `n` tokens of a finished pass, which `reserve` made room for."""
        if self.length + n > self._end:
            raise ParameterError(f"advance({n}) past the {self._end - self.length} tokens reserved", "n")
        self.length += n
        if n and self.recurrent:
            self._memory, self._torn = self._next, False

    def start_memory(self) -> tuple[int, int]:
        """Addresses (source, target) of the recurrent memory for the pass that begins; a source of 0 means none yet.

        From here to `advance` the memory may be half written: a state whose pass failed says so when it is next used.
        """
        target = self._next
        assert target is not None, "reserve comes first"
        self._torn = target is self._memory
        return 0 if self._memory is None else self._memory.address, target.address

    def truncate(self, n: int) -> None:
        """Forget all but the first `n` tokens. Buffers that only they used are freed.

        A recurrence cannot be run backwards: with recurrent layers `n` is the length or 0. Take a `snapshot` at each
        position to return to, and `restore` it.
        """
        if not 0 <= n <= self.length:
            raise ParameterError(f"truncate({n}): the state holds {self.length} tokens", "n")
        self._refuse_rewinding(n, "n")
        self.length = n
        self._cover(n)
        if n == 0:
            self._hold_memory(None)

    def fork(self, at: int | None = None) -> SequenceState:
        """A state that has read the first `at` tokens (None: all), sharing their memory.

        Costs a row a segment; recurrent memories are copied by the first pass of each state. Both states can go on, in
        any order; neither sees what the other adds. With recurrent layers `at` is the length or 0.
        """
        child = SequenceState(self.spec, self.cache_dtype)
        child._growth = FORK_SEGMENT
        child.restore(self.snapshot(at))
        return child

    def snapshot(self, at: int | None = None) -> Snapshot:
        """This state after its first `at` tokens (None: all), to come back to. With recurrent layers all, or 0."""
        length = self.length if at is None else at
        if not 0 <= length <= self.length:
            raise ParameterError(f"position {length} is outside the {self.length} tokens of this state", "at")
        self._refuse_rewinding(length, "at")
        memory = self._memory if length else None
        if memory is not None:
            memory.frozen = True
        buffers, rows = self._covering(length)
        for buffer in buffers:
            buffer.frozen = max(buffer.frozen, min(buffer.capacity, length - buffer.start))
        return Snapshot(self.spec, self.cache_dtype, length, tuple(buffers), rows, memory)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what the snapshot was, whichever state of the same network it was taken from."""
        if snapshot.spec != self.spec or snapshot.cache_dtype != self.cache_dtype:
            raise ParameterError("the snapshot was taken from another network or cache dtype", "snapshot")
        self.length = self._end = snapshot.length
        self._buffers = list(snapshot._buffers)
        self._hold(snapshot._rows.copy())
        self._hold_memory(snapshot._memory)

    def _refuse_rewinding(self, n: int, param: str) -> None:
        if not self.recurrent or n == 0:
            return
        if n < self.length:
            raise ParameterError(
                f"the recurrent layers of this network cannot go back from {self.length} to {n} tokens; "
                "take a snapshot at the position and restore it",
                param,
            )
        self._refuse_torn()

    def _refuse_torn(self) -> None:
        if self._torn:
            raise ParameterError(
                f"a pass failed after {self.length} tokens and left the recurrent layers somewhere behind them; "
                "restore a snapshot, or truncate(0) and run the sequence again",
                "state",
            )

    def _reserve_memory(self) -> None:
        self._refuse_torn()
        memory = self._memory
        if memory is not None and not memory.frozen:
            self._next = memory
        elif self._next is memory or self._next is None:
            self._next = SequenceMemory(self.memory_layout.nbytes)

    def _hold_memory(self, memory: SequenceMemory | None) -> None:
        self._memory, self._next, self._torn = memory, None, False

    def _writable(self, buffer: _Buffer) -> bool:
        used = self._end - buffer.start
        return buffer.writer is self._key and buffer.frozen <= used < buffer.capacity

    def _grow(self, needed: int) -> _Buffer:
        own = sum(buffer.capacity for buffer in self._buffers if buffer.writer is self._key)
        wanted = max(own, self._growth, needed)
        capacity = min(-(-wanted // 64) * 64, LARGEST_SEGMENT)  # multiples of 64 keep every layer's block aligned
        buffer = _Buffer(capacity, self.layout.token_bytes, self._end, self._key)
        row = np.array([[buffer.base, capacity, self._end, 0]], np.int64)
        self._buffers.append(buffer)
        self._hold(np.concatenate([self._rows, row]))
        return buffer

    def _covering(self, length: int) -> tuple[list[_Buffer], NDArray[np.int64]]:
        """The buffers and a copy of the rows that hold the first `length` tokens."""
        count = next((i for i, buffer in enumerate(self._buffers) if buffer.start >= length), len(self._buffers))
        rows = self._rows[:count].copy()
        if count:
            last = self._buffers[count - 1]
            rows[-1, _LENGTH] = min(int(rows[-1, _LENGTH]), length - last.start)
        return self._buffers[:count], rows

    def _cover(self, length: int) -> None:
        self._buffers, rows = self._covering(length)
        self._end = length
        self._hold(rows)

    def _hold(self, rows: NDArray[np.int64]) -> None:
        self._rows = rows
        self._segments: NDArray[Any] = rows.view(SEGMENT).reshape(-1)  # the same memory, with field names


def resident_bytes(states: Iterable[SequenceState | Snapshot]) -> int:
    """Bytes that these states hold together: a buffer that several of them share counts once."""
    buffers: dict[int, int] = {}
    for state in states:
        buffers |= _held(state)
    return sum(buffers.values())


def _held(state: SequenceState | Snapshot) -> dict[int, int]:
    """{identity: bytes} of the buffers behind a state."""
    held = {id(buffer): buffer.memory.nbytes for buffer in state._buffers}
    if state._memory is not None:
        held[id(state._memory)] = state._memory.nbytes
    return held
