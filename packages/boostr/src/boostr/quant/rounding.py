"""Int8 rounding of activations as the few-row kernels do it, in NumPy: reference, and fallback without native code.

Which block a weight type rounds its activations in is a property of (type, precision), never of the number of rows.
"""

import numpy as np
import numpy.typing as npt

from boostr.quant.types import QuantType

__all__ = ["activation_block", "round_activations"]

Float32Array = npt.NDArray[np.float32]

# Elements that share one int8 scale in `fast` mode. A type that is not listed multiplies float32 activations in both
# modes. 32 and 256 are the blocks of the weights themselves: one pair of scales for each integer sum.
_BLOCKS = {"Q4_0": 32, "Q4_1": 32, "Q8_0": 32, "Q4_K": 256, "Q6_K": 256}

# Blocks below this maximum are zero: 127 / max would overflow for subnormal ones.
_TINY = np.float32(1e-30)


def activation_block(qtype: QuantType, precision: str) -> int:
    """Elements per int8 activation block, or 0 where activations stay float32."""
    return _BLOCKS.get(qtype.name, 0) if precision == "fast" else 0


def round_activations(x: Float32Array, block: int) -> Float32Array:
    """x (M, K) rounded to int8 in blocks along K and widened again: max|block| / 127 times integers -127..127.

    A block with an infinite or NaN element becomes NaN as a whole.
    """
    pieces = x.reshape(-1, block)
    # The comparison is false for NaN, so it must name what is good.
    top = np.abs(pieces).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        inverse = np.where(top >= _TINY, np.float32(127) / top, np.float32(0))
        scale = np.where(top >= _TINY, top / np.float32(127), np.float32(0))
        rounded = np.where(np.isfinite(top), np.rint(pieces * inverse) * scale, np.float32(np.nan))
    return rounded.reshape(x.shape)
