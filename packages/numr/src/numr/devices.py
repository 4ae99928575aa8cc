"""Where a tensor lives. Names devices and compares them; knows no array operation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from numr.errors import DeviceError

__all__ = ["CPU", "Device", "DeviceLike", "as_device", "device_of", "require_same_device"]


class Device:
    """A device by its name: `Device("cpu")`. Raises DeviceError for a name that is unknown or absent here."""

    __slots__ = ("index", "kind")

    kind: str
    index: int

    def __init__(self, name: Device | str = "cpu", /) -> None:
        if isinstance(name, Device):
            self.kind, self.index = name.kind, name.index
            return
        if not isinstance(name, str):
            raise DeviceError(f"a device is a name such as 'cpu', not {name!r}")
        if name == "cuda" or name.startswith("cuda:"):
            raise DeviceError(
                f"device {name!r} is not available: this version of numr computes on 'cpu' only. A version with the "
                "CUDA backend needs an NVIDIA driver and CuPy: pip install 'numr[cuda]'"
            )
        if name != "cpu":
            raise DeviceError(f"device {name!r} is unknown: numr knows 'cpu' and 'cuda:N'")
        self.kind, self.index = name, 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.kind, self.index) == (other.kind, other.index)

    def __hash__(self) -> int:
        return hash((self.kind, self.index))

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"


DeviceLike: TypeAlias = Device | str | None

CPU = Device("cpu")


def as_device(device: DeviceLike) -> Device:
    """The device of an argument; None is the default device, the CPU."""
    if device is None:
        return CPU
    return device if isinstance(device, Device) else Device(device)


def device_of(array: Any) -> Device:
    """The device of an array of an array module. Raises DeviceError for a kind of array that numr does not know."""
    if isinstance(array, np.ndarray):
        return CPU
    raise DeviceError(f"numr has no device for arrays of {type(array).__module__}.{type(array).__qualname__}")


def require_same_device(*arrays: Any) -> None:
    """Raises DeviceError naming the devices when operands of one call sit on several: numr moves nothing unasked."""
    devices = {device_of(array) for array in arrays}
    if len(devices) > 1:
        names = " and ".join(sorted(str(device) for device in devices))
        raise DeviceError(f"operands sit on {names}: move one with to_device first")
