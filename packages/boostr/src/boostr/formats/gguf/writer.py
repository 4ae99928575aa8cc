"""Writes GGUF version 3: metadata of every value type, tensors dense or as raw quantized blocks. Converts no values."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from boostr.formats.gguf.values import ARRAY, BOOL, SCALARS, STRING
from boostr.quant import QUANT_TYPES, QuantTensor, QuantType
from numr import Tensor

__all__ = ["write_gguf"]

_ID_OF_NAME = {name: id for id, (name, _) in SCALARS.items()}
_DENSE = {quant.dtype: quant for quant in QUANT_TYPES.values() if quant.dtype is not None}

Weight = QuantTensor | Tensor | npt.NDArray[Any]


def write_gguf(
    path: str | os.PathLike[str], metadata: Mapping[str, Any], tensors: Mapping[str, Weight], *, alignment: int = 32
) -> None:
    """Write one file. Shapes are given logically, (out, in); the file holds them reversed.

    Python values are typed as bool, uint32 (int32 when negative, 64 bits when needed), float32 and string; a NumPy
    scalar or array keeps its own type; lists of strings, of numbers and of lists become arrays.
    Raises TypeError or ValueError for what GGUF cannot hold.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"alignment is {alignment}; it must be a power of two")
    if alignment != 32:
        metadata = {**metadata, "general.alignment": alignment}
    weights = [(name, *_layout(name, weight)) for name, weight in tensors.items()]
    with Path(path).open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(weights), len(metadata)))
        for key, value in metadata.items():
            file.write(_string(key) + _value(value))
        offset = 0
        for name, quant, shape, data in weights:
            file.write(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)))
            file.write(struct.pack("<IQ", quant.id, offset))
            offset += -(-data.nbytes // alignment) * alignment
        for _, _, _, data in weights:
            _pad(file, alignment)
            data.tofile(file)
        _pad(file, alignment)


def _layout(name: str, weight: Weight) -> tuple[QuantType, tuple[int, ...], npt.NDArray[Any]]:
    if isinstance(weight, QuantTensor):
        return weight.qtype, weight.shape, weight.blocks
    values = np.asarray(weight.array if isinstance(weight, Tensor) else weight, order="C")
    quant = _DENSE.get(values.dtype)
    if quant is None:
        raise TypeError(f"tensor {name!r}: GGUF has no type for {values.dtype}")
    return quant, values.shape, values


def _pad(file: BinaryIO, alignment: int) -> None:
    file.write(bytes(-file.tell() % alignment))


def _string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    kind = _kind(value)
    return struct.pack("<I", kind) + _payload(kind, value)


def _payload(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(value)
    if kind == ARRAY:
        return _array(value)
    return np.asarray(value).astype(SCALARS[kind][1]).tobytes()


def _array(values: Sequence[Any] | npt.NDArray[Any]) -> bytes:
    if isinstance(values, np.ndarray):
        kind = _id_of(values.dtype)
        return struct.pack("<IQ", kind, len(values)) + values.astype(SCALARS[kind][1]).tobytes()
    kinds = {_kind(value) for value in values} or {_ID_OF_NAME["uint32"]}
    if len(kinds) > 1:
        # Integers of different sizes or signs: the widest signed type holds them all.
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise TypeError("the elements of a GGUF array must have one type")
        kinds = {_ID_OF_NAME["int64"]}
    kind = kinds.pop()
    return struct.pack("<IQ", kind, len(values)) + b"".join(_payload(kind, value) for value in values)


def _kind(value: Any) -> int:
    if isinstance(value, str | bytes):
        return STRING
    if isinstance(value, np.ndarray | Sequence):
        return ARRAY
    if isinstance(value, bool | np.bool_):
        return BOOL
    if isinstance(value, np.generic):
        return _id_of(value.dtype)
    if isinstance(value, float):
        return _ID_OF_NAME["float32"]
    if isinstance(value, int):
        return _ID_OF_NAME[_integer_type(value)]
    raise TypeError(f"GGUF metadata cannot hold a {type(value).__name__}")


def _id_of(dtype: np.dtype[Any]) -> int:
    if dtype.name not in _ID_OF_NAME:
        raise TypeError(f"GGUF metadata cannot hold {dtype}")
    return _ID_OF_NAME[dtype.name]


def _integer_type(value: int) -> str:
    for name in ("uint32", "int32", "uint64", "int64"):
        limits = np.iinfo(name)
        if limits.min <= value <= limits.max:
            return name
    raise ValueError(f"{value} does not fit 64 bits")
