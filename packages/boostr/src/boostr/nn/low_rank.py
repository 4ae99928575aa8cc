"""Low-rank updates of linear maps, each for some rows of a pass, beside weights that stay as they are.

Knows no files and no names of modules: an adapter is a table from Linear objects to their updates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.nn.kernels import LowRankUpdate, check, kernels
from boostr.state import AdaptedRows
from numr import Tensor

if TYPE_CHECKING:
    from boostr.nn.linear import Linear

__all__ = ["LowRank", "SpanAdapter", "add_updates"]


class LowRank:
    """y += scale · (x aᵀ) bᵀ, with a (r, in) and b (out, r) float32.

    Not copied where `a` is contiguous and `b` is so by columns.
    """

    __slots__ = ("_described", "a", "address", "b", "scale")

    def __init__(self, a: Tensor, b: Tensor, scale: float) -> None:
        self.a = a if a.array.flags.c_contiguous else Tensor(np.ascontiguousarray(a.array))
        self.b = b if b.array.flags.f_contiguous else Tensor(np.asfortranarray(b.array))
        self.scale = scale
        rank, into = self.a.shape
        self._described = LowRankUpdate(into, self.b.shape[0], rank, self.a.ptr, self.b.ptr, scale)
        self.address = ctypes.addressof(self._described)


class SpanAdapter:
    """An adapter as a span of a batch carries it: the update of every linear map of one network that has one."""

    __slots__ = ("name", "updates")

    def __init__(self, name: str, updates: Mapping[Linear, LowRank]) -> None:
        self.name = name
        self.updates = updates

    def __repr__(self) -> str:
        return f"<SpanAdapter {self.name}: {len(self.updates)} linear maps>"

    @property
    def nbytes(self) -> int:
        """Bytes of all its matrices."""
        return sum(update.a.nbytes + update.b.nbytes for update in self.updates.values())


def add_updates(linear: Linear, x: Tensor, y: Tensor, adapters: AdaptedRows) -> None:
    """Add to y = linear(x), in place, what each row's adapter says; x (R, in) and y (R, out) are of its rows."""
    if adapters.count != x.shape[0]:
        raise ValueError(f"adapters of {adapters.count} rows meet activations of {x.shape[0]}")
    native = kernels()
    for part in adapters.parts:
        update: LowRank | None = part.adapter.updates.get(linear)
        if update is None:
            continue
        if native is None or not (x.array.flags.c_contiguous and y.array.flags.c_contiguous):
            _add(update, x, y, part.rows)
        else:
            check(native.low_rank(update.address, x.ptr, y.ptr, part.address, part.first, part.size))


def _add(update: LowRank, x: Tensor, y: Tensor, rows: Any) -> None:
    with np.errstate(all="ignore"):  # infinite activations give infinite results, silently, as products do
        inner = x.array[rows] @ update.a.array.T
        inner *= np.float32(update.scale)
        y.array[rows] += inner @ update.b.array.T
