"""What a dequantizer is, and the row driver that bounds its scratch memory. Knows no block layout.

A subclass names its type, `class Q4_0(Dequantizer, name="Q4_0")`, and turns raw blocks into float32 values.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from boostr.errors import UnsupportedModelError
from boostr.quant.types import QUANT_TYPES, QuantType

__all__ = ["Bytes", "Dequantizer", "Float32Array", "dequantize_rows", "half"]

Bytes = npt.NDArray[np.uint8]
Float32Array = npt.NDArray[np.float32]

# Elements decoded at a time: temporaries of a few MB stay in the cache however large the tensor is.
_CHUNK = 1 << 18


class Dequantizer:
    """Decodes the blocks of one quantized type; subclasses register themselves against QUANT_TYPES."""

    registry: ClassVar[dict[str, type["Dequantizer"]]] = {}
    qtype: ClassVar[QuantType]

    def __init_subclass__(cls, name: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name in Dequantizer.registry:
            raise TypeError(f"two dequantizers for {name}")
        cls.qtype = QUANT_TYPES[name]
        Dequantizer.registry[name] = cls

    @staticmethod
    def decode(blocks: Bytes) -> Float32Array:
        """(n, block_bytes) uint8 -> (n, block) float32."""
        raise TypeError("Dequantizer.decode is the contract of its subclasses")


def half(blocks: Bytes, start: int) -> Float32Array:
    """The float16 at byte `start` of every block, as float32 (n, 1)."""
    return np.ascontiguousarray(blocks[:, start : start + 2]).view("<f2").astype(np.float32)


def dequantize_rows(qtype: QuantType, blocks: Bytes) -> Float32Array:
    """Rows of blocks (rows, row_bytes) uint8 -> float32 (rows, columns)."""
    rows, row_bytes = blocks.shape
    columns = row_bytes // qtype.block_bytes * qtype.block
    out = np.empty((rows, columns), np.float32)
    if qtype.dtype is not None:
        out[...] = np.ascontiguousarray(blocks).view(qtype.dtype)
        return out
    decoder = Dequantizer.registry.get(qtype.name)
    if decoder is None:
        raise UnsupportedModelError(f"{qtype.name} weights cannot be dequantized")
    step = max(1, _CHUNK // max(columns, 1))
    # File contents decide the scales: an infinite or NaN scale gives infinite or NaN weights, as in ggml, silently.
    with np.errstate(all="ignore"):
        for row in range(0, rows, step):
            flat = np.ascontiguousarray(blocks[row : row + step]).reshape(-1, qtype.block_bytes)
            out[row : row + step] = decoder.decode(flat).reshape(-1, columns)
    return out
