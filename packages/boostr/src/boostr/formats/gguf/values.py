"""GGUF metadata values: the wire types, strings, numeric arrays as NumPy views, string arrays by offset.

Every length is checked against the bytes that are left before anything is allocated. Knows no key by name.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, overload

import numpy as np

from boostr.errors import FormatError
from boostr.formats.mapped import MappedFile

__all__ = ["ARRAY", "BOOL", "SCALARS", "STRING", "Cursor", "StringArray", "read_value"]

# id -> (name, little-endian NumPy dtype). 8 is a string (u64 length + UTF-8), 9 an array (u32 type, u64 count, items).
SCALARS: dict[int, tuple[str, np.dtype[Any]]] = {
    0: ("uint8", np.dtype("<u1")),
    1: ("int8", np.dtype("<i1")),
    2: ("uint16", np.dtype("<u2")),
    3: ("int16", np.dtype("<i2")),
    4: ("uint32", np.dtype("<u4")),
    5: ("int32", np.dtype("<i4")),
    6: ("float32", np.dtype("<f4")),
    7: ("bool", np.dtype("<u1")),
    10: ("uint64", np.dtype("<u8")),
    11: ("int64", np.dtype("<i8")),
    12: ("float64", np.dtype("<f8")),
}
BOOL, STRING, ARRAY = 7, 8, 9

# Limits far above any published model (vocabularies reach 262k tokens, merges about twice that), so that a crafted
# header costs seconds at worst.
MAX_STRINGS = 1 << 23
MAX_NESTED = 1 << 16
MAX_DEPTH = 4

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class StringArray(Sequence[str]):
    """Strings of a mapped file, decoded when asked for. Bytes that are not UTF-8 read as U+FFFD; `raw` has them."""

    __slots__ = ("_data", "_marks")

    def __init__(self, data: mmap.mmap | bytes, marks: array[int]) -> None:
        self._data = data
        self._marks = marks  # n + 1 positions; string i: u64 length at marks[i], text up to marks[i + 1]

    def __len__(self) -> int:
        return len(self._marks) - 1

    def raw(self, index: int) -> bytes:
        """The bytes of string `index`."""
        at = range(len(self))[index]
        return self._data[self._marks[at] + 8 : self._marks[at + 1]]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self.raw(index).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        data = self._data
        start = self._marks[0]
        for end in self._marks[1:]:
            yield data[start + 8 : end].decode("utf-8", "replace")
            start = end

    def __repr__(self) -> str:
        return f"<StringArray of {len(self)} strings>"


class Cursor:
    """A position in the header of one file; every read is bounded by the file's end and names `what` it was for."""

    def __init__(self, file: MappedFile, position: int = 0) -> None:
        self.file = file
        self.data = file.data
        self.position = position
        self.strings_left = MAX_STRINGS
        self.nested_left = MAX_NESTED

    @property
    def remaining(self) -> int:
        return self.file.size - self.position

    def need(self, count: int, what: str) -> int:
        """Reserve `count` bytes; returns where they start."""
        start = self.position
        if count > self.file.size - start:
            raise FormatError(
                f"{self.file.path}: {what} needs {count} bytes at offset {start}, but the file has "
                f"{self.file.size} bytes in all; it is truncated or damaged, download it again"
            )
        self.position = start + count
        return start

    def u32(self, what: str) -> int:
        value: int = _U32.unpack_from(self.data, self.need(4, what))[0]
        return value

    def u64(self, what: str) -> int:
        value: int = _U64.unpack_from(self.data, self.need(8, what))[0]
        return value

    def bytes(self, what: str) -> bytes:
        length = self.u64(f"the length of {what}")
        start = self.need(length, what)
        return self.data[start : start + length]

    def name(self, what: str, limit: int = 65535) -> str:
        """A key or tensor name: UTF-8 within `limit` bytes, or FormatError."""
        length = self.u64(f"the length of {what}")
        if length > limit:
            self.fail(f"{what} is {length} bytes long (at most {limit})")
        start = self.need(length, what)
        try:
            return self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError:
            self.fail(f"{what} is not UTF-8")

    def fail(self, message: str) -> NoReturn:
        raise FormatError(f"{self.file.path}: {message}")


def read_value(cursor: Cursor, key: str) -> Any:
    """The value of `key` at the cursor: int, float, bool, str, ndarray, StringArray, or a list of nested arrays."""
    kind = cursor.u32(f"the type of key {key!r}")
    if kind == ARRAY:
        return _read_array(cursor, key, depth=1)
    if kind == STRING:
        return cursor.bytes(f"key {key!r}").decode("utf-8", "replace")
    dtype = _scalar(cursor, kind, key)
    value = np.frombuffer(cursor.data, dtype, 1, cursor.need(dtype.itemsize, f"key {key!r}"))[0]
    return bool(value) if kind == BOOL else value.item()


def _scalar(cursor: Cursor, kind: int, key: str) -> np.dtype[Any]:
    if kind not in SCALARS:
        cursor.fail(f"key {key!r} has unknown value type {kind}")
    return SCALARS[kind][1]


def _read_array(cursor: Cursor, key: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        cursor.fail(f"key {key!r} nests arrays more than {MAX_DEPTH} deep")
    kind = cursor.u32(f"the element type of key {key!r}")
    count = cursor.u64(f"the length of key {key!r}")
    if kind == STRING:
        return _scan_strings(cursor, key, count)
    if kind == ARRAY:
        return _read_nested(cursor, key, count, depth)
    dtype = _scalar(cursor, kind, key)
    start = cursor.need(count * dtype.itemsize, f"key {key!r} ({count} elements)")
    values = cursor.file.array(start, dtype, (count,))
    return values != 0 if kind == BOOL else values


def _read_nested(cursor: Cursor, key: str, count: int, depth: int) -> list[Any]:
    if count > cursor.nested_left or count * 12 > cursor.remaining:
        cursor.fail(f"key {key!r} claims {count} nested arrays, more than the file can hold or than is allowed")
    cursor.nested_left -= count
    return [_read_array(cursor, key, depth + 1) for _ in range(count)]


def _scan_strings(cursor: Cursor, key: str, count: int) -> StringArray:
    # 8 bytes of length per string bound the count by the file before the loop starts.
    if count > cursor.strings_left or count * 8 > cursor.remaining:
        cursor.fail(f"key {key!r} claims {count} strings, more than the file can hold or than is allowed")
    cursor.strings_left -= count
    position = cursor.position
    marks = array("q", [position])
    append, unpack, data = marks.append, _U64.unpack_from, cursor.data
    # The one hot loop of opening a file (300k strings in a large vocabulary, about 0.1 s): no bounds check inside, as
    # unpack_from refuses positions past the end, where a hostile length would lead.
    try:
        for _ in range(count):
            position += 8 + unpack(data, position)[0]
            append(position)
    except (struct.error, OverflowError):
        position = cursor.file.size + 1
    if position > cursor.file.size:
        index = next((i for i, end in enumerate(marks[1:]) if end > cursor.file.size), len(marks) - 1)
        cursor.fail(
            f"string {index} of key {key!r} runs past the end of the file ({cursor.file.size} bytes); "
            "it is truncated or damaged, download it again"
        )
    cursor.position = position
    return StringArray(data, marks)
