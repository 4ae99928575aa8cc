"""Fetches one model of a Hugging Face repository: chosen files, resumed after a break, hashes verified."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from blazr.errors import PullError
from blazr.lifecycle.pull import choose
from blazr.lifecycle.pull.staging import check_space
from blazr.progress import ByteProgress

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["fetch_repository"]

MAX_INDEX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Remote:
    """A file as the hub lists it: large ones have a SHA-256, small ones the id of a git blob."""

    name: str
    size: int
    sha256: str | None
    blob: str | None


def fetch_repository(
    repository: str, staging: Path, *, file: str | None, revision: str | None = None, progress: ByteProgress | None
) -> None:
    """Download the model into `staging`. Files already there and intact are kept. Raises PullError."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        api = HfApi()
        info = api.model_info(repository, revision=revision, files_metadata=True)
        files = {one.rfilename: _remote(one) for one in info.siblings or []}
        fetcher = _Fetcher(api, repository, info.sha, staging, progress)
        chosen = _choose(files, fetcher, repository, file)
        fetcher.fetch_all([files[name] for name in chosen])
    except GatedRepoError as error:
        raise PullError(f"{repository} asks for consent first: accept its terms, then set HF_TOKEN") from error
    except RepositoryNotFoundError as error:
        raise PullError(f"there is no repository {repository} on the hub, or HF_TOKEN does not open it") from error
    except (PullError, MemoryError):
        raise
    except Exception as error:  # each HTTP library beneath has errors of its own for a line that is down
        raise PullError(f"cannot fetch {repository}: {_first_line(error)}") from error
    _tidy(staging, chosen)


def _tidy(staging: Path, chosen: list[str]) -> None:
    """Leave the chosen files alone, side by side: no bookkeeping for resumes, and nothing of an earlier attempt."""
    for name in chosen:
        if "/" in name:
            (staging / name).rename(staging / Path(name).name)
    keep = {Path(name).name for name in chosen}
    for path in staging.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in keep:
            path.unlink()


class _Fetcher:
    def __init__(
        self, api: HfApi, repository: str, commit: str | None, staging: Path, progress: ByteProgress | None
    ) -> None:
        self._api = api
        self._repository = repository
        self._commit = commit
        self._staging = staging
        self._progress = progress
        self._done = self._total = 0
        takes_bar = "tqdm_class" in inspect.signature(api.hf_hub_download).parameters  # older releases do not
        self._bar: dict[str, Any] = {"tqdm_class": _reporting_to(self)} if takes_bar else {}

    def fetch_all(self, files: list[_Remote]) -> None:
        missing = [one for one in files if not self._intact(one)]
        self._total = sum(one.size for one in missing)
        check_space(self._staging, self._total)
        for one in missing:
            self.fetch(one)

    def fetch(self, remote: _Remote) -> Path:
        """One file, verified; a damaged one is deleted and fetched once more."""
        path = self._staging / remote.name
        for _ in range(2):
            before = self._done
            self._api.hf_hub_download(
                self._repository,
                remote.name,
                revision=self._commit,
                local_dir=self._staging,
                **self._bar,
            )
            if self._intact(remote):
                self._done = before + remote.size
                return path
            path.unlink(missing_ok=True)
            shutil.rmtree(self._staging / ".cache", ignore_errors=True)
            self._done = before
        raise PullError(f"{self._repository}: {remote.name} does not match its hash, twice; nothing was installed")

    def report(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _intact(self, remote: _Remote) -> bool:
        path = self._staging / remote.name
        if not path.is_file() or path.stat().st_size != remote.size:
            return False
        digest = hashlib.sha256() if remote.sha256 else hashlib.sha1(b"blob %d\0" % remote.size, usedforsecurity=False)
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        expected = remote.sha256 or remote.blob
        return expected is None or digest.hexdigest() == expected


def _choose(files: dict[str, _Remote], fetcher: _Fetcher, repository: str, file: str | None) -> list[str]:
    plain = [name for name in files if "/" not in name]
    small = choose.companions(plain)
    if file is not None and file.endswith(".safetensors"):
        if file not in files:
            raise PullError(f"{repository} has no file {file} (--file)")
        return [file, *small]
    if file is None and choose.INDEX in files:
        return [choose.INDEX, *_shards(fetcher.fetch(files[choose.INDEX]), files, repository), *small]
    if file is None and choose.has_safetensors(plain):
        return [*choose.safetensors_files(plain, repository), *small]
    return [*choose.gguf_files(files if file and "/" in file else plain, repository, file), *small]


def _shards(index: Path, files: dict[str, _Remote], repository: str) -> list[str]:
    try:
        if index.stat().st_size > MAX_INDEX_BYTES:
            raise ValueError("too large")
        shards = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PullError(f"{repository}: {choose.INDEX} is not an index of shards") from error
    missing = [shard for shard in shards if shard not in files]
    if missing:
        raise PullError(f"{repository}: {choose.INDEX} names {missing[0]}, which is not in the repository")
    return shards


def _remote(sibling: Any) -> _Remote:
    lfs = sibling.lfs
    return _Remote(sibling.rfilename, sibling.size or 0, lfs.sha256 if lfs else None, sibling.blob_id)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _reporting_to(fetcher: _Fetcher) -> Any:
    """What huggingface_hub takes for a progress bar, passing counts on to ours."""

    class Bar:
        def __init__(self, *arguments: object, initial: int = 0, **options: object) -> None:
            self.n = initial
            fetcher.report(initial)

        def update(self, count: float | None = 1) -> None:
            self.n += int(count or 0)
            fetcher.report(int(count or 0))

        def __enter__(self) -> Bar:
            return self

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None: ...

        def __getattr__(self, name: str) -> Any:  # close, refresh, set_description: nothing to do
            return lambda *arguments, **options: None

    return Bar
