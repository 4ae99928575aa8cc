"""One GGUF file: its header read and checked, its tensors ready to be viewed.

A split model is several of these (see reader.py). Knows no architecture.
"""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from boostr.errors import FormatError
from boostr.formats.gguf.tensors import Entry, check_layout, read_entry, read_tensor
from boostr.formats.gguf.values import Cursor, read_value
from boostr.formats.mapped import MappedFile
from boostr.formats.sniff import not_this_format
from boostr.quant import QuantTensor
from numr import Tensor

__all__ = ["GGUFPart"]

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32
# Smallest possible entries: key length + type + one byte; name length + rank + type + offset.
_MIN_PAIR, _MIN_TENSOR = 8 + 4 + 1, 8 + 4 + 4 + 8
MAX_PAIRS, MAX_TENSORS = 1 << 16, 1 << 20


class GGUFPart:
    """`metadata` (plain dict), `entries` by name, and the mapped `file`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = MappedFile(path)
        self.path = self.file.path
        cursor = Cursor(self.file)
        self.version = _read_version(cursor)
        n_tensors = _count(cursor, "tensors", _MIN_TENSOR, MAX_TENSORS)
        n_pairs = _count(cursor, "metadata keys", _MIN_PAIR, MAX_PAIRS)
        self.metadata: dict[str, Any] = _read_pairs(cursor, n_pairs)
        self.alignment = _alignment(cursor, self.metadata)
        self.entries: dict[str, Entry] = _read_entries(cursor, n_tensors, self.alignment)
        # With no tensors there is no data section either.
        self.data_end = check_layout(self.file, self.entries.values()) or cursor.position

    def tensor(self, name: str) -> Tensor | QuantTensor | npt.NDArray[Any]:
        return read_tensor(self.file, self.entries[name])

    def followed_by_another(self) -> bool:
        """Whether a second GGUF header begins where this file's data ends: parts joined with `cat`."""
        padded = -(-self.data_end // self.alignment) * self.alignment
        return any(self.file.data[at : at + 4] == MAGIC for at in (self.data_end, padded))

    def close(self) -> None:
        self.file.close()


def _read_version(cursor: Cursor) -> int:
    head = cursor.data[:64]
    path = cursor.file.path
    if head[:4] == MAGIC[::-1]:
        raise FormatError(f"{path}: a big-endian GGUF file; convert it to little-endian")
    if head[:4] != MAGIC:
        raise FormatError(not_this_format(path, "GGUF", head))
    cursor.need(4, "the magic")
    version = cursor.u32("the version")
    if version & 0xFFFF == 0 and version:  # the magic is the same in both byte orders, the version is not
        raise FormatError(f"{path}: a big-endian GGUF file; convert it to little-endian")
    if version not in (2, 3):
        raise FormatError(
            f"{path}: GGUF version {version}; versions 2 and 3 are read, convert or download a newer file"
        )
    return version


def _count(cursor: Cursor, what: str, smallest: int, limit: int) -> int:
    count = cursor.u64(f"the number of {what}")
    if count > limit or count * smallest > cursor.remaining:
        cursor.fail(f"the header claims {count} {what}, more than {cursor.file.size} bytes can hold or than is allowed")
    return count


def _read_pairs(cursor: Cursor, count: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for _ in range(count):
        key = cursor.name("a metadata key")
        if key in metadata:
            cursor.fail(f"metadata key {key!r} appears twice")
        metadata[key] = read_value(cursor, key)
    return metadata


def _alignment(cursor: Cursor, metadata: dict[str, Any]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if isinstance(value, bool) or not isinstance(value, int):
        cursor.fail(f"general.alignment is a {type(value).__name__}; it must be an integer")
    if not 1 <= value <= 1 << 20 or value & (value - 1):
        cursor.fail(f"general.alignment is {value}; it must be a power of two up to 1048576")
    return value


def _read_entries(cursor: Cursor, count: int, alignment: int) -> dict[str, Entry]:
    found: list[tuple[Any, int]] = []
    names: set[str] = set()
    for _ in range(count):
        info, offset = read_entry(cursor)
        if info.name in names:
            cursor.fail(f"tensor {info.name!r} appears twice")
        if offset % alignment:
            cursor.fail(f"tensor {info.name!r} starts at offset {offset}, which is no multiple of {alignment}")
        names.add(info.name)
        found.append((info, offset))
    data = -(-cursor.position // alignment) * alignment
    return {info.name: Entry(info, data + offset) for info, offset in found}
