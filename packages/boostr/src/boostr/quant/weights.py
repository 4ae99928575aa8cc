"""What products ask of a weight, dense or quantized: its matrix shape, ggml type, address, and rows as float32."""

import threading
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt

from boostr.quant.floats import kept_floats
from boostr.quant.kernels import Kernels, kernels
from boostr.quant.tensor import QuantTensor
from boostr.quant.types import QUANT_TYPES, QuantType
from numr import Tensor
from numr.errors import DTypeError, ShapeError

__all__ = ["Float32Array", "Weight", "kernels_for", "matrix_shape", "rows_as_floats", "take_rows", "type_of"]

Weight = Tensor | QuantTensor
Float32Array = npt.NDArray[np.float32]

_DENSE = {
    np.dtype(np.float32): QUANT_TYPES["F32"],
    np.dtype(np.float16): QUANT_TYPES["F16"],
    np.dtype(ml_dtypes.bfloat16): QUANT_TYPES["BF16"],
}

_local = threading.local()


def type_of(weight: Weight) -> QuantType:
    """The ggml type of a weight. DTypeError for dense ones other than float32, float16 and bfloat16."""
    if isinstance(weight, QuantTensor):
        return weight.qtype
    dtype = weight.array.dtype
    if dtype not in _DENSE:
        raise DTypeError(f"a product takes float32, float16, bfloat16 or quantized weights, not {dtype}")
    return _DENSE[dtype]


def matrix_shape(weight: Weight) -> tuple[int, int]:
    """(rows, columns) of a weight; ShapeError unless it has two dimensions."""
    if len(weight.shape) != 2:
        raise ShapeError(f"a product takes two-dimensional weights, not {weight.shape}")
    return weight.shape[0], weight.shape[1]


def kernels_for(weight: Weight) -> Kernels | None:
    """The native kernels if they have this weight's type and its rows lie one after another, else None."""
    native = kernels()
    if native is None or native.rounding(type_of(weight).id) < 0:
        return None
    return native if isinstance(weight, QuantTensor) or weight.array.flags.c_contiguous else None


def rows_as_floats(weight: Weight, start: int, stop: int) -> Float32Array:
    """Rows start..stop as float32, to be read only: a kept copy, or memory that this thread's next call overwrites."""
    native = kernels_for(weight)
    if native is None and isinstance(weight, QuantTensor):
        kept = kept_floats(weight)
        return weight.dequantize(slice(start, stop)) if kept is None else kept[start:stop]
    columns = weight.shape[1]
    tile = _scratch((stop - start) * columns).reshape(stop - start, columns)
    if native is None:
        assert isinstance(weight, Tensor)
        tile[...] = weight.array[start:stop]
        return tile
    kind = type_of(weight)
    address = weight.ptr + start * kind.row_bytes(columns)
    native.widen(kind.id, address, stop - start, columns, tile.ctypes.data, stop - start)
    return tile


def take_rows(weight: Weight, ids: Sequence[int] | npt.NDArray[np.integer]) -> Tensor:
    """Rows `ids` of a weight (N, K) as float32 (len(ids), K): an embedding lookup. IndexError outside 0..N-1."""
    index = np.ascontiguousarray(ids, dtype=np.int64)
    rows, columns = matrix_shape(weight)
    native = kernels_for(weight)
    if native is not None:
        out = np.empty((index.size, columns), np.float32)
        native.widen(type_of(weight).id, weight.ptr, rows, columns, out.ctypes.data, index.size, index.ctypes.data)
        return Tensor(out)
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < rows:
        raise IndexError(f"row ids must lie in 0..{rows - 1}")
    if isinstance(weight, QuantTensor):
        return Tensor(weight.dequantize(index))
    return Tensor(weight.array[index].astype(np.float32, copy=False))


def _scratch(size: int) -> Float32Array:
    buffer: Float32Array | None = getattr(_local, "tile", None)
    if buffer is None or buffer.size < size:
        buffer = _local.tile = np.empty(size, np.float32)
    return buffer[:size]
