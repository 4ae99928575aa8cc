"""`torch.save` files piece by piece, so that tests can say things torch never would. Pickle protocol 2, no memo."""

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORDERED = b"ccollections\nOrderedDict\n"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
FLOATS = b"ctorch\nFloatStorage\n"
EMPTY_HOOKS = ORDERED + b")R"


def value(given: Any) -> bytes:
    """Instructions that push a plain value; bytes are instructions already."""
    match given:
        case bytes():
            return given
        case None | True | False:
            return {None: b"N", True: b"\x88", False: b"\x89"}[given]
        case int():
            return b"\x8a\x08" + struct.pack("<q", given)
        case float():
            return b"G" + struct.pack(">d", given)
        case str():
            text = given.encode()
            return b"X" + struct.pack("<I", len(text)) + text
        case tuple():
            return b"(" + b"".join(map(value, given)) + b"t"
        case list():
            return b"](" + b"".join(map(value, given)) + b"e"
        case dict():
            return b"}(" + b"".join(value(key) + value(each) for key, each in given.items()) + b"u"
    raise TypeError(type(given))


def storage(key: Any = "0", numel: Any = 6, kind: bytes = FLOATS, location: Any = "cpu", tag: Any = "storage") -> bytes:
    return value((tag, kind, key, location, numel)) + b"Q"


def tensor(stored: Any, offset: Any, size: Any, stride: Any, grad: Any = False, hooks: bytes = EMPTY_HOOKS) -> bytes:
    return REBUILD + value((stored, offset, size, stride, grad, hooks)) + b"R"


def program(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


def packed(path: Path, content: bytes, storages: Mapping[str, bytes] | None = None, **options: Any) -> Path:
    """An archive of the program `content`; `options` are ZipFile's."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr("any/data.pkl", content)
        for key, each in (storages or {}).items():
            archive.writestr(f"any/data/{key}", each)
    return path


def save_torch(path: Path, values: Mapping[str, Any], tensors: Mapping[str, NDArray[np.float32]]) -> Path:
    """What torch.save({"head": OrderedDict(tensors), **values}) would write."""
    pushed, storages = ORDERED + b")R(", {}
    for key, (name, array) in enumerate(tensors.items()):
        strides = tuple(step // 4 for step in array.strides)
        pushed += value(name) + tensor(storage(str(key), array.size), 0, array.shape, strides)
        storages[str(key)] = array.tobytes()
    return packed(path, program(value({"head": pushed + b"u", **values})), storages)
