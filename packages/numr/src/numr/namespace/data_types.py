"""Data type functions: conversion, promotion, kinds and machine limits of dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from numr.backends import array_of, backend_for, backend_of
from numr.devices import DeviceLike, as_device
from numr.dtypes import KINDS, DType, DTypeLike, as_dtype, kind_rank
from numr.errors import DTypeError
from numr.tensor import Tensor

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

Kind: TypeAlias = "DTypeLike | tuple[DTypeLike, ...]"


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a floating dtype, as Python floats; of a complex dtype those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntInfo:
    """Limits of an integer dtype, as Python integers."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: DeviceLike = None) -> Tensor:
    """`x` in another dtype; with `copy=False` itself when nothing changes. Raises DTypeError for complex to real."""
    wanted = as_dtype(dtype)
    a = (x if device is None else x.to_device(as_device(device))).array
    if kind_rank(a) == 3 and wanted not in KINDS["complex floating"] and wanted not in KINDS["bool"]:
        raise DTypeError(f"{a.dtype} does not convert to {wanted}: take numr.real, numr.imag or numr.abs first")
    if not copy and a.dtype == wanted:
        return x
    return Tensor(a.astype(wanted))


def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Whether promotion alone turns `from_` into `to`; values do not matter."""
    return bool(backend_for(None).can_cast(_dtype_of(from_), as_dtype(to)))


def finfo(type: DTypeLike | Tensor, /) -> FloatInfo:
    """Limits of a floating dtype or of a tensor's. Raises DTypeError for other kinds."""
    dtype = _dtype_of(type)
    if dtype not in KINDS["real floating"] + KINDS["complex floating"]:
        raise DTypeError(f"finfo is about floating dtypes, not {dtype}: see iinfo")
    info = backend_for(None).finfo(dtype)
    return FloatInfo(
        bits=int(info.bits),
        eps=float(info.eps),
        max=float(info.max),
        min=float(info.min),
        smallest_normal=float(info.smallest_normal),
        dtype=as_dtype(info.dtype),
    )


def iinfo(type: DTypeLike | Tensor, /) -> IntInfo:
    """Limits of an integer dtype or of a tensor's. Raises DTypeError for other kinds."""
    dtype = _dtype_of(type)
    if dtype not in KINDS["integral"]:
        raise DTypeError(f"iinfo is about integer dtypes, not {dtype}: see finfo")
    info = backend_for(None).iinfo(dtype)
    return IntInfo(int(info.bits), int(info.max), int(info.min), dtype)


def isdtype(dtype: DTypeLike, kind: Kind) -> bool:
    """Whether a dtype is, or is of, a kind: a dtype, one of the standard's kind names, or a tuple of either."""
    known = as_dtype(dtype)
    return any(_is_of(known, part) for part in (kind if isinstance(kind, tuple) else (kind,)))


def result_type(*arrays_and_dtypes: Tensor | DTypeLike | complex) -> DType:
    """The dtype that operands promote to; Python scalars stay weak. Raises DTypeError where there is none."""
    scalars = [x for x in arrays_and_dtypes if isinstance(x, bool | int | float | complex)]
    dtypes = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, bool | int | float | complex)]
    if not dtypes:
        raise ValueError("result_type needs at least one tensor or dtype")
    tensors = [x for x in arrays_and_dtypes if isinstance(x, Tensor)]
    backend = backend_of(array_of(tensors[0])) if tensors else backend_for(None)
    dtype: DType = backend.result_type(dtypes, scalars)
    return dtype


def _is_of(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in KINDS:
        return dtype in KINDS[kind]
    return dtype == as_dtype(kind)


def _dtype_of(x: Any) -> DType:
    return x.dtype if isinstance(x, Tensor) else as_dtype(x)
