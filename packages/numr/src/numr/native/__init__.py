"""The native runtime: libnumr (thread pool, scratch memory, fused primitives) and the loader that other packages use.

Knows no tensors. Without a compiler or a prebuilt library everything here says "none" and NumPy does the work.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from pathlib import Path
from typing import Any

from numr.native.compiler import MATH_FLAGS, find_compiler
from numr.native.levels import supported
from numr.native.loader import NativeLibrary, load_library
from numr.native.recipe import requested
from numr.native.threads import get_num_threads, limit_blas, on_change, set_num_threads

__all__ = [
    "MATH_FLAGS",
    "NativeLibrary",
    "get_num_threads",
    "include_dir",
    "level",
    "library",
    "limit_blas",
    "load_library",
    "requested",
    "runtime_address",
    "set_num_threads",
    "show_config",
    "supported",
]

_UNITS = ("pool.c", "runtime.c", "elementwise.c", "rows.c", "kv.c", "attention_tile.c", "attention.c")
# Every sum is written out in vectors, so that range reductions such as (x - k*a) - k*b must not be rearranged.
_FLAGS = tuple(flag for flag in MATH_FLAGS if flag != "-fassociative-math")
_loading = threading.Lock()  # threads that arrive together must not end with two pools


def include_dir() -> Path:
    """The folder that holds numr_runtime.h."""
    return Path(__file__).parent / "src"


@functools.cache
def library() -> NativeLibrary | None:
    """libnumr, found or built on the first call; None where NumPy does the work. Raises NativeError for a bad level."""
    with _loading:
        return _load()


@functools.cache
def _load() -> NativeLibrary | None:
    loaded = load_library("numr", include_dir(), _UNITS, flags=_FLAGS)
    if loaded is not None:
        on_change(loaded.function("numr_set_threads", [ctypes.c_int]))
    return loaded


def runtime_address() -> int:
    """The address of the `numr_runtime` struct for another library to bind; 0 where there is no libnumr."""
    loaded = library()
    if loaded is None:
        return 0
    return int(loaded.function("numr_runtime_get", [], ctypes.c_void_p)())


def level() -> str:
    """The CPU level that runs: "avx512vnni", "avx512", "avx2" on x86-64, "neondot", "neon" on ARM, "baseline" (plain C)
    anywhere, or "none" (NumPy)."""
    loaded = library()
    return loaded.level if loaded else "none"


def show_config() -> dict[str, Any]:
    """Which native code runs, from where, built by what, on how many threads."""
    loaded = library()
    compiler = find_compiler() if loaded is None else None
    return {
        "level": loaded.level if loaded else "none",
        "supported": list(supported()),
        "library": str(loaded.path) if loaded else None,
        "found": loaded.found if loaded else None,
        "compiler": loaded.compiler if loaded else compiler.version if compiler else None,
        "threads": get_num_threads(),
    }
