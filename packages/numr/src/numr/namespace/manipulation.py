"""Manipulation functions: the same elements in other shapes and orders. Views where the layout allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from numr.backends import Backend, array_of, arrays_of, backend_for, backend_of
from numr.errors import ShapeError
from numr.tensor import Array, Tensor, wrap

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

Axes: TypeAlias = int | tuple[int, ...]


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The tensors as views of one common shape. Raises ShapeError where there is none."""
    given = arrays_of(*arrays)
    shape = broadcast_shapes(*(a.shape for a in given))
    return tuple(Tensor(backend_of(a).broadcast_to(a, shape)) for a in given)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to; () of none. Raises ShapeError where there is none."""
    try:
        common: tuple[int, ...] = backend_for(None).broadcast_shapes(*shapes)
    except ValueError as error:
        raise ShapeError(f"shapes {' and '.join(map(str, shapes))} do not broadcast against each other") from error
    return common


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A read-only view of `x` in a larger shape. Raises ShapeError where it does not broadcast to it."""
    a = array_of(x)
    try:
        return Tensor(backend_of(a).broadcast_to(a, shape))
    except ValueError as error:
        raise ShapeError(f"broadcast_to: shape {a.shape} does not broadcast to {shape}") from error


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Tensors joined along an existing axis; None flattens them first. Dtypes promote. Raises ShapeError."""
    given = arrays_of(*arrays)
    try:
        return Tensor(_backend_of_first(given).concat(given, axis=axis))
    except ValueError as error:
        shapes = ", ".join(str(a.shape) for a in given)
        raise ShapeError(f"concat along axis {axis}: the other axes must agree: {shapes}: {error}") from error


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """`x` with axes of length 1 inserted at the places that `axis` gives in the result. Raises IndexError outside."""
    a = array_of(x)
    return Tensor(backend_of(a).expand_dims(a, axis))


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """`x` reversed along the axes, None for all; a view."""
    a = array_of(x)
    return wrap(backend_of(a).flip(a, axis=axis))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """`x` with axes moved, the others in their order; a view."""
    a = array_of(x)
    return Tensor(backend_of(a).moveaxis(a, source, destination))


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """`x` with its axes in the order given; a view."""
    a = array_of(x)
    try:
        return Tensor(a.transpose(axes))
    except ValueError as error:
        raise ShapeError(f"permute_dims: {axes} is no order of the {a.ndim} axes") from error


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated along `axis`, None for the flattened tensor; `repeats` may be one count per element."""
    a = array_of(x)
    return Tensor(backend_of(a).repeat(a, repeats.array if isinstance(repeats, Tensor) else repeats, axis=axis))


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """`x` in another shape, one axis of which may be -1. Raises ShapeError where the elements do not fit it."""
    a = array_of(x)
    try:
        return Tensor(backend_of(a).reshape(a, shape, copy))
    except ValueError as error:
        raise ShapeError(f"reshape: {a.shape} to {shape} (copy={copy}): {error}") from error


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """`x` with elements moved along axes, re-entering at the other end; None rolls the flattened tensor."""
    a = array_of(x)
    return Tensor(backend_of(a).roll(a, shift, axis=axis))


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """`x` without the given axes of length 1; a view. Raises ShapeError for an axis of another length."""
    a = array_of(x)
    try:
        return Tensor(backend_of(a).squeeze(a, axis=axis))
    except ValueError as error:
        raise ShapeError(f"squeeze: axis {axis} of shape {a.shape}: {error}") from error


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis. Dtypes promote. Raises ShapeError."""
    given = arrays_of(*arrays)
    try:
        return Tensor(_backend_of_first(given).stack(given, axis=axis))
    except ValueError as error:
        shapes = ", ".join(str(a.shape) for a in given)
        raise ShapeError(f"stack: all shapes must be equal, they are {shapes}: {error}") from error


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """`x` laid side by side, `repetitions` times per axis."""
    a = array_of(x)
    return Tensor(backend_of(a).tile(a, repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of `x` along `axis`, as views. Raises ValueError for a tensor without axes."""
    a = array_of(x)
    return tuple(wrap(part) for part in backend_of(a).unstack(a, axis=axis))


def _backend_of_first(arrays: tuple[Array, ...]) -> Backend:
    """NumPy's own error for no arrays is a good one, so it may answer there too."""
    return backend_of(arrays[0]) if arrays else backend_for(None)
