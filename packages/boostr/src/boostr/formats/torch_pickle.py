"""Reads a small `torch.save` file without torch: numbers, texts, lists, dicts and float tensors, and nothing that runs.

A pickle is a program. Its instructions are checked against the few that such a file needs before any is carried out,
and the only names that it may ask for are the three that rebuild a tensor; every other is refused, never called.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from boostr.errors import FormatError

__all__ = ["load_torch_file"]

MAX_PICKLE_BYTES = 4 << 20
MAX_MEMBERS = 256

_INSTRUCTIONS = {
    *("PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND"),
    *("APPENDS", "SETITEM", "SETITEMS", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "GLOBAL", "REDUCE", "BUILD"),
    "BINPERSID",
}
_STORAGES: dict[str, Any] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
}


def load_torch_file(path: Path, most_bytes: int = 256 << 20) -> Any:
    """What `torch.save` wrote to `path`; tensors as float32 arrays.

    Raises FormatError for anything else than a zip archive of such values, or one that would unfold to more than
    `most_bytes`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _File(path, archive, most_bytes).load()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        raise FormatError(f"{path} is not a file that torch.save writes (torch 1.6 or newer): {error}") from error


class _File:
    def __init__(self, path: Path, archive: zipfile.ZipFile, most_bytes: int) -> None:
        self._path = path
        self._archive = archive
        members = archive.infolist()
        roots = {member.filename.partition("/")[0] for member in members}
        total = sum(member.file_size for member in members)
        if len(members) > MAX_MEMBERS or total > most_bytes:
            raise FormatError(f"{path} holds {len(members)} members of {total} bytes: more than such a file needs")
        if len(roots) != 1:
            raise FormatError(f"{path} holds {len(roots)} folders where torch.save writes one")
        self._root = roots.pop()
        self._sizes = {member.filename: member.file_size for member in members}

    def load(self) -> Any:
        if "byteorder" in self._names() and self._read("byteorder", 16).strip() != b"little":
            raise FormatError(f"{self._path} was written on a big-endian machine, which is not read")
        program = self._read("data.pkl", MAX_PICKLE_BYTES)
        self._check(program)
        try:
            return _Reader(io.BytesIO(program), self._path, self._storage).load()
        except FormatError:
            raise
        except (pickle.UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise self._fault(f"its pickle does not hold: {error}") from error

    def _names(self) -> set[str]:
        return {name.partition("/")[2] for name in self._sizes}

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

    def _check(self, program: bytes) -> None:
        try:
            for instruction, _, _ in pickletools.genops(program):
                if instruction.name not in _INSTRUCTIONS:
                    raise self._fault(f"its pickle uses {instruction.name}, which no such file needs")
        except FormatError:
            raise
        except ValueError as error:
            raise self._fault(f"its pickle is damaged: {error}") from error

    def _storage(self, kind: str, key: str, numel: int) -> NDArray[Any]:
        dtype = _STORAGES[kind]
        if not key.isdigit() or numel < 0:
            raise self._fault(f"its pickle names the storage {key!r} of {numel} elements")
        content = self._read(f"data/{key}", numel * dtype.itemsize)
        if len(content) != numel * dtype.itemsize:
            raise self._fault(f"its storage {key} has {len(content)} bytes for {numel} elements")
        return np.frombuffer(content, dtype)

    def _fault(self, what: str) -> FormatError:
        return FormatError(f"{self._path}: {what}")


class _Ordered(OrderedDict[Any, Any]):
    """Stands for collections.OrderedDict: made empty, and deaf to the state that modules leave on theirs."""

    def __init__(self) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        pass


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, path: Path, storage: Callable[[str, str, int], NDArray[Any]]) -> None:
        super().__init__(stream)
        self._path = path
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return _Ordered
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild
        if module == "torch" and name in _STORAGES:
            return name
        raise FormatError(f"{self._path} asks for {module}.{name}: weights name no code but that of tensors; not read")

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        tag, kind, key, location, numel = pid
        if tag != "storage" or not isinstance(key, str) or not isinstance(location, str) or not isinstance(numel, int):
            raise FormatError(f"{self._path}: its pickle names a storage in an unknown way")
        return self._storage(kind, key, numel)


def _rebuild(
    storage: NDArray[Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...], grad: bool, hooks: Any, *_: Any
) -> NDArray[np.float32]:
    if not all(isinstance(n, int) and n >= 0 for n in (offset, *size, *stride)):
        raise FormatError("a tensor's place in its storage is not given in whole numbers")
    count = math.prod(size)
    packed = tuple(math.prod(size[axis + 1 :]) for axis in range(len(size)))
    if offset + count > storage.size or (count and tuple(stride) != packed):
        raise FormatError(f"a tensor of {size} with steps {stride} does not lie packed in its {storage.size} elements")
    return storage[offset : offset + count].astype(np.float32).reshape(size)
