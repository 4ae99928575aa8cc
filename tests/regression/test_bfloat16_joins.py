"""Functions that NumPy promotes by itself once refused bfloat16 beside float16 and the wider integers."""

from collections.abc import Callable

import pytest

import numr as nr

OTHERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "complex64")  # fmt: skip
JOINS: dict[str, Callable[[nr.Tensor, nr.Tensor], nr.Tensor]] = {
    "where": lambda x, y: nr.where(nr.asarray([True, False]), x, y),
    "concat": lambda x, y: nr.concat([x, y]),
    "stack": lambda x, y: nr.stack([x, y]),
    "prepend": lambda x, y: nr.diff(x, prepend=y),
}


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("other", OTHERS)
def test_joins_promote_as_arithmetic_does(join: str, other: str) -> None:
    x = nr.asarray([1.5, 2.5], dtype=nr.bfloat16)
    y = nr.ones(2, dtype=other)
    expected = nr.result_type(x, y)
    for a, b in ((x, y), (y, x)):
        if (join, other) == ("prepend", "bool") and a is y:
            continue  # differences of bools are not defined
        assert JOINS[join](a, b).dtype == expected


def test_values_survive_the_join() -> None:
    x = nr.asarray([1.5, -2.0], dtype=nr.bfloat16)
    y = nr.asarray([3, 65536], dtype=nr.int32)
    assert nr.concat([x, y]).tolist() == [1.5, -2.0, 3.0, 65536.0]
    assert nr.where(nr.asarray([True, False]), x, y).tolist() == [1.5, 65536.0]


def test_a_scalar_beside_bfloat16_stays_weak() -> None:
    x = nr.asarray([1.5, -2.0], dtype=nr.bfloat16)
    chosen = nr.where(x > 0, x, 0.25)
    assert chosen.dtype == nr.bfloat16
    assert chosen.tolist() == [1.5, 0.25]
