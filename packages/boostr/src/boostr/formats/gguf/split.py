"""The files of a split GGUF model, from any one of them: name-00001-of-00003.gguf and its siblings."""

from __future__ import annotations

import re
from pathlib import Path

from boostr.errors import FormatError

__all__ = ["MAX_PARTS", "part_number", "sibling_paths"]

MAX_PARTS = 4096
_PART = re.compile(r"(?P<stem>.*)-(?P<no>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.gguf)", re.IGNORECASE)


def part_number(path: Path) -> tuple[str, int, int] | None:
    """(stem, number from 1, count) out of a split file's name; None for an ordinary name."""
    match = _PART.fullmatch(path.name)
    return None if match is None else (match["stem"], int(match["no"]), int(match["count"]))


def sibling_paths(path: Path, count: int) -> list[Path]:
    """All `count` parts beside `path`, in order. FormatError when the name tells nothing or parts are missing."""
    match = _PART.fullmatch(path.name)
    if match is None or int(match["count"]) != count:
        raise FormatError(
            f"{path}: this is one of {count} parts of a split model, but its name does not end in "
            f"-00001-of-{count:05d}.gguf, so the others cannot be found; give the parts their original names"
        )
    paths = [path.with_name(f"{match['stem']}-{n:05d}-of-{count:05d}{match['suffix']}") for n in range(1, count + 1)]
    missing = [p.name for p in paths if not p.is_file()]
    if missing:
        shown = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise FormatError(f"{path}: {len(missing)} of {count} parts are missing beside it: {shown}; download them")
    return paths
