"""What the build of native libraries rests on: each is listed once, files are read rightly, hooks are alike."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tools import binaries, build_native

from numr import native
from numr.native import levels

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "packages"

LIST = """
import pathlib, sys
from tools import build_native
build_native.ask_for_every_library()
for job in build_native.jobs(pathlib.Path("out")):
    print(job.name, job.platform.machine, job.level, job.target)
"""


def test_every_library_of_the_packages_is_built_at_every_level() -> None:
    text = "".join(path.read_text("utf-8") for path in PACKAGES.glob("*/src/**/*.py"))
    names = set(re.findall(r'\bload_library\(\s*"(\w+)"', text))
    assert {"numr", "boostr"} <= names
    environment = os.environ | {"NUMR_CPU_LEVEL": "none", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=True, env=environment)
    listed = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
    machines = [platform.machine for platform in build_native.PLATFORMS]
    expected = [(name, of, level) for of in machines for level, _, _ in levels.ladder(of) for name in names]
    assert sorted((name, of, level) for name, of, level, _ in listed) == sorted(expected)
    assert len({target for *_, target in listed}) == len(listed)
    assert str(Path("out/linux-x86_64/numr/native/lib/libnumr-avx2.so")) in {target for *_, target in listed}


def test_the_hooks_of_the_packages_are_the_same() -> None:
    hooks = {path.read_bytes() for path in PACKAGES.glob("*/hatch_build.py")}
    assert len(hooks) == 1
    for package in ("numr", "boostr"):
        assert "[tool.hatch.build.targets.wheel.hooks.custom]" in (PACKAGES / package / "pyproject.toml").read_text()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries here are no ELF files")
def test_an_elf_library_is_read() -> None:
    library = native.library()
    if library is None:
        pytest.skip("no native code at this level")
    found = binaries.read(library.path)
    text = "".join(path.read_text() for path in native.include_dir().glob("*.[ch]"))
    declared = {name for name in re.findall(r"NUMR_EXPORT [\w *]*?(numr_\w+)\(", text) if name != "numr_"}
    assert len(declared) > 8
    assert declared <= found.exports
    assert "kv_check" not in found.exports  # hidden
    assert (found.format, found.machine) == ("elf", levels.machine())
    assert "libc.so.6" in found.needs
    assert found.oldest >= (2, 2)


def mach_o(symbols: dict[bytes, int], needs: bytes) -> bytes:
    """A file with a symbol table {name: type}, one library that it needs, and macOS 11.3 as the oldest system."""
    strings = b"\0" + b"".join(name + b"\0" for name in symbols)
    table = b"".join(
        struct.pack("<IBBHQ", strings.index(name + b"\0"), kind, 0, 0, 0) for name, kind in symbols.items()
    )
    path = needs + b"\0" * (8 - len(needs) % 8)
    load = struct.pack("<IIIIII", 0xC, 24 + len(path), 24, 0, 0, 0) + path
    version = struct.pack("<IIIIII", 0x32, 24, 1, 11 << 16 | 3 << 8, 0, 0)
    signature = struct.pack("<IIII", 0x1D, 16, 0, 0)
    begin = 32 + 24 + len(load) + len(version) + len(signature)
    symtab = struct.pack("<IIIIII", 0x2, 24, begin, len(symbols), begin + len(table), len(strings))
    header = struct.pack("<IiiIIIII", 0xFEEDFACF, 0x0100000C, 0, 6, 4, begin - 32, 0, 0)
    return header + symtab + load + version + signature + table + strings


def test_a_mach_o_library_is_read(tmp_path: Path) -> None:
    symbols = {b"_numr_add": 0x0F, b"_hidden": 0x1F, b"_local": 0x0E, b"_malloc": 0x01, b"___dso_handle": 0x0F}
    (tmp_path / "a.dylib").write_bytes(mach_o(symbols, b"/usr/lib/libSystem.B.dylib"))
    found = binaries.read(tmp_path / "a.dylib")
    assert found.exports == {"numr_add"}
    assert found.needs == {"/usr/lib/libSystem.B.dylib"}
    assert (found.format, found.machine, found.oldest, found.signed) == ("mach-o", "aarch64", (11, 3), True)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"!<arch>\n" * 10)
    with pytest.raises(ValueError, match=r"a\.so is no 64-bit"):
        binaries.read(tmp_path / "a.so")


@pytest.mark.parametrize(
    ("tag", "change", "faults"),
    [
        ("manylinux_2_17_x86_64", None, 0),
        ("any", "empty", 0),
        ("any", None, 4),
        ("manylinux_2_17_x86_64", "empty", 4),
        ("manylinux_2_17_aarch64", None, 5),  # three levels of another processor, two missing
    ],
)
def test_a_wheel_holds_what_its_tag_promises(tmp_path: Path, tag: str, change: str | None, faults: int) -> None:
    native.library()  # asks for it, whatever level runs here
    path = tmp_path / f"numr-0.1.0-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("numr/__init__.py", "")
        for level, _, _ in levels.ladder("x86_64"):
            if change != "empty":
                wheel.writestr(f"numr/native/lib/libnumr-{level}.so", "")
    assert len(build_native.wheel_faults(path)) == faults
