"""Damage at every offset: a GGUF file either opens and every tensor can be read, or a BoostrError says why not."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boostr.errors import BoostrError
from boostr.formats.gguf import GGUFFile, write_gguf
from boostr.formats.gguf.values import StringArray
from boostr.formats.gguf.writer import Weight
from boostr.quant import QUANT_TYPES, QuantTensor
from tests.boostr.formats.raw_gguf import save

SETTINGS = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "m.gguf"
    quant = QUANT_TYPES["Q4_0"]
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "tokenizer.ggml.tokens": ["a", "<0x-1>", "</s>"],
        "tokenizer.ggml.scores": np.zeros(3, np.float32),
        "nested": [[1, 2], [3]],
        "names": [["a", "bc"], ["d"]],
    }
    weights: dict[str, Weight] = {
        "w": QuantTensor(np.zeros((2, quant.block_bytes), np.uint8), quant, (2, 32)),
        "v": np.arange(10, dtype=np.float32),
    }
    write_gguf(path, metadata, weights)
    return path.read_bytes()


def read_everything(path: Path) -> None:
    """Whatever a loader would touch; anything but a BoostrError fails the test."""
    with contextlib.suppress(BoostrError):
        file = GGUFFile.open(path)
        for name in file.names():
            file.tensor(name)
        for value in file.metadata.values():
            read_elements(value)


def read_elements(value: Any) -> None:
    """Every element of an array, however deep, as a number or a string."""
    if isinstance(value, np.ndarray):
        value.tolist()
    elif isinstance(value, list | StringArray):
        for element in value:
            read_elements(element)


def test_truncation_at_every_offset_is_a_clear_error(tmp_path: Path, whole: bytes) -> None:
    data_end = len(whole) - 24  # the last tensor has 40 bytes, padded to 64
    for length in range(data_end):
        path = save(tmp_path, whole[:length])
        with pytest.raises(BoostrError, match=r"m(odel)?\.gguf"):
            GGUFFile.open(path)


def test_truncated_data_names_the_tensor_and_both_sizes(tmp_path: Path, whole: bytes) -> None:
    path = save(tmp_path, whole[:-40])
    with pytest.raises(BoostrError, match=rf"'v' needs bytes \d+ to {len(whole) - 24}.*only {len(whole) - 40}"):
        GGUFFile.open(path)


@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_every_byte_replaced(tmp_path: Path, whole: bytes, value: int) -> None:
    for offset in range(len(whole)):
        read_everything(save(tmp_path, whole[:offset] + bytes([value]) + whole[offset + 1 :]))


@SETTINGS
@given(data=st.data())
def test_several_bytes_replaced(tmp_path: Path, whole: bytes, data: st.DataObject) -> None:
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        patch = data.draw(st.binary(min_size=1, max_size=8))
        content[at : at + len(patch)] = patch
    read_everything(save(tmp_path, bytes(content)))


@SETTINGS
@given(tail=st.binary(max_size=400))
def test_arbitrary_bytes_after_a_good_start(tmp_path: Path, tail: bytes) -> None:
    read_everything(save(tmp_path, b"GGUF\3\0\0\0" + tail))
