"""GGUF files that are in order: values, shapes and types come out as they were put in."""

from pathlib import Path
from typing import Any

import gguf as peer
import ml_dtypes
import numpy as np
import pytest

from boostr.errors import WeightsError
from boostr.formats.gguf import GGUFFile, write_gguf
from boostr.formats.gguf.values import StringArray
from boostr.quant import QUANT_TYPES, QuantTensor
from numr import Tensor
from tests.boostr.formats import raw_gguf as raw

MODEL = Path(__file__).parents[2] / "data/gguf/models/llama-spm-Q8_0.gguf"


def test_a_real_file_matches_the_reference_reader() -> None:
    ours, theirs = GGUFFile.open(MODEL), peer.GGUFReader(MODEL)
    assert ours.names() == [t.name for t in theirs.tensors]
    for expected in theirs.tensors:
        info = ours.info(expected.name)
        assert info.dtype == expected.tensor_type.name
        assert info.shape == tuple(int(n) for n in reversed(expected.shape))
        assert info.nbytes == expected.n_bytes
        found = ours.tensor(expected.name)
        raw_bytes = found.blocks if isinstance(found, QuantTensor) else np.asarray(found)
        assert raw_bytes.tobytes() == expected.data.tobytes()


def test_metadata_of_a_real_file_matches_the_reference_reader() -> None:
    ours, theirs = GGUFFile.open(MODEL).metadata, peer.GGUFReader(MODEL)
    expected = {k: f.contents() for k, f in theirs.fields.items() if not k.startswith("GGUF.")}
    assert set(ours) == set(expected)
    for key, value in expected.items():
        found = ours[key]
        assert (list(found) if isinstance(value, list) else found) == value, key


def test_every_scalar_type_keeps_its_value(tmp_path: Path) -> None:
    values = {
        "u8": np.uint8(200),
        "i8": np.int8(-100),
        "u16": np.uint16(60000),
        "i16": np.int16(-30000),
        "u32": np.uint32(2**32 - 1),
        "i32": np.int32(-(2**31)),
        "u64": np.uint64(2**64 - 1),
        "i64": np.int64(-(2**63)),
        "f32": np.float32(0.1),
        "f64": np.float64(0.1),
        "yes": True,
        "no": False,
        "text": "çα漢🙂",
    }
    write_gguf(tmp_path / "m.gguf", values, {})
    found = GGUFFile.open(tmp_path / "m.gguf").metadata
    assert dict(found) == {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "?"])
def test_numeric_arrays_come_out_as_arrays_of_their_type(tmp_path: Path, dtype: str) -> None:
    values = np.array([0, 1, 1, 0, 1]).astype(dtype)
    write_gguf(tmp_path / "m.gguf", {"odd": "x", "values": values}, {})
    found = GGUFFile.open(tmp_path / "m.gguf").metadata["values"]
    assert found.dtype == values.dtype
    assert found.tolist() == values.tolist()


def test_nested_and_empty_arrays(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {"nested": [["a", "b"], [], ["c"]], "none": np.array([], np.float32)}, {})
    metadata = GGUFFile.open(tmp_path / "m.gguf").metadata
    assert [list(inner) for inner in metadata["nested"]] == [["a", "b"], [], ["c"]]
    assert metadata["none"].size == 0


def test_string_arrays_are_sequences_decoded_on_demand(tmp_path: Path) -> None:
    words = ["", "a", "漢字", "x" * 300]
    write_gguf(tmp_path / "m.gguf", {"tokens": words}, {})
    found = GGUFFile.open(tmp_path / "m.gguf").metadata["tokens"]
    assert isinstance(found, StringArray)
    assert (list(found), len(found), found[-1], found[1:3]) == (words, 4, words[-1], words[1:3])
    with pytest.raises(IndexError):
        found[4]


def test_bytes_that_are_not_utf8_read_as_replacement_and_stay_available(tmp_path: Path) -> None:
    pairs = [raw.pair("tokens", raw.ARRAY, raw.array(raw.STRING, 1, raw.string(b"\xff\xfe")))]
    found = GGUFFile.open(raw.save(tmp_path, raw.gguf(pairs))).metadata["tokens"]
    assert (found[0], found.raw(0)) == ("\ufffd\ufffd", b"\xff\xfe")


@pytest.mark.parametrize("name", [n for n, q in QUANT_TYPES.items() if q.dtype is None])
def test_quantized_tensors_keep_blocks_type_and_shape(tmp_path: Path, name: str) -> None:
    quant = QUANT_TYPES[name]
    blocks = np.random.default_rng(1).integers(0, 256, (6, 2 * quant.block_bytes), dtype=np.uint8)
    weight = QuantTensor(blocks, quant, (2, 3, 2 * quant.block))
    write_gguf(tmp_path / "m.gguf", {}, {"first": np.ones(3, np.float32), "w": weight})
    found = GGUFFile.open(tmp_path / "m.gguf").tensor("w")
    assert isinstance(found, QuantTensor)
    assert (found.qtype, found.shape) == (quant, weight.shape)
    assert np.array_equal(found.blocks, blocks)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_compute_types_come_out_as_tensors(tmp_path: Path, dtype: Any) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    write_gguf(tmp_path / "m.gguf", {}, {"w": values})
    found = GGUFFile.open(tmp_path / "m.gguf").tensor("w")
    assert isinstance(found, Tensor)
    assert np.array_equal(np.asarray(found), values)


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.int16, np.int32, np.int64])
def test_other_dense_types_come_out_as_arrays(tmp_path: Path, dtype: Any) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    write_gguf(tmp_path / "m.gguf", {}, {"w": values})
    found = GGUFFile.open(tmp_path / "m.gguf").tensor("w")
    assert isinstance(found, np.ndarray)
    assert found.dtype == dtype
    assert np.array_equal(found, values)


