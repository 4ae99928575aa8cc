"""The Tensor: an array of one device, its dtype and its address.

Holds no numerics: operators and functions live in `numr.namespace` and are reached when first used.
`Tensor(array)` trusts its argument; untrusted objects come in through `numr.asarray` or `numr.from_dlpack`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from types import EllipsisType, ModuleType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from numr.devices import Device, device_of
from numr.dtypes import DType, kind_rank
from numr.errors import DeviceError, DTypeError
from numr.operators import Operators

__all__ = ["Array", "Tensor", "wrap"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
IndexPart: TypeAlias = "SupportsIndex | slice | EllipsisType | Tensor | Array | None"
Index: TypeAlias = "IndexPart | tuple[IndexPart, ...]"

_PLAIN = (int, slice, np.ndarray)  # index parts that NumPy takes as they are; a tuple tests quicker than a union

_address_of = ctypes.addressof
_first_byte: Callable[[Any], Any] = ctypes.c_char.from_buffer

# Releases of the array API standard whose functions and behaviour numr has.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Tensor(Operators):
    """An n-dimensional array on one device, as the Python array API standard describes it.

    `array` is the array module's own object (a NumPy ndarray on the CPU), shared and never copied.
    """

    __slots__ = ("_ptr", "array")

    # ndarray's operators then leave `ndarray + tensor` to the tensor, which refuses the mix by name.
    __array_priority__ = 1000

    array: Array

    def __init__(self, array: Array) -> None:
        self.array = array
        self._ptr = 0

    @property
    def ptr(self) -> int:
        """Address of the first element. Read once: `ndarray.ctypes.data` costs more than a small operation."""
        if not self._ptr:
            try:  # half the cost of __array_interface__, for the arrays that operations make
                self._ptr = _address_of(_first_byte(self.array))
            except (TypeError, ValueError, BufferError):  # read-only, strided, empty or of no buffer format
                self._ptr = int(self.array.__array_interface__["data"][0])
        return self._ptr

    @property
    def dtype(self) -> DType:
        return self.array.dtype

    @property
    def device(self) -> Device:
        return device_of(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def T(self) -> Tensor:
        """The transpose of a matrix (2 dimensions exactly)."""
        if self.array.ndim != 2:
            raise ValueError(f".T is for 2 dimensions, this tensor has {self.array.ndim}: use .mT or permute_dims")
        return Tensor(self.array.T)

    @property
    def mT(self) -> Tensor:
        """(..., M, N) -> (..., N, M), a view."""
        if self.array.ndim < 2:
            raise ValueError(f".mT needs at least 2 dimensions, this tensor has {self.array.ndim}")
        return Tensor(self.array.swapaxes(-1, -2))

    def to_device(self, device: Device | str, /, *, stream: Any = None) -> Tensor:
        """This tensor on `device`; itself when it is there already. Raises DeviceError for an unknown or absent one."""
        if stream is not None:
            raise DeviceError("to_device: stream must be None on the device 'cpu'")
        Device(device)  # the CPU is the only device, so a name that is accepted is where the tensor already is
        return self

    def item(self) -> Any:
        """The one element as a Python scalar."""
        value = self.array.item()
        return value if self.array.dtype.kind != "V" else float(value)  # bfloat16 scalars are no Python ones

    def tolist(self) -> Any:
        """The elements as nested Python lists of scalars."""
        return (self.array if self.array.dtype.kind != "V" else self.array.astype(np.float32)).tolist()

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version is not None and api_version not in API_VERSIONS:
            raise ValueError(f"array API version {api_version!r} is not one of {', '.join(API_VERSIONS)}")
        import numr

        return numr

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.array, dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if self.array.dtype.kind == "V":
            raise BufferError("bfloat16 cannot leave through DLPack on the CPU: convert with numr.astype first")
        if stream is not None:
            raise DeviceError("__dlpack__: stream must be None on the device 'cpu'")
        return self.array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self, /) -> tuple[int, int]:
        kind, index = self.array.__dlpack_device__()
        return int(kind), int(index)

    def __getitem__(self, key: Index, /) -> Tensor:
        return wrap(self.array[_unwrap_index(key)])

    def __setitem__(self, key: Index, value: Any, /) -> None:
        if isinstance(value, Tensor):
            value = value.array
        elif not isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
            raise TypeError(f"a tensor element cannot be set to a {type(value).__name__}: pass a tensor or a scalar")
        if kind_rank(value) > kind_rank(self.array):
            given = getattr(value, "dtype", type(value).__name__)
            raise DTypeError(f"{given} does not fit into elements of {self.array.dtype}: convert with numr.astype")
        self.array[_unwrap_index(key)] = value

    def __bool__(self, /) -> bool:
        return bool(self.array)

    def __int__(self, /) -> int:
        return int(self.array)

    def __float__(self, /) -> float:
        return float(self.array)

    def __complex__(self, /) -> complex:
        return complex(self.array)

    def __index__(self, /) -> int:
        return self.array.__index__()

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self.array)))

    def __reduce__(self) -> tuple[type[Tensor], tuple[Array]]:
        # Without it a pickle or copy would carry the cached address of another buffer.
        return Tensor, (self.array,)

    def __repr__(self) -> str:
        body = np.array2string(self.array, separator=", ", prefix="Tensor(")
        return f"Tensor({body}, dtype={self.array.dtype}, device='{self.device}')"


def wrap(result: Any) -> Tensor:
    """A tensor of what an array function returned: NumPy gives scalars where the standard has 0-d arrays."""
    return Tensor(np.asarray(result) if isinstance(result, np.generic) else result)


def _unwrap_index(key: Any) -> Any:
    if isinstance(key, _PLAIN):
        return key
    if isinstance(key, tuple):
        return tuple(_unwrap_part(part) for part in key)
    return _unwrap_part(key)


def _unwrap_part(part: Any) -> Any:
    if isinstance(part, Tensor):
        return part.array
    if part is None or part is Ellipsis or isinstance(part, _PLAIN) or hasattr(part, "__index__"):
        return part
    raise IndexError(
        f"a tensor is indexed by integers, slices, ..., None and tensors, not by {type(part).__name__}: "
        "wrap sequences with numr.asarray"
    )
