"""CPU levels: the instruction sets this machine has and the compiler flags that use them. Nothing is compiled here."""

from __future__ import annotations

import functools
import os
import platform
import sys
from pathlib import Path

from numr.errors import NativeError

Ladder = tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]

# Best first, per machine: (level, /proc/cpuinfo flags it needs, compiler flags).
_AVX2 = ("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd")
_LADDERS: dict[str, Ladder] = {
    "x86_64": (
        ("avx512vnni", (*_AVX512, "avx512_vnni"), ("-march=x86-64-v4", "-mavx512vnni")),
        ("avx512", _AVX512, ("-march=x86-64-v4",)),
        ("avx2", _AVX2, ("-march=x86-64-v3",)),
        ("baseline", (), ()),
    ),
    # The byte products of "neondot" are not in ARMv8.0, which "neon" is; of ARMv8.2 it needs nothing else.
    "aarch64": (
        ("neondot", ("asimddp",), ("-march=armv8-a+dotprod",)),
        ("neon", (), ()),
        ("baseline", (), ("-DNUMR_PLAIN",)),
    ),
}
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def machine() -> str:
    """The processor family under one spelling: x86_64, aarch64, or what the platform says."""
    name = platform.machine().lower()
    return _MACHINES.get(name, name)


def supported() -> tuple[str, ...]:
    """The levels this machine can run, best first; at least "baseline" (plain C)."""
    flags = _cpu_flags()
    return tuple(level for level, needs, _ in ladder(machine()) if flags.issuperset(needs))


def ladder(processor: str) -> Ladder:
    """The levels of a processor family, best first: (name, /proc/cpuinfo flags it needs, compiler flags)."""
    return _LADDERS.get(processor, (("baseline", (), ()),))


def compiler_flags(level: str, processor: str | None = None) -> tuple[str, ...]:
    """What to tell the compiler so that it may use the level's instructions; `processor` is this machine's if None."""
    return next((flags for name, _, flags in ladder(processor or machine()) if name == level), ())


def forced() -> str | None:
    """The level that NUMR_CPU_LEVEL asks for, or None. Raises NativeError if this machine cannot run it."""
    value = os.environ.get("NUMR_CPU_LEVEL", "").strip().lower()
    if not value:
        return None
    choices = (*supported(), "none")
    if value not in choices:
        raise NativeError(f"NUMR_CPU_LEVEL={value!r} cannot be used here: choose one of {', '.join(choices)}")
    return value


def candidates() -> tuple[str, ...]:
    """The levels a library may have, best first: the forced one alone, or all that run here. Empty: no native code."""
    level = forced()
    if level == "none":
        return ()
    return (level,) if level else supported()


@functools.cache
def _cpu_flags() -> frozenset[str]:
    # Linux hides there what the kernel does not save on a task switch. Every Mac with an ARM processor has the byte
    # products; elsewhere only the lowest levels are certain.
    if not sys.platform.startswith("linux"):
        return frozenset({"asimddp"} if sys.platform == "darwin" and machine() == "aarch64" else ())
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):  # as x86 and ARM call them
            return frozenset(value.split())
    return frozenset()
