"""Vocabulary arrays of a written GGUF file that do not fit each other are refused by key."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import TokenizerError
from boostr.formats.gguf import GGUFFile, write_gguf
from boostr.tokenizers import Tokenizer, from_gguf

VALUES: dict[str, dict[str, Any]] = {
    "llama": {
        "tokens": ["<unk>", "<0x-1>"],
        "scores": np.zeros(2, np.float32),
        "token_type": np.array([2, 6], np.int32),
    },
    "gpt2": {"pre": "gpt-2", "tokens": ["a", "b", "ab"], "token_type": np.ones(3, np.int32), "merges": ["a b"]},
}


def tokenizer(directory: Path, kind: str, changes: dict[str, Any]) -> Tokenizer:
    values = {f"tokenizer.ggml.{key}": value for key, value in {**VALUES[kind], **changes, "model": kind}.items()}
    write_gguf(directory / "m.gguf", values, {})
    return from_gguf(GGUFFile.open(directory / "m.gguf").metadata)


@pytest.mark.parametrize("kind", sorted(VALUES))
def test_arrays_that_fit_are_a_vocabulary(tmp_path: Path, kind: str) -> None:
    assert tokenizer(tmp_path, kind, {}).vocab_size == len(VALUES[kind]["tokens"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"scores": ["0", "0"]},
        {"scores": np.zeros(2, np.bool_)},
        {"scores": np.zeros(2, np.uint8)},
        {"scores": np.zeros(1, np.float32)},
        {"scores": np.zeros(3, np.float32)},
        {"scores": 0.5},
        {"scores": [[0.5], [0.5, 0.5]]},
        {"token_type": ["1", "1"]},
        {"token_type": np.ones(2, np.float32)},
        {"token_type": np.ones(2, np.bool_)},
        {"token_type": np.ones(2, np.uint8)},
        {"token_type": np.ones(1, np.int32)},
        {"token_type": np.ones(3, np.int32)},
        {"token_type": 1},
        {"tokens": 5},
        {"tokens": np.zeros(2, np.int32)},
        {"tokens": [["a"], ["b"]]},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_the_tokens_are_refused_by_key(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(TokenizerError, match=rf"tokenizer\.ggml\.{next(iter(wrong))}"):
        tokenizer(tmp_path, "llama", wrong)


@pytest.mark.parametrize("merges", [np.zeros(2, np.int32), 5, "a b", [["a b"]]], ids=str)
def test_merges_that_are_no_strings_are_refused_by_key(tmp_path: Path, merges: Any) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.ggml\.merges"):
        tokenizer(tmp_path, "gpt2", {"merges": merges})


def test_a_merge_longer_than_every_token_is_left_out(tmp_path: Path) -> None:
    values = {"tokens": ["a", "b"], "token_type": np.ones(2, np.int32)}
    assert tokenizer(tmp_path, "gpt2", values).encode("ab") == [0, 1]
