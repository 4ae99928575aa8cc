"""The folder of compiled libraries: private to the user, or not used at all. Knows files, not what is in them."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from numr.errors import NativeError

try:
    import fcntl
except ImportError:  # Windows, which compiles nothing here
    fcntl = None  # type: ignore[assignment]


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/numr, else ~/Library/Caches/numr (macOS) or ~/.cache/numr. Raises NativeError without a home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base) / "numr"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise NativeError(f"no home directory to keep compiled kernels in: {error}; set XDG_CACHE_HOME") from error
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "numr"


def open_cache() -> Path:
    """The cache folder, created with mode 0700 if absent.

    Raises NativeError where it cannot be made, or is not a folder of this user's that nobody else can enter: code is
    loaded from it.
    """
    folder = cache_folder()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise NativeError(f"cannot use the cache {folder}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise NativeError(f"the cache {folder} is not a folder of this user's; remove it")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise NativeError(f"others may enter the cache {folder}; run: chmod 700 {folder}")
    return folder


def is_trusted(path: Path) -> bool:
    """Whether `path` is a regular file that this user owns and only this user may change."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o022


@contextlib.contextmanager
def build_lock(path: Path) -> Iterator[None]:
    """Hold `path` as a lock between processes, so that one compiles and the others find its result.

    Where the file system has no locks everybody compiles, and the last rename wins.
    """
    with path.open("a") as file:
        os.chmod(path, 0o600)
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
