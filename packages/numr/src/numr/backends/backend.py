"""The shape of a backend: a device's own functions first, then those of its array module. Knows no device."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

__all__ = ["Backend"]


class Backend:
    """Array functions of one device, under the array module's names.

    `module` is the array module (numpy), `own` the modules of functions that replace or complete it. Names resolve
    once and are then plain attributes. A name that exists nowhere raises AttributeError.
    """

    def __init__(self, device: str, module: ModuleType, own: Iterable[ModuleType]) -> None:
        self._device = device
        self._module = module
        for part in own:
            for name in part.__all__:
                setattr(self, name, getattr(part, name))

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        setattr(self, name, function)
        return function

    def __repr__(self) -> str:
        return f"Backend({self._device!r})"
