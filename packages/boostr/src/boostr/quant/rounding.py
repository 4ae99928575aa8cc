"""Rounding of activations to integers as the few-row kernels do it, in NumPy: reference, and fallback without them."""

import numpy as np
import numpy.typing as npt

from boostr.quant.activations import Rounding

__all__ = ["round_activations"]

Float32Array = npt.NDArray[np.float32]

# Blocks below this maximum are zero: 32767 / max would overflow for subnormal ones.
_TINY = np.float32(1e-30)


def round_activations(x: Float32Array, rounding: Rounding) -> Float32Array:
    """x (M, K) rounded in blocks along K and widened again: max|block| / L times integers -L..L, L = 127 or 32767.

    A block with an infinite or NaN element becomes NaN as a whole.
    """
    most = np.float32(127 if rounding.bits == 8 else 32767)
    pieces = x.reshape(-1, rounding.block)
    # The comparison is false for NaN, so it must name what is good.
    top = np.abs(pieces).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        inverse = np.where(top >= _TINY, most / top, np.float32(0))
        scale = np.where(top >= _TINY, top / most, np.float32(0))
        rounded = np.where(np.isfinite(top), np.rint(pieces * inverse) * scale, np.float32(np.nan))
    return rounded.reshape(x.shape)
