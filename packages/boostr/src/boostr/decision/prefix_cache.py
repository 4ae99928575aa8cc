"""States that have read the state prefix of earlier requests, the least recently used dropped under a byte budget.

One cache belongs to one loaded model (each variant its own) and to one thread. Knows no family and no request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from boostr.state import SequenceState, resident_bytes

__all__ = ["MIN_TOKENS", "PrefixCache"]

MIN_TOKENS = 64  # of a prefix that is worth keeping


class PrefixCache:
    """`most_bytes` bounds what kept states hold in memory together; 0 keeps none."""

    def __init__(self, most_bytes: int, min_tokens: int = MIN_TOKENS) -> None:
        self.most_bytes = most_bytes
        self.min_tokens = min_tokens
        self.hits = 0
        self.misses = 0
        self.evictions = 0
        self._kept: OrderedDict[bytes, SequenceState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """Bytes that the kept states hold, memory they share counted once."""
        return resident_bytes(self._kept.values())

    def takes(self, tokens: int) -> bool:
        """Whether a prefix of so many tokens is looked for and kept."""
        return self.most_bytes > 0 and tokens >= self.min_tokens

    def find(self, ids: Sequence[int]) -> SequenceState | None:
        """The state that has read exactly `ids`: to be forked, never run."""
        key = _key(ids)
        state = self._kept.get(key)
        if state is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return state

    def keep(self, ids: Sequence[int], state: SequenceState) -> None:
        """Keep a state that has read `ids`; others leave for it, and one larger than the whole budget is not kept."""
        if state.nbytes <= self.most_bytes:
            self._kept[_key(ids)] = state
            self.shrink(self.most_bytes)

    def shrink(self, most_bytes: int) -> None:
        """Drop the least recently used states until the rest hold at most `most_bytes`."""
        while self._kept and self.nbytes > most_bytes:
            self._kept.popitem(last=False)
            self.evictions += 1

    def clear(self) -> None:
        """Drop every state, as when the model is unloaded."""
        self._kept.clear()


def _key(ids: Sequence[int]) -> bytes:
    return np.asarray(ids, np.uint32).tobytes()
