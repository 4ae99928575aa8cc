"""Progress of loads and downloads on a terminal or in a log. Knows bytes and labels, not what they belong to.

A terminal gets a bar with bytes, rate and time left; anything else one plain line at every 10 %. Never goes backwards.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

__all__ = ["ByteProgress", "format_bytes"]

STEP_PERCENT = 10
BAR_AFTER_SECONDS = 0.3  # work that is done sooner needs no bar


class ByteProgress:
    """A context manager; call it with (bytes done, bytes in all), or `phase` to start counting something else.

    May be called from another thread than the one that made it. Says nothing during the first `after` seconds.
    """

    def __init__(self, label: str, stream: IO[str] | None = None, *, quiet: bool = False, after: float = 0.0) -> None:
        self._label = label
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._after = max(after, BAR_AFTER_SECONDS) if self._terminal else after
        self._lock = threading.Lock()
        self._done = 0
        self._percent = 0
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._quiet or total <= 0:
            return
        with self._lock:
            self._done = max(self._done, min(done, total))
            if self._bar is None and time.monotonic() - self._started < self._after:
                return
            if self._terminal:
                self._draw(total)
            else:
                self._print_step(total)

    def phase(self, label: str) -> None:
        """Start a new count under another label, such as verifying after downloading."""
        with self._lock:
            self._close_bar()
            self._label, self._done, self._percent, self._started = label, 0, 0, time.monotonic()

    def __enter__(self) -> ByteProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._close_bar()

    def _print_step(self, total: int) -> None:
        percent = self._done * 100 // total // STEP_PERCENT * STEP_PERCENT
        if percent > self._percent:
            self._percent = percent
            self._stream.write(f"{self._label}: {percent} % of {format_bytes(total)}\n")
            self._stream.flush()

    def _draw(self, total: int) -> None:
        if self._bar is None:
            self._bar = _rich_bar(self._stream)
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=self._done, total=total)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def format_bytes(count: int) -> str:
    """1536 as '1.5 KiB'."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _rich_bar(stream: IO[str]) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(file=stream),
        transient=True,
    )
