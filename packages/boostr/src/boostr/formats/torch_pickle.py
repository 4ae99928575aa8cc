"""Reads a small `torch.save` file without torch: numbers, texts, lists, dicts and float tensors, and nothing that runs.

A pickle is a program, carried out by an interpreter of our own (pickle_program.py). The only names that it may ask for
are those that rebuild a tensor; every other is refused, never called. Sizes are checked before anything is allocated.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from boostr.errors import FormatError
from boostr.formats.pickle_program import Function, OrderedValues, run_pickle

__all__ = ["load_torch_file"]

MAX_PICKLE_BYTES = 1 << 20
MAX_MEMBERS = 256
MAX_DIRECTORY_BYTES = 256 << 10
MAX_DIMENSIONS = 8

_STORAGES: dict[str, Any] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
}
_KEY = re.compile(r"[0-9]{1,9}")


class _StorageType(NamedTuple):
    name: str


class _Storage(NamedTuple):
    kind: str
    values: NDArray[np.float32]  # widened once, and read-only: tensors are views of it


def load_torch_file(path: Path, most_bytes: int = 256 << 20) -> Any:
    """What `torch.save` wrote to `path`; tensors as read-only float32 arrays.

    Raises FormatError naming the file for anything else than a zip archive of such values, or one that would unfold to
    more than `most_bytes`.
    """
    try:
        with _Reads(path, MAX_DIRECTORY_BYTES) as stream, zipfile.ZipFile(stream) as archive:
            stream.most = most_bytes
            return _File(path, archive, most_bytes).load()
    except FormatError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError, ValueError) as error:
        raise FormatError(f"{path} is not a file that torch.save writes (torch 1.6 or newer): {error}") from error


class _Reads(io.FileIO):
    """A file that never reads more at once than `most` and than there is: a zip header may declare any size."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(path)
        self.most = most

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted > self.most:
            raise ValueError(f"it has a part of {wanted} bytes, more than such a file needs")
        return super().read(wanted) or b""


class _File:
    def __init__(self, path: Path, archive: zipfile.ZipFile, most_bytes: int) -> None:
        self._path = path
        self._archive = archive
        self._storages: dict[str, _Storage] = {}
        members = archive.infolist()
        self._sizes = {member.filename: member.file_size for member in members}
        total = sum(self._sizes.values())
        if len(members) > MAX_MEMBERS or total > most_bytes:
            raise self._fault(f"it holds {len(members)} members of {total} bytes, more than such a file needs")
        if len(self._sizes) != len(members):
            raise self._fault("two of its members have the same name")
        # Of other compressions Python may unfold everything at once, whatever size a member declares.
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise self._fault("a member is compressed in a way that torch.save does not use")
        roots = {name.partition("/")[0] for name in self._sizes}
        if len(roots) != 1:
            raise self._fault(f"it holds {len(roots)} folders where torch.save writes one")
        self._root = roots.pop()

    def load(self) -> Any:
        if f"{self._root}/byteorder" in self._sizes and self._read("byteorder", 16).strip() != b"little":
            raise self._fault("it was written on a big-endian machine, which is not read")
        names = {
            "collections OrderedDict": Function(self._ordered),
            "torch._utils _rebuild_tensor_v2": Function(self._rebuild),
            **{f"torch {name}": _StorageType(name) for name in _STORAGES},
        }
        return run_pickle(self._read("data.pkl", MAX_PICKLE_BYTES), names, self._storage, self._fault)

    def _read(self, name: str, most: int) -> bytes:
        size = self._sizes.get(f"{self._root}/{name}")
        if size is None:
            raise self._fault(f"it has no member {name}")
        if size > most:
            raise self._fault(f"its member {name} has {size} bytes, more than {most}")
        with self._archive.open(f"{self._root}/{name}") as member:
            content = member.read(size + 1)
        if len(content) != size:
            raise self._fault(f"its member {name} does not have the {size} bytes that it declares")
        return content

    def _ordered(self, given: tuple[Any, ...]) -> OrderedValues:
        if given:
            raise self._fault("its pickle makes an OrderedDict of values, where torch.save fills an empty one")
        return OrderedValues()

    def _storage(self, told: Any) -> _Storage:
        """The storage of a persistent id: ("storage", its type, key, location, number of elements)."""
        types = (str, _StorageType, str, str, int)
        if type(told) is not tuple or tuple(map(type, told)) != types or told[0] != "storage":
            raise self._fault("its pickle names a storage in an unknown way")
        _, (kind,), key, _, numel = told
        if not _KEY.fullmatch(key) or numel < 0:
            raise self._fault(f"its pickle names the storage {key[:20]!r} of {numel} elements")
        found = self._storages.get(key)
        if found is None:
            found = self._storages[key] = _Storage(kind, self._values(kind, key, numel))
        if (found.kind, found.values.size) != (kind, numel):
            raise self._fault(f"its pickle tells type or size of storage {key} in two ways")
        return found

    def _values(self, kind: str, key: str, numel: int) -> NDArray[np.float32]:
        dtype = _STORAGES[kind]
        size = self._sizes.get(f"{self._root}/data/{key}", 0)
        if size != numel * dtype.itemsize:
            raise self._fault(f"its storage {key} has {size} bytes for {numel} elements of {dtype.itemsize}")
        with np.errstate(over="ignore"):  # a double may widen to infinity, which whoever reads weights looks for
            values = np.frombuffer(self._read(f"data/{key}", size), dtype).astype(np.float32, copy=False)
        values.setflags(write=False)
        return values

    def _rebuild(self, given: tuple[Any, ...]) -> NDArray[np.float32]:
        """A tensor: (storage, offset, size, stride, requires_grad, hooks[, metadata])."""
        types = (_Storage, int, tuple, tuple, bool, OrderedValues)
        if tuple(map(type, given[:6])) != types or len(given) > 7 or given[4] or given[5]:
            raise self._fault("its pickle makes a tensor in an unknown way")
        storage, offset, size, stride = given[:4]
        if not (len(size) == len(stride) <= MAX_DIMENSIONS and _are_counts((offset, *size, *stride))):
            raise self._fault("its pickle places a tensor in no whole numbers, or in too many dimensions")
        count = math.prod(size)
        packed = (math.prod(size[axis + 1 :]) for axis in range(len(size)))
        lies_packed = all(step == want or n == 1 for n, step, want in zip(size, stride, packed, strict=True))
        if count < 1 or offset + count > storage.values.size or not lies_packed:
            raise self._fault(
                f"a tensor of {size} at {offset} with steps {stride} does not lie packed in the "
                f"{storage.values.size} elements of its storage"
            )
        tensor: NDArray[np.float32] = storage.values[offset : offset + count].reshape(size)
        return tensor

    def _fault(self, what: str) -> FormatError:
        return FormatError(f"{self._path}: {what}")


def _are_counts(numbers: tuple[Any, ...]) -> bool:
    return all(type(number) is int and 0 <= number < 1 << 48 for number in numbers)
