"""Which adapter directories an HTTP client may name. Reads no file: it resolves links and compares directories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from blazr.errors import AdapterPathError

__all__ = ["AdapterPaths"]

_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_MAX_LENGTH = 4096


class AdapterPaths:
    """Everything below `roots`, and the directories in `given`, which the operator named one by one."""

    def __init__(self, roots: Iterable[str | Path] = (), given: Iterable[str | Path] = ()) -> None:
        self._roots = [Path(root).expanduser().absolute() for root in roots]
        self._given = [Path(path).expanduser().resolve() for path in given]

    def admit(self, path: str) -> Path:
        """The adapter directory that a client means, links resolved; a relative one is looked for below each root.

        Raises AdapterPathError, in the same words whether or not something exists there: a request must not probe the
        file system.
        """
        found = [place for place in self._places(path) if self._admitted(place)]
        if not found:
            where = "below a directory of server.lora_roots (--lora-root)" if self._roots else "given with --lora"
            raise AdapterPathError(f"path {path[:200]!r} is not allowed: an adapter must lie {where}")
        return next((place for place in found if place.exists()), found[0])

    def _places(self, path: str) -> list[Path]:
        if not path or "\0" in path or len(path) > _MAX_LENGTH:
            return []
        asked = Path(path)
        places = [asked] if asked.is_absolute() else [root / asked for root in self._roots]
        resolved = []
        for place in places:
            try:
                real = place.resolve()
                resolved.append(real.parent if real.is_file() else real)
            except (OSError, RuntimeError, ValueError):  # a loop of links, or no path at all
                continue
        return resolved

    def _admitted(self, directory: Path) -> bool:
        if directory in self._given:
            return True
        # The files too: a link in a directory that others may write would lead out of it.
        return self._inside(directory) and all(self._inside(directory / name) for name in _FILES)

    def _inside(self, place: Path) -> bool:
        try:
            real = place.resolve()
        except (OSError, RuntimeError):  # a loop of links leads nowhere
            return False
        return any(real.is_relative_to(root.resolve()) for root in self._roots)
