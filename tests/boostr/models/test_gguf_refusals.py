"""GGUF files that are no model, or name an unknown architecture or absurd sizes: refused before a tensor is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import ConfigError, UnsupportedModelError
from boostr.formats import open_checkpoint
from boostr.formats.gguf import write_gguf
from boostr.models import load_network

SIZES = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 64,
    "llama.embedding_length": 16,
    "llama.feed_forward_length": 32,
    "llama.attention.head_count": 2,
}


def load(directory: Path, changes: dict[str, Any]) -> None:
    path = directory / "model.gguf"
    write_gguf(path, {**SIZES, **changes}, {"token_embd.weight": np.zeros((8, 16), np.float32)})
    load_network(open_checkpoint(path))


@pytest.mark.parametrize("kind", ["adapter", "mmproj"])
def test_a_file_that_goes_with_a_model_is_told_from_one(tmp_path: Path, kind: str) -> None:
    with pytest.raises(
        UnsupportedModelError, match=rf"model\.gguf: general\.type is '{kind}'.*with a model and is none"
    ):
        load(tmp_path, {"general.type": kind})


@pytest.mark.parametrize("kind", ["model", "no such", 5, np.arange(3, dtype=np.int32), ["adapter", "mmproj"]])
def test_any_other_type_is_judged_by_its_architecture(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(UnsupportedModelError, match="'rwkv' is not implemented"):
        load(tmp_path, {"general.type": kind, "general.architecture": "rwkv"})


@pytest.mark.parametrize("name", ["", "gpt-9"])
def test_unknown_architectures_list_the_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsupportedModelError, match=f"'{name}' is not implemented; known: .*llama.*qwen3"):
        load(tmp_path, {"general.architecture": name})


@pytest.mark.parametrize("name", [5, True, np.zeros(2, np.uint8), ["llama"]])
def test_an_architecture_that_is_no_string_is_refused_by_key(tmp_path: Path, name: Any) -> None:
    with pytest.raises(ConfigError, match=r"model\.gguf: .*'general\.architecture'"):
        load(tmp_path, {"general.architecture": name})


@pytest.mark.parametrize("blocks", [0, np.int32(-1), 513, np.uint32(2**32 - 1), np.uint64(2**64 - 1)])
def test_absurd_block_counts_are_refused_with_the_limit(tmp_path: Path, blocks: Any) -> None:
    with pytest.raises(ConfigError, match=rf"'llama\.block_count' is {blocks}, outside 1\.\.512"):
        load(tmp_path, {"llama.block_count": blocks})


@pytest.mark.parametrize("blocks", ["2", True, 2.5, np.zeros(2, np.int32), ["2"]])
def test_block_counts_that_are_no_number_are_refused_by_key(tmp_path: Path, blocks: Any) -> None:
    with pytest.raises(ConfigError, match=r"'llama\.block_count' is .*, not a whole number"):
        load(tmp_path, {"llama.block_count": blocks})


@pytest.mark.parametrize("changes", [{"llama.block_count": 0}, {"llama.rope.dimension_count": 5}])
def test_a_value_that_cannot_be_is_told_with_its_file(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, changes)
    assert str(caught.value).count(f"{tmp_path / 'model.gguf'}: ") == 1
