"""Making arrays on the CPU from objects of the caller, checked against numr's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from numr.dtypes import BY_NAME, DType
from numr.errors import DTypeError
from numr.tensor import Array

__all__ = ["asarray"]


def asarray(obj: Any, dtype: DType | None = None, copy: bool | None = None) -> Array:
    """An ndarray of a numr dtype. Raises DTypeError for other element types, OverflowError for too large integers."""
    try:
        array = np.asarray(obj, dtype=dtype, copy=copy)
    except TypeError as error:
        raise DTypeError(f"no array can be made of {type(obj).__name__}: {error}") from error
    if array.dtype.name not in BY_NAME:
        _refuse(array)
    if not array.dtype.isnative:
        if copy is False:
            raise ValueError("an array of foreign byte order cannot be taken without a copy")
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _refuse(array: Array) -> None:
    if array.dtype == object and array.size and all(type(element) is int for element in array.flat):
        raise OverflowError("an integer is too large for the largest integer dtype")
    raise DTypeError(f"elements of {array.dtype} cannot be held by a tensor: numr has {', '.join(BY_NAME)}")
