"""From a model's name to its path on disk. Reads directory listings only; knows no format and loads nothing.

Two kinds of callers: a person at the command line may name any path or a repository in the hub cache; an HTTP client
may name entries of the model directory and nothing else, so that a request can never probe the file system.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from blazr.errors import ModelNotFoundError
from boostr.hub.cache import cached_snapshot, is_repo_id

__all__ = [
    "ModelDirectory",
    "ResolvedModel",
    "is_model",
    "modified_at",
    "no_model_named",
    "not_found",
    "resolve_local",
]

WEIGHT_SUFFIXES = (".gguf", ".safetensors")
_LATER_SHARD = re.compile(r"-(?!00001-)\d{5}-of-\d{5}\.(gguf|safetensors)$")


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A name that was found. `name` is what answers call it; `path` a file or directory."""

    name: str
    path: Path


class ModelDirectory:
    """The models below one directory, by name, plus `aliases` for models that lie elsewhere (the start model).

    `confined` leaves out links that lead out of the directory, as a server must.
    """

    def __init__(
        self, root: str | Path, aliases: Mapping[str, ResolvedModel] | None = None, *, confined: bool = True
    ) -> None:
        self.root = Path(root)
        self.aliases = dict(aliases or {})
        self._confined = confined

    def entries(self) -> list[ResolvedModel]:
        """Every model of the directory by name, sorted, without hidden entries."""
        try:
            paths = sorted(self.root.iterdir())
        except OSError:
            return []
        found: dict[str, ResolvedModel] = {}
        for path in paths:
            if path.name.startswith(".") or _LATER_SHARD.search(path.name):
                continue
            model = ResolvedModel(_entry_name(self.root, path), path)
            if model.name not in found and self._inside(path) and is_model(path):
                found[model.name] = model
        return sorted(found.values(), key=lambda model: model.name)

    def find(self, name: str) -> ResolvedModel:
        """The model a request names. Raises ModelNotFoundError that lists the known names, never the paths tried."""
        if name in self.aliases:
            return self.aliases[name]
        if _plain(name):
            for candidate in _candidates(self.root, name):
                if self._inside(candidate) and is_model(candidate):
                    return ResolvedModel(_entry_name(self.root, candidate), candidate)
        raise not_found(name, [*(model.name for model in self.aliases.values()), *(m.name for m in self.entries())])

    def _inside(self, path: Path) -> bool:
        if not self._confined:
            return True
        try:
            return path.resolve(strict=True).is_relative_to(self.root.resolve(strict=True))
        except (OSError, RuntimeError):  # gone, or a loop of links
            return False


def resolve_local(name: str, root: str | Path) -> ResolvedModel:
    """For the command line: a path, an entry of the model directory, or a hub repository that is already in the cache.

    Raises ModelNotFoundError naming the remedy.
    """
    literal = Path(os.path.expanduser(name))
    if is_model(literal):
        return ResolvedModel(literal.stem if literal.is_file() else Path(os.path.abspath(literal)).name, literal)
    for candidate in _candidates(Path(root), name) if _plain(name) else ():
        if is_model(candidate):
            return ResolvedModel(_entry_name(Path(root), candidate), candidate)
    if (snapshot := cached_snapshot(name)) is not None:
        return ResolvedModel(name, snapshot)
    known = ModelDirectory(root, confined=False).entries()
    error = not_found(name, [model.name for model in known], f"in the model directory {root}")
    if "/" in name and is_repo_id(name) and not os.path.exists(literal):
        raise ModelNotFoundError(f"{error}. If it is a Hugging Face repository: blazr pull {name}")
    if os.path.exists(literal):
        raise ModelNotFoundError(f"{name} holds no model: no .gguf or .safetensors file, and no config.json")
    raise error


def is_model(path: Path) -> bool:
    """Whether a path is one model: a weights file, or a directory with weights or a config.json."""
    if os.path.isfile(path):  # unlike Path.is_file, it answers False to names that no file can have
        return path.suffix in WEIGHT_SUFFIXES
    try:
        names = os.listdir(path)
    except (OSError, ValueError):
        return False
    return any(
        name in ("config.json", "model.safetensors.index.json") or name.endswith(WEIGHT_SUFFIXES) for name in names
    )


def not_found(name: str, known: Iterable[str], where: str = "here") -> ModelNotFoundError:
    """The one wording of 'no such model', with what there is."""
    names = list(dict.fromkeys(known))
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return ModelNotFoundError(
        f"no model named {name!r:.100}; " + (f"known are {listed}" if names else f"none are {where}")
    )


def no_model_named(known: list[str]) -> ModelNotFoundError:
    """For a request that names no model where none is the obvious one."""
    what = f"name one of {', '.join(known)}" if known else "there are none here"
    return ModelNotFoundError(f"the request names no model and the server was started without one; {what}")


def modified_at(path: Path) -> float:
    """Unix seconds of the newest change: of a file, or of a directory and the files right below it."""
    try:
        paths = [path, *path.iterdir()] if path.is_dir() else [path]
        return max(one.stat().st_mtime for one in paths)
    except OSError:
        return 0.0


def _plain(name: str) -> bool:
    """A relative name of ordinary parts: nothing that climbs, hides, or means a drive."""
    parts = name.replace("\\", "/").split("/")
    return (
        0 < len(name) <= 255 and "\0" not in name and not any(p == "" or p.startswith(".") or ":" in p for p in parts)
    )


def _candidates(root: Path, name: str) -> list[Path]:
    return [root / name, *(root / f"{name}{suffix}" for suffix in (".safetensors", ".gguf"))]


def _entry_name(root: Path, path: Path) -> str:
    """The path below the model directory without a file's suffix: unique, and what `find` accepts."""
    inside = path.relative_to(root)
    return (inside.with_suffix("") if path.suffix in WEIGHT_SUFFIXES and path.is_file() else inside).as_posix()
