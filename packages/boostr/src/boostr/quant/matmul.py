"""Products of float32 activations with weights of any kind: y_i = x @ W_i.T for several W_i that share x.

Knows weights and numbers only: no biases, adapters or layers. Few rows go to the native kernels; many rows, types
without a kernel, and machines without native code dequantize a tile of weight rows to float32 and let BLAS multiply.
"""

import threading
from collections.abc import Sequence
from typing import Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from boostr.quant.rounding import activation_block, round_activations
from boostr.quant.tensor import QuantTensor
from numr import Tensor
from numr.errors import DTypeError, ShapeError

__all__ = ["Precision", "Product", "Weight", "take_rows"]

Precision = Literal["fast", "precise"]
Weight = Tensor | QuantTensor
Float32Array = npt.NDArray[np.float32]

_DENSE = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

# Floats of one dequantized tile (16 MB) and its bounds in rows: BLAS repacks and forks once per tile, so tiles below
# 1024 rows lose up to a third of its speed, while tiles beyond the cache gain nothing.
_TILE_FLOATS = 1 << 22
_TILE_ROWS = (256, 2048)

_local = threading.local()


class Product:
    """A bound product of `weights` (N_i, K), each a dense Tensor (float32, float16, bfloat16) or a QuantTensor.

    Calling it with x (M, K) float32 returns one Tensor (M, N_i) float32 per weight. `precision` "fast" rounds the
    activations of quantized weights to int8 per block; "precise" keeps float32. Neither result depends on M beyond
    float rounding. ShapeError or DTypeError for weights or activations that do not fit.
    """

    __slots__ = ("columns", "precision", "rows", "weights")

    def __init__(self, weights: Sequence[Weight], precision: Precision = "fast") -> None:
        if not weights:
            raise ShapeError("a product needs at least one weight")
        self.weights = tuple(weights)
        self.columns = _matrix_shape(weights[0])[1]
        self.rows = tuple(_matrix_shape(weight)[0] for weight in weights)
        self.precision = precision
        for weight in weights:
            if weight.shape[1] != self.columns:
                shapes = ", ".join(str(weight.shape) for weight in weights)
                raise ShapeError(f"weights of one product must have the same number of columns, not {shapes}")

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        array = x.array
        if array.dtype != np.float32:
            raise DTypeError(f"a product takes float32 activations, not {array.dtype}")
        if array.ndim != 2 or array.shape[1] != self.columns:
            raise ShapeError(f"activations {array.shape} do not fit weights of {self.columns} columns")
        rounded: dict[int, Float32Array] = {0: array}
        outputs = []
        for weight in self.weights:
            block = activation_block(weight.qtype, self.precision) if isinstance(weight, QuantTensor) else 0
            if block not in rounded:
                rounded[block] = round_activations(np.ascontiguousarray(array), block)
            outputs.append(Tensor(_multiply(rounded[block], weight)))
        return tuple(outputs)


def take_rows(weight: Weight, ids: Sequence[int] | npt.NDArray[np.integer]) -> Tensor:
    """Rows `ids` of a weight (N, K) as float32 (len(ids), K): an embedding lookup. IndexError outside 0..N-1."""
    index = np.asarray(ids, dtype=np.int64)
    count = _matrix_shape(weight)[0]
    if index.size and (int(index.min()) < 0 or int(index.max()) >= count):
        raise IndexError(f"row ids must lie in 0..{count - 1}, not {int(index.min())}..{int(index.max())}")
    if isinstance(weight, QuantTensor):
        return Tensor(weight.dequantize(index))
    return Tensor(weight.array[index].astype(np.float32, copy=False))


def _matrix_shape(weight: Weight) -> tuple[int, int]:
    if len(weight.shape) != 2:
        raise ShapeError(f"a product takes two-dimensional weights, not {weight.shape}")
    if isinstance(weight, Tensor) and weight.array.dtype not in _DENSE:
        raise DTypeError(f"a product takes float32, float16, bfloat16 or quantized weights, not {weight.array.dtype}")
    return weight.shape[0], weight.shape[1]


def _multiply(x: Float32Array, weight: Weight) -> Float32Array:
    rows, columns = _matrix_shape(weight)
    out = np.empty((x.shape[0], rows), np.float32)
    # Infinite and NaN weights or activations give infinite and NaN results, silently, as the kernels do.
    with np.errstate(all="ignore"):
        if isinstance(weight, Tensor) and weight.array.dtype == np.float32:
            return np.matmul(x, weight.array.T, out=out)
        low, high = _TILE_ROWS
        step = min(max(_TILE_FLOATS // max(columns, 1), low), high)
        for row in range(0, rows, step):
            tile = _tile(weight, row, min(row + step, rows))
            np.matmul(x, tile.T, out=out[:, row : row + step])
    return out


def _tile(weight: Weight, start: int, stop: int) -> Float32Array:
    """Rows start..stop as float32; dense ones in this thread's scratch, overwritten by the next tile."""
    if isinstance(weight, QuantTensor):
        return weight.dequantize(slice(start, stop))
    tile = _scratch((stop - start) * weight.shape[1]).reshape(stop - start, -1)
    tile[...] = weight.array[start:stop]
    return tile


def _scratch(size: int) -> Float32Array:
    buffer: Float32Array | None = getattr(_local, "tile", None)
    if buffer is None or buffer.size < size:
        buffer = _local.tile = np.empty(size, np.float32)
    return buffer[:size]
