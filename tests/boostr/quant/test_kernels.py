"""The native library itself: dequantization bit for bit, every CPU level, warnings as errors."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import numr.native
from boostr.quant import QUANT_TYPES
from boostr.quant import kernels as module
from boostr.quant.kernels import kernels
from numr.native.compiler import find_compiler
from numr.native.levels import compiler_flags, supported
from tests.boostr.quant.random_weights import KERNEL_TYPES

ROOT = Path(__file__).parents[3]
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")

# With scales of 1 and integer activations whose blocks all reach 127, every product is an integer below 2**24: any
# wrong integer sum shows, and all CPU levels must print the same digest.
PROBE = """
import hashlib, numpy as np
from boostr.quant import QUANT_TYPES, Product, QuantTensor
from boostr.quant.kernels import kernels
from numr import Tensor
from tests.boostr.quant.random_weights import set_factor
rng = np.random.default_rng(0)
digest = hashlib.sha256()
types = {
    "Q4_0": {0: 1}, "Q4_1": {0: 1, 2: -3}, "Q5_0": {0: 1}, "Q5_1": {0: 1, 2: -3}, "Q8_0": {0: 1},
    "Q2_K": {80: 1, 82: 1}, "Q3_K": {108: 1}, "Q4_K": {0: 1, 2: 1}, "Q5_K": {0: 1, 2: 1}, "Q6_K": {208: 1},
    "IQ1_S": {0: 8}, "IQ1_M": {0: 8}, "IQ2_XXS": {0: 8}, "IQ2_XS": {0: 8}, "IQ2_S": {0: 8}, "IQ3_XXS": {0: 4},
    "IQ3_S": {0: 1}, "IQ4_NL": {0: 1}, "IQ4_XS": {0: 1}, "TQ1_0": {52: 1}, "TQ2_0": {64: 1}, "MXFP4": {0: 1},
}
for name, halves in types.items():
    kind = QUANT_TYPES[name]
    columns = 1536 if kind.block == 256 else 1504
    raw = rng.integers(0, 256, (13, columns // kind.block, kind.block_bytes), dtype=np.uint8)
    for at, value in halves.items():
        set_factor(name, raw, value, at)
    weight = QuantTensor(raw.reshape(13, -1), kind, (13, columns))
    few = kind.block == 256  # keep sums of 63 * 63 * 127 below 2**24
    x = np.zeros((8, columns), np.float32)
    for row in x:
        picked = rng.permutation(columns)[: 24 if few else 300]
        row[picked] = rng.integers(-127, 128, picked.size)
        row[:: kind.block] = 127
    wide = rng.integers(-32767, 32768, x.shape).astype(np.float32)
    wide[:, :: kind.block] = 32767
    floats = weight.dequantize().astype(np.float64).T
    for m in (1, 2, 5, 8):
        (y,) = Product([weight], "int8", few=8)(Tensor(x[:m].copy()))
        exact = x[:m].astype(np.float64) @ floats
        assert np.abs(exact).max() < 2**24, name
        assert np.array_equal(y.array, exact), (name, m)
        digest.update(y.array.tobytes())
        # Int16 activations make larger sums, which float32 rounds: nothing but that may be lost.
        (y,) = Product([weight], "int16", few=8)(Tensor(wide[:m].copy()))
        exact = wide[:m].astype(np.float64) @ floats
        assert np.abs(y.array - exact).max() < 2e-6 * np.abs(exact).max(), (name, m)
print(kernels().level if kernels() else "none", digest.hexdigest())
"""


@pytest.mark.parametrize("name", KERNEL_TYPES)
@pytest.mark.parametrize("kind", ["", "fuzz_"])
def test_dequantization_equals_ggml(name: str, kind: str) -> None:
    found = kernels()
    if found is None:
        pytest.skip("no native kernels on this machine")
    golden = load_file(ROOT / "tests/data/quants" / f"{name}.safetensors")
    raw, expected = golden[f"{kind}raw"], golden[f"{kind}deq"].reshape(len(golden[f"{kind}raw"]), -1)
    out = np.empty(expected.shape, np.float32)
    found.widen(QUANT_TYPES[name].id, raw.ctypes.data, *expected.shape, out.ctypes.data, len(out))
    np.testing.assert_array_equal(out, expected)


def probe(level: str) -> list[str]:
    environment = {**os.environ, "NUMR_CPU_LEVEL": level, "PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_compiler
@pytest.mark.parametrize("level", supported())
def test_integer_sums_are_exact_on_every_level(level: str) -> None:
    assert probe(level) == [level, probe("none")[1]]


@needs_compiler
@pytest.mark.parametrize("level", supported())
def test_sources_compile_without_warnings(level: str, tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    sources = Path(module.__file__).parent / "native"
    flags = [*compiler_flags(level), f"-I{numr.native.include_dir()}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command = [*compiler.command, "-std=gnu11", "-O1", *flags, *(str(path) for path in sorted(sources.glob("*.c")))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_a_runtime_of_another_version_is_refused() -> None:
    found = kernels()
    if found is None:
        pytest.skip("no native kernels on this machine")
    bind = numr.native.load_library(
        "boostr",
        Path(module.__file__).parent / "native",
        module.UNITS,
        includes=[numr.native.include_dir()],
        flags=module.FLAGS,
    )
    assert bind is not None
    foreign = np.array([2, 40, 0, 0, 0, 0, 0, 0, 0, 0], np.uint32)
    assert bind.function("boostr_bind", [ctypes.c_void_p], ctypes.c_int)(foreign.ctypes.data) == 1