def test_weights_are_views_of_the_file_and_survive_its_closing(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {}, {"w": np.arange(8, dtype=np.float32)})
    file = GGUFFile.open(tmp_path / "m.gguf")
    values = np.asarray(file.tensor("w"))
    file.close()
    assert not values.flags.owndata
    assert not values.flags.writeable
    assert values.tolist() == list(range(8))
    with pytest.raises(ValueError, match="closed"):
        file.tensor("w")


def test_a_tensor_off_its_types_alignment_is_copied_not_misread(tmp_path: Path) -> None:
    head = [raw.pair("general.alignment", raw.U32, raw.u32(1)), raw.pair("pad", raw.STRING, raw.string("x"))]
    for extra in range(4):
        pairs = [*head, raw.pair("k" * (extra + 1), raw.BOOL, b"\1")]
        content = raw.gguf(pairs, [raw.tensor("w", [2])], np.array([1, 2], "<f4").tobytes(), alignment=1)
        values = np.asarray(GGUFFile.open(raw.save(tmp_path, content)).tensor("w"))
        assert values.flags.aligned
        assert values.tolist() == [1, 2]


def test_version_two_reads_like_version_three(tmp_path: Path) -> None:
    content = raw.gguf([], [raw.tensor("w", [2])], np.array([1, 2], "<f4").tobytes(), version=2)
    assert GGUFFile.open(raw.save(tmp_path, content)).version == 2


def test_a_custom_alignment_moves_the_data(tmp_path: Path) -> None:
    weights = {"a": np.ones(3, np.float32), "b": np.full(3, 2, np.float32)}
    write_gguf(tmp_path / "m.gguf", {}, weights, alignment=256)
    file = GGUFFile.open(tmp_path / "m.gguf")
    assert file.metadata["general.alignment"] == 256
    assert np.asarray(file.tensor("b")).tolist() == [2, 2, 2]


def test_scalars_and_empty_tensors(tmp_path: Path) -> None:
    weights = {"scalar": np.float32(5), "empty": np.zeros((0, 4), np.float32), "after": np.ones(1, np.float32)}
    write_gguf(tmp_path / "m.gguf", {}, {k: np.asarray(v) for k, v in weights.items()})
    file = GGUFFile.open(tmp_path / "m.gguf")
    assert {n: file.info(n).shape for n in file.names()} == {"scalar": (), "empty": (0, 4), "after": (1,)}
    assert np.asarray(file.tensor("empty")).shape == (0, 4)
    assert np.asarray(file.tensor("after")).tolist() == [1]


def test_vocabulary_only_files_have_no_data_section(tmp_path: Path) -> None:
    assert GGUFFile.open(raw.save(tmp_path, raw.gguf([raw.pair("a", raw.U8, b"\7")]))).names() == []


def test_an_unknown_tensor_name_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"no tensor 'blk\.0'"):
        GGUFFile.open(MODEL).tensor("blk.0")


def test_the_reference_reader_reads_what_we_write(tmp_path: Path) -> None:
    quant = QUANT_TYPES["Q8_0"]
    weight = QuantTensor(np.zeros((2, quant.block_bytes), np.uint8), quant, (2, 32))
    metadata = {"general.architecture": "llama", "n": 7, "words": ["a", "b"], "scores": np.ones(2, np.float32)}
    write_gguf(tmp_path / "m.gguf", metadata, {"w": weight, "v": np.arange(4, dtype=np.float16).reshape(2, 2)})
    found = peer.GGUFReader(tmp_path / "m.gguf")
    assert found.fields["words"].contents() == ["a", "b"]
    assert found.fields["n"].contents() == 7
    by_name = {t.name: t for t in found.tensors}
    assert by_name["w"].tensor_type.name == "Q8_0"
    assert by_name["v"].data.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [({"x": object()}, "object"), ({"x": ["a", 1]}, "one type"), ({"x": np.array(["a"])}, "hold")],
)
def test_the_writer_refuses_values_gguf_cannot_hold(tmp_path: Path, metadata: dict[str, object], fault: str) -> None:
    with pytest.raises(TypeError, match=fault):
        write_gguf(tmp_path / "m.gguf", metadata, {})


def test_the_writer_refuses_dtypes_gguf_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"'w'.*uint32"):
        write_gguf(tmp_path / "m.gguf", {}, {"w": np.zeros(2, np.uint32)})
