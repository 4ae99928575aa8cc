"""What a caller asks activations to be rounded to reaches the products: error falls from int8 over int16 to float32."""

import numpy as np
import pytest

import boostr
from boostr.errors import ParameterError
from boostr.quant import Activations
from tests.boostr.models.networks import DATA

MODEL = DATA / "gguf/models/llama-spm-Q8_0.gguf"
IDS = list(range(3, 20))


def logits(activations: Activations | None, precise: bool = False) -> np.ndarray:
    return np.asarray(boostr.load(MODEL, precise=precise, activations=activations, cache_dtype="float32").logits(IDS))


def test_finer_activations_are_nearer_to_float32() -> None:
    exact = logits(None, precise=True)
    error = {word: np.abs(logits(word) - exact).max() for word in ("int8", "int16", "float32")}  # type: ignore[arg-type]
    assert error["float32"] == 0
    assert 0 < error["int16"] < 0.02 * error["int8"]


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="activations is 'int4': use one of int8, int16, float32"):
        boostr.load(MODEL, activations="int4")  # type: ignore[arg-type]
