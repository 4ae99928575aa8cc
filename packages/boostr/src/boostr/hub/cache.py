"""Reading the Hugging Face cache as it lies on disk: models--org--name/{refs,snapshots}. Knows no network."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["cache_directory", "cached_snapshot", "is_repo_id"]

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_REPO_ID = re.compile(rf"(?:{_PART}/)?{_PART}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")


def cache_directory() -> Path:
    """HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub (XDG_CACHE_HOME counts)."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "hub"


def is_repo_id(name: str) -> bool:
    """Whether `name` can be a hub id: "org/name" or "name", without "--" and ".."."""
    return _REPO_ID.fullmatch(name) is not None and "--" not in name and ".." not in name


def cached_snapshot(repo_id: str, revision: str | None = None) -> Path | None:
    """The directory of a cached repository at a branch, tag or commit (`main` when None), or None.

    With no revision asked for and no ref recorded, the only snapshot there is will do.
    """
    if not is_repo_id(repo_id) or (revision is not None and not _is_revision(revision)):
        return None
    repository = cache_directory() / ("models--" + repo_id.replace("/", "--"))
    snapshots = repository / "snapshots"
    commit = _commit(repository, revision or "main")
    if commit is not None and (snapshots / commit).is_dir():
        return snapshots / commit
    if revision is not None or not snapshots.is_dir():
        return None
    found = [path for path in snapshots.iterdir() if _COMMIT.fullmatch(path.name) and path.is_dir()]
    return found[0] if len(found) == 1 else None


def _is_revision(revision: str) -> bool:
    return _REVISION.fullmatch(revision) is not None and ".." not in revision


def _commit(repository: Path, revision: str) -> str | None:
    if _COMMIT.fullmatch(revision):
        return revision
    ref = repository / "refs" / revision
    if not ref.is_file():
        return None
    with ref.open("rb") as file:
        commit = file.read(64).decode("ascii", "replace").strip()
    return commit if _COMMIT.fullmatch(commit) else None
