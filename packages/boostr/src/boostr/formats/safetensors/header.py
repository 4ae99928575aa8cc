"""The header of one SafeTensors file: u64 length, JSON of names -> dtype, shape, byte span; then the data.

Everything is checked here, so that a tensor can later be viewed without another look. Knows no models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from boostr.errors import FormatError
from boostr.formats.json_file import parse_json_object
from boostr.formats.mapped import MappedFile
from boostr.formats.sniff import not_this_format
from boostr.formats.tensor_info import TensorInfo

__all__ = ["DTYPES", "Entry", "read_header"]

# Name -> (bits of an element, NumPy dtype); no dtype: known by name and size, but nothing here computes with it.
DTYPES: dict[str, tuple[int, np.dtype[Any] | None]] = {
    "F64": (64, np.dtype("<f8")),
    "F32": (32, np.dtype("<f4")),
    "F16": (16, np.dtype("<f2")),
    "BF16": (16, np.dtype(ml_dtypes.bfloat16)),
    "I64": (64, np.dtype("<i8")),
    "I32": (32, np.dtype("<i4")),
    "I16": (16, np.dtype("<i2")),
    "I8": (8, np.dtype("<i1")),
    "U64": (64, np.dtype("<u8")),
    "U32": (32, np.dtype("<u4")),
    "U16": (16, np.dtype("<u2")),
    "U8": (8, np.dtype("<u1")),
    "BOOL": (8, np.dtype("?")),
    "C64": (64, None),
    "F8_E4M3": (8, None),
    "F8_E5M2": (8, None),
    "F8_E4M3FNUZ": (8, None),
    "F8_E5M2FNUZ": (8, None),
    "F8_E8M0": (8, None),
    "F6_E2M3": (6, None),
    "F6_E3M2": (6, None),
    "F4": (4, None),
}

# Published headers stay below 5 MB (36k tensors); parsed JSON is some twenty times its text.
MAX_HEADER = 32 << 20
MAX_RANK = 16
MAX_ELEMENTS = 1 << 53  # zero dimensions counted as one, so that NumPy can always form the shape


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor and the byte position in the file where it starts."""

    info: TensorInfo
    start: int


def read_header(file: MappedFile) -> tuple[dict[str, Entry], dict[str, str]]:
    """Entries by name in file order, and the `__metadata__` map. Raises FormatError naming file and tensor."""
    head = file.data[:64]
    length = int.from_bytes(head[:8], "little")
    if len(head) < 9 or head[8:9] != b"{":
        raise FormatError(not_this_format(file.path, "SafeTensors", head))
    if length > file.size - 8:
        raise FormatError(
            f"{file.path}: the header claims {length} bytes, but the file has {file.size}; "
            "it is truncated or damaged, download it again"
        )
    if length > MAX_HEADER:
        raise FormatError(f"{file.path}: the header is {length} bytes long (at most {MAX_HEADER})")
    header = parse_json_object(file.data[8 : 8 + length], f"{file.path}: header")
    metadata = _metadata(file, header.pop("__metadata__", None))
    spans = [_span(file, name, value, 8 + length) for name, value in header.items()]
    _check_spans(file, spans, 8 + length)
    return {entry.info.name: entry for entry in spans}, metadata


def _metadata(file: MappedFile, value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise FormatError(f"{file.path}: __metadata__ must map strings to strings")
    return value


def _span(file: MappedFile, name: str, value: Any, data: int) -> Entry:
    where = f"{file.path}: tensor {name!r}"
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise FormatError(f"{where} must have exactly dtype, shape and data_offsets")
    if any("\ud800" <= char <= "\udfff" for char in name):  # JSON can spell what no UTF-8 text holds
        raise FormatError(f"{where}: the name is not valid Unicode")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise FormatError(f"{where} has unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
    if not _naturals(shape) or len(shape) > MAX_RANK:
        raise FormatError(f"{where}: shape {shape!r} is not a list of at most {MAX_RANK} non-negative integers")
    if math.prod(max(n, 1) for n in shape) > MAX_ELEMENTS:
        raise FormatError(f"{where}: shape {shape} has far more elements than any file holds")
    if not _naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise FormatError(f"{where}: data_offsets {offsets!r} is not a pair of ascending non-negative integers")
    begin, end = offsets
    if data + end > file.size:
        raise FormatError(
            f"{where} needs bytes {data + begin} to {data + end}, but the file has only {file.size}; "
            "it is truncated, download it again"
        )
    bits = math.prod(shape) * DTYPES[dtype][0]
    if bits != (end - begin) * 8:
        raise FormatError(f"{where}: shape {shape} of {dtype} needs {-(-bits // 8)} bytes, its span is {end - begin}")
    return Entry(TensorInfo(name, dtype, tuple(shape), end - begin), data + begin)


def _naturals(value: Any) -> bool:
    # bool is an int to Python, and no dimension.
    return isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)


def _check_spans(file: MappedFile, entries: list[Entry], data: int) -> None:
    position = data
    entries.sort(key=lambda entry: (entry.start, entry.info.nbytes))
    for entry in entries:
        if entry.start != position:
            fault = "overlaps the one before it" if entry.start < position else "leaves a hole before it"
            raise FormatError(f"{file.path}: tensor {entry.info.name!r} {fault} (byte {entry.start}, not {position})")
        position += entry.info.nbytes
    if position != file.size:
        raise FormatError(f"{file.path}: {file.size - position} bytes after the last tensor belong to none")
