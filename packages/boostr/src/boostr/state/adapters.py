"""Which rows of a pass run under which adapter. What an adapter is, layers know; here it is an object and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numr import Tensor
from numr.tensor import Index

__all__ = ["AdaptedRows", "AdapterPart", "Hidden"]

_NONE = -1


class AdapterPart(NamedTuple):
    """An adapter with its rows: a slice where they stand together, else their indices in rising order.

    The rest is for kernels: the address of the indices, or 0 and the first row; and how many rows there are.
    """

    adapter: Any
    rows: slice | NDArray[np.int64]
    address: int
    first: int
    size: int


class AdaptedRows:
    """The adapters of a pass, each with its rows.

    parts   of adapters that have rows
    count   rows in all, those of no adapter included
    """

    __slots__ = ("_adapters", "_owners", "count", "parts")

    def __init__(self, adapters: Sequence[Any], owners: NDArray[np.int32]) -> None:
        """`owners` (T,) holds each row's place in `adapters`, -1 where it has none."""
        self._adapters = adapters
        self._owners = owners
        self.count = len(owners)
        found = ((adapter, np.flatnonzero(owners == place)) for place, adapter in enumerate(adapters))
        self.parts = tuple(_part(adapter, rows.astype(np.int64, copy=False)) for adapter, rows in found if len(rows))

    @classmethod
    def of(cls, spans: Sequence[tuple[int, Any]]) -> AdaptedRows | None:
        """From (number of rows, adapter or None) of each span, in order; None where no span has an adapter."""
        if all(adapter is None for _, adapter in spans):
            return None
        adapters = list({id(adapter): adapter for _, adapter in spans if adapter is not None}.values())
        places = {id(adapter): place for place, adapter in enumerate(adapters)}
        owners = [_NONE if adapter is None else places[id(adapter)] for _, adapter in spans]
        return cls(adapters, np.repeat(np.array(owners, np.int32), [rows for rows, _ in spans]))

    def take(self, rows: Any) -> AdaptedRows | None:
        """Of the rows that `rows` indexes, in that order; None where none of them has an adapter."""
        owners = self._owners[rows]
        return AdaptedRows(self._adapters, owners) if (owners != _NONE).any() else None


class Hidden(Tensor):
    """Hidden states (R, hidden) that remember which of their rows run under which adapter.

    What `forward` returns for a batch with adapters, so that `logits` applies those of the output matrix. Indexing rows
    keeps them; an array taken out of it does not.
    """

    __slots__ = ("adapters",)

    def __init__(self, array: NDArray[Any], adapters: AdaptedRows | None) -> None:
        super().__init__(array)
        self.adapters = adapters

    def __getitem__(self, key: Index, /) -> Tensor:
        part = super().__getitem__(key)
        rows = key[0] if isinstance(key, tuple) else key
        if self.adapters is None or part.ndim != 2 or rows is None or rows is Ellipsis:
            return part
        return Hidden(part.array, self.adapters.take(np.asarray(rows) if isinstance(rows, Tensor) else rows))


def _part(adapter: Any, rows: NDArray[np.int64]) -> AdapterPart:
    first, stop = int(rows[0]), int(rows[-1]) + 1
    if stop - first == len(rows):
        return AdapterPart(adapter, slice(first, stop), 0, first, len(rows))
    return AdapterPart(adapter, rows, int(rows.ctypes.data), 0, len(rows))
