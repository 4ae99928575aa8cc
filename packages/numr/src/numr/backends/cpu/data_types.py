"""What ml_dtypes' bfloat16 lacks beside NumPy's own dtypes: promotion with float16 and machine limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from numr.dtypes import DType, bfloat16, float16, float32
from numr.errors import DTypeError

__all__ = ["finfo", "promoted", "result_type"]

_BFLOAT16 = type(bfloat16)  # dtypes have classes: testing for one costs less than comparing dtypes


def finfo(dtype: DType) -> Any:
    """Machine limits of a floating dtype, with the attributes of numpy.finfo."""
    limits: Any = ml_dtypes.finfo if dtype == bfloat16 else np.finfo
    return limits(dtype)


def result_type(dtypes: list[DType], scalars: list[Any]) -> DType:
    """The dtype that operands promote to. Python scalars do not widen a dtype of their kind, bfloat16 included."""
    if bfloat16 not in dtypes:
        return _promote(*dtypes, *scalars)
    # bfloat16 promotes as float16 does, and with float16 itself to float32, which holds both.
    stand_in = float32 if float16 in dtypes else float16
    common = _promote(*(stand_in if dtype == bfloat16 else dtype for dtype in dtypes), *scalars)
    return bfloat16 if common == float16 else common


def promoted(operands: Sequence[Any]) -> Sequence[Any]:
    """Arrays (and scalars) of one call in their common dtype where bfloat16 is among them, else as they are.

    For NumPy's own functions: unlike the ufuncs of ml_dtypes they know no pair of bfloat16 with float16 or integers
    wider than 8 bits.
    """
    for x in operands:
        if type(getattr(x, "dtype", None)) is _BFLOAT16:
            break
    else:
        return operands
    dtypes = [x.dtype for x in operands if isinstance(x, np.ndarray | np.generic)]
    common = result_type(dtypes, [x for x in operands if isinstance(x, bool | int | float | complex)])
    return [x.astype(common, copy=False) if isinstance(x, np.ndarray | np.generic) else x for x in operands]


def _promote(*operands: Any) -> DType:
    try:
        return np.result_type(*operands)
    except TypeError as error:
        raise DTypeError(f"no common dtype for {', '.join(str(operand) for operand in operands)}") from error
