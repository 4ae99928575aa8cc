"""Reads what a shared library says of itself: processor, exported names, what it needs. ELF and Mach-O, 64 bits.

Enough to check libraries of platforms that this machine cannot run. Trusts its input: we have just built it.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
_MACH_MACHINES = {0x0100000C: "aarch64", 0x01000007: "x86_64"}


@dataclass(frozen=True)
class Binary:
    """A shared library. `oldest` is the least glibc (ELF) or macOS (Mach-O) that it runs on, () where it says none.

    `signed`: it holds a code signature, without which Macs with ARM processors load nothing; ELF has none.
    """

    format: str
    machine: str
    exports: frozenset[str]
    needs: frozenset[str]
    oldest: tuple[int, ...]
    signed: bool


def read(path: Path) -> Binary:
    """Raises ValueError for a file that is neither."""
    data = path.read_bytes()
    if data[:6] == b"\x7fELF\x02\x01":
        return _elf(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return _mach_o(data)
    raise ValueError(f"{path} is no 64-bit ELF or Mach-O file")


def _string(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _elf(data: bytes) -> Binary:
    machine, table, size, count = (*struct.unpack_from("<18xH", data), *struct.unpack_from("<40xQ10xHH", data))
    # Section header: name, type, flags, address, offset, size, link, info, alignment, size of an entry.
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    exports: set[str] = set()
    needs: set[str] = set()
    for kind, offset, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
        strings = sections[link][4] if link < count else 0
        if kind == 11:  # dynamic symbols: name, info, visibility, section (0: undefined), value, size
            for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[offset : offset + length]):
                if section and info >> 4 in (1, 2):  # global or weak
                    exports.add(_string(data, strings + name))
        if kind == 6:  # dynamic: tag, value; tag 1 names a library
            found = struct.iter_unpack("<qQ", data[offset : offset + length])
            needs.update(_string(data, strings + value) for tag, value in found if tag == 1)
    versions = [tuple(map(int, text.split(b"."))) for text in re.findall(rb"GLIBC_([0-9.]+)\0", data)]
    return Binary("elf", _ELF_MACHINES[machine], frozenset(exports), frozenset(needs), max(versions, default=()), False)


def _mach_o(data: bytes) -> Binary:
    machine, commands = struct.unpack_from("<4xI8xI", data)
    exports: set[str] = set()
    needs: set[str] = set()
    oldest: tuple[int, ...] = ()
    at, signed = 32, False
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 0x2:  # LC_SYMTAB; a symbol: name, type, section, description, value
            symbols, count, strings = struct.unpack_from("<8xIII", data, at)
            for name, kind, _, _, _ in struct.iter_unpack("<IBBHQ", data[symbols : symbols + 16 * count]):
                if kind & 0x1F == 0x0F:  # external and defined, neither private nor for a debugger
                    exports.add(_string(data, strings + name).removeprefix("_"))
        if command & 0x7FFFFFFF in (0xC, 0x18):  # LC_LOAD_DYLIB, weak or not
            needs.add(_string(data, at + struct.unpack_from("<8xI", data, at)[0]))
        if command == 0x32:  # LC_BUILD_VERSION: platform, least version as 16.8.8 bits
            version = struct.unpack_from("<12xI", data, at)[0]
            oldest = (version >> 16, version >> 8 & 255)
        signed = signed or command == 0x1D  # LC_CODE_SIGNATURE
        at += size
    exports -= {"__dso_handle", "_mh_dylib_header"}  # the linker's own
    return Binary("mach-o", _MACH_MACHINES[machine], frozenset(exports), frozenset(needs), oldest, signed)
