"""Products of float32 activations with weights of any kind: y_i = x @ W_i.T for several W_i that share x.

Knows weights and numbers only: no biases, adapters or layers. Few rows go to the native kernels; many rows, types
without a kernel, and machines without native code dequantize a tile of weight rows to float32 and let BLAS multiply.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from boostr.errors import ParameterError
from boostr.quant.activations import PRECISIONS, Precision, Rounding, rounding_of
from boostr.quant.crossover import ANY, few_rows, tiled_from
from boostr.quant.kernels import MAX_WEIGHTS, Kernels, check, plan
from boostr.quant.path import path
from boostr.quant.rounding import round_activations
from boostr.quant.weights import Float32Array, Weight, kernels_for, matrix_shape, rows_as_floats, take_rows, type_of
from numr import Tensor
from numr.errors import DTypeError, ShapeError
from numr.native import limit_blas

__all__ = ["Product", "Weight", "take_rows"]

# Floats of one dequantized tile (16 MB) and its bounds in rows: BLAS repacks and forks once per tile, so tiles below
# 1024 rows lose up to a third of its speed, while tiles beyond the cache gain nothing.
_TILE_FLOATS = 1 << 22
_TILE_ROWS = (256, 2048)

_FLOAT32 = np.dtype(np.float32)
_address_of = ctypes.addressof
_first_byte: Callable[[Any], Any] = (
    ctypes.c_char.from_buffer
)  # with _address_of four times faster than __array_interface__


class Product:
    """A bound product of `weights` (N_i, K), each a dense Tensor (float32, float16, bfloat16) or a QuantTensor.

    Calling it with x (M, K) float32 returns one Tensor (M, N_i) float32 per weight. `precision` says
    what the activations of quantized weights are rounded to, block by block: "int8", "int16" (an error near 2e-5), or
    not at all: "float32", also called "precise"; "fast" takes each type's own of the first two (activations.py). No
    result depends on M beyond float rounding; with native kernels rounded products have the same bits for every M below
    MANY_ROWS, and the same for every M from there on.
    `few` and `tiled` override the measured numbers of rows up to which native kernels run and from which on
    they interleave weight rows. ParameterError for another precision,
    ShapeError or DTypeError for weights or activations that do not fit.
    """

    __slots__ = (
        "_address",
        "_few",
        "_kernels",
        "_parts",
        "_plan",
        "_slices",
        "_tiled",
        "columns",
        "precision",
        "rows",
        "weights",
    )

    def __init__(
        self,
        weights: Sequence[Weight],
        precision: Precision = "fast",
        *,
        few: int | None = None,
        tiled: int | None = None,
    ) -> None:
        if not weights:
            raise ShapeError("a product needs at least one weight")
        if precision not in PRECISIONS:
            raise ParameterError(f"precision is {precision!r}: use one of {', '.join(PRECISIONS)}", "precision")
        self.weights = tuple(weights)
        self.rows = tuple(matrix_shape(weight)[0] for weight in weights)
        self.columns = matrix_shape(weights[0])[1]
        self.precision: Precision = precision
        types = [type_of(weight) for weight in weights]
        if any(weight.shape[1] != self.columns for weight in weights):
            shapes = ", ".join(str(weight.shape) for weight in weights)
            raise ShapeError(f"weights of one product must have the same number of columns, not {shapes}")
        self._few = 0
        self._parts = self._split(few, tiled)
        native = kernels_for(weights[0])
        if native is None or self._parts:
            return
        self._kernels: Kernels = native
        bits = [rounding_of(kind, precision).bits for kind in types]
        self._few = min(few_rows(native.level, each > 0) for each in bits) if few is None else few
        every = all(each and native.tiles(kind.id) for each, kind in zip(bits, types, strict=True))
        self._tiled = (tiled_from(native.level) if tiled is None else tiled) if every else ANY
        parts = zip(types, weights, self.rows, bits, strict=True)
        self._plan = plan(self.columns, [(kind.id, weight.ptr, rows, each) for kind, weight, rows, each in parts])
        self._address = ctypes.addressof(self._plan)
        ends = np.cumsum(self.rows).tolist()
        self._slices = tuple(zip([0, *ends[:-1]], ends, self.rows, strict=True))

    def _split(self, few: int | None, tiled: int | None) -> "tuple[tuple[list[int], Product], ...]":
        """Products of a part each, where one native call cannot serve all: too many, some without kernels, or such
        that take different paths when rows are many."""
        kinds: dict[bool | None, list[int]] = {}
        for at, weight in enumerate(self.weights):
            rounds = rounding_of(type_of(weight), self.precision).block > 0
            kinds.setdefault(None if kernels_for(weight) is None else rounds, []).append(at)
        groups = [
            places[at : at + MAX_WEIGHTS] for places in kinds.values() for at in range(0, len(places), MAX_WEIGHTS)
        ]
        if len(groups) == 1:
            return ()
        return tuple(
            (group, Product([self.weights[at] for at in group], self.precision, few=few, tiled=tiled))
            for group in groups
        )

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        array = x.array
        shape = array.shape
        if array.dtype != _FLOAT32 or len(shape) != 2 or shape[1] != self.columns:
            raise _misfit(array, self.columns)
        m = shape[0]
        if not 0 < m <= self._few:
            return self._many(x)
        if not array.flags.c_contiguous:
            x = Tensor(np.ascontiguousarray(array))
        y = np.empty(m * self._slices[-1][1] or 1, _FLOAT32)
        many = path.many
        tiled = m >= self._tiled if many is None else many and self._tiled < ANY
        run = self._kernels.product_tiled if tiled else self._kernels.product
        address = _address_of(_first_byte(y))
        status = run(self._address, x.ptr, m, address)
        if status:
            check(status)
        if len(self._slices) == 1:
            return (_placed(y[: m * self.rows[0]].reshape(m, self.rows[0]), address),)
        return tuple(
            [
                _placed(y[m * start : m * stop].reshape(m, rows), address + 4 * m * start)
                for start, stop, rows in self._slices
            ]
        )

    def _many(self, x: Tensor) -> tuple[Tensor, ...]:
        if self._parts:
            found = {at: y for group, part in self._parts for at, y in zip(group, part(x), strict=True)}
            return tuple(found[at] for at in range(len(self.weights)))
        limit_blas()
        rounded: dict[Rounding, Float32Array] = {Rounding(0, 0): x.array}
        outputs = []
        for weight in self.weights:
            how = rounding_of(type_of(weight), self.precision)
            if how not in rounded:
                rounded[how] = _rounded(np.ascontiguousarray(x.array), how, kernels_for(weight))
            outputs.append(Tensor(_multiply(rounded[how], weight)))
        return tuple(outputs)


def _placed(array: Float32Array, address: int) -> Tensor:
    """A tensor that knows its address: asking each slice for its own costs as much as a small operation."""
    tensor = Tensor(array)
    tensor._ptr = address
    return tensor


def _misfit(array: np.ndarray, columns: int) -> Exception:
    if array.dtype != _FLOAT32:
        return DTypeError(f"a product takes float32 activations, not {array.dtype}")
    return ShapeError(f"activations {array.shape} do not fit weights of {columns} columns")


def _rounded(x: Float32Array, how: Rounding, native: Kernels | None) -> Float32Array:
    if native is None:
        return round_activations(x, how)
    out = np.empty_like(x)
    native.round_trip(how, x.ctypes.data, x.shape[0], x.shape[1], out.ctypes.data)
    return out


def _multiply(x: Float32Array, weight: Weight) -> Float32Array:
    rows, columns = matrix_shape(weight)
    out = np.empty((x.shape[0], rows), np.float32)
    # Infinite and NaN weights or activations give infinite and NaN results, silently, as the kernels do.
    with np.errstate(all="ignore"):
        if isinstance(weight, Tensor) and weight.array.dtype == _FLOAT32:
            return np.matmul(x, weight.array.T, out=out)
        low, high = _TILE_ROWS
        step = min(max(_TILE_FLOATS // max(columns, 1), low), high)
        for row in range(0, rows, step):
            tile = rows_as_floats(weight, row, min(row + step, rows))
            np.matmul(x, tile.T, out=out[:, row : row + step])
    return out
