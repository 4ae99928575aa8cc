"""Norms, softmax, activations, rotary embedding: kernels against the NumPy references, at odd sizes and odd values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numr import Tensor, nn
from numr.errors import DTypeError, ShapeError
from numr.nn import reference

Array = np.ndarray[Any, Any]

SHAPES = [
    (0, 8),
    (1, 1),
    (1, 3),
    (2, 15),
    (1, 16),
    (3, 17),
    (5, 64),
    (2, 95),
    (1, 576),
    (7, 1000),
    (3, 4099),
    (130, 257),
]
SPECIAL = np.array([0, -0.0, 1e-30, -1e-30, 20, -20, 88, -88, 104, -104, 1e10, -1e10, 3e38, np.inf, -np.inf, np.nan])


def normal(shape: tuple[int, ...], seed: int = 0, scale: float = 1.0) -> Tensor:
    return Tensor(np.asarray(np.random.default_rng(seed).normal(size=shape) * scale, np.float32))


def close(got: Tensor, expected: Array, rtol: float = 3e-6, atol: float = 1e-6) -> None:
    assert got.array.dtype == np.float32
    np.testing.assert_allclose(got.array, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(shape: tuple[int, int]) -> None:
    x, w = normal(shape, scale=3), normal(shape[1:], 1)
    close(nn.rms_norm(x, w, 1e-5), reference.rms_norm(x.array, w.array, 1e-5))


def test_rms_norm_into_a_given_tensor_and_in_place() -> None:
    x, w = normal((4, 33)), normal((33,), 1)
    expected, out = reference.rms_norm(x.array, w.array, 1e-5), normal((4, 33), 2)
    assert nn.rms_norm(x, w, 1e-5, out=out) is out
    close(out, expected)
    nn.rms_norm(x, w, 1e-5, out=x)
    close(x, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_add_rms_norm_changes_x_and_not_y(shape: tuple[int, int]) -> None:
    x, y, w = normal(shape), normal(shape, 3), normal(shape[1:], 1)
    total, untouched = x.array + y.array, y.array.copy()
    close(nn.add_rms_norm(x, y, w, 1e-6), reference.rms_norm(total, w.array, 1e-6))
    np.testing.assert_array_equal(x.array, total)
    np.testing.assert_array_equal(y.array, untouched)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_layer_norm(shape: tuple[int, int], with_bias: bool) -> None:
    x, w, b = normal(shape, scale=2), normal(shape[1:], 1), normal(shape[1:], 2) if with_bias else None
    expected = reference.layer_norm(x.array, w.array, None if b is None else b.array, 1e-5)
    close(nn.layer_norm(x, w, b, 1e-5), expected, atol=3e-6)


@pytest.mark.parametrize("norm", [nn.rms_norm, lambda x, w, eps: nn.layer_norm(x, w, None, eps)])
def test_norms_of_huge_and_unusual_rows(norm: Callable[..., Tensor]) -> None:
    x = Tensor(np.zeros((4, 40), np.float32))
    x.array[0, 5], x.array[1, 5], x.array[2, 39] = 1e30, np.inf, np.nan
    ones = Tensor(np.ones(40, np.float32))
    got = norm(x, ones, 1e-5).array
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1, 5])
    assert np.isnan(got[2]).all()
    assert (got[3] == 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape: tuple[int, int]) -> None:
    x = normal(shape, scale=5)
    close(nn.softmax(x), reference.softmax(x.array))


@pytest.mark.parametrize("width", [3, 16, 37])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 1e38, -1e38])
@pytest.mark.parametrize("place", [0, -1])
def test_softmax_of_unusual_values(width: int, value: float, place: int) -> None:
    x = normal((2, width))
    x.array[0, place] = value
    x.array[1] = value
    close(nn.softmax(x), reference.softmax(x.array))


UNARY: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Array], Array]]] = {
    "silu": (nn.silu, reference.silu),
    "gelu_tanh": (lambda x: nn.gelu(x, True), lambda x: reference.gelu(x, True)),
    "gelu_erf": (lambda x: nn.gelu(x, False), lambda x: reference.gelu(x, False)),
}
GATED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Array, Array], Array]]] = {
    "silu_mul": (nn.silu_mul, reference.silu_mul),
    "gelu_tanh_mul": (lambda a, b: nn.gelu_mul(a, b, True), lambda a, b: reference.gelu_mul(a, b, True)),
    "gelu_erf_mul": (lambda a, b: nn.gelu_mul(a, b, False), lambda a, b: reference.gelu_mul(a, b, False)),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", SHAPES)
def test_activations(name: str, shape: tuple[int, int]) -> None:
    op, expected = UNARY[name]
    x = normal(shape, scale=4)
    close(op(x), expected(x.array))


@pytest.mark.parametrize("name", UNARY)
def test_activations_of_unusual_values(name: str) -> None:
    op, expected = UNARY[name]
    x = Tensor(SPECIAL.astype(np.float32))
    close(op(x), expected(x.array))


@pytest.mark.parametrize("name", UNARY)
def test_activations_over_their_whole_range(name: str) -> None:
    op, expected = UNARY[name]
    x = Tensor(np.linspace(-30, 30, 60_001, dtype=np.float32))
    close(op(x), expected(x.array), rtol=1e-6, atol=3e-7)


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("shape", SHAPES)
def test_gated_activations(name: str, shape: tuple[int, int]) -> None:
    op, expected = GATED[name]
    gate, up = normal(shape, scale=4), normal(shape, 1)
    close(op(gate, up), expected(gate.array, up.array))


@pytest.mark.parametrize("shape", [*SHAPES, (), (40_000,)])
def test_add(shape: tuple[int, ...]) -> None:
    x, y = normal(shape), normal(shape, 1)
    expected = x.array + y.array
    nn.add_(x, y)
    np.testing.assert_array_equal(x.array, expected)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("heads", "head_dim", "rot"), [(1, 2, 2), (3, 16, 16), (2, 24, 24), (4, 80, 32), (2, 7, 6)])
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_rope(rows: int, heads: int, head_dim: int, rot: int, interleaved: bool) -> None:
    angles = np.arange(50)[:, None] / 10 ** np.linspace(0, 4, rot // 2)
    cos, sin = Tensor(np.cos(angles).astype(np.float32)), Tensor(np.sin(angles).astype(np.float32))
    positions = np.random.default_rng(0).integers(0, 50, rows)
    x = normal((rows, heads * head_dim))
    expected = x.array.copy()
    reference.rope_(expected, positions, cos.array, sin.array, heads, head_dim, interleaved)
    untouched = x.array.reshape(rows, heads, head_dim)[..., rot:].copy()
    nn.rope_(x, Tensor(positions), cos, sin, heads, head_dim, interleaved)
    close(x, expected)
    np.testing.assert_array_equal(x.array.reshape(rows, heads, head_dim)[..., rot:], untouched)


@pytest.mark.parametrize("position", [-1, 50, 2**62, -(2**62)])
def test_rope_refuses_positions_outside_its_table(position: int) -> None:
    table = normal((50, 4))
    x = normal((2, 8))
    before = x.array.copy()
    with pytest.raises(ShapeError, match="50 positions"):
        nn.rope_(x, np.array([0, position]), table, table, 1, 8, False)
    np.testing.assert_array_equal(x.array, before)


def test_a_large_tensor_is_the_same_on_any_number_of_threads() -> None:
    from numr.native import get_num_threads, set_num_threads

    before, x, w = get_num_threads(), normal((300, 1100)), normal((1100,), 1)
    results = []
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads)
            results.append((nn.rms_norm(x, w, 1e-5).array, nn.silu(x).array, nn.softmax(x).array))
    finally:
        set_num_threads(before)
    for other in results[1:]:
        for got, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(got, expected)


def read_only(shape: tuple[int, ...]) -> Tensor:
    array = np.zeros(shape, np.float32)
    array.flags.writeable = False
    return Tensor(array)


X, W, TABLE = normal((2, 8)), normal((8,)), normal((5, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.rms_norm(X, normal((7,)), 1e-5),
        lambda: nn.rms_norm(X, W, 1e-5, out=normal((2, 7))),
        lambda: nn.rms_norm(X, W, 1e-5, out=read_only((2, 8))),
        lambda: nn.rms_norm(Tensor(normal((2, 16)).array[:, ::2]), W, 1e-5),
        lambda: nn.rms_norm(Tensor(np.float32(3).reshape(())), W, 1e-5),
        lambda: nn.add_rms_norm(X, normal((1, 8)), W, 1e-5),
        lambda: nn.add_rms_norm(read_only((2, 8)), X, W, 1e-5),
        lambda: nn.layer_norm(X, W, normal((1, 8)), 1e-5),
        lambda: nn.add_(X, W),
        lambda: nn.silu_mul(X, W),
        lambda: nn.gelu_mul(X, W, True),
        lambda: nn.rope_(X, np.zeros(3, np.int64), TABLE, TABLE, 1, 8, False),
        lambda: nn.rope_(X, np.zeros(2, np.int64), TABLE, normal((4, 4)), 1, 8, False),
        lambda: nn.rope_(X, np.zeros(2, np.int64), TABLE, TABLE, 2, 4, False),
        lambda: nn.rope_(X, np.zeros(2, np.int64), TABLE, TABLE, 2, 8, False),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ShapeError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.rms_norm(Tensor(X.array.astype(np.float16)), W, 1e-5),
        lambda: nn.rms_norm(X, Tensor(W.array.astype(">f4")), 1e-5),
        lambda: nn.softmax(Tensor(np.arange(4))),
        lambda: nn.silu(Tensor(X.array.astype(np.float64))),
        lambda: nn.rope_(X, np.zeros(2, np.int32), TABLE, TABLE, 1, 8, False),
    ],
)
def test_dtypes_that_do_not_fit_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(DTypeError):
        call()
