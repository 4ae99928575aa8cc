"""Compiles the native libraries for every platform and CPU level, and puts them into wheels beside the pure ones.

    python tools/build_native.py libraries --out build/native     # cross-compiled by the ziglang package
    python tools/build_native.py wheels --out build/native --dist dist

Which libraries there are, and of what, is what the packages themselves ask numr's loader for; see docs/building.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # run as a script, or imported by tests
import binaries

from numr.native import requested
from numr.native.compiler import Compiler
from numr.native.levels import ladder

ROOT = Path(__file__).parents[1]
PACKAGES = ("numr", "boostr", "blazr")
LINUX_NEEDS = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MAC_NEEDS = {"/usr/lib/libSystem.B.dylib"}


@dataclass(frozen=True)
class Platform:
    """Where a wheel runs: its tag, zig's name for it, the processor family and the least C library or system."""

    name: str
    tag: str
    target: str
    machine: str
    suffix: str
    needs: frozenset[str]
    oldest: tuple[int, int]


# glibc 2.17 and macOS 11 are the oldest that pip's tags and NumPy's wheels reach back to.
PLATFORMS = (
    Platform(
        "linux-x86_64",
        "manylinux_2_17_x86_64",
        "x86_64-linux-gnu.2.17",
        "x86_64",
        ".so",
        frozenset(LINUX_NEEDS),
        (2, 17),
    ),
    Platform(
        "linux-aarch64",
        "manylinux_2_17_aarch64",
        "aarch64-linux-gnu.2.17",
        "aarch64",
        ".so",
        frozenset(LINUX_NEEDS),
        (2, 17),
    ),
    Platform(
        "macos-arm64",
        "macosx_11_0_arm64",
        "aarch64-macos.11.0",
        "aarch64",
        ".dylib",
        frozenset(MAC_NEEDS),
        (11, 0),
    ),
)


@dataclass(frozen=True)
class Job:
    """One library of one platform and level."""

    platform: Platform
    level: str
    name: str
    target: Path


def zig(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ziglang", *arguments]


def compiler(platform: Platform) -> Compiler:
    return Compiler(tuple(zig("cc", "-target", platform.target)), "zig")


def ask_for_every_library() -> None:
    """Makes each package ask the loader for its libraries. NUMR_CPU_LEVEL=none: nothing is loaded or compiled."""
    import boostr.nn.kernels
    import boostr.quant.kernels
    import numr.native

    numr.native.library()
    boostr.quant.kernels.kernels()
    boostr.nn.kernels.kernels()


def inside(package: str) -> dict[str, Path]:
    """The libraries of a package, and where each lies in its wheel."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent  # in the source tree, or beside the other packages where they are installed
    found = {recipe.name: recipe.prebuilt for recipe in requested().values()}
    return {name: path.relative_to(folder.parent) for name, path in found.items() if path.is_relative_to(folder)}


def jobs(out: Path) -> Iterator[Job]:
    libraries = [each for package in PACKAGES for each in inside(package).items()]
    for platform in PLATFORMS:
        for name, folder in libraries:
            for level, _, _ in ladder(platform.machine):
                yield Job(platform, level, name, out / platform.name / folder / f"lib{name}-{level}{platform.suffix}")


def build(job: Job) -> Job:
    recipe = requested()[job.name]
    job.target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "stamp.c"
        unit.write_text(recipe.stamp_unit(job.level, job.platform.machine))
        options = [*recipe.options(job.level, job.platform.machine), "-Wl,-s"]
        if job.platform.suffix == ".dylib":  # otherwise a file names itself by the path that it was linked to
            options.append(f"-Wl,-install_name,@rpath/{job.target.name}")
        compiler(job.platform).build([*recipe.paths, unit], options, job.target)
    return job


def faults(job: Job, expected: frozenset[str] | None) -> list[str]:
    """What is wrong with a library, as far as its file tells; `expected` is what its other builds export."""
    found, platform = binaries.read(job.target), job.platform
    stamp = requested()[job.name].stamp(job.level, platform.machine).encode()
    data = job.target.read_bytes()
    said = []
    if found.machine != platform.machine:
        said.append(f"is for {found.machine}")
    if not found.needs <= platform.needs:
        said.append(f"needs {sorted(found.needs - platform.needs)}")
    if found.oldest > platform.oldest:
        said.append(f"runs only from {found.oldest} on")
    if found.format == "mach-o" and not found.signed:
        said.append("is not signed")
    if expected is not None and found.exports != expected:
        said.append(f"differs in exports: {sorted(found.exports ^ expected)}")
    if f"{job.name}_stamp" not in found.exports or stamp not in data:
        said.append("carries no stamp")
    if any(str(folder).encode() in data for folder in (ROOT, job.target.parent.resolve())):
        said.append("names a folder of this machine")
    return [f"{job.target}: {fault}" for fault in said]


def build_libraries(out: Path) -> int:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(build, jobs(out)))
    exports: dict[str, frozenset[str]] = {}
    wrong = []
    for job in built:
        expected = exports.setdefault(job.name, binaries.read(job.target).exports)
        wrong += faults(job, expected)
        print(
            f"{job.platform.name:14} {job.name:10} {job.level:11} {job.target.stat().st_size >> 10:5} KiB", flush=True
        )
    print("\n".join(wrong) or f"{len(built)} libraries, each with its stamp and the same exports on every platform")
    return 1 if wrong else 0


def build_wheels(out: Path, dist: Path) -> int:
    """For every package a source distribution and a pure wheel; for numr and boostr one wheel per platform too."""
    for package in PACKAGES:
        for old in dist.glob(f"{package}-*"):
            old.unlink()
        line = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
        source = str(ROOT / "packages" / package)
        subprocess.run([*line, source], check=True)
        for platform in PLATFORMS:
            libraries = out / platform.name
            if not (libraries / package).is_dir():
                continue
            found = {"NUMR_WHEEL_LIBRARIES": str(libraries.resolve()), "NUMR_WHEEL_PLATFORM": platform.tag}
            subprocess.run([*line, "--wheel", source], check=True, env=os.environ | found)
    wrong = [fault for path in sorted(dist.glob("*.whl")) for fault in wheel_faults(path)]
    print("\n".join(wrong) or f"wheels in {dist}, each with the libraries that its tag promises")
    return 1 if wrong else 0


def wheel_faults(path: Path) -> list[str]:
    """What is wrong with a wheel: libraries missing, libraries of another platform, or in one for any platform."""
    with zipfile.ZipFile(path) as wheel:
        held = {Path(name).name for name in wheel.namelist() if name.endswith((".so", ".dylib"))}
    package = path.name.partition("-")[0]
    platform = next((each for each in PLATFORMS if path.stem.endswith(each.tag)), None)
    names = inside(package)
    levels = [level for level, _, _ in ladder(platform.machine)] if platform else []
    expected = {f"lib{name}-{level}{platform.suffix}" for name in names for level in levels} if platform else set()
    return [f"{path}: {name} is missing or too much" for name in sorted(held ^ expected)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("libraries", "wheels"))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "native", help="folder of the libraries")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the wheels")
    given = parser.parse_args()
    os.environ["NUMR_CPU_LEVEL"] = "none"
    ask_for_every_library()
    return build_wheels(given.out, given.dist) if given.what == "wheels" else build_libraries(given.out)


if __name__ == "__main__":
    sys.exit(main())
