"""libnumr's primitives bound on first use: one ctypes function per kernel, or none where NumPy does the work."""

from __future__ import annotations

import functools
from collections.abc import Callable
from ctypes import c_float, c_int, c_int64, c_void_p
from typing import Any

from numr.errors import ShapeError
from numr.native import library

_Kernel = Callable[..., Any]

_ELEMENTWISE = (c_void_p, c_void_p, c_void_p, c_int64)  # x, y or 0, out, elements
_TABLE = (c_int64, c_void_p, c_int64, c_void_p, c_int64)  # rows, spans and their number, segments and their number
_LAYER = (c_int64, c_int64, c_int64, c_int64, c_int64, c_int)  # k_offset, v_offset, kv_heads, k_dim, v_dim, half

# name: (argument types, result type); the C prototypes stand in native/src.
_SIGNATURES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "add": (_ELEMENTWISE, None),
    "silu": (_ELEMENTWISE, None),
    "gelu_tanh": (_ELEMENTWISE, None),
    "gelu_erf": (_ELEMENTWISE, None),
    "silu_mul": (_ELEMENTWISE, None),
    "gelu_tanh_mul": (_ELEMENTWISE, None),
    "gelu_erf_mul": (_ELEMENTWISE, None),
    "rms_norm": ((c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_float), None),
    "add_rms_norm": ((c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_float), None),
    "layer_norm": ((c_void_p, c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_float), None),
    "softmax": ((c_void_p, c_void_p, c_int64, c_int64), None),
    "rope": ((*(c_void_p,) * 4, c_int64, c_int64, c_int64, c_int64, c_int64, c_int), c_int),
    "kv_append": ((c_void_p, c_void_p, *_TABLE, *_LAYER), c_int),
    "attention": ((c_void_p, c_void_p, *_TABLE, *_LAYER, c_int64, c_float, c_int64, c_float), c_int),
}


class Kernels:
    """The bound functions, all taking addresses as ints; the GIL is released while they run."""

    __slots__ = tuple(_SIGNATURES)

    add: _Kernel
    silu: _Kernel
    gelu_tanh: _Kernel
    gelu_erf: _Kernel
    silu_mul: _Kernel
    gelu_tanh_mul: _Kernel
    gelu_erf_mul: _Kernel
    rms_norm: _Kernel
    add_rms_norm: _Kernel
    layer_norm: _Kernel
    softmax: _Kernel
    rope: _Kernel
    kv_append: _Kernel
    attention: _Kernel


@functools.cache
def kernels() -> Kernels | None:
    """The kernels of this machine's level, or None where numr.nn.reference has to do the work."""
    loaded = library()
    if loaded is None:
        return None
    bound = Kernels()
    for name, (arguments, result) in _SIGNATURES.items():
        setattr(bound, name, loaded.function(f"numr_{name}", arguments, result))
    return bound


_TABLE_FAULTS = {
    1: "a span of the KV table does not fit the batch or the array of segments",
    2: "segments of a span have no address, leave a gap in positions, or hold more tokens than their capacity",
    3: "the segments of a span do not cover the positions of its rows",
}


def table_fault(op: str, code: int) -> Exception:
    """The error for a code other than 0 of kv_append or attention."""
    if code in _TABLE_FAULTS:
        return ShapeError(f"{op}: {_TABLE_FAULTS[code]}")
    return MemoryError(f"{op}: no memory for intermediate results")
