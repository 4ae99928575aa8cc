"""Low-rank updates of linear maps, each for some rows of a pass, beside weights that stay as they are.

Knows no files and no names of modules: an adapter is a table from Linear objects to their updates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from boostr.state import AdaptedRows
from numr import Tensor
from numr.native import limit_blas

if TYPE_CHECKING:
    from boostr.nn.linear import Linear

__all__ = ["LowRank", "SpanAdapter", "add_updates"]


class LowRank(NamedTuple):
    """y += scale · (x aᵀ) bᵀ, with a (r, in) and b (out, r) float32."""

    a: Tensor
    b: Tensor
    scale: float


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
    for adapter, rows in adapters.parts:
        update: LowRank | None = adapter.updates.get(linear)
        if update is None:
            continue
        limit_blas()
        with np.errstate(all="ignore"):  # infinite activations give infinite results, silently, as products do
            inner = x.array[rows] @ update.a.array.T
            inner *= np.float32(update.scale)
            y.array[rows] += inner @ update.b.array.T
