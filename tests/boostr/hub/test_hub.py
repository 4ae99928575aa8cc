"""Names to paths without a network: existing paths first, then the Hugging Face cache as it lies on disk."""

import os
from pathlib import Path

import pytest

from boostr.errors import ModelNotFoundError
from boostr.hub import cache_directory, cached_snapshot, resolve_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hub"


def snapshot(cache: Path, repo: str, commit: str = COMMIT, ref: str | None = "main") -> Path:
    home = cache / ("models--" + repo.replace("/", "--"))
    path = home / "snapshots" / commit
    path.mkdir(parents=True)
    if ref is not None:
        target = home / "refs" / ref
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(commit, "ascii")
    return path


def test_the_main_branch_by_default(cache: Path) -> None:
    snapshot(cache, "org/model", OTHER, ref=None)
    expected = snapshot(cache, "org/model")
    assert cached_snapshot("org/model") == expected
    assert resolve_model("org/model") == expected


def test_a_branch_a_tag_a_pull_request_and_a_commit(cache: Path) -> None:
    expected = snapshot(cache, "org/model", ref="refs/pr/1")
    assert cached_snapshot("org/model", "refs/pr/1") == expected
    assert cached_snapshot("org/model", COMMIT) == expected
    assert cached_snapshot("org/model", OTHER) is None
    assert cached_snapshot("org/model", "v2") is None


def test_a_single_snapshot_needs_no_ref(cache: Path) -> None:
    expected = snapshot(cache, "org/model", ref=None)
    assert cached_snapshot("org/model") == expected
    assert cached_snapshot("org/model", "main") is None
    snapshot(cache, "org/model", OTHER, ref=None)
    assert cached_snapshot("org/model") is None


@pytest.mark.parametrize("content", ["../../../etc", "", "x" * 1000, "\xff"])
def test_a_damaged_ref_leads_nowhere(cache: Path, content: str) -> None:
    snapshot(cache, "org/model", COMMIT)
    snapshot(cache, "org/model", OTHER)
    (cache / "models--org--model/refs/main").write_bytes(content.encode("latin-1"))
    assert cached_snapshot("org/model") is None


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/../b", "a//b", "a/b/c", "/etc", "a--b", "a b", ".hidden", "x\0y", "org/", "C:\\m"]
)
def test_names_that_are_no_hub_ids(cache: Path, name: str) -> None:
    (cache / "models--a--b/snapshots" / COMMIT).mkdir(parents=True)
    assert cached_snapshot(name) is None


@pytest.mark.parametrize("revision", ["../../x", "a/../../b", "/etc/passwd", "", "-x"])
def test_revisions_cannot_climb(cache: Path, revision: str) -> None:
    snapshot(cache, "org/model")
    assert cached_snapshot("org/model", revision) is None


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_directory() == Path.home() / ".cache/huggingface/hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_directory() == Path("/xdg/huggingface/hub")
    monkeypatch.setenv("HF_HOME", "/home/hf")
    assert cache_directory() == Path("/home/hf/hub")
    monkeypatch.setenv("HF_HUB_CACHE", "/hub")
    assert cache_directory() == Path("/hub")


def test_an_existing_path_wins_over_the_cache(cache: Path, tmp_path: Path) -> None:
    snapshot(cache, "org/model")
    (tmp_path / "org/model").mkdir(parents=True)
    assert resolve_model("org/model") == Path("org/model")
    assert resolve_model(tmp_path / "org") == tmp_path / "org"


def test_the_home_directory_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME" if os.name == "posix" else "USERPROFILE", str(tmp_path))
    (tmp_path / "m.gguf").touch()
    assert resolve_model("~/m.gguf") == tmp_path / "m.gguf"


def test_what_is_nowhere_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"'org/model' is neither.*blazr pull org/model"):
        resolve_model("org/model")
    with pytest.raises(ModelNotFoundError, match=r"'gone\.gguf' is no existing file"):
        resolve_model("gone.gguf")
    for name in ("x\0y", "x" * 5000, "~nobody-of-that-name/m"):
        with pytest.raises(ModelNotFoundError, match=r"is no existing file|is neither a path"):
            resolve_model(name)
