"""GGUF files made to hurt: each is refused with a message that names what is wrong, before memory is spent on it."""

import struct
import tracemalloc
from pathlib import Path

import pytest

from boostr.errors import BoostrError, FormatError, ModelNotFoundError, UnsupportedModelError
from boostr.formats.gguf import GGUFFile
from tests.boostr.formats.raw_gguf import (
    ARRAY,
    BOOL,
    F32,
    I8,
    I32,
    STRING,
    U8,
    U32,
    U64,
    array,
    gguf,
    pair,
    save,
    string,
    tensor,
    u32,
)

HUGE = 2**64 - 1
DATA = bytes(64)


def nested(depth: int) -> bytes:
    payload = array(U8, 1, b"\1")
    for _ in range(depth - 1):
        payload = array(ARRAY, 1, payload)
    return payload


HOSTILE = {
    "tensor count near 2^64": (gguf(n_tensors=HUGE), r"claims \d+ tensors"),
    "tensor count above the file": (gguf(n_tensors=100), "claims 100 tensors"),
    "key count near 2^64": (gguf(n_pairs=HUGE), r"claims \d+ metadata keys"),
    "key length near 2^64": (gguf([struct.pack("<Q", HUGE) + bytes(64)]), "metadata key is"),
    "key not UTF-8": (gguf([pair(b"\xff", U8, b"\1")]), "not UTF-8"),
    "string length near 2^64": (gguf([pair("k", STRING, struct.pack("<Q", HUGE))]), "key 'k' needs"),
    "string length past the end": (gguf([pair("k", STRING, struct.pack("<Q", 1000))]), "key 'k' needs 1000 bytes"),
    "numeric array near 2^64": (gguf([pair("k", ARRAY, array(U8, HUGE))]), "'k'.*needs"),
    "numeric array wrapping 64 bits": (gguf([pair("k", ARRAY, array(U64, 2**61 + 1))]), "'k'.*needs"),
    "string array near 2^64": (gguf([pair("k", ARRAY, array(STRING, HUGE))]), "claims .* strings"),
    "string array above the file": (gguf([pair("k", ARRAY, array(STRING, 9, bytes(64)))]), "claims 9 strings"),
    "string inside an array near 2^64": (
        gguf([pair("k", ARRAY, array(STRING, 3, string("a") + struct.pack("<Q", HUGE) + bytes(64)))]),
        "string 1 of key 'k' runs past the end",
    ),
    "string inside an array wraps around": (
        gguf([pair("k", ARRAY, array(STRING, 2, struct.pack("<Q", 2**63 - 30) + bytes(64)))]),
        "string 0 of key 'k' runs past the end",
    ),
    "last string of an array past the end": (
        gguf([pair("k", ARRAY, array(STRING, 2, string("a") + struct.pack("<Q", 9)))]),
        "string 1 of key 'k' runs past the end",
    ),
    "arrays nested too deep": (gguf([pair("k", ARRAY, nested(5))]), "nests arrays more than 4 deep"),
    "arrays nested very deep": (gguf([pair("k", ARRAY, nested(5000))]), "nests arrays more than 4 deep"),
    "nested array count near 2^64": (gguf([pair("k", ARRAY, array(ARRAY, HUGE))]), "nested arrays"),
    "too many nested arrays": (
        gguf([pair("k", ARRAY, array(ARRAY, 1 << 17, array(U8, 0) * (1 << 17)))]),
        "nested arrays",
    ),
    "unknown value type": (gguf([pair("k", 13, bytes(8))]), "unknown value type 13"),
    "unknown element type": (gguf([pair("k", ARRAY, array(99, 1, bytes(8)))]), "unknown value type 99"),
    "duplicate key": (gguf([pair("k", U8, b"\1"), pair("k", U8, b"\2")]), "'k' appears twice"),
    "alignment zero": (gguf([pair("general.alignment", U32, u32(0))]), "alignment is 0"),
    "alignment not a power of two": (gguf([pair("general.alignment", U32, u32(48))]), "alignment is 48"),
    "alignment absurd": (gguf([pair("general.alignment", U32, u32(2**31))]), "alignment is 2147483648"),
    "alignment negative": (gguf([pair("general.alignment", I32, b"\xff" * 4)]), "alignment is -1"),
    "alignment a string": (gguf([pair("general.alignment", STRING, string("32"))]), "alignment is a str"),
    "alignment a boolean": (gguf([pair("general.alignment", BOOL, b"\1")]), "alignment is a bool"),
    "alignment a float": (gguf([pair("general.alignment", F32, struct.pack("<f", 32))]), "alignment is a float"),
    "dimension product wraps": (gguf([], [tensor("w", [2**42 + 1, 2**22])], DATA), "'w'"),
    "int64 maximum as dimension": (gguf([], [tensor("w", [2**63 - 1, 2, 1, 1], 24)], DATA), "'w'"),
    "dimension near 2^64": (gguf([], [tensor("w", [HUGE])], DATA), "'w'"),
    "zero beside a huge dimension": (gguf([], [tensor("w", [0, HUGE])], DATA), "'w'"),
    "too many dimensions": (gguf([], [tensor("w", [1] * 5)], DATA), "'w' has 5 dimensions"),
    "rank near 2^32": (gguf([], [tensor("w", [1], rank=2**32 - 1)], DATA), "'w' has 4294967295 dimensions"),
    "unknown tensor type": (gguf([], [tensor("w", [1], 9999)], DATA), "'w'.*9999.*F32"),
    "rows that split a block": (gguf([], [tensor("w", [33, 2], 8)], bytes(128)), "'w': rows of 33"),
    "duplicate tensor": (gguf([], [tensor("w", [1]), tensor("w", [1], 0, 32)], DATA), "'w' appears twice"),
    "tensor name near 2^64": (gguf([], [struct.pack("<Q", HUGE) + bytes(64)], DATA), "tensor's name is"),
    "unaligned offset": (gguf([], [tensor("w", [1], 0, 4)], DATA), "'w' starts at offset 4"),
    "offset near 2^64": (gguf([], [tensor("w", [1], 0, 2**64 - 32)], DATA), "'w' needs bytes"),
    "data cut short": (gguf([], [tensor("w", [17])], DATA), r"'w' needs bytes 64 to 132.*only 128.*truncated"),
    "data missing": (gguf([], [tensor("w", [17])]), "'w' needs bytes"),
    "overlapping tensors": (gguf([], [tensor("a", [16]), tensor("b", [8], 0, 32)], DATA), "'a' and 'b' overlap"),
    "same bytes twice": (gguf([], [tensor("a", [8]), tensor("b", [8])], DATA), "'a' and 'b' overlap"),
    "tensor inside another": (
        gguf([], [tensor("a", [16]), tensor("b", [0], 0, 32), tensor("c", [1], 0, 32)], DATA),
        "'a' and 'c' overlap",
    ),
    "version 1": (gguf(version=1), "version 1; versions 2 and 3"),
    "version of the future": (gguf(version=4), "version 4; versions 2 and 3"),
    "version 0": (gguf(version=0), "version 0;"),
    "big-endian version": (gguf(version=0x03000000), "big-endian"),
    "big-endian magic": (gguf(magic=b"FUGG"), "big-endian"),
    "HTML": (b"<!DOCTYPE html><html><head><title>Log in</title>", r"not a GGUF file \(starts with '<!DOCTYPE html>"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "error object": (b'{"error": "not found"}', "probably an error message"),
    "zip": (b"PK\x03\x04" + bytes(60), "zip archive"),
    "empty": (b"", "is empty"),
    "four bytes": (b"GGUF", "truncated"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_by_name(tmp_path: Path, case: str) -> None:
    content, message = HOSTILE[case]
    path = save(tmp_path, content)
    with pytest.raises(FormatError, match=message) as caught:
        GGUFFile.open(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_without_spending_memory(tmp_path: Path, case: str) -> None:
    path = save(tmp_path, HOSTILE[case][0])
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            GGUFFile.open(path)
        assert tracemalloc.get_traced_memory()[1] < 256 * 1024
    finally:
        tracemalloc.stop()


def test_web_pages_come_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="web page, not the model: download the file again"):
        GGUFFile.open(save(tmp_path, HOSTILE["HTML"][0]))


@pytest.mark.parametrize(("kind", "name"), [(4, "Q4_2"), (31, "Q4_0_4_4"), (38, "IQ4_NL_8_8")])
def test_types_that_gguf_dropped_are_named(tmp_path: Path, kind: int, name: str) -> None:
    path = save(tmp_path, gguf([], [tensor("w", [32], kind)], DATA))
    with pytest.raises(UnsupportedModelError, match=f"'w' is stored as {name}.*quantize"):
        GGUFFile.open(path)


def test_numeric_arrays_make_no_object_per_element(tmp_path: Path) -> None:
    # One byte of file per element: a list of ints would be eight times this and more.
    path = save(tmp_path, gguf([pair("k", ARRAY, array(I8, 1 << 22, bytes(1 << 22)))]))
    tracemalloc.start()
    try:
        assert GGUFFile.open(path).metadata["k"].size == 1 << 22
        assert tracemalloc.get_traced_memory()[1] < 256 * 1024
    finally:
        tracemalloc.stop()


def test_string_arrays_cost_eight_bytes_a_string_until_read(tmp_path: Path) -> None:
    path = save(tmp_path, gguf([pair("k", ARRAY, array(STRING, 50_000, string("token") * 50_000))]))
    tracemalloc.start()
    try:
        assert len(GGUFFile.open(path).metadata["k"]) == 50_000
        assert tracemalloc.get_traced_memory()[1] < 50_000 * 16
    finally:
        tracemalloc.stop()


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="does not exist"):
        GGUFFile.open(tmp_path / "none.gguf")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BoostrError, match=r"not a regular file|cannot be opened"):
        GGUFFile.open(tmp_path)
