"""SafeTensors files that are in order, against the reference package, and models made of several of them."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from boostr.errors import FormatError, UnsupportedModelError, WeightsError
from boostr.formats import open_checkpoint
from boostr.formats.safetensors import SafeTensorsFile
from numr import Tensor
from tests.boostr.formats.raw_safetensors import entry, safetensors, save


def index(directory: Path, weight_map: Any) -> Path:
    path = directory / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}), "utf-8")
    return path


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_values_written_by_the_reference_package(tmp_path: Path, dtype: str) -> None:
    values = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    save_file({"w": values, "other": values.T.copy()}, tmp_path / "m.safetensors", metadata={"format": "pt"})
    file = SafeTensorsFile(tmp_path / "m.safetensors")
    found = file.tensor("w")
    assert isinstance(found, Tensor) == (dtype in ("f4", "f2"))
    assert np.asarray(found).dtype == values.dtype
    assert np.array_equal(np.asarray(found), values)
    assert file.metadata == {"format": "pt"}
    with pytest.raises(WeightsError, match="no tensor 'gone'"):
        file.info("gone")


def test_bfloat16_is_read_bit_for_bit(tmp_path: Path) -> None:
    values = np.array([1.5, -2.0, np.inf], ml_dtypes.bfloat16)
    content = safetensors({"w": entry("BF16", (3,), 0, 6)}, values.tobytes())
    found = SafeTensorsFile(save(tmp_path, content)).tensor("w")
    assert isinstance(found, Tensor)
    assert np.asarray(found).tobytes() == values.tobytes()


def test_scalars_and_empty_tensors(tmp_path: Path) -> None:
    header = {"s": entry("F32", (), 0, 4), "e": entry("F32", (0, 3), 4, 4), "w": entry("F32", (1,), 4, 8)}
    file = SafeTensorsFile(save(tmp_path, safetensors(header, np.array([3, 4], "<f4").tobytes())))
    assert [np.asarray(file.tensor(n)).tolist() for n in ("s", "e", "w")] == [3.0, [], [4.0]]


def test_weights_are_views_unless_the_file_misplaces_them(tmp_path: Path) -> None:
    header = {"a": entry("U8", (1,), 0, 1), "w": entry("F32", (1,), 1, 5)}
    for padding in range(4):  # moves the data section over every alignment
        text = json.dumps(header) + " " * padding
        content = safetensors(text, b"\1" + np.array([2], "<f4").tobytes())
        values = np.asarray(SafeTensorsFile(save(tmp_path, content)).tensor("w"))
        assert values.flags.aligned
        assert values.tolist() == [2.0]
    save_file({"w": np.ones(4, np.float32)}, tmp_path / "m.safetensors")
    assert not np.asarray(SafeTensorsFile(tmp_path / "m.safetensors").tensor("w")).flags.owndata


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "F8_E8M0"])
def test_types_known_by_name_are_listed_but_not_read(tmp_path: Path, dtype: str) -> None:
    file = SafeTensorsFile(save(tmp_path, safetensors({"w": entry(dtype, (8,))}, bytes(8))))
    assert (file.info("w").dtype, file.info("w").nbytes) == (dtype, 8)
    with pytest.raises(UnsupportedModelError, match=f"'w' is stored as {dtype}.*BF16"):
        file.tensor("w")


def test_an_index_decides_which_tensors_and_shards_are_the_model(tmp_path: Path) -> None:
    save_file({"a": np.ones(1, np.float32), "left": np.ones(1, np.float32)}, tmp_path / "any name.safetensors")
    save_file({"b": np.full(1, 2, np.float32)}, tmp_path / "part.two")
    save_file({"c": np.ones(1, np.float32)}, tmp_path / "extra.safetensors")
    save_file({"d": np.ones(1, np.float32)}, tmp_path / "model.safetensors")
    index(tmp_path, {"b": "part.two", "a": "any name.safetensors"})
    model = open_checkpoint(tmp_path)
    assert model.names() == ["b", "a"]
    assert {path.name for path in model.files} == {"any name.safetensors", "part.two"}
    assert np.asarray(model.tensor("b")).tolist() == [2.0]
    with pytest.raises(WeightsError, match="no tensor 'left'"):
        model.tensor("left")


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "one.safetensors")
    index(tmp_path, {"a": "one.safetensors", "b": "two.safetensors"})
    with pytest.raises(FormatError, match=r"two\.safetensors named here but missing"):
        open_checkpoint(tmp_path)


def test_a_tensor_missing_from_its_shard_is_named(tmp_path: Path) -> None:
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "one.safetensors")
    index(tmp_path, {"a": "one.safetensors", "b": "one.safetensors"})
    with pytest.raises(FormatError, match=r"one\.safetensors: lacks tensor 'b'"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "../w.safetensors",
        "sub/../../w.safetensors",
        "{outside}",
        "..\\w.safetensors",
        "C:w",
        "a\0b",
        "\ud800",
        "a\x1b[2J",
    ],
)
def test_shards_outside_the_directory_are_refused(tmp_path: Path, name: str) -> None:
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "w.safetensors")
    directory = tmp_path / "model"
    (directory / "sub").mkdir(parents=True)
    index(directory, {"a": name.format(outside=tmp_path / "w.safetensors")})
    with pytest.raises(FormatError, match="leads out of the model's directory"):
        open_checkpoint(directory)


def test_a_link_out_of_the_directory_is_refused(tmp_path: Path) -> None:
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "secret")
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "w.safetensors").symlink_to(tmp_path / "secret")
    index(directory, {"a": "w.safetensors"})
    with pytest.raises(FormatError, match="leads out of the model's directory"):
        open_checkpoint(directory)


def test_a_loop_of_links_and_an_endless_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", "x" * 5000):
        index(tmp_path, {"a": name})
        with pytest.raises(FormatError, match=r"leads out of|missing"):
            open_checkpoint(tmp_path)


def test_a_snapshot_of_the_hub_cache_may_link_to_its_blobs(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--o--n/snapshots/c0ffee", tmp_path / "models--o--n/blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    save_file({"a": np.ones(1, np.float32)}, blobs / "123")
    (snapshot / "w.safetensors").symlink_to(Path("../../blobs/123"))
    index(snapshot, {"a": "w.safetensors"})
    assert open_checkpoint(snapshot).names() == ["a"]


@pytest.mark.parametrize("weight_map", [None, {}, [], "x", {"a": 5}, {"a": None}])
def test_an_index_without_a_usable_map_is_refused(tmp_path: Path, weight_map: Any) -> None:
    index(tmp_path, weight_map)
    with pytest.raises(FormatError, match=r"index\.json: weight_map"):
        open_checkpoint(tmp_path)


def test_numbered_shards_without_an_index_are_read_together(tmp_path: Path) -> None:
    for n in (1, 2):
        save_file({f"w{n}": np.ones(1, np.float32)}, tmp_path / f"model-0000{n}-of-00002.safetensors")
    assert open_checkpoint(tmp_path).names() == ["w1", "w2"]
    assert open_checkpoint(tmp_path / "model-00002-of-00002.safetensors").names() == ["w1", "w2"]
    (tmp_path / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(FormatError, match=r"missing beside it: model-00001-of-00002\.safetensors"):
        open_checkpoint(tmp_path)


def test_one_name_in_two_shards_is_refused(tmp_path: Path) -> None:
    for n in (1, 2):
        save_file({"w": np.ones(1, np.float32)}, tmp_path / f"model-0000{n}-of-00002.safetensors")
    with pytest.raises(FormatError, match=r"00002-of-00002.*'w' is also in model-00001-of-00002"):
        open_checkpoint(tmp_path)
