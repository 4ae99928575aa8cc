"""The state of one sequence: how many tokens it has read, and the segments that hold their keys and values.

A segment views the first tokens of a buffer. Buffers are written by the state that made them and only past what
another state reads, so that a fork shares its prefix without copying. One thread at a time; knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostr.errors import DeviceMemoryError, ParameterError
from boostr.state.spec import StateSpec
from numr.nn import SEGMENT

__all__ = ["SequenceState", "Snapshot", "resident_bytes"]

FIRST_SEGMENT = 256  # tokens a new sequence reserves
FORK_SEGMENT = 64  # tokens a fork reserves: it often adds a short suffix only
LARGEST_SEGMENT = 4096  # growth doubles up to here, so that a long context wastes at most this much
ALIGNMENT = 64  # bytes; a cache line, and the widest vector register

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


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A state at one moment: `restore` returns to it, any number of times. Shares memory with the state."""

    spec: StateSpec
    cache_dtype: str
    length: int
    _buffers: tuple[_Buffer, ...]
    _rows: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers that this snapshot keeps alive."""
        return sum(buffer.memory.nbytes for buffer in self._buffers)


class SequenceState:
    """What a network remembers of one sequence.

    spec         what each layer keeps
    cache_dtype  "float16" or "float32": the element type of cached keys and values
    """

    def __init__(self, spec: StateSpec, cache_dtype: str = "float16") -> None:
        self.spec = spec
        self.layout = spec.kv_layout(cache_dtype)
        self.length = 0  # tokens read so far
        self._growth = FIRST_SEGMENT
        self._key = object()  # names this state as the writer of its buffers
        self._buffers: list[_Buffer] = []
        self._end = 0  # tokens that the segments cover: past `length` while a pass runs
        self._hold(np.empty((0, 4), np.int64))

    def __repr__(self) -> str:
        return f"<SequenceState {self.length} tokens in {len(self._buffers)} segments, {self.nbytes} bytes>"

    @property
    def cache_dtype(self) -> str:
        return self.layout.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers that this state reads; see `own_nbytes` and `resident_bytes` about shared ones."""
        return sum(buffer.memory.nbytes for buffer in self._buffers)

    @property
    def own_nbytes(self) -> int:
        """Bytes of the buffers that this state made and may still write."""
        return sum(buffer.memory.nbytes for buffer in self._buffers if buffer.writer is self._key)

    @property
    def segments(self) -> NDArray[Any]:
        """The segment table (n,) of numr.nn.SEGMENT: a live view that the next reserve changes."""
        return self._segments

    @property
    def owners(self) -> tuple[object, ...]:
        """The objects whose memory the segment table points into."""
        return tuple(self._buffers)

    def reserve(self, n: int) -> None:
        """Make room for a pass of `n` tokens: afterwards the segments cover `length + n`. Raises DeviceMemoryError."""
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

    def truncate(self, n: int) -> None:
        """Forget all but the first `n` tokens. Buffers that only they used are freed."""
        if not 0 <= n <= self.length:
            raise ParameterError(f"truncate({n}): the state holds {self.length} tokens", "n")
        self.length = n
        self._cover(n)

    def fork(self, at: int | None = None) -> SequenceState:
        """A state that has read the first `at` tokens (None: all), sharing their memory.

        Costs a row a segment. Both states can go on, in any order; neither sees what the other adds.
        """
        child = SequenceState(self.spec, self.cache_dtype)
        child._growth = FORK_SEGMENT
        child.restore(self.snapshot(at))
        return child

    def snapshot(self, at: int | None = None) -> Snapshot:
        """This state after its first `at` tokens (None: all), to come back to."""
        length = self.length if at is None else at
        if not 0 <= length <= self.length:
            raise ParameterError(f"position {length} is outside the {self.length} tokens of this state", "at")
        buffers, rows = self._covering(length)
        for buffer in buffers:
            buffer.frozen = max(buffer.frozen, min(buffer.capacity, length - buffer.start))
        return Snapshot(self.spec, self.cache_dtype, length, tuple(buffers), rows)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what the snapshot was, whichever state of the same network it was taken from."""
        if snapshot.spec != self.spec or snapshot.cache_dtype != self.cache_dtype:
            raise ParameterError("the snapshot was taken from another network or cache dtype", "snapshot")
        self.length = self._end = snapshot.length
        self._buffers = list(snapshot._buffers)
        self._hold(snapshot._rows.copy())

    def _writable(self, buffer: _Buffer) -> bool:
        used = self._end - buffer.start
        return buffer.writer is self._key and buffer.frozen <= used < buffer.capacity

    def _grow(self, needed: int) -> _Buffer:
        own = sum(buffer.capacity for buffer in self._buffers if buffer.writer is self._key)
        wanted = max(own, self._growth, needed)
        capacity = min(-(-wanted // 32) * 32, LARGEST_SEGMENT)  # multiples of 32 keep every layer's block aligned
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
    buffers = {id(buffer): buffer.memory.nbytes for state in states for buffer in state._buffers}
    return sum(buffers.values())
