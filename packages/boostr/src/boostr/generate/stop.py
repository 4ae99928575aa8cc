"""Finds stop strings in text that arrives in pieces. Feed/flush; works on text, never on tokens."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["StopMatcher"]


class StopMatcher:
    """Scans a growing text for the first stop string.

    After each `feed`, `safe` is the number of characters that no stop string can still reach back into, and `cut` is
    the position of the first match, or None. First is the stop string that is complete first as the text grows letter
    by letter (of two complete at once, the longer), so how the text was cut into pieces makes no difference.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._longest = max((len(stop) for stop in stops), default=0)
        self._tail = ""  # the last characters of the text, enough for any stop string to begin in
        self._length = 0
        self.safe = 0
        self.cut: int | None = None

    def feed(self, text: str) -> None:
        """Append `text`. Must not be called once `cut` is set."""
        self._length += len(text)
        if not self._stops:
            self.safe = self._length
            return
        window = self._tail + text
        origin = self._length - len(window)
        found = [(at + len(stop), at) for stop in self._stops if (at := window.find(stop)) >= 0]
        if found:
            self.cut = self.safe = origin + min(found)[1]
            return
        self.safe = self._length - self._held(window)
        self._tail = window[max(0, len(window) - self._longest + 1) :]

    def _held(self, window: str) -> int:
        """Length of the longest suffix of `window` that begins some stop string."""
        for size in range(min(self._longest - 1, len(window)), 0, -1):
            suffix = window[-size:]
            if any(stop.startswith(suffix) for stop in self._stops):
                return size
        return 0
