"""Odd arguments that once did something silently, or failed far from where they were given."""

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boostr
from boostr.errors import ConfigError, ContextLengthError, ParameterError, TokenizerError
from boostr.generate.decode import PREFILL_CHUNK, chunks

PATH = Path(__file__).parents[1] / "data" / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(PATH)
    yield model
    model.close()


@pytest.mark.parametrize("ids", [[1.5], ["a"], [None], {"a": 1}, 5, np.array([1.0, 2.0]), np.array([[1, 2]])])
def test_ids_that_are_no_whole_numbers_are_refused(model: boostr.LanguageModel, ids: Any) -> None:
    with pytest.raises(TokenizerError, match="whole numbers"):
        model.generate(ids, max_tokens=1)


def test_text_where_ids_belong_is_refused(model: boostr.LanguageModel) -> None:
    with pytest.raises(TokenizerError, match="encode"):
        model.logits("abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("ids", [np.array([1, 2], np.uint8), range(1, 3), (1, 2)])
def test_any_sequence_of_integers_is_taken(model: boostr.LanguageModel, ids: Any) -> None:
    assert np.array_equal(np.asarray(model.logits(ids)), np.asarray(model.logits([1, 2])))


@pytest.mark.parametrize("n", [1.5, "2", True, -1])
def test_a_number_of_choices_that_is_none_is_refused(model: boostr.LanguageModel, n: Any) -> None:
    with pytest.raises(ParameterError, match="n is"):
        model.complete([1], n=n, max_tokens=1)


def test_load_checks_its_options_before_it_loads() -> None:
    with pytest.raises(ParameterError, match="cache_dtype is 'int4'"):
        boostr.load(PATH, cache_dtype="int4")
    with pytest.raises(ConfigError, match="context_length is 'x'"):
        boostr.load(PATH, context_length="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [0, 1, 2, 511, 512, 513, 514, 1024, 1025, 1537])
def test_no_prompt_is_cut_so_that_one_token_stands_alone(length: int) -> None:
    ids = list(range(length))
    parts = list(chunks(ids))
    assert [token for part in parts for token in part] == ids
    assert all(2 <= len(part) <= PREFILL_CHUNK for part in parts) or length == 1


def test_an_error_comes_back_whole_from_another_process() -> None:
    for error in (pickle.loads(pickle.dumps(ContextLengthError(5, 4))), copy.deepcopy(ContextLengthError(5, 4))):
        assert (error.n_prompt, error.n_ctx) == (5, 4)
        assert str(error) == str(ContextLengthError(5, 4))
