"""The C compiler: find one, name its version, run it. Where the result is kept is not decided here."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from numr.errors import NativeError

# Sums may be reassociated and vectorised, but NaN and infinity keep their meaning: no -ffast-math.
MATH_FLAGS = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno")

_BASE = ("-std=gnu11", "-O3", "-fvisibility=hidden", "-fPIC", "-pthread")
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Compiler:
    """A command that compiles C, and the first line of its version text."""

    command: tuple[str, ...]
    version: str

    @property
    def is_zig(self) -> bool:
        """Whether this is `zig cc`, which has its own names for processors."""
        return "ziglang" in self.command or Path(self.command[0]).name == "zig"

    def build(self, units: Sequence[Path], flags: Sequence[str], target: Path) -> None:
        """Compile `units` at the same time and link them into the shared library `target`.

        Raises NativeError with the first complaint.
        """
        spelled = _for_zig(flags) if self.is_zig else flags
        with tempfile.TemporaryDirectory(prefix="numr-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [str(Path(folder, f"{number}.o")) for number in range(len(units))]
            jobs = [
                pool.submit(self._run, [*_BASE, *spelled, "-c", str(unit), "-o", made])
                for unit, made in zip(units, objects, strict=True)
            ]
            for job in jobs:
                job.result()
            self._run([*_BASE, *spelled, "-shared", *objects, "-o", str(target), "-lm"])

    def _run(self, arguments: Sequence[str]) -> None:
        line = [*self.command, *arguments]
        try:
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NativeError(f"{shlex.join(self.command)} did not finish: {error}") from error
        if done.returncode:
            complaints = [text for text in done.stderr.splitlines() if "error" in text] or done.stderr.splitlines()
            raise NativeError(f"{shlex.join(self.command)} failed: {complaints[0] if complaints else done.returncode}")


@functools.cache
def find_compiler() -> Compiler | None:
    """$CC where set, else cc, gcc, clang, else the ziglang package; the first that answers --version."""
    for command in _commands():
        try:
            done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue
        lines = done.stdout.splitlines()
        if done.returncode == 0 and lines:
            return Compiler(tuple(command), lines[0])
    return None


def _for_zig(flags: Sequence[str]) -> list[str]:
    # zig writes x86_64_v3 for x86-64-v3, and without a name it would compile for this very machine
    spelled = [
        flag.replace("-march=x86-64-", "-march=x86_64_").replace("-march=armv8-a", "-mcpu=baseline") for flag in flags
    ]
    named = any(flag.startswith(("-march=", "-mcpu=")) for flag in spelled)
    return spelled if named else ["-mcpu=baseline", *spelled]


def _commands() -> list[list[str]]:
    chosen = os.environ.get("CC", "").strip()
    found = [shlex.split(chosen)] if chosen else []
    found += [[path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found
