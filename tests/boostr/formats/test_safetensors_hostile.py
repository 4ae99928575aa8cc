"""SafeTensors files made to hurt: refused where the header is first read, with file and tensor named."""

import contextlib
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boostr.errors import BoostrError, FormatError
from boostr.formats.safetensors import SafeTensorsFile
from tests.boostr.formats.raw_safetensors import entry, safetensors, save

HUGE = 2**64 - 1
DATA = bytes(8)
GOOD = entry()

HOSTILE = {
    "header length near 2^64": (safetensors({"w": GOOD}, DATA, length=HUGE), "header claims 18446744073709551615"),
    "header length past the end": (safetensors({"w": GOOD}, DATA, length=5000), "header claims 5000"),
    "header over the limit": (
        safetensors("{" + " " * (33 << 20) + "}"),
        r"header is \d+ bytes long \(at most 33554432\)",
    ),
    "header cut short": (safetensors({"w": GOOD}, DATA, length=20), "not valid JSON"),
    "header is an array": (safetensors("[" + json.dumps(GOOD) + "]", DATA), "not a SafeTensors file"),
    "header is not JSON": (safetensors("{w: 1}", DATA), "not valid JSON"),
    "header is not UTF-8": (safetensors(b'{"\xff": 1}', DATA), "not valid JSON"),
    "deep nesting": (safetensors('{"w":' + "[" * 100_000 + "]" * 100_000 + "}"), "nested more than 64 deep"),
    "an integer of a million digits": (safetensors('{"w":' + "9" * 1_000_000 + "}"), "not valid JSON"),
    "duplicate key": (safetensors('{"w": %s, "w": %s}' % ((json.dumps(GOOD),) * 2), DATA), "'w' appears twice"),
    "span larger than the shape": (safetensors({"w": entry(shape=(1,))}, DATA), "'w': shape .1. of F32 needs 4 bytes"),
    "span smaller than the shape": (safetensors({"w": entry(shape=(9,))}, DATA), "'w': shape .9. of F32 needs 36"),
    "shape product wraps to the span": (
        safetensors({"w": entry(shape=(2**32, 2**32 + 2))}, DATA),
        "'w': shape .* far more elements",
    ),
    "zero beside a huge dimension": (safetensors({"w": entry(shape=(0, HUGE), stop=0)}), "'w': shape .* far more"),
    "inside the difference, outside the file": (
        safetensors({"w": entry(start=10**9, stop=10**9 + 8)}, DATA),
        "'w' needs bytes",
    ),
    "offsets near 2^64": (safetensors({"w": entry(start=HUGE - 8, stop=HUGE)}, DATA), "'w' needs bytes"),
    "negative start": (safetensors({"w": entry(start=-8, stop=0)}, DATA), "'w': data_offsets .-8, 0."),
    "stop before start": (safetensors({"w": entry(start=8, stop=0)}, DATA), "'w': data_offsets .8, 0."),
    "float offsets": (safetensors({"w": entry(start=0.0, stop=8.0)}, DATA), "'w': data_offsets"),
    "boolean offset": (safetensors({"w": entry(start=False)}, DATA), "'w': data_offsets"),
    "three offsets": (safetensors({"w": {**GOOD, "data_offsets": [0, 4, 8]}}, DATA), "'w': data_offsets"),
    "negative dimension": (safetensors({"w": entry(shape=(-2,))}, DATA), "'w': shape .-2."),
    "shape not a list": (safetensors({"w": entry(shape="2")}, DATA), "'w': shape '2'"),
    "shape of many ones": (safetensors({"w": entry(shape=(1,) * 100)}, DATA), "'w': shape"),
    "unknown dtype": (safetensors({"w": entry("F31")}, DATA), "'w' has unknown dtype 'F31'; known: F64"),
    "dtype not a string": (safetensors({"w": entry(["F32"])}, DATA), "'w' has unknown dtype"),  # type: ignore[arg-type]
    "missing field": (safetensors({"w": {"dtype": "F32", "shape": [2]}}, DATA), "'w' must have exactly"),
    "extra field": (safetensors({"w": {**GOOD, "x": 1}}, DATA), "'w' must have exactly"),
    "tensor not an object": (safetensors({"w": 5}, DATA), "'w' must have exactly"),
    "metadata not an object": (safetensors({"__metadata__": [], "w": GOOD}, DATA), "__metadata__"),
    "metadata of numbers": (safetensors({"__metadata__": {"a": 1}, "w": GOOD}, DATA), "__metadata__"),
    "overlap": (safetensors({"a": entry(), "b": entry(start=4, stop=12)}, bytes(12)), "'b' overlaps"),
    "the same bytes twice": (safetensors({"a": entry(), "b": entry()}, DATA), "'b' overlaps"),
    "hole": (safetensors({"a": entry(), "b": entry(start=16, stop=24)}, bytes(24)), "'b' leaves a hole"),
    "hole at the start": (safetensors({"w": entry(start=8, stop=16)}, bytes(16)), "'w' leaves a hole"),
    "bytes after the last tensor": (safetensors({"w": GOOD}, bytes(9)), "1 bytes after the last tensor"),
    "data cut short": (safetensors({"w": GOOD}, bytes(7)), r"'w' needs bytes \d+ to \d+.*truncated"),
    "a name that is no Unicode text": (safetensors(f'{{"\\ud800": {json.dumps(GOOD)}}}', DATA), "not valid Unicode"),
    "HTML": (b"<!DOCTYPE html><html>", r"not a SafeTensors file \(starts with '<!DOCTYPE html>.*web page"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    "pickle in a zip": (b"PK\x03\x04" + bytes(30), "zip archive"),
    "seven bytes": (b"1234567", "not a SafeTensors file"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_refused_by_name(tmp_path: Path, case: str) -> None:
    content, message = HOSTILE[case]
    path = save(tmp_path, content)
    with pytest.raises(FormatError, match=message) as caught:
        SafeTensorsFile(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("case", [case for case in HOSTILE if case.startswith("header") or "2^64" in case])
def test_claimed_sizes_are_not_allocated(tmp_path: Path, case: str) -> None:
    path = save(tmp_path, HOSTILE[case][0])
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            SafeTensorsFile(path)
        assert tracemalloc.get_traced_memory()[1] < 256 * 1024
    finally:
        tracemalloc.stop()


def read_everything(path: Path) -> None:
    """Anything but a BoostrError fails the test."""
    with contextlib.suppress(BoostrError):
        file = SafeTensorsFile(path)
        for name in file.names():
            np.asarray(file.tensor(name)).tobytes()


WHOLE = safetensors({"__metadata__": {"k": "v"}, "w": GOOD, "v": entry("F16", (2, 2), 8, 16)}, bytes(16))


def test_truncation_at_every_offset_is_a_clear_error(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(FormatError, match=r"model\.safetensors"):
            SafeTensorsFile(save(tmp_path, WHOLE[:length]))


@pytest.mark.parametrize("value", [0x00, 0x22, 0x2D, 0x39, 0x7D, 0xFF])
def test_every_byte_replaced(tmp_path: Path, value: int) -> None:
    for offset in range(len(WHOLE)):
        read_everything(save(tmp_path, WHOLE[:offset] + bytes([value]) + WHOLE[offset + 1 :]))


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_several_bytes_replaced(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        patch = data.draw(st.binary(min_size=1, max_size=6))
        content[at : at + len(patch)] = patch
    read_everything(save(tmp_path, bytes(content)))
