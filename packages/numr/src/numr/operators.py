"""The operators of a Tensor, each bound to the function of `numr.namespace` that it stands for.

A base class of its own so that `tensor.py` stays readable. Knows names only: the namespace is imported at first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Operators"]


def _function(name: str) -> Callable[..., Any]:
    from numr import namespace

    function: Callable[..., Any] = getattr(namespace, name)
    return function


def _unary(name: str) -> Callable[[Any], Any]:
    function: Callable[..., Any] | None = None

    def operator(self: Any, /) -> Any:
        nonlocal function
        if function is None:
            function = _function(name)
        return function(self)

    return operator


def _is_operand(other: object) -> bool:
    if isinstance(other, np.ndarray):
        raise TypeError("a Tensor and a NumPy array do not mix in one operation: wrap the array with numr.asarray")
    return isinstance(other, np.generic | complex)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    function: Callable[..., Any] | None = None

    def operator(self: Any, other: Any, /) -> Any:
        nonlocal function
        if function is None:
            function = _function(name)
        if isinstance(other, _OPERANDS) or _is_operand(other):
            return function(self, other)
        return NotImplemented

    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    function: Callable[..., Any] | None = None

    def operator(self: Any, other: Any, /) -> Any:
        nonlocal function
        if function is None:
            function = _function(name)
        if isinstance(other, _OPERANDS) or _is_operand(other):
            return function(other, self)
        return NotImplemented

    return operator


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any, /) -> Any:
        if isinstance(other, _OPERANDS) or _is_operand(other):
            from numr.namespace.operation import in_place

            return in_place(name, self, other)
        return NotImplemented

    return operator


class Operators:
    """Arithmetic, bitwise, comparison and matrix operators, with reflected and in-place forms."""

    __slots__ = ()

    __pos__ = _unary("positive")
    __neg__ = _unary("negative")
    __abs__ = _unary("abs")
    __invert__ = _unary("bitwise_invert")

    __add__ = _binary("add")
    __sub__ = _binary("subtract")
    __mul__ = _binary("multiply")
    __truediv__ = _binary("divide")
    __floordiv__ = _binary("floor_divide")
    __mod__ = _binary("remainder")
    __pow__ = _binary("pow")
    __matmul__ = _binary("matmul")
    __and__ = _binary("bitwise_and")
    __or__ = _binary("bitwise_or")
    __xor__ = _binary("bitwise_xor")
    __lshift__ = _binary("bitwise_left_shift")
    __rshift__ = _binary("bitwise_right_shift")

    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")

    __radd__ = _reflected("add")
    __rsub__ = _reflected("subtract")
    __rmul__ = _reflected("multiply")
    __rtruediv__ = _reflected("divide")
    __rfloordiv__ = _reflected("floor_divide")
    __rmod__ = _reflected("remainder")
    __rpow__ = _reflected("pow")
    __rmatmul__ = _reflected("matmul")
    __rand__ = _reflected("bitwise_and")
    __ror__ = _reflected("bitwise_or")
    __rxor__ = _reflected("bitwise_xor")
    __rlshift__ = _reflected("bitwise_left_shift")
    __rrshift__ = _reflected("bitwise_right_shift")

    __iadd__ = _in_place("add")
    __isub__ = _in_place("subtract")
    __imul__ = _in_place("multiply")
    __itruediv__ = _in_place("divide")
    __ifloordiv__ = _in_place("floor_divide")
    __imod__ = _in_place("remainder")
    __ipow__ = _in_place("pow")
    __imatmul__ = _in_place("matmul")
    __iand__ = _in_place("bitwise_and")
    __ior__ = _in_place("bitwise_or")
    __ixor__ = _in_place("bitwise_xor")
    __ilshift__ = _in_place("bitwise_left_shift")
    __irshift__ = _in_place("bitwise_right_shift")


# Checked in this order: tensors first.
_OPERANDS = (Operators, float, int)
