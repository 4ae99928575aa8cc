"""Inspection: what this namespace can do, for libraries that choose by it."""

from __future__ import annotations

from typing import Any, TypeAlias

from numr.devices import CPU, Device, DeviceLike, as_device
from numr.dtypes import KINDS, DType, complex128, float64, int64

__all__ = ["__array_namespace_info__"]

_MAX_DIMENSIONS = 64  # NumPy's limit since 2.0

# dtypes of the standard; float16 and bfloat16 are extras that its consumers do not expect.
_EXTRAS = ("float16", "bfloat16")
_STANDARD = {dtype.name: dtype for dtype in KINDS["bool"] + KINDS["numeric"] if dtype.name not in _EXTRAS}

Kind: TypeAlias = str | tuple[str, ...] | None


class NamespaceInfo:
    """Answers of `numr.__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """Whether boolean indexing and shapes that depend on data work, and the largest number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _MAX_DIMENSIONS}

    def default_device(self) -> Device:
        """Where tensors go that name no device."""
        return CPU

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """The dtypes of values that name none."""
        as_device(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def devices(self) -> tuple[Device, ...]:
        """The devices that can hold tensors here."""
        return (CPU,)

    def dtypes(self, *, device: DeviceLike = None, kind: Kind = None) -> dict[str, DType]:
        """Name -> dtype of the standard's dtypes on a device, of all or of the named kinds."""
        as_device(device)
        if kind is None:
            return dict(_STANDARD)
        wanted: set[DType] = set()
        for name in kind if isinstance(kind, tuple) else (kind,):
            if name not in KINDS:
                raise ValueError(f"dtype kind {name!r} is not one of {', '.join(KINDS)}")
            wanted.update(KINDS[name])
        return {name: dtype for name, dtype in _STANDARD.items() if dtype in wanted}


def __array_namespace_info__() -> NamespaceInfo:
    """An object that answers for the namespace's devices, dtypes and capabilities."""
    return NamespaceInfo()
