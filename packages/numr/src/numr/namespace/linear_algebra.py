"""The products of the main namespace; decompositions are in `numr.linalg`."""

from __future__ import annotations

from collections.abc import Sequence

from numr.backends import array_of, backend_of, pair_of
from numr.errors import ShapeError
from numr.namespace.operation import explain
from numr.tensor import Tensor, wrap

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """(..., M, K) @ (..., K, N) -> (..., M, N); one-dimensional operands are vectors. Raises ShapeError."""
    a, b = pair_of(x1, x2)
    try:
        return wrap(backend_of(a).matmul(a, b))
    except ValueError as error:
        raise ShapeError(f"matmul: shapes {a.shape} and {b.shape} do not fit: the inner axes must agree") from error
    except TypeError as error:
        explain("matmul", error, a, b)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """(..., M, N) -> (..., N, M), a view."""
    return Tensor(array_of(x)).mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sum of products over the last `axes` axes of `x1` and the first of `x2`, or over the axes listed for each."""
    a, b = pair_of(x1, x2)
    try:
        return wrap(backend_of(a).tensordot(a, b, axes=axes))
    except ValueError as error:
        raise ShapeError(f"tensordot: shapes {a.shape} and {b.shape} do not fit over axes {axes}") from error


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum of conj(x1) * x2 over `axis`, counted from the end; the other axes broadcast. Raises ShapeError."""
    a, b = pair_of(x1, x2)
    try:
        return wrap(backend_of(a).vecdot(a, b, axis=axis))
    except ValueError as error:
        raise ShapeError(f"vecdot: shapes {a.shape} and {b.shape} do not fit over axis {axis}") from error
