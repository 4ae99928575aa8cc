"""Where keys and values of a packed batch live: spans of rows, the memory segments they read, a layer's place in them.

Plain descriptions that kernels follow by address. Who allocates segments, shares or frees them is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numr.errors import DTypeError, ShapeError

_I8 = np.int64

SEGMENT = np.dtype([("base", _I8), ("capacity", _I8), ("start", _I8), ("length", _I8)])
"""One stretch of a sequence's cache: the address of its buffer, the tokens that fit, the position of the first token,
and the tokens that hold values (those of the running pass included)."""

SPAN = np.dtype([("row", _I8), ("rows", _I8), ("position", _I8), ("segment", _I8), ("segments", _I8)])
"""One sequence in a packed batch: its rows [row, row + rows), the first row's position, its slice of the segments."""

Structured = np.ndarray[Any, np.dtype[np.void]]


@dataclass(frozen=True, slots=True)
class KVLayer:
    """One layer's place in every segment, and the sizes of its heads.

    Offsets are bytes per token of capacity: keys begin at `base + capacity * k_offset`, shaped
    [kv_heads][capacity][k_dim], values at `base + capacity * v_offset`, shaped [kv_heads][capacity][v_dim].
    """

    k_offset: int
    v_offset: int
    kv_heads: int
    k_dim: int
    v_dim: int
    sizes: tuple[int, int, int, int, int] = field(init=False, repr=False, compare=False)
    """The five numbers in the order that kernels take them."""

    def __post_init__(self) -> None:
        if min(self.k_offset, self.v_offset) < 0 or min(self.kv_heads, self.k_dim, self.v_dim) < 1:
            raise ShapeError(f"a KV layer needs offsets >= 0 and head counts and sizes >= 1, got {self}")
        object.__setattr__(self, "sizes", (self.k_offset, self.v_offset, self.kv_heads, self.k_dim, self.v_dim))


class KVTable:
    """The spans of one pass and the segments they read, in arrays that kernels take by address.

    `spans` is a 1-D array of SPAN, `segments` of SEGMENT; the segments of a span are ordered and leave no gap in
    positions. `dtype` ("float16" or "float32") is the element type of all segments. `owners` is whatever keeps the
    segments' memory alive; the table holds on to it. Raises DTypeError for other dtypes.
    """

    __slots__ = ("dtype", "half", "owners", "segments", "segments_ptr", "spans", "spans_ptr")

    def __init__(self, spans: Structured, segments: Structured, dtype: str, owners: object = None) -> None:
        if dtype not in ("float16", "float32"):
            raise DTypeError(f"a KV cache holds float16 or float32, not {dtype!r}")
        if spans.dtype != SPAN or segments.dtype != SEGMENT:
            raise DTypeError(f"a KV table needs arrays of SPAN and SEGMENT, got {spans.dtype} and {segments.dtype}")
        if spans.ndim != 1 or segments.ndim != 1:
            raise ShapeError(f"a KV table needs 1-D arrays, got {spans.shape} and {segments.shape}")
        self.spans = np.ascontiguousarray(spans)
        self.segments = np.ascontiguousarray(segments)
        self.dtype = dtype
        self.half = dtype == "float16"
        self.owners = owners
        self.spans_ptr: int = self.spans.__array_interface__["data"][0]
        self.segments_ptr: int = self.segments.__array_interface__["data"][0]

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def itemsize(self) -> int:
        """Bytes of one element of a segment."""
        return 2 if self.half else 4
