"""The check program that emulators run, run here on this level's library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from boostr.nn.kernels import kernels
from numr import native
from numr.native.compiler import find_compiler


def test_the_library_that_runs_here_passes(tmp_path: Path) -> None:
    compiler, numr = find_compiler(), native.library()
    if compiler is None or numr is None or kernels() is None:
        pytest.skip("no compiler, or no native code at this level")
    source, program = Path(__file__).with_name("check.c"), tmp_path / "check"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{native.include_dir()}"]
    asked = native.requested()["boostr_nn"]
    mine = native.load_library(asked.name, asked.sources, asked.units, includes=asked.includes, flags=asked.flags)
    assert mine is not None
    libraries = [str(mine.path), str(numr.path)]
    subprocess.run([*compiler.command, *flags, str(source), *libraries, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert " 0 failed" in done.stdout
