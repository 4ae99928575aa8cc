"""From what a user types to a path on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from boostr.errors import ModelNotFoundError
from boostr.hub.cache import cached_snapshot, is_repo_id

__all__ = ["resolve_model"]


def resolve_model(name: str | os.PathLike[str]) -> Path:
    """An existing file or directory, else a cached hub repository. Raises ModelNotFoundError with what to do."""
    path = Path(os.path.expanduser(name))
    # Unlike Path.exists, this answers False to names too long or too strange for the file system.
    if os.path.exists(path):
        return path
    text = os.fspath(name)
    if is_repo_id(text):
        snapshot = cached_snapshot(text)
        if snapshot is not None:
            return snapshot
        if "/" in text:
            raise ModelNotFoundError(
                f"'{text}' is neither a path nor in the Hugging Face cache; download it with `blazr pull {text}`"
            )
    raise ModelNotFoundError(
        f"'{text}' is no existing file or directory; give a path, or download a model with `blazr pull <hub id>`"
    )
