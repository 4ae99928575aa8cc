"""Run every kernel of libnumr under the address, undefined-behaviour and thread sanitizers, at each CPU level here.

    python tests/numr/native/sanitize.py

Takes about a minute, mostly compiling, so it is a session of its own and no part of the test suite.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from numr.native import include_dir, levels
from numr.native.compiler import find_compiler

SANITIZERS = ("address,undefined", "thread")


def main() -> int:
    compiler = find_compiler()
    if compiler is None:
        print("no C compiler")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for level in levels.supported():
            for sanitizer in SANITIZERS:
                failures += not passes(list(compiler.command), level, sanitizer, Path(folder) / "exercise")
    return 1 if failures else 0


def passes(compiler: list[str], level: str, sanitizer: str, program: Path) -> bool:
    units = [*map(str, sorted(include_dir().glob("*.c"))), str(Path(__file__).with_name("exercise.c"))]
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{include_dir()}"]
    flags += [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", *levels.compiler_flags(level)]
    subprocess.run([*compiler, *flags, *units, "-o", str(program), "-lm"], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    print(f"{level:12} {sanitizer:20} {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode:
        print(done.stderr[-4000:])
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
