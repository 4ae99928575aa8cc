"""Run boostr's kernels, products and recurrences, under sanitizers at each CPU level here.

    python tests/boostr/quant/native/sanitize.py

The check programs drive them; libnumr's sources are compiled in, so that its pool and scratch memory are watched too.
Takes minutes, mostly compiling, so it is a session of its own and no part of the test suite.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import boostr
from numr.native import include_dir, levels
from numr.native.compiler import find_compiler

sys.path.insert(0, str(Path(__file__).parent))
from write_types import HEADER, header

SANITIZERS = ("address,undefined", "thread")
CHECKS = Path(__file__).parents[2]
SOURCES = Path(boostr.__file__).parent
FLAGS = ["-std=gnu11", "-O1", "-g", "-pthread", "-ffp-contract=off", "-fno-sanitize-recover=all"]


@dataclass(frozen=True)
class Job:
    """One program: the kernels of a folder under a sanitizer at a level."""

    area: str
    level: str
    sanitizer: str


def jobs() -> Iterator[Job]:
    for level in levels.supported():
        for area in ("quant", "nn"):
            for sanitizer in SANITIZERS:
                yield Job(area, level, sanitizer)


def build(job: Job, compiler: list[str], program: Path) -> None:
    # Objects, not one program from all sources: both libraries have a unit called runtime.c.
    native = SOURCES / job.area / "native"
    # The recurrences bind to the runtime through a unit of the products' library.
    shared = [] if job.area == "quant" else [SOURCES / "quant" / "native" / "runtime.c"]
    units = [*sorted(include_dir().glob("*.c")), *sorted(native.glob("*.c")), *shared]
    units.append(CHECKS / job.area / "native" / "check.c")
    includes = [f"-I{include_dir()}", f"-I{SOURCES / 'quant' / 'native'}"]
    line = [*compiler, *FLAGS, *includes, f"-fsanitize={job.sanitizer}", *levels.compiler_flags(job.level)]
    subprocess.run([*line, *map(str, units), "-o", str(program), "-lm"], check=True)


def passes(job: Job, compiler: list[str], folder: Path) -> bool:
    program = folder / f"{job.area}-{job.level}-{job.sanitizer.partition(',')[0]}"
    build(job, compiler, program)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    verdict = "ok" if done.returncode == 0 else "FAILED"
    print(f"{job.area:6} {job.level:12} {job.sanitizer:20} {verdict}: {done.stdout.strip()[-60:]}", flush=True)
    if done.returncode:
        print(done.stdout[-2000:] + done.stderr[-4000:])
    return done.returncode == 0


def main() -> int:
    compiler = find_compiler()
    if compiler is None:
        print("no C compiler")
        return 1
    if HEADER.read_text(encoding="utf-8") != header():
        print(f"{HEADER} is out of date: run write_types.py beside it")
        return 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda job: passes(job, list(compiler.command), Path(folder)), jobs()))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
