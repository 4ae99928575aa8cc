"""One backend per device: the array functions that the namespace is written over.

Chooses the backend of an array or a device. Knows nothing of tensors' operators or of the standard's signatures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numr.backends.backend import Backend
from numr.backends.cpu import BACKEND as _CPU
from numr.devices import DeviceLike, as_device, device_of, require_same_device
from numr.errors import DeviceError, UnsupportedError
from numr.tensor import Array, Tensor

__all__ = [
    "BACKENDS",
    "Backend",
    "array_of",
    "arrays_of",
    "backend_for",
    "backend_of",
    "pair_of",
    "require_dtype_support",
]

_BY_DEVICE: dict[str, Backend] = {"cpu": _CPU}


class _ByArrayType(dict[type, Backend]):
    """Array type -> backend; subclasses such as numpy.memmap are entered when first seen."""

    def __missing__(self, array_type: type) -> Backend:
        if not issubclass(array_type, np.ndarray):
            raise DeviceError(f"numr has no backend for arrays of {array_type.__module__}.{array_type.__qualname__}")
        self[array_type] = _CPU
        return _CPU


# Indexed by `type(array)`: the one lookup of every operation, so a plain dict subscript.
BACKENDS = _ByArrayType()


def backend_of(array: Any) -> Backend:
    """The backend of the device on which `array` sits."""
    return BACKENDS[type(array)]


def backend_for(device: DeviceLike) -> Backend:
    """The backend of a device argument; None is the default device."""
    return _CPU if device is None else _BY_DEVICE[as_device(device).kind]


def array_of(x: Any) -> Array:
    """The array in a tensor. Raises TypeError for anything else: numr converts nothing unasked."""
    if isinstance(x, Tensor):
        return x.array
    raise TypeError(f"expected a numr Tensor, got {type(x).__name__}: make one with numr.asarray")


def arrays_of(*xs: Any) -> tuple[Array, ...]:
    """The arrays in tensors of one device. Raises TypeError or DeviceError."""
    arrays = tuple([array_of(x) for x in xs])
    for array in arrays:
        if type(array) is not type(arrays[0]):
            require_same_device(*arrays)
            break
    return arrays


def pair_of(x1: Any, x2: Any) -> tuple[Array, Array]:
    """`arrays_of` for two, without a loop."""
    if isinstance(x1, Tensor) and isinstance(x2, Tensor):
        a, b = x1.array, x2.array
        if type(a) is not type(b):
            require_same_device(a, b)
        return a, b
    return array_of(x1), array_of(x2)


def require_dtype_support(operation: str, *arrays: Array) -> None:
    """Raises UnsupportedError where an operation needs at least float32 and an operand is narrower."""
    for array in arrays:
        if array.dtype.name in ("float16", "bfloat16"):
            raise UnsupportedError(
                f"{operation} has no kernel for {array.dtype} on device '{device_of(array)}': "
                "convert with numr.astype(x, numr.float32)"
            )
