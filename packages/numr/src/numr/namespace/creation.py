"""Creation functions: new tensors from shapes, ranges, Python objects and other tensors.

`dtype=None` means float64, int64 or complex128 by the values given; `device=None` means the CPU.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from numr.backends import array_of, arrays_of, backend_for, backend_of
from numr.devices import DeviceLike, as_device
from numr.dtypes import DTypeLike, optional_dtype
from numr.tensor import Tensor

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape: TypeAlias = int | tuple[int, ...]


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """(ceil((stop - start) / step),): evenly spaced from `start`; with `stop` left out, from 0 to `start`."""
    if stop is None:
        start, stop = 0, start
    return Tensor(backend_for(device).arange(start, stop, step, dtype=optional_dtype(dtype)))


def asarray(
    obj: Any, /, *, dtype: DTypeLike | None = None, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A tensor of a scalar, nested sequence, buffer, array or tensor. `copy` None copies only where needed.

    Raises DTypeError for elements that numr cannot hold, ValueError where `copy=False` cannot be kept.
    """
    if isinstance(obj, Tensor):
        obj = (obj if device is None else obj.to_device(as_device(device))).array
    return Tensor(backend_for(device).asarray(obj, dtype=optional_dtype(dtype), copy=copy))


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Uninitialised elements."""
    return Tensor(backend_for(device).empty(shape, dtype=optional_dtype(dtype)))


def empty_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Uninitialised elements in the shape and, by default, the dtype of `x`."""
    return Tensor(_backend_like(x, device).empty_like(array_of(x), dtype=optional_dtype(dtype)))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Tensor:
    """(n_rows, n_cols): ones on the `k`-th diagonal, zeros elsewhere."""
    return Tensor(backend_for(device).eye(n_rows, n_cols, k=k, dtype=optional_dtype(dtype) or float))


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object that exports DLPack; a copy only where `copy` asks for one.

    Raises BufferError where the exporter cannot export, DTypeError for elements that numr cannot hold.
    """
    backend = backend_for(device)
    if isinstance(x, Tensor) and x.dtype.kind == "V":  # bfloat16 of our own needs no detour over DLPack
        return asarray(x, device=device, copy=copy)
    target = None if device is None else str(as_device(device))
    return Tensor(backend.asarray(backend.from_dlpack(x, device=target, copy=copy)))


def full(
    shape: Shape, fill_value: complex | Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Tensor:
    """Every element `fill_value`; `dtype=None` takes the default dtype of its kind."""
    backend = backend_for(device)
    value = fill_value.array if isinstance(fill_value, Tensor) else fill_value
    return Tensor(backend.full(shape, value, dtype=optional_dtype(dtype) or backend.asarray(value).dtype))


def full_like(
    x: Tensor, /, fill_value: complex | Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Tensor:
    """Every element `fill_value`, in the shape and, by default, the dtype of `x`."""
    value = fill_value.array if isinstance(fill_value, Tensor) else fill_value
    return Tensor(_backend_like(x, device).full_like(array_of(x), value, dtype=optional_dtype(dtype)))


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
    endpoint: bool = True,
) -> Tensor:
    """(num,): evenly spaced from `start` to `stop`, which is left out when `endpoint` is False."""
    return Tensor(backend_for(device).linspace(start, stop, num, dtype=optional_dtype(dtype), endpoint=endpoint))


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Coordinate grids of N one-dimensional tensors: N tensors of N dimensions ("xy" swaps the first two)."""
    given = arrays_of(*arrays)
    if not given:
        return ()
    return tuple(Tensor(grid) for grid in backend_of(given[0]).meshgrid(*given, indexing=indexing))


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Every element 1."""
    return Tensor(backend_for(device).ones(shape, dtype=optional_dtype(dtype)))


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Every element 1, in the shape and, by default, the dtype of `x`."""
    return Tensor(_backend_like(x, device).ones_like(array_of(x), dtype=optional_dtype(dtype)))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """(..., M, N): zero above the `k`-th diagonal."""
    a = array_of(x)
    return Tensor(backend_of(a).tril(a, k=k))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """(..., M, N): zero below the `k`-th diagonal."""
    a = array_of(x)
    return Tensor(backend_of(a).triu(a, k=k))


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Every element 0."""
    return Tensor(backend_for(device).zeros(shape, dtype=optional_dtype(dtype)))


def zeros_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """Every element 0, in the shape and, by default, the dtype of `x`."""
    return Tensor(_backend_like(x, device).zeros_like(array_of(x), dtype=optional_dtype(dtype)))


def _backend_like(x: Tensor, device: DeviceLike) -> Any:
    return backend_of(array_of(x)) if device is None else backend_for(device)
