"""A file mapped read-only into memory. Knows bytes, not formats.

The mapping outlives `close` for as long as an array views it: the pages go when the last tensor goes.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from boostr.errors import FormatError, ModelNotFoundError

__all__ = ["MappedFile"]


class MappedFile:
    """`path` as `data` (an mmap) and `size` bytes. Raises ModelNotFoundError or FormatError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._data: mmap.mmap | None = _map(self.path)
        self._bytes: npt.NDArray[np.uint8] | None = None
        self.size = len(self._data)

    @property
    def data(self) -> mmap.mmap:
        if self._data is None:
            raise ValueError(f"{self.path} was closed")
        return self._data

    def array(self, offset: int, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """A read-only array at `offset`; copied only where the file places it off its type's alignment."""
        kind = np.dtype(dtype)
        if self._bytes is None:
            self._bytes = np.frombuffer(self.data, np.uint8)
        count = math.prod(shape)
        raw = self._bytes[offset : offset + count * kind.itemsize]
        if offset % kind.itemsize:
            raw = raw.copy()
            raw.flags.writeable = False
        return raw.view(kind).reshape(shape)

    def close(self) -> None:
        """Let go of the mapping. Arrays already handed out stay valid."""
        self._data = None
        self._bytes = None


def _map(path: Path) -> mmap.mmap:
    # O_NONBLOCK so that a FIFO in a model directory cannot hang the open; it means nothing for regular files.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError as error:
        raise ModelNotFoundError(f"{path} does not exist") from error
    except OSError as error:
        raise FormatError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{path} is not a regular file")
        if status.st_size == 0:
            raise FormatError(f"{path} is empty; download it again")
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
