"""The Fourier transform extension of the array API standard, for float32, float64 and the complex dtypes.

`norm` says which direction divides by the length: "backward" the inverse, "forward" the forward, "ortho" both by its
root. Results keep the precision of the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from numr.backends import array_of, backend_for, backend_of, require_dtype_support
from numr.devices import DeviceLike
from numr.dtypes import DTypeLike, as_dtype, float64
from numr.tensor import Tensor, wrap

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
Axes: TypeAlias = int | Sequence[int] | None


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Discrete Fourier transform along `axis`, cut or padded with zeros to `n`."""
    return _along_axis("fft", x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of `fft`."""
    return _along_axis("ifft", x, n, axis, norm)


def fftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Transform along several axes (None: the last len(s), or all), each cut or padded to its entry of `s`."""
    return _along_axes("fftn", x, s, axes, norm)


def ifftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Inverse of `fftn`."""
    return _along_axes("ifftn", x, s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform of real elements: the n // 2 + 1 terms that are not conjugates of others."""
    return _along_axis("rfft", x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of `rfft`: `n` real elements, by default 2 * (terms - 1)."""
    return _along_axis("irfft", x, n, axis, norm)


def rfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """`fftn` of real elements; the last transformed axis keeps its n // 2 + 1 terms."""
    return _along_axes("rfftn", x, s, axes, norm)


def irfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
) -> Tensor:
    """Inverse of `rfftn`."""
    return _along_axes("irfftn", x, s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform of a Hermitian-symmetric signal given by its first half: real elements."""
    return _along_axis("hfft", x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Inverse of `hfft`."""
    return _along_axis("ihfft", x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """(n,): frequencies of the terms of `fft` for a sample spacing `d`."""
    wanted = float64 if dtype is None else as_dtype(dtype)
    return Tensor(backend_for(device).fft.fftfreq(n, d=d).astype(wanted, copy=False))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike = None) -> Tensor:
    """(n // 2 + 1,): frequencies of the terms of `rfft` for a sample spacing `d`."""
    wanted = float64 if dtype is None else as_dtype(dtype)
    return Tensor(backend_for(device).fft.rfftfreq(n, d=d).astype(wanted, copy=False))


def fftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """The zero frequency moved to the middle of the axes, None for all."""
    a = array_of(x)
    return wrap(backend_of(a).fft.fftshift(a, axes=axes))


def ifftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """Inverse of `fftshift`."""
    a = array_of(x)
    return wrap(backend_of(a).fft.ifftshift(a, axes=axes))


def _along_axis(name: str, x: Tensor, n: int | None, axis: int, norm: Norm) -> Tensor:
    a = array_of(x)
    require_dtype_support(f"fft.{name}", a)
    return wrap(getattr(backend_of(a).fft, name)(a, n=n, axis=axis, norm=norm))


def _along_axes(name: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: Norm) -> Tensor:
    a = array_of(x)
    require_dtype_support(f"fft.{name}", a)
    if s is not None and axes is None:
        axes = range(a.ndim - len(s), a.ndim)
    given: dict[str, Any] = {"s": s, "axes": None if axes is None else tuple(axes)}
    return wrap(getattr(backend_of(a).fft, name)(a, **given, norm=norm))
