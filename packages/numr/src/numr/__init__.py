"""numr: one tensor and one array API namespace over the devices of a machine.

`numr` is itself the namespace that `Tensor.__array_namespace__` gives. The extensions (linalg, fft), `random`, the
fused primitives (`nn`) and the native runtime (`native`) are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numr import errors, namespace
from numr.devices import Device
from numr.dtypes import (
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from numr.errors import DeviceError, DTypeError, NativeError, NumrError, ShapeError, UnsupportedError
from numr.namespace import *  # noqa: F403
from numr.tensor import Tensor

if TYPE_CHECKING:
    from numr import fft, linalg, native, nn, random
    from numr.native import get_num_threads, set_num_threads, show_config

    __version__: str

__array_api_version__ = "2025.12"

__all__ = [
    "DTypeError",
    "Device",
    "DeviceError",
    "NativeError",
    "NumrError",
    "ShapeError",
    "Tensor",
    "UnsupportedError",
    "__array_api_version__",
    "__version__",
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "errors",
    "fft",
    "float16",
    "float32",
    "float64",
    "get_num_threads",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "native",
    "nn",
    "random",
    "set_num_threads",
    "show_config",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += namespace.__all__

_MODULES = ("fft", "linalg", "native", "nn", "random")
_NATIVE = ("get_num_threads", "set_num_threads", "show_config")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"numr.{name}")
    if name in _NATIVE:
        value = getattr(import_module("numr.native"), name)
    elif name == "__version__":
        from importlib.metadata import version  # slow to import, seldom asked

        value = version("numr")
    else:
        raise AttributeError(f"module 'numr' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
