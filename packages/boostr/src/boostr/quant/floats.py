"""Quantized weights as float32 where no native kernel multiplies them: kept beside the weight while the budget lasts.

Dequantizing in NumPy costs some twenty times the product that it is for. Knows no products.
"""

import threading
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from boostr.quant.tensor import QuantTensor

__all__ = ["KEPT_BYTES", "kept_floats"]

KEPT_BYTES = 2 << 30  # of all copies in the process: every weight of models of up to half a billion

_kept: WeakKeyDictionary[QuantTensor, npt.NDArray[np.float32]] = WeakKeyDictionary()
_adding = threading.Lock()


def kept_floats(weight: QuantTensor) -> npt.NDArray[np.float32] | None:
    """All of a weight as float32 (rows, columns), made at the first call; None where it does not fit the budget."""
    found = _kept.get(weight)
    if found is not None:
        return found
    with _adding:
        size = 4 * weight.rows * weight.columns
        if sum(copy.nbytes for copy in list(_kept.values())) + size > KEPT_BYTES:
            return None
        try:
            copy = weight.dequantize(slice(None))
        except MemoryError:
            return None
        _kept[weight] = copy
    return copy
