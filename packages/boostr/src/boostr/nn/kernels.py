"""The native library of recurrences, gates and low-rank updates: loading, binding, signatures. Knows no tensors.

Where it cannot be loaded `kernels()` is None, and nn/reference.py does the work.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numr.native
from boostr.errors import DeviceMemoryError

__all__ = ["DeltaNet", "Kernels", "LowRankUpdate", "check", "kernels"]

_SOURCES = Path(__file__).parent / "native"
_SHARED = Path(__file__).parent.parent / "quant" / "native"  # runtime.c and runtime.h
_UNITS = ("../../quant/native/runtime.c", "conv.c", "delta.c", "gate.c", "low_rank.c")

# No contraction and no reordered sums: a row's result must not depend on which of two loops computes it.
_FLAGS = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")

MOST_TAPS = 16  # of a convolution


class DeltaNet(ctypes.Structure):
    """The constants of one gated delta net layer as C reads them; the arrays' memory must outlive it."""

    _fields_ = (
        ("k_heads", ctypes.c_int64),
        ("v_heads", ctypes.c_int64),
        ("k_dim", ctypes.c_int64),
        ("v_dim", ctypes.c_int64),
        ("tiled", ctypes.c_int64),
        ("a", ctypes.c_void_p),
        ("dt_bias", ctypes.c_void_p),
        ("norm", ctypes.c_void_p),
        ("eps", ctypes.c_double),
    )


class LowRankUpdate(ctypes.Structure):
    """y += scale * (x A') B' as C reads it: a is A (rank, in), b is B' (rank, out); their memory must outlive it."""

    _fields_ = (
        ("in", ctypes.c_int64),
        ("out", ctypes.c_int64),
        ("rank", ctypes.c_int64),
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        ("scale", ctypes.c_double),
    )


class Kernels:
    """The functions of the loaded library. All release the GIL and take addresses as integers."""

    __slots__ = ("causal_conv", "gated_delta", "low_rank", "sigmoid_gate")

    causal_conv: Callable[..., Any]
    gated_delta: Callable[..., int]
    low_rank: Callable[[int, int, int, int, int, int], int]  # update, x, y, row indices or 0, first row, rows
    sigmoid_gate: Callable[..., Any]

    def __init__(self, library: numr.native.NativeLibrary) -> None:
        number, address = ctypes.c_int64, ctypes.c_void_p
        table = (address, number, number)  # spans, their number, the layer's offset in a memory
        self.causal_conv = library.function("boostr_causal_conv", [address] * 3 + [number] * 2 + [*table])
        self.gated_delta = library.function("boostr_gated_delta", [address] * 6 + [number, *table], ctypes.c_int)
        self.low_rank = library.function("boostr_low_rank", [address] * 4 + [number] * 2, ctypes.c_int)
        self.sigmoid_gate = library.function("boostr_sigmoid_gate", [address] * 2 + [number] * 4)


def check(status: int) -> None:
    """Raise what a non-zero status of a kernel means."""
    if status:
        raise DeviceMemoryError("no memory for the scratch space of a layer; use shorter batches or fewer threads")


@functools.cache
def kernels() -> Kernels | None:
    """The library, found or built on the first call, or None."""
    includes = [numr.native.include_dir(), _SHARED]
    library = numr.native.load_library("boostr_nn", _SOURCES, _UNITS, includes=includes, flags=_FLAGS)
    if library is None:
        return None
    # Another version of the runtime leaves it on one thread; loading boostr's products has warned of it.
    library.function("boostr_bind", [ctypes.c_void_p], ctypes.c_int)(numr.native.runtime_address())
    return Kernels(library)
