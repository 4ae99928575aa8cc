"""Cheap refusals before an address is handed to a kernel (dtype, contiguity, shape), and cheap outputs for it."""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any

import numpy as np

from numr.errors import DTypeError, ShapeError
from numr.tensor import Tensor

Array = np.ndarray[Any, Any]

FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)


def floats(op: str, name: str, tensor: Tensor) -> Array:
    """The tensor's array, once it is known to be float32 and row-contiguous."""
    array = tensor.array
    if array.dtype is not FLOAT32 and array.dtype != FLOAT32:
        raise DTypeError(f"{op}: {name} must be float32, got {array.dtype}; cast it first")
    if not array.flags.c_contiguous:
        raise ShapeError(f"{op}: {name} of shape {array.shape} is not row-contiguous; copy it first")
    return array


def outputs(op: str, name: str, tensor: Tensor) -> Array:
    """Like floats, and writable: the array of something that is changed in place."""
    array = floats(op, name, tensor)
    if not array.flags.writeable:
        raise ShapeError(f"{op}: {name} is read-only and is changed in place; copy it first")
    return array


def same(op: str, x: Array, y: Array) -> None:
    """Refuse two arrays of different shapes: these primitives do not broadcast."""
    if x.shape != y.shape:
        raise ShapeError(f"{op}: shapes {x.shape} and {y.shape} differ")


def columns(op: str, name: str, tensor: Tensor, width: int) -> Array:
    """The array of a float32 vector of `width` elements."""
    array = floats(op, name, tensor)
    if array.shape != (width,):
        raise ShapeError(f"{op}: {name} must have shape ({width},), got {array.shape}")
    return array


def packed(op: str, name: str, tensor: Tensor, width: int) -> Array:
    """The array of float32 rows of `width` elements each."""
    array = floats(op, name, tensor)
    if array.ndim != 2 or array.shape[1] != width:
        raise ShapeError(f"{op}: {name} must have shape (rows, {width}), got {array.shape}")
    return array


def fresh(shape: tuple[int, ...]) -> Tensor:
    """An uninitialised float32 tensor that knows its address already.

    Asking the buffer costs 0.4 us; `ndarray.ctypes` or `__array_interface__` 1.4 us, half of a small operation.
    """
    tensor = Tensor(np.empty(shape, FLOAT32))
    if tensor.array.size:
        tensor._ptr = addressof(c_char.from_buffer(tensor.array))  # type: ignore[arg-type]
    return tensor
