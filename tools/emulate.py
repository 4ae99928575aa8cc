"""Runs the prebuilt libraries on emulated processors, each driven by the check programs of the tests.

    python tools/emulate.py --out build/native      # after: build_native.py libraries

The files are those of the wheels. Each runs on the least processor of its level, under qemu's user mode (Debian's
qemu-user), ARM ones with the C library of libc6-arm64-cross. That the emulator refuses what a processor does not have
is checked first: AVX2 code must end in SIGILL on the one that stands for the baseline. Levels with AVX are left to
real processors: qemu 7.2 flushes subnormal halves, which vcvtps2ph never does.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from build_native import PLATFORMS, ROOT, compiler

from numr.native import include_dir

ARM_SYSROOT = Path(os.environ.get("ARM_SYSROOT", "/usr/aarch64-linux-gnu"))


@dataclass(frozen=True)
class Processor:
    """The least processor that a level runs on, under the emulator's name."""

    platform: str
    level: str
    model: str


PROCESSORS = (
    Processor("linux-x86_64", "baseline", "Nehalem"),  # SSE4.2, the last without AVX
    Processor("linux-aarch64", "baseline", "cortex-a57"),  # ARMv8.0
    Processor("linux-aarch64", "neon", "cortex-a57"),
    Processor("linux-aarch64", "neondot", "neoverse-n1"),
)


@dataclass(frozen=True)
class Check:
    """A check program, and the libraries that it calls as paths in a wheel, `{level}` standing for the level."""

    source: Path
    libraries: tuple[str, ...]
    includes: tuple[Path, ...]


NUMR = "numr/native/lib/libnumr-{level}.so"
CHECKS = (
    Check(ROOT / "tests/numr/native/check.c", (NUMR,), (include_dir(),)),
    Check(
        ROOT / "tests/boostr/quant/native/check.c", ("boostr/quant/lib/libboostr-{level}.so", NUMR), (include_dir(),)
    ),
    Check(ROOT / "tests/boostr/nn/native/check.c", ("boostr/nn/lib/libboostr_nn-{level}.so", NUMR), (include_dir(),)),
)


def emulator(platform: str, model: str) -> list[str]:
    name = f"qemu-{platform.removeprefix('linux-')}"
    found = shutil.which(name) or shutil.which(f"{name}-static")
    if found is None:
        sys.exit(f"{name} is not installed: apt-get install qemu-user")
    if platform == "linux-aarch64" and not ARM_SYSROOT.is_dir():
        sys.exit(f"no C library for ARM in {ARM_SYSROOT}: apt-get install libc6-arm64-cross, or set ARM_SYSROOT")
    return [found, "-cpu", model, *(["-L", str(ARM_SYSROOT)] if platform == "linux-aarch64" else [])]


def compile_check(check: Check, platform: str, libraries: list[Path], program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    command = compiler(next(each for each in PLATFORMS if each.name == platform)).command
    flags = ["-std=gnu11", "-O1", "-pthread", "-mcpu=baseline", *(f"-I{folder}" for folder in check.includes)]
    found = [flag for path in libraries for flag in (str(path), f"-Wl,-rpath,{path.parent.resolve()}")]
    subprocess.run([*command, *flags, str(check.source), *found, "-lm", "-o", str(program)], check=True)


def run(check: Check, processor: Processor, out: Path, model: str | None = None) -> subprocess.CompletedProcess[str]:
    libraries = [out / processor.platform / path.format(level=processor.level) for path in check.libraries]
    program = out / "checks" / f"{libraries[0].stem}-{processor.platform}"
    compile_check(check, processor.platform, libraries, program)
    line = [*emulator(processor.platform, model or processor.model), str(program)]
    return subprocess.run(line, capture_output=True, text=True, timeout=3000, check=False)


def libraries_of(check: Check) -> str:
    return Path(check.libraries[0]).name.removeprefix("lib").partition("-")[0]


def bits_in(line: str) -> str:
    """The hash of results that must have the same bits on every processor, where a check prints one."""
    return line.partition("bits ")[2].partition(":")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "native", help="folder of the libraries")
    out = parser.parse_args().out
    refused = run(CHECKS[0], Processor("linux-x86_64", "avx2", "Nehalem"), out)
    failures = int(refused.returncode not in (-signal.SIGILL, 128 + signal.SIGILL))
    print(f"avx2 on Nehalem {'is NOT refused' if failures else 'is refused'}", flush=True)
    bits: dict[str, str] = {}
    for processor in PROCESSORS:
        for check in CHECKS:
            done = run(check, processor, out)
            said = done.stdout.splitlines()[-1:] or done.stderr.splitlines()[-1:] or [f"ended with {done.returncode}"]
            where = f"{processor.platform:14} {processor.level:9} on {processor.model:12} {libraries_of(check)}"
            print(f"{where:60} {'ok' if done.returncode == 0 else 'FAILED'}: {said[0]}", flush=True)
            if done.returncode:
                failures += 1
                print(done.stdout + done.stderr)
            elif bits.setdefault(libraries_of(check), bits_in(said[0])) != bits_in(said[0]):
                failures += 1
                print("FAILED: other bits than on the first processor")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
