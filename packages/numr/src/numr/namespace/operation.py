"""How elementwise functions are made: operands checked, the device's kernel called, its errors said in numr's words.

The only code between a caller and a kernel on the hot path, so it allocates nothing but the result. Knows no operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from numr.backends import BACKENDS, Backend
from numr.devices import device_of, require_same_device
from numr.dtypes import bfloat16
from numr.errors import DTypeError, ShapeError, UnsupportedError
from numr.tensor import Tensor, wrap

__all__ = ["Operand", "binary", "explain", "in_place", "operands", "unary"]

_PYTHON_SCALARS = frozenset((bool, int, float, complex))
_WIDENING = (complex, np.generic)
_SCALARS = (bool, int, float, complex, np.generic)

Operand: TypeAlias = Tensor | bool | int | float | complex


def unary(name: str, summary: str) -> Callable[[Tensor], Tensor]:
    """The standard's function `name` of one tensor, over the kernel of that name."""

    def operation(x: Tensor, /) -> Tensor:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: expected a numr Tensor, got {type(x).__name__}: make one with numr.asarray")
        a = x.array
        try:
            result = getattr(BACKENDS[type(a)], name)(a)
        except TypeError as error:
            explain(name, error, a)
        return wrap(result)

    _name_it(operation, name, summary)
    return operation


def binary(name: str, summary: str) -> Callable[[Operand, Operand], Tensor]:
    """The standard's function `name` of two operands, at least one of them a tensor; they broadcast and promote."""

    def operation(x1: Operand, x2: Operand, /) -> Tensor:
        if isinstance(x1, Tensor):
            a: Any = x1.array
            if isinstance(x2, Tensor):
                b: Any = x2.array
                if type(a) is not type(b):
                    require_same_device(a, b)
            else:
                b = _beside(name, x2, a)
            backend = BACKENDS[type(a)]
        else:
            backend, a, b = operands(name, x1, x2)
        try:
            result = getattr(backend, name)(a, b)
        except (TypeError, ValueError) as error:
            explain(name, error, a, b)
        return wrap(result)

    _name_it(operation, name, summary)
    return operation


def operands(name: str, x1: Operand, x2: Operand) -> tuple[Backend, Any, Any]:
    """The backend and the arrays of two operands; a Python scalar stays one unless its tensor is bfloat16."""
    if isinstance(x1, Tensor):
        a = x1.array
        if not isinstance(x2, Tensor):
            return BACKENDS[type(a)], a, _beside(name, x2, a)
        require_same_device(a, x2.array)
        return BACKENDS[type(a)], a, x2.array
    if isinstance(x2, Tensor):
        b = x2.array
        return BACKENDS[type(b)], _beside(name, x1, b), b
    raise TypeError(f"{name}: at least one operand must be a numr Tensor, got {_name(x1)} and {_name(x2)}")


def in_place(name: str, target: Tensor, other: Operand) -> Tensor:
    """`target op= other`: dtype and shape of `target` stay. Raises ShapeError or DTypeError where they could not."""
    backend, a, b = operands(name, target, other)
    try:
        result = np.asarray(getattr(backend, name)(a, b))
    except (TypeError, ValueError) as error:
        explain(name, error, a, b)
    if result.shape != a.shape:
        raise ShapeError(f"{name} in place: the result has shape {result.shape}, the tensor {a.shape}")
    if not np.can_cast(result.dtype, a.dtype, casting="same_kind"):
        raise DTypeError(f"{name} in place: the result is {result.dtype}, the tensor {a.dtype}: convert with astype")
    a[...] = result
    return target


def explain(name: str, error: Exception, *arrays: Any) -> NoReturn:
    """Raises the numr error for what a kernel raised; errors that are about values pass as they are."""
    shapes = [np.shape(array) for array in arrays]
    if isinstance(error, ValueError):
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            text = " and ".join(map(str, shapes))
            raise ShapeError(f"{name}: shapes {text} do not broadcast against each other") from error
        raise error
    dtypes = " and ".join(str(getattr(array, "dtype", type(array).__name__)) for array in arrays)
    device = next(str(device_of(array)) for array in arrays if hasattr(array, "dtype"))
    raise UnsupportedError(f"{name} has no kernel for {dtypes} on device '{device}'") from error


def _beside(name: str, scalar: Any, array: Any) -> Any:
    if type(scalar) in _PYTHON_SCALARS or isinstance(scalar, _SCALARS):
        if array.dtype.kind == "V" and not isinstance(scalar, _WIDENING):
            return bfloat16.type(scalar)  # NumPy would give float32 beside a Python scalar
        return scalar
    raise TypeError(f"{name}: expected a numr Tensor or a scalar, got {_name(scalar)}")


def _name(operand: object) -> str:
    return type(operand).__name__


def _name_it(function: Any, name: str, summary: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    function.__module__ = "numr"
