"""Where nothing native multiplies a weight, its float32 copy is made once, within a budget, and leaves with it."""

import gc

import numpy as np
import pytest

from boostr.quant import Product, QuantTensor, floats
from numr import Tensor
from tests.boostr.quant.random_weights import WITHOUT_KERNELS, activations, as_floats, random_weight

ROWS, COLUMNS = 24, 512


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that were dequantized, call by call."""
    calls: list[int] = []
    dequantize = QuantTensor.dequantize

    def counted(self: QuantTensor, rows: slice | None = None) -> np.ndarray:
        values = dequantize(self, rows)
        calls.append(len(values))
        return values

    monkeypatch.setattr(QuantTensor, "dequantize", counted)
    return calls


def weight() -> QuantTensor:
    made = random_weight(WITHOUT_KERNELS, ROWS, COLUMNS)
    assert isinstance(made, QuantTensor)
    return made


def test_a_weight_is_dequantized_once(decoded: list[int]) -> None:
    one, x = weight(), activations(2, COLUMNS)
    expected = x.array @ as_floats(one).T
    decoded.clear()
    product = Product([one], "precise")
    first, second = product(x)[0], product(x)[0]
    assert decoded == [ROWS]
    assert np.array_equal(first.array, second.array)
    assert np.allclose(first.array, expected, rtol=1e-4, atol=1e-4)


def test_copies_stay_within_the_budget_and_leave_with_their_weights(
    decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()
    held = sum(copy.nbytes for copy in floats._kept.values())
    monkeypatch.setattr(floats, "KEPT_BYTES", held + 4 * ROWS * COLUMNS)
    x: Tensor = activations(1, COLUMNS)
    first, second = weight(), weight()
    for one in (first, second, second):
        Product([one], "precise")(x)
    assert decoded == [ROWS, ROWS, ROWS]  # the second found no room, and is dequantized each time
    del first, one
    gc.collect()
    for _ in range(2):
        Product([second], "precise")(x)
    assert decoded == [ROWS, ROWS, ROWS, ROWS]  # now it is kept
