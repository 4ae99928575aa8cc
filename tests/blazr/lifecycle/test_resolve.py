"""Names to paths: the order of look-ups, and that a client's name never leaves the model directory."""

from pathlib import Path

import pytest

from blazr.errors import ModelNotFoundError
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel, resolve_local


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    (root / "sharded").mkdir(parents=True)
    (root / "sharded" / "model.safetensors.index.json").write_text("{}")
    (root / "single").mkdir()
    (root / "single" / "model.safetensors").write_bytes(b"x")
    (root / "config-only").mkdir()
    (root / "config-only" / "config.json").write_text("{}")
    (root / "empty").mkdir()
    (root / ".pull-half").mkdir()
    (root / ".pull-half" / "a.gguf").write_bytes(b"x")
    for name in ("bare.gguf", "other.safetensors", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt"):
        (root / name).write_bytes(b"x")
    return root


def test_entries_are_every_model_once(root: Path) -> None:
    names = [model.name for model in ModelDirectory(root).entries()]
    assert names == ["bare", "big-00001-of-00002", "config-only", "other", "sharded", "single"]


def test_a_missing_directory_holds_nothing(tmp_path: Path) -> None:
    assert ModelDirectory(tmp_path / "none").entries() == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("single", "single"),
        ("bare", "bare.gguf"),
        ("bare.gguf", "bare.gguf"),
        ("other", "other.safetensors"),
        ("single/model", "single/model.safetensors"),
    ],
)
def test_a_client_finds_entries_by_name(root: Path, name: str, path: str) -> None:
    found = ModelDirectory(root).find(name)
    assert found.path == root / path
    assert ModelDirectory(root).find(found.name) == found


def test_an_alias_comes_first(root: Path, tmp_path: Path) -> None:
    start = ResolvedModel("bare", tmp_path / "elsewhere.gguf")
    assert ModelDirectory(root, {"bare": start}).find("bare") is start


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc",
        "",
        ".",
        "..",
        ".pull-half",
        "single/../../secret",
        "a\0b",
        "C:/x",
        "..\\secret",
        "x" * 5000,
        "a//b",
    ],
)
def test_a_client_cannot_leave_the_directory(root: Path, name: str) -> None:
    (root.parent / "secret.gguf").write_bytes(b"x")
    with pytest.raises(ModelNotFoundError):
        ModelDirectory(root).find(name)


def test_an_absolute_path_is_no_name_for_a_client(root: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        ModelDirectory(root).find(str(root / "bare.gguf"))


def test_links_out_of_the_directory_are_not_there_for_clients_and_are_for_people(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.gguf"
    outside.write_bytes(b"x")
    (root / "linked.gguf").symlink_to(outside)
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(ModelNotFoundError):
        ModelDirectory(root).find("linked")
    assert "linked" not in [model.name for model in ModelDirectory(root).entries()]
    assert "linked" in [model.name for model in ModelDirectory(root, confined=False).entries()]
    assert resolve_local("linked", root).path == root / "linked.gguf"


def test_links_within_the_directory_are_fine(root: Path) -> None:
    (root / "alias.gguf").symlink_to(root / "bare.gguf")
    assert ModelDirectory(root).find("alias").path == root / "alias.gguf"


def test_a_path_wins_over_a_name_at_the_command_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single").mkdir()
    (tmp_path / "single" / "x.gguf").write_bytes(b"x")
    assert resolve_local("single", root).path == Path("single")
    assert resolve_local("bare", root) == ResolvedModel("bare", root / "bare.gguf")
    assert resolve_local(str(root / "bare.gguf"), "nowhere").name == "bare"


def test_a_cached_repository_is_found_without_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    commit = "a" * 40
    snapshot = tmp_path / "models--org--tiny" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (tmp_path / "models--org--tiny" / "refs").mkdir()
    (tmp_path / "models--org--tiny" / "refs" / "main").write_text(commit)
    assert resolve_local("org/tiny", tmp_path / "models") == ResolvedModel("org/tiny", snapshot)


def test_not_found_says_what_to_do(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"known are bare, .*blazr pull org/name"):
        resolve_local("org/name", root)
    with pytest.raises(ModelNotFoundError, match="holds no model"):
        resolve_local(str(root / "empty"), root)
    with pytest.raises(ModelNotFoundError, match="no model named"):
        resolve_local("x" * 5000, root)
    with pytest.raises(ModelNotFoundError, match="none are in the model directory"):
        resolve_local("x", tmp_path / "nowhere")
