"""What a native library is made of, and the stamp that ties a prebuilt file to it. Compiles and loads nothing."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numr.native import levels


@dataclass(frozen=True)
class Recipe:
    """Units (files of `sources`, or beside them) compiled with `flags` and the folders `includes`."""

    name: str
    sources: Path
    units: tuple[str, ...]
    includes: tuple[Path, ...]
    flags: tuple[str, ...]
    prebuilt: Path  # the folder where a wheel puts lib<name>-<level>.so

    @property
    def paths(self) -> list[Path]:
        """The units' files."""
        return [self.sources / unit for unit in self.units]

    def options(self, level: str, machine: str | None = None) -> list[str]:
        """The compiler's flags at a level of `machine` (default: this one)."""
        includes = (f"-I{folder}" for folder in self.includes)
        return [*levels.compiler_flags(level, machine), *self.flags, *includes]

    @functools.cached_property
    def content(self) -> str:
        """A hash of all text that may reach the compiler: .c and .h of `sources`, the units, headers of `includes`."""
        digest = hashlib.sha256(repr((self.name, self.units, self.flags)).encode())
        files = [*sorted(self.sources.rglob("*.[ch]")), *self.paths]
        files += [path for folder in self.includes for path in sorted(folder.rglob("*.h"))]
        for path in files:
            text = path.read_bytes()
            digest.update(f"{path.name} {len(text)}\n".encode())
            digest.update(text)
        return digest.hexdigest()

    def stamp(self, level: str, machine: str | None = None) -> str:
        """What a prebuilt library must say of itself to be taken for this one: name, level and a hash of the rest."""
        flags = levels.compiler_flags(level, machine)
        return f"{self.name} {level} {hashlib.sha256(repr((self.content, flags)).encode()).hexdigest()[:32]}"

    def stamp_unit(self, level: str, machine: str | None = None) -> str:
        """C text of one more unit, which puts the stamp into a prebuilt library."""
        symbol = f"{self.name}_stamp"
        shown = '__attribute__((visibility("default")))'
        return f'extern const char {symbol}[];\n{shown} const char {symbol}[] = "{self.stamp(level, machine)}";\n'


_requested: dict[str, Recipe] = {}


def remember(recipe: Recipe) -> None:
    _requested[recipe.name] = recipe


def requested() -> Mapping[str, Recipe]:
    """The libraries that were asked for in this process, found or not: what a build tool has to build."""
    return dict(_requested)
