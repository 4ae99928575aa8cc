"""The tensor table of a GGUF header: entries, their checks against the file, and reading one tensor.

Types come from boostr.quant's table. Knows no metadata key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from boostr.errors import FormatError, UnsupportedModelError
from boostr.formats.gguf.values import Cursor
from boostr.formats.mapped import MappedFile
from boostr.formats.tensor_info import TensorInfo
from boostr.quant import QuantTensor
from boostr.quant.types import QUANT_TYPES, QuantType, by_id
from numr import Tensor

__all__ = ["Entry", "check_layout", "read_entry", "read_tensor"]

# Layouts that ggml itself dropped; files that use them are old and cannot be read any more by anybody.
_DROPPED = {4: "Q4_2", 5: "Q4_3", 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8"}
_DROPPED |= {36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8"}

_COMPUTE = ("F32", "F16", "BF16")
MAX_DIMENSIONS = 4
MAX_ELEMENTS = 1 << 53  # zero dimensions counted as one, so that NumPy can always form the shape


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the tensor table. `start` and `stop` are byte positions in the file."""

    info: TensorInfo
    start: int

    @property
    def stop(self) -> int:
        return self.start + self.info.nbytes


def read_entry(cursor: Cursor) -> tuple[TensorInfo, int]:
    """One tensor info at the cursor and its offset from the data section. All numbers are checked but the offset."""
    name = cursor.name("a tensor's name")
    rank = cursor.u32(f"the rank of tensor {name!r}")
    if rank > MAX_DIMENSIONS:
        cursor.fail(f"tensor {name!r} has {rank} dimensions (at most {MAX_DIMENSIONS})")
    # ne[] runs from the fastest dimension to the slowest; the logical shape is its reverse.
    ne = [cursor.u64(f"dimension {axis} of tensor {name!r}") for axis in range(rank)]
    kind = cursor.u32(f"the type of tensor {name!r}")
    offset = cursor.u64(f"the offset of tensor {name!r}")
    quant = _type(cursor, name, kind)
    row = ne[0] if ne else 1
    if row % quant.block:
        cursor.fail(f"tensor {name!r}: rows of {row} elements are no multiple of {quant.name}'s block of {quant.block}")
    if math.prod(max(n, 1) for n in ne) > MAX_ELEMENTS:
        cursor.fail(f"tensor {name!r} has the dimensions {ne}, far more elements than any file holds")
    nbytes = math.prod(ne) // quant.block * quant.block_bytes
    return TensorInfo(name, quant.name, tuple(reversed(ne)), nbytes), offset


def _type(cursor: Cursor, name: str, kind: int) -> QuantType:
    if kind in _DROPPED:
        raise UnsupportedModelError(
            f"{cursor.file.path}: tensor {name!r} is stored as {_DROPPED[kind]}, which GGUF dropped; "
            "quantize the model again, for example to Q4_0 or IQ4_NL"
        )
    try:
        return by_id(kind)
    except FormatError as error:
        cursor.fail(f"tensor {name!r}: {error}")


def check_layout(file: MappedFile, entries: Iterable[Entry]) -> int:
    """Every tensor inside the file and none over another. Returns where the data ends, 0 when there is none."""
    previous: Entry | None = None
    # A tensor without elements occupies no bytes, wherever its offset points.
    for entry in sorted((e for e in entries if e.info.nbytes), key=lambda e: (e.start, e.stop)):
        info = entry.info
        if entry.stop > file.size:
            raise FormatError(
                f"{file.path}: tensor {info.name!r} needs bytes {entry.start} to {entry.stop}, but the file has only "
                f"{file.size}; it is truncated, download it again"
            )
        if previous is not None and entry.start < previous.stop:
            raise FormatError(f"{file.path}: tensors {previous.info.name!r} and {info.name!r} overlap")
        previous = entry
    return 0 if previous is None else previous.stop


def read_tensor(file: MappedFile, entry: Entry) -> Tensor | QuantTensor | npt.NDArray[Any]:
    """A view of the tensor's bytes: QuantTensor, numr Tensor for F32/F16/BF16, ndarray for the others."""
    info = entry.info
    quant = QUANT_TYPES[info.dtype]
    if quant.dtype is None:
        rows = math.prod(info.shape[:-1])
        blocks = file.array(entry.start, np.uint8, (rows, quant.row_bytes(info.shape[-1])))
        return QuantTensor(blocks, quant, info.shape)
    values = file.array(entry.start, quant.dtype, info.shape)
    return Tensor(values) if info.dtype in _COMPUTE else values
