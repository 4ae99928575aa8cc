"""The probe library, built like any other package's and bound to libnumr's runtime."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from numr import native
from numr.native import NativeLibrary

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def probe() -> NativeLibrary:
    library = native.load_library("probe", HERE, ["probe.c"], includes=[native.include_dir()])
    if library is None:
        pytest.skip("no native code at this level")
    bind = library.function("probe_bind", [ctypes.c_void_p], ctypes.c_int)
    assert bind(native.runtime_address()) == 0
    return library
