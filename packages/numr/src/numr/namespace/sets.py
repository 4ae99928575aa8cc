"""Set functions: the distinct values of a tensor. NaN differs from itself, so each NaN is one value."""

from __future__ import annotations

from typing import NamedTuple

from numr.backends import array_of, backend_of
from numr.namespace.operation import Operand, operands
from numr.tensor import Tensor, wrap

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAllResult(NamedTuple):
    """Distinct values (n,), first position of each (n,), index of each element's value (x.shape), counts (n,)."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """Distinct values (n,) and how often each occurs (n,)."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """Distinct values (n,) and the index of each element's value (x.shape)."""

    values: Tensor
    inverse_indices: Tensor


def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Tensor:
    """True where an element of `x1` occurs in `x2` (with `invert`: does not), in the shape of `x1`."""
    backend, a, b = operands("isin", x1, x2)
    return wrap(backend.isin(a, b, invert=invert))


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Distinct values with first positions, inverse and counts."""
    a = array_of(x)
    return UniqueAllResult(*map(Tensor, backend_of(a).unique_all(a)))


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Distinct values and their counts."""
    a = array_of(x)
    return UniqueCountsResult(*map(Tensor, backend_of(a).unique_counts(a)))


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Distinct values and the inverse."""
    a = array_of(x)
    return UniqueInverseResult(*map(Tensor, backend_of(a).unique_inverse(a)))


def unique_values(x: Tensor, /) -> Tensor:
    """Distinct values, in no promised order."""
    a = array_of(x)
    return Tensor(backend_of(a).unique_values(a))
