"""Puts a fetched model into the model directory in one step, or not at all. Knows no source.

Files gather in a hidden folder of the same file system; only a complete, verified folder gets its final name.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from blazr.errors import PullError
from blazr.lifecycle.resolve import is_model
from blazr.progress import format_bytes

__all__ = ["check_name", "check_space", "install"]

SPARE_BYTES = 64 << 20  # left free on the disk
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_name(name: str) -> str:
    """A folder name that cannot climb or hide. Raises PullError."""
    if not _NAME.fullmatch(name):
        raise PullError(f"{name!r} cannot be a model's name (--name): letters, digits, and . _ - inside")
    return name


def check_space(directory: Path, needed: int) -> None:
    """Raises PullError when `needed` bytes would not fit on the directory's disk."""
    free = shutil.disk_usage(directory).free
    if needed + SPARE_BYTES > free:
        raise PullError(f"not enough space in {directory}: {format_bytes(needed)} needed, {format_bytes(free)} free")


def install(target: Path, fetch: Callable[[Path], None], *, force: bool = False, resumable: bool = False) -> bool:
    """Let `fetch` fill a folder, then make it `target`. False when the model was already there and not forced.

    A `resumable` fetch finds what a failed attempt left; otherwise a failure leaves nothing behind.
    """
    if is_model(target) and not force:
        return False
    if target.exists() and not target.is_dir():
        raise PullError(f"{target} is in the way and is not a directory")
    staging = target.with_name(f".pull-{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if staging.exists() and not resumable:
            shutil.rmtree(staging)
        staging.mkdir(exist_ok=True)
        fetch(staging)
        _swap(staging, target)
    except OSError as error:
        raise PullError(f"cannot write to {target.parent}: {error}") from error
    finally:
        if not resumable:
            shutil.rmtree(staging, ignore_errors=True)
    return True


def _swap(staging: Path, target: Path) -> None:
    """The old folder steps aside first, because a rename does not replace a folder that holds files."""
    aside = target.with_name(f".old-{target.name}")
    shutil.rmtree(aside, ignore_errors=True)
    if target.exists():
        os.rename(target, aside)
    try:
        os.rename(staging, target)
    except OSError:
        if aside.exists():
            os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
