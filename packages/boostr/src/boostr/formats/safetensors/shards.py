"""Which SafeTensors files make up a model: the ones its index names, and no others."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from boostr.errors import FormatError
from boostr.formats.json_file import read_json_object

__all__ = ["INDEX_NAME", "numbered_shards", "read_index"]

INDEX_NAME = "model.safetensors.index.json"
_NUMBERED = re.compile(r"(?P<stem>.*)-(?P<no>\d{5})-of-(?P<count>\d{5})\.safetensors")


def read_index(index: Path) -> dict[str, Path]:
    """Tensor name -> shard, out of an index file. FormatError for a missing shard or one outside the directory."""
    weight_map = read_json_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise FormatError(f"{index}: weight_map must be an object that names at least one tensor")
    if not all(isinstance(shard, str) for shard in weight_map.values()):
        raise FormatError(f"{index}: weight_map must map tensor names to file names")
    shards = {shard: _inside(index, shard) for shard in sorted(set(weight_map.values()))}
    missing = [shard for shard, path in shards.items() if not os.path.isfile(path)]
    if missing:
        raise FormatError(f"{index}: {_list(missing)} named here but missing; download the rest of the model")
    return {name: shards[shard] for name, shard in weight_map.items()}


def numbered_shards(path: Path) -> list[Path] | None:
    """All of name-00001-of-0000N.safetensors for one of them; None for other names. FormatError lists missing ones."""
    match = _NUMBERED.fullmatch(path.name)
    if match is None:
        return None
    count = int(match["count"])
    names = [f"{match['stem']}-{n:05d}-of-{count:05d}.safetensors" for n in range(1, count + 1)]
    missing = [name for name in names if not path.with_name(name).is_file()]
    if missing or not names:
        raise FormatError(f"{path}: of {count} shards these are missing beside it: {_list(missing)}")
    return [path.with_name(name) for name in names]


def _inside(index: Path, shard: str) -> Path:
    relative = PurePosixPath(shard)
    refusal = FormatError(f"{index}: the shard name {shard!r} leads out of the model's directory")
    if relative.is_absolute() or ".." in relative.parts or "\\" in shard or ":" in shard or not shard.isprintable():
        raise refusal
    path = index.parent / relative
    home = index.parent.resolve()
    # A snapshot of the Hugging Face cache is a directory of links into its repository's blobs.
    homes = [home, home.parent.parent / "blobs"] if home.parent.name == "snapshots" else [home]
    try:
        target = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, characters no file name has
        raise refusal from error
    if not any(target.is_relative_to(allowed) for allowed in homes):
        raise refusal
    return path


def _list(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
