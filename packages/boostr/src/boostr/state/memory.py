"""Memories of fixed size: convolution windows and recurrent states, however many tokens a sequence has.

One float32 buffer holds those of all layers of a sequence. A buffer that another state reads is never written again:
the next pass reads it and writes a new one, so that a fork copies nothing until it runs. Knows no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostr.errors import DeviceMemoryError

__all__ = ["ALIGNMENT", "MemoryLayer", "MemoryLayout", "MemorySpan", "MemoryTable", "SequenceMemory"]

ALIGNMENT = 64  # bytes; a cache line, and the widest vector register

MemorySpan = np.dtype([("row", np.int64), ("rows", np.int64), ("source", np.int64), ("target", np.int64)])
"""One sequence in a packed batch: its rows [row, row + rows), the address of the memory it comes from (0: it begins
here) and of the one it leaves. The two may be the same."""


@dataclass(frozen=True, slots=True)
class MemoryLayer:
    """Where one layer's memories begin in a sequence's buffer, in bytes."""

    conv: int  # (window, channels) float32, oldest row first
    state: int  # (heads, k_dim, v_dim) float32


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The buffer of one sequence: `layers` in layer order, only those that have such memories."""

    layers: tuple[MemoryLayer, ...]
    nbytes: int


class SequenceMemory:
    """One buffer. `frozen`: other states or snapshots read it too. Contents are undefined until a pass writes them."""

    __slots__ = ("address", "array", "frozen")

    def __init__(self, nbytes: int) -> None:
        try:
            self.array = np.empty(nbytes + ALIGNMENT, np.uint8)
        except MemoryError:
            raise DeviceMemoryError(
                f"{nbytes} bytes for the recurrent state of a sequence cannot be had; run fewer sequences"
            ) from None
        address = int(self.array.ctypes.data)
        self.address = address + -address % ALIGNMENT
        self.frozen = False

    @property
    def nbytes(self) -> int:
        return self.array.nbytes


class MemoryTable:
    """The memories of all spans of a pass, in an array of MemorySpan that kernels take by address."""

    __slots__ = ("owners", "ptr", "spans")

    def __init__(self, spans: NDArray[Any], owners: object = None) -> None:
        self.spans = np.ascontiguousarray(spans)
        self.ptr: int = self.spans.__array_interface__["data"][0]
        self.owners = owners

    def __len__(self) -> int:
        return len(self.spans)
