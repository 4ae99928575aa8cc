"""Typed access to GGUF metadata: wrong types, ranges and lengths are refused by key."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats.gguf import GGUFFile, Metadata, write_gguf
from boostr.formats.gguf.metadata import check_vocabulary, require_architecture

VALUES = {
    "n": 5,
    "x": 0.5,
    "s": "text",
    "b": True,
    "nan": float("nan"),
    "ints": np.arange(3, dtype=np.int32),
    "nested": [[]],
}
METADATA = Metadata(VALUES, "m.gguf")


def test_right_types_come_through() -> None:
    assert METADATA.require_int("n", 1, 5) == 5
    assert METADATA.require_float("x") == 0.5
    assert METADATA.require_float("n") == 5.0
    assert METADATA.require_str("s") == "text"
    assert METADATA.require_bool("b") is True
    assert METADATA.numbers("ints", "int32", 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda m: m.require_int("gone"), "lacks the key 'gone'"),
        (lambda m: m.require_int("s"), "'s' must be an integer, but is a string"),
        (lambda m: m.require_int("b"), "'b' must be an integer"),
        (lambda m: m.require_int("x"), "'x' must be an integer"),
        (lambda m: m.require_int("n", 6), "'n' is 5; it must be at least 6"),
        (lambda m: m.require_int("n", None, 4), "'n' is 5; it must be at most 4"),
        (lambda m: m.get_int("n", 1, 6, 9), "'n' is 5; it must be 6 to 9"),
        (lambda m: m.require_float("nan"), "'nan' must be a finite number"),
        (lambda m: m.require_float("b"), "'b' must be a finite number"),
        (lambda m: m.require_str("n"), "'n' must be a string"),
        (lambda m: m.require_bool("n"), "'n' must be a boolean"),
        (lambda m: m.strings("ints"), "'ints' must be an array of strings, but is an array of int32"),
        (lambda m: m.numbers("ints", "float32"), "'ints' must be an array of float32"),
        (lambda m: m.strings("nested"), "'nested' must be an array of strings, but is an array of arrays"),
        (lambda m: m.numbers("ints", "floating"), "'ints' must be an array of floating"),
        (lambda m: m.numbers("n", "integer"), "'n' must be an array of integer"),
        (lambda m: m.numbers("ints", "int32", 4), "'ints' has 3 elements where 4 are needed"),
        (lambda m: m.per_layer_ints("ints", 2), "'ints' has 3 elements where 2 are needed"),
        (lambda m: m.per_layer_ints("ints", 3, 1), "'ints' is 0; it must be at least 1"),
    ],
)
def test_wrong_ones_are_refused_by_key(read: Callable[[Metadata], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"m.gguf: .*{message}"):
        read(METADATA)


def test_defaults_count_only_for_absent_keys() -> None:
    assert METADATA.get_int("gone", 7) == 7
    assert METADATA.get_float("gone", 0.1) == 0.1
    assert METADATA.get_str("gone", "d") == "d"
    assert METADATA.get_bool("gone", False) is False
    with pytest.raises(ConfigError):
        METADATA.get_int("s", 7)


def test_one_number_counts_for_every_layer() -> None:
    assert METADATA.per_layer_ints("n", 3) == [5, 5, 5]
    assert METADATA.per_layer_ints("ints", 3) == [0, 1, 2]


@pytest.mark.parametrize("name", ["", "gpt-9"])
def test_unknown_architectures_list_the_known(name: str) -> None:
    with pytest.raises(UnsupportedModelError, match="known: llama, qwen2"):
        require_architecture(Metadata({"general.architecture": name}), ["qwen2", "llama"])


@pytest.mark.parametrize("kind", ["adapter", "mmproj"])
def test_files_that_go_with_a_model_are_told_from_one(kind: str) -> None:
    metadata = Metadata({"general.type": kind, "general.architecture": "llama", "llama.block_count": 2})
    with pytest.raises(UnsupportedModelError, match=f"general.type is '{kind}'"):
        require_architecture(metadata, ["llama"])


@pytest.mark.parametrize("blocks", [0, 513, 2**32 - 1])
def test_absurd_block_counts_are_refused_with_the_limit(blocks: int) -> None:
    metadata = Metadata({"general.architecture": "llama", "llama.block_count": blocks})
    with pytest.raises(ConfigError, match=r"llama\.block_count.*1 to 512"):
        require_architecture(metadata, ["llama"])


def test_a_sane_architecture_passes() -> None:
    assert require_architecture(Metadata({"general.architecture": "llama", "llama.block_count": 2}), ["llama"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scores": ["0", "0"]}, "scores' must be an array of float32, but is an array of strings"),
        ({"scores": np.zeros(2, np.uint8)}, "scores' must be an array of float32, but is an array of uint8"),
        ({"token_type": np.zeros(2, np.uint8)}, "token_type' must be an array of int32, but is an array of uint8"),
        ({"scores": np.zeros(3, np.float32)}, "scores' has 3 elements where 2"),
        ({"token_type": np.zeros(1, np.int32)}, "token_type' has 1 elements where 2"),
        ({"merges": np.zeros(2, np.int32)}, "merges' must be an array of strings"),
        ({"tokens": 5}, "tokens' must be an array of strings"),
    ],
)
def test_vocabulary_arrays_must_fit_each_other(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    good = {"tokens": ["a", "<0x-1>"], "scores": np.zeros(2, np.float32), "token_type": np.ones(2, np.int32)}
    values = {f"tokenizer.ggml.{key}": value for key, value in {**good, **wrong}.items()}
    write_gguf(tmp_path / "m.gguf", values, {})
    with pytest.raises(ConfigError, match=message):
        check_vocabulary(GGUFFile.open(tmp_path / "m.gguf").metadata)


def test_a_vocabulary_in_order_is_counted(tmp_path: Path) -> None:
    write_gguf(tmp_path / "m.gguf", {"tokenizer.ggml.tokens": ["a", "<0x-1>"]}, {})
    assert check_vocabulary(GGUFFile.open(tmp_path / "m.gguf").metadata) == 2
