"""QuantTensor: rows of quantized blocks as a file holds them, with their type and logical shape.

It knows neither files nor products: `dequantize` is the NumPy reference, exact against ggml; `matmul.py` multiplies.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from boostr.errors import FormatError
from boostr.quant.types import QuantType

__all__ = ["QuantTensor", "RowIndex"]

RowIndex = slice | Sequence[int] | npt.NDArray[np.integer] | None
Float32Array = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


class QuantTensor:
    """A quantized weight. `blocks` is uint8 (rows, row_bytes), C-contiguous, often a view of a mapped file.

    `shape` is the logical row-major shape, (out, in) or with more leading dims, such as (experts, out, in); `rows` is
    the product of all dims but the last. FormatError if blocks, type and shape disagree.
    """

    __slots__ = ("__weakref__", "_ptr", "blocks", "qtype", "shape")

    def __init__(self, blocks: Bytes, qtype: QuantType, shape: tuple[int, ...]) -> None:
        rows = math.prod(shape[:-1])
        expected = (rows, qtype.row_bytes(shape[-1]))
        if blocks.dtype != np.uint8 or blocks.shape != expected or not blocks.flags.c_contiguous:
            raise FormatError(
                f"{qtype.name} {shape} needs contiguous uint8 blocks {expected}, not {blocks.dtype} {blocks.shape}"
            )
        self.blocks = blocks
        self.qtype = qtype
        self.shape = shape
        self._ptr: int | None = None

    @property
    def ptr(self) -> int:
        """Address of the first block."""
        if self._ptr is None:
            self._ptr = int(self.blocks.__array_interface__["data"][0])
        return self._ptr

    @property
    def ndim(self) -> int:
        """Number of logical dimensions."""
        return len(self.shape)

    @property
    def rows(self) -> int:
        """Number of stored rows: the product of all dims but the last."""
        return int(self.blocks.shape[0])

    @property
    def columns(self) -> int:
        """Logical elements per row."""
        return self.shape[-1]

    @property
    def nbytes(self) -> int:
        """Bytes of the quantized blocks."""
        return int(self.blocks.nbytes)

    def __repr__(self) -> str:
        return f"QuantTensor({self.qtype.name}, {self.shape})"

    def __getitem__(self, key: int | slice) -> "QuantTensor":
        """A view of entries along the first axis: one expert of (experts, out, in), or a range of output rows."""
        if isinstance(key, int):
            if self.ndim < 3:
                raise IndexError(f"{self!r} has rows only; index with a slice, or dequantize(rows=[i])")
            index = range(self.shape[0])[key]
            first, count, shape = index, 1, self.shape[1:]
        else:
            start, stop, step = key.indices(self.shape[0])
            if step != 1:
                raise IndexError("a QuantTensor is sliced with step 1; use take() for other orders")
            first, count = start, max(stop - start, 0)
            shape = (count, *self.shape[1:])
        each = math.prod(self.shape[1:-1])
        return QuantTensor(self.blocks[first * each : (first + count) * each], self.qtype, shape)

    def take(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> "QuantTensor":
        """A copy with the stored rows in the order of `rows` (a permutation or selection of a 2-D weight)."""
        blocks = np.ascontiguousarray(self.blocks[np.asarray(rows, dtype=np.intp)])
        return QuantTensor(blocks, self.qtype, (blocks.shape[0], self.columns))

    def dequantize(self, rows: RowIndex = None) -> Float32Array:
        """float32 values: of everything, in `shape`; or of the stored rows picked by a slice or ids, (n, columns)."""
        from boostr.quant.dequant import dequantize_rows

        if rows is None:
            return dequantize_rows(self.qtype, self.blocks).reshape(self.shape)
        picked = self.blocks[rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)]
        return dequantize_rows(self.qtype, picked)
