"""Find or build one native library: prebuilt beside its sources, else compiled once into the user's cache, else none.

Serves libnumr and the libraries of packages above; knows none of their functions.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numr.errors import NativeError
from numr.native import levels
from numr.native.cache import build_lock, is_trusted, open_cache
from numr.native.compiler import MATH_FLAGS, Compiler, find_compiler
from numr.native.recipe import Recipe, remember

_log = logging.getLogger(__name__)
_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
_warned: set[str] = set()


@dataclass(frozen=True, slots=True)
class NativeLibrary:
    """A loaded library: its CPU level, its file, how it was found ("prebuilt", "cache", "compiled"), its compiler."""

    name: str
    level: str
    path: Path
    found: str
    compiler: str | None
    handle: ctypes.CDLL

    def function(self, name: str, argtypes: Sequence[Any], restype: Any = None) -> Callable[..., Any]:
        """The exported function `name`, its signature fixed; calls release the GIL. Raises NativeError if absent."""
        try:
            function = self.handle[name]
        except AttributeError as error:
            raise NativeError(f"{self.path} exports no {name}") from error
        function.argtypes = list(argtypes)
        function.restype = restype
        return function


def load_library(
    name: str,
    sources: Path,
    units: Sequence[str],
    *,
    includes: Sequence[Path] = (),
    flags: Sequence[str] = MATH_FLAGS,
    prebuilt: Path | None = None,
) -> NativeLibrary | None:
    """Load library `name`, or return None (with one warning per process) where NumPy has to do the work.

    A prebuilt file lib<name>-<level>.so in `prebuilt` (default: folder `lib` beside the folder `sources`) comes first,
    if it was made of the very sources that lie here. Otherwise `units`, files of `sources`, are compiled with `flags`
    and the folders `includes`; the cache's key covers every .c and .h of `sources`, the units, the headers of
    `includes`, the flags and the compiler. Raises NativeError for a bad NUMR_CPU_LEVEL.
    """
    recipe = Recipe(name, sources, tuple(units), tuple(includes), tuple(flags), prebuilt or sources.parent / "lib")
    remember(recipe)
    wanted = levels.candidates()
    if not wanted:
        return None
    found = _find_prebuilt(recipe, wanted)
    if found is not None:
        return found
    try:
        return _compiled(recipe, wanted[0])
    except NativeError as error:
        _warn_once("none", f"no native kernels, NumPy does the work (slowly): {error}")
        return None


def _warn_once(key: str, text: str) -> None:
    if key not in _warned:
        _warned.add(key)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _find_prebuilt(recipe: Recipe, wanted: Iterable[str]) -> NativeLibrary | None:
    for level in wanted:
        path = recipe.prebuilt / f"lib{recipe.name}-{level}{_SUFFIX}"
        if not path.is_file():
            continue
        try:
            handle = ctypes.CDLL(str(path))
        except OSError as error:  # for another C library or processor: compile instead
            _log.info("prebuilt %s does not load: %s", path, error)
            continue
        if _stamp(handle, recipe.name) == recipe.stamp(level):
            return NativeLibrary(recipe.name, level, path, "prebuilt", None, handle)
        _warn_once(str(path), f"{path} was built from other sources than those beside it and is not used; reinstall")
    return None


def _stamp(handle: ctypes.CDLL, name: str) -> str | None:
    try:
        first = ctypes.c_char.in_dll(handle, f"{name}_stamp")
    except ValueError:
        return None
    return ctypes.string_at(ctypes.addressof(first)).decode("ascii", "replace")


def _compiled(recipe: Recipe, level: str) -> NativeLibrary:
    if os.name != "posix":
        raise NativeError(f"kernels are not compiled on {sys.platform}")
    compiler = find_compiler()
    if compiler is None:
        raise NativeError("no C compiler found; install gcc or clang, or set CC")
    file = f"{recipe.name}-{level}-{_key(recipe, level, compiler)}{_SUFFIX}"
    build = _Build(recipe.name, level, compiler, recipe.paths, recipe.options(level), file)
    try:
        folder = open_cache()
    except NativeError as error:
        _warn_once("cache", f"compiling kernels for this process only: {error}")
        return build.once()
    return build.cached(folder)


def _key(recipe: Recipe, level: str, compiler: Compiler) -> str:
    made_of = (recipe.stamp(level), sys.platform, levels.machine(), compiler)
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Build:
    name: str
    level: str
    compiler: Compiler
    units: list[Path]
    options: list[str]
    file: str

    def cached(self, folder: Path) -> NativeLibrary:
        target = folder / self.file
        ready = self._open(target, "cache")
        if ready is not None:
            return ready
        with build_lock(target.with_suffix(".lock")):
            ready = self._open(target, "cache")  # another process may have built it meanwhile
            if ready is not None:
                return ready
            handle, temporary = tempfile.mkstemp(prefix=self.name, suffix=".part", dir=folder)
            os.close(handle)
            try:
                self._compile(Path(temporary))
                os.replace(temporary, target)
            finally:
                Path(temporary).unlink(missing_ok=True)
        built = self._open(target, "compiled")
        if built is None:
            raise NativeError(f"{target} was compiled but does not load")
        return built

    def once(self) -> NativeLibrary:
        folder = Path(tempfile.mkdtemp(prefix="numr-"))  # mode 0700; the mapping outlives the file
        try:
            self._compile(folder / self.file)
            built = self._open(folder / self.file, "compiled")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if built is None:
            raise NativeError(f"{self.file} was compiled but does not load")
        return built

    def _compile(self, target: Path) -> None:
        _log.info(
            "compiling the native code of %s (%s) for this machine, once: up to half a minute", self.name, self.level
        )
        self.compiler.build(self.units, self.options, target)
        with contextlib.suppress(OSError):
            os.chmod(target, 0o700)

    def _open(self, path: Path, found: str) -> NativeLibrary | None:
        if not is_trusted(path):
            return None
        try:
            handle = ctypes.CDLL(str(path))
        except OSError as error:  # cut short or damaged: build it again
            _log.info("%s does not load: %s", path, error)
            return None
        return NativeLibrary(self.name, self.level, path, found, self.compiler.version, handle)
