"""Split GGUF models: any part opens the whole, and what is missing or mixed up is said."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from boostr.errors import FormatError
from boostr.formats.gguf import GGUFFile, write_gguf

COUNT = 3


def part(directory: Path, number: int, stem: str = "m") -> Path:
    return directory / f"{stem}-{number:05d}-of-{COUNT:05d}.gguf"


@pytest.fixture
def split(tmp_path: Path) -> Path:
    for no in range(COUNT):
        metadata = {"split.no": np.uint16(no), "split.count": np.uint16(COUNT), "split.tensors.count": np.int32(COUNT)}
        if no == 0:
            metadata["general.architecture"] = "llama"
        write_gguf(part(tmp_path, no + 1), metadata, {f"w{no}": np.full(2, no, np.float32)})
    return tmp_path


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_part_opens_the_whole_model(split: Path, number: int) -> None:
    model = GGUFFile.open(part(split, number))
    assert model.metadata["general.architecture"] == "llama"
    assert model.names() == ["w0", "w1", "w2"]
    assert [np.asarray(model.tensor(f"w{i}"))[0] for i in range(3)] == [0, 1, 2]
    assert model.files == [part(split, n) for n in (1, 2, 3)]


def test_missing_parts_are_listed(split: Path) -> None:
    part(split, 1).unlink()
    part(split, 3).unlink()
    with pytest.raises(FormatError, match=r"2 of 3 parts are missing.*m-00001-of-00003\.gguf, m-00003-of-00003\.gguf"):
        GGUFFile.open(part(split, 2))


def test_a_renamed_part_is_explained(split: Path) -> None:
    renamed = part(split, 1).rename(split / "model.gguf")
    with pytest.raises(FormatError, match=r"one of 3 parts.*original names"):
        GGUFFile.open(renamed)


def test_parts_joined_with_cat_are_explained(split: Path) -> None:
    joined = split / "joined.gguf"
    joined.write_bytes(b"".join(part(split, n).read_bytes() for n in (1, 2, 3)))
    with pytest.raises(FormatError, match="joined into one"):
        GGUFFile.open(joined)


def test_parts_in_the_wrong_order_are_refused(split: Path) -> None:
    part(split, 2).rename(split / "spare")
    part(split, 3).rename(part(split, 2))
    (split / "spare").rename(part(split, 3))
    with pytest.raises(FormatError, match=r"00002-of-00003.*split\.no"):
        GGUFFile.open(part(split, 1))


def test_parts_with_the_same_tensor_are_refused(split: Path) -> None:
    metadata = {"split.no": 2, "split.count": COUNT}
    write_gguf(part(split, 3), metadata, {"w0": np.zeros(2, np.float32)})
    with pytest.raises(FormatError, match="'w0' is also in an earlier part"):
        GGUFFile.open(part(split, 1))


def test_a_wrong_tensor_total_is_refused(split: Path) -> None:
    write_gguf(part(split, 3), {"split.no": 2, "split.count": COUNT}, {})
    with pytest.raises(FormatError, match=r"hold 2 tensors where split\.tensors\.count says 3"):
        GGUFFile.open(part(split, 1))


def test_a_part_of_another_model_is_refused(split: Path) -> None:
    write_gguf(part(split, 3), {}, {"w2": np.zeros(2, np.float32)})
    with pytest.raises(FormatError, match="do not say part 3 of 3"):
        GGUFFile.open(part(split, 1))


def test_a_damaged_sibling_is_named(split: Path) -> None:
    part(split, 2).write_bytes(b"<html>")
    with pytest.raises(FormatError, match=r"00002-of-00003.*not a GGUF file"):
        GGUFFile.open(part(split, 1))


def test_an_absurd_part_count_is_refused(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {"split.count": 10**9}, {})
    with pytest.raises(ValueError, match=r"split\.count"):
        GGUFFile.open(tmp_path / "m.gguf")


def test_a_single_part_needs_no_siblings(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {"split.count": 1, "split.no": 0}, {"w": np.zeros(1, np.float32)})
    assert GGUFFile.open(tmp_path / "m.gguf").names() == ["w"]


def test_links_of_a_download_cache_keep_their_siblings(split: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    for n in (1, 2, 3):
        shutil.move(part(split, n), blobs / str(n))
        part(snapshot, n).symlink_to(blobs / str(n))
    assert GGUFFile.open(part(snapshot, 2)).names() == ["w0", "w1", "w2"]
