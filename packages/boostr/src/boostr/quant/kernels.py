"""The native library of quantized products: loading, binding to numr's thread pool, signatures. Knows no tensors.

Where it cannot be loaded (no compiler, Windows, NUMR_CPU_LEVEL=none), `kernels()` is None and NumPy does the work.
"""

import ctypes
import functools
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numr.native
from boostr.errors import DeviceMemoryError
from boostr.quant.activations import Rounding

__all__ = ["MAX_WEIGHTS", "Kernels", "Plan", "check", "kernels", "plan"]

_SOURCES = Path(__file__).parent / "native"
UNITS = (  # compiled side by side: those that take longest begin first
    "rows_iq.c",
    "rows_32.c",
    "rows_k.c",
    "rows_dense.c",
    "tiles.c",
    "unpack.c",
    "dequantize_iq.c",
    "dequantize.c",
    "activations.c",
    "products.c",
    "runtime.c",
)

# No contraction into fused multiply-adds and no reordered sums: dequantization must round as ggml does, activations
# must round alike on every CPU level, and the kernels spell out the fused operations they want.
FLAGS = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")

MAX_WEIGHTS = 8
_OUT_OF_MEMORY = 2
_BAD_ROW = 3


class _Weight(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_int64),
        ("address", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("bits", ctypes.c_int64),
    )


class Plan(ctypes.Structure):
    """A product as C reads it; the weights' memory must outlive it."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("columns", ctypes.c_int64),
        ("weights", _Weight * MAX_WEIGHTS),
    )


def plan(columns: int, weights: Sequence[tuple[int, int, int, int]]) -> Plan:
    """A Plan of at most MAX_WEIGHTS weights, each (ggml id, address, rows, bits of activations or 0)."""
    return Plan(len(weights), columns, (_Weight * MAX_WEIGHTS)(*(_Weight(*each) for each in weights)))


class Kernels:
    """The functions of one loaded library. All release the GIL and take addresses as integers."""

    __slots__ = ("_round_trip", "_rounding", "_tiles", "_widen", "level", "product", "product_tiled")

    def __init__(self, library: numr.native.NativeLibrary) -> None:
        number, address = ctypes.c_int64, ctypes.c_void_p
        self.level = library.level
        # (plan, x, rows of x, y) -> status, to be passed to `check`; the hot path calls it directly.
        self.product: Callable[[int, int, int, int], int] = library.function(
            "boostr_product", [address, address, number, address], ctypes.c_int
        )
        # The same for many rows and weights of types that `tiles`.
        self.product_tiled: Callable[[int, int, int, int], int] = library.function(
            "boostr_product_tiled", [address, address, number, address], ctypes.c_int
        )
        self._tiles = library.function("boostr_tiles", [number], ctypes.c_int)
        self._rounding = library.function("boostr_rounding", [number], ctypes.c_int)
        self._widen = library.function(
            "boostr_widen", [number, address, address, number, number, number, address], ctypes.c_int
        )
        self._round_trip = library.function(
            "boostr_round_trip", [ctypes.c_int, ctypes.c_int, address, number, number, address], ctypes.c_int
        )

    def rounding(self, type_id: int) -> int:
        """The block in which products of the type round activations; 0: they are dense, -1: there are no kernels."""
        return int(self._rounding(type_id))

    def tiles(self, type_id: int) -> bool:
        """Whether `product_tiled` takes weights of the type."""
        return bool(self._tiles(type_id))

    def widen(self, type_id: int, address: int, rows: int, columns: int, out: int, count: int, ids: int = 0) -> None:
        """The first `count` rows, or those `ids` points to, as float32 at `out`. IndexError for ids outside."""
        status = self._widen(type_id, address, ids, count, rows, columns, out)
        if status == _BAD_ROW:
            raise IndexError(f"row ids must lie in 0..{rows - 1}")
        check(status)

    def round_trip(self, rounding: Rounding, x: int, rows: int, columns: int, out: int) -> None:
        """What products with that rounding see of x, as float32 at `out`."""
        check(self._round_trip(rounding.block, rounding.bits, x, rows, columns, out))


def check(status: int) -> None:
    """Raise what a non-zero status of the library means."""
    if status == _OUT_OF_MEMORY:
        raise DeviceMemoryError("no memory for the scratch space of a product; use shorter batches")
    assert status == 0, f"boostr's kernels were called wrongly (status {status})"


@functools.cache
def kernels() -> Kernels | None:
    """The library, found or built on the first call, or None."""
    library = numr.native.load_library("boostr", _SOURCES, UNITS, includes=[numr.native.include_dir()], flags=FLAGS)
    if library is None:
        return None
    bind = library.function("boostr_bind", [ctypes.c_void_p], ctypes.c_int)
    if bind(numr.native.runtime_address()):
        warnings.warn(
            "boostr's kernels do not know this numr's runtime and run on one thread; install matching versions",
            RuntimeWarning,
            stacklevel=2,
        )
    return Kernels(library)
