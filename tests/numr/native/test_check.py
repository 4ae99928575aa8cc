"""The check programs that emulators run, run here: on this level's libraries, and on one that is wrong."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from numr import native
from numr.native.compiler import find_compiler

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that compiles check.c; a library or more units are to be added."""
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{native.include_dir()}"]
    return [*compiler.command, *flags, str(HERE / "check.c")]


def run(build: list[str], program: Path, *more: str) -> subprocess.CompletedProcess[str]:
    subprocess.run([*build, *more, "-lm", "-o", str(program)], check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=False)


def test_the_library_that_runs_here_passes(build: list[str], tmp_path: Path) -> None:
    library = native.library()
    if library is None:
        pytest.skip("no native code at this level")
    done = run(build, tmp_path / "check", str(library.path))
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[-4]) > 300


def test_a_wrong_kernel_is_found(build: list[str], tmp_path: Path) -> None:
    shutil.copytree(native.include_dir(), tmp_path / "src")
    source = tmp_path / "src" / "rows.c"
    source.write_text(source.read_text().replace("(float)width + eps", "(float)width - eps * 100"))
    done = run(build, tmp_path / "check", *map(str, (tmp_path / "src").glob("*.c")))
    assert done.returncode == 1
    assert "rms_norm" in done.stdout
