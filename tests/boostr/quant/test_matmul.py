"""Products against float64 on the dequantized weights, for every type with kernels and some without."""

import threading

import numpy as np
import pytest

from boostr.errors import ParameterError
from boostr.quant import QUANT_TYPES, Product, QuantTensor, take_rows
from boostr.quant.crossover import ANY, MANY_ROWS
from boostr.quant.kernels import kernels
from numr import Tensor
from numr.errors import DTypeError, ShapeError
from tests.boostr.quant.random_weights import (
    FLOAT_SCALED_TYPES,
    KERNEL_TYPES,
    ROUNDED_TYPES,
    WITHOUT_KERNELS,
    activations,
    as_floats,
    random_weight,
    relative_error,
    set_factor,
)

# 18 blocks of 32 and 3 of 256: neither is a whole number of the vectors any CPU level works in.
COLUMNS = {32: 576, 64: 576, 256: 768, 1: 573}


def columns_of(name: str) -> int:
    return COLUMNS[QUANT_TYPES[name].block]


def exact(x: Tensor, weight: object) -> np.ndarray:
    return x.array.astype(np.float64) @ as_floats(weight).astype(np.float64).T  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*KERNEL_TYPES, WITHOUT_KERNELS])
@pytest.mark.parametrize("m", [1, 2, 3, 7, 12, 33, 300])
def test_precise_products_are_exact_to_rounding(name: str, m: int) -> None:
    weight, x = random_weight(name, 37, columns_of(name)), activations(m, columns_of(name))
    (y,) = Product([weight], "precise")(x)
    assert relative_error(y.array, exact(x, weight)) < 1e-6


@pytest.mark.parametrize(("precision", "bound"), [("int8", 1e-2), ("int16", 4e-5), ("float32", 1e-6)])
@pytest.mark.parametrize("name", KERNEL_TYPES)
@pytest.mark.parametrize("m", [1, 7, 300])
def test_products_stay_within_the_rounding_of_activations(name: str, m: int, precision: str, bound: float) -> None:
    weight, x = random_weight(name, 101, columns_of(name)), activations(m, columns_of(name))
    (y,) = Product([weight], precision)(x)  # type: ignore[arg-type]
    # The error of one row hangs on a few blocks' greatest elements; over more rows it settles well below the bound.
    allowed = bound * (1.5 if m == 1 else 1) if name in ROUNDED_TYPES else 1e-6
    assert relative_error(y.array, exact(x, weight)) < allowed


@pytest.mark.parametrize("precision", ["fast", "precise"])
@pytest.mark.parametrize("name", [*KERNEL_TYPES, WITHOUT_KERNELS])
def test_a_row_does_not_depend_on_how_many_there_are(name: str, precision: str) -> None:
    weight, x = random_weight(name, 53, columns_of(name)), activations(300, columns_of(name))
    product = Product([weight], precision)  # type: ignore[arg-type]
    (whole,) = product(x)
    for m in (1, 7, 64):
        (some,) = product(Tensor(x.array[:m].copy()))
        assert relative_error(some.array, whole.array[:m]) < 1e-5


@pytest.mark.skipif(kernels() is None, reason="BLAS orders its sums by the shape")
@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("name", ROUNDED_TYPES)
def test_rounded_rows_have_the_same_bits_in_any_company(name: str, precision: str) -> None:
    weight, x = random_weight(name, 53, columns_of(name)), activations(MANY_ROWS - 1, columns_of(name))
    product = Product([weight, random_weight("F16", 8, columns_of(name))], precision)  # type: ignore[arg-type]
    whole = product(x)[0].array
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 9, 17):
        np.testing.assert_array_equal(product(Tensor(x.array[:m].copy()))[0].array, whole[:m])


@pytest.mark.skipif(kernels() is None, reason="tiles are native")
@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("name", ROUNDED_TYPES)
def test_tiles_multiply_the_same_integers_as_rows(name: str, precision: str) -> None:
    weights = [random_weight(name, rows, columns_of(name)) for rows in (1, 16, 53)]
    x = activations(83, columns_of(name))
    x.array[3] = 0
    x.array[5, 2] = np.nan
    rows = Product(weights, precision, tiled=ANY)(x)  # type: ignore[arg-type]
    tiled = Product(weights, precision, tiled=1)  # type: ignore[arg-type]
    for few, many in zip(rows, tiled(x), strict=True):
        assert relative_error(np.nan_to_num(many.array), np.nan_to_num(few.array)) < 1e-6
        np.testing.assert_array_equal(np.isnan(many.array), np.isnan(few.array))
    for m in (1, 7, 8, 9, 82):
        for part, whole in zip(tiled(Tensor(x.array[:m].copy())), tiled(x), strict=True):
            np.testing.assert_array_equal(part.array, whole.array[:m])


@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", ROUNDED_TYPES)
def test_few_and_many_row_paths_agree(name: str, precision: str) -> None:
    weight, x = random_weight(name, 64, columns_of(name)), activations(9, columns_of(name))
    (few,) = Product([weight], precision, few=9)(x)  # type: ignore[arg-type]
    (many,) = Product([weight], precision, few=0)(x)  # type: ignore[arg-type]
    assert relative_error(few.array, many.array) < 1e-5


@pytest.mark.parametrize("m", [1, 5, 200])
def test_a_group_gives_what_its_members_give(m: int) -> None:
    columns = 768
    names = ("Q4_1", "Q8_0", "Q6_K", "F16", WITHOUT_KERNELS, "Q4_K")
    weights = [random_weight(name, 20 + at, columns, at) for at, name in enumerate(names)]
    x = activations(m, columns)
    for weight, y in zip(weights, Product(weights)(x), strict=True):
        (alone,) = Product([weight])(x)
        assert y.shape == (m, weight.shape[0])
        assert relative_error(y.array, alone.array) < 1e-6


def test_more_weights_than_one_native_call_takes() -> None:
    weights = [random_weight("Q8_0", 4 + at, 64, at) for at in range(19)]
    outputs = Product(weights)(activations(2, 64))
    assert [y.shape for y in outputs] == [(2, 4 + at) for at in range(19)]


@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", ROUNDED_TYPES)
def test_unaligned_weights(name: str, precision: str) -> None:
    weight = random_weight(name, 9, columns_of(name))
    memory = np.zeros(weight.blocks.size + 1, np.uint8)  # type: ignore[union-attr]
    view = memory[1:].reshape(weight.blocks.shape)  # type: ignore[union-attr]
    view[...] = weight.blocks  # type: ignore[union-attr]
    moved = QuantTensor(view, QUANT_TYPES[name], weight.shape)
    x = activations(3, columns_of(name))
    (y,) = Product([moved], precision)(x)  # type: ignore[arg-type]
    np.testing.assert_array_equal(y.array, Product([weight], precision)(x)[0].array)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("m", [1, 6, 200])
def test_zero_activations_give_zero(precision: str, m: int) -> None:
    for name in ROUNDED_TYPES:
        weight = random_weight(name, 10, columns_of(name))
        (y,) = Product([weight], precision)(Tensor(np.zeros((m, columns_of(name)), np.float32)))  # type: ignore[arg-type]
        assert not y.array.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", KERNEL_TYPES)
@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("m", [3, 200])
def test_a_bad_activation_spoils_its_own_row_only(name: str, bad: float, m: int, precision: str) -> None:
    weight, x = random_weight(name, 11, columns_of(name)), activations(m, columns_of(name))
    x.array[1, 40] = bad
    (y,) = Product([weight], precision)(x)  # type: ignore[arg-type]
    assert not np.isfinite(y.array[1]).any()
    assert np.isfinite(np.delete(y.array, 1, axis=0)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", FLOAT_SCALED_TYPES)
@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("m", [1, 9])
def test_a_bad_scale_spoils_its_own_output_only(name: str, bad: float, m: int, precision: str) -> None:
    weight, x = random_weight(name, 11, columns_of(name)), activations(m, columns_of(name))
    set_factor(name, weight.blocks[4, : QUANT_TYPES[name].block_bytes], bad)  # type: ignore[union-attr]
    (y,) = Product([weight], precision)(x)  # type: ignore[arg-type]
    assert not np.isfinite(y.array[:, 4]).any()
    assert np.isfinite(np.delete(y.array, 4, axis=1)).all()


@pytest.mark.parametrize("precision", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", FLOAT_SCALED_TYPES)
def test_a_zero_scale_gives_zero(name: str, precision: str) -> None:
    weight, x = random_weight(name, 6, columns_of(name)), activations(5, columns_of(name))
    kind = QUANT_TYPES[name]
    blocks = weight.blocks[3].reshape(-1, kind.block_bytes)  # type: ignore[union-attr]
    set_factor(name, blocks, 0)
    (y,) = Product([weight], precision)(x)  # type: ignore[arg-type]
    assert not y.array[:, 3].any()
    assert y.array[:, 2].any()


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ParameterError, match="one of fast, precise, int8"):
        Product([random_weight("Q8_0", 4, 64)], "int4")  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["int8", "int16"])
@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e30])
def test_activations_of_extreme_size(scale: float, precision: str) -> None:
    weight, x = random_weight("Q8_0", 12, 64), activations(2, 64)
    (y,) = Product([weight], precision)(Tensor((x.array * np.float32(scale)).astype(np.float32)))  # type: ignore[arg-type]
    np.testing.assert_allclose(y.array, exact(x, weight) * scale, rtol=0.2, atol=max(scale, 1e-30) * 1e-2)


def test_strided_activations_are_copied() -> None:
    weight, x = random_weight("Q4_1", 12, 64), activations(4, 128)
    strided = Tensor(x.array[:, ::2])
    (y,) = Product([weight])(strided)
    np.testing.assert_array_equal(y.array, Product([weight])(Tensor(strided.array.copy()))[0].array)


def test_a_transposed_dense_weight() -> None:
    dense = np.random.default_rng(0).standard_normal((64, 30)).astype(np.float16)
    x = activations(2, 64)
    (y,) = Product([Tensor(dense.T)])(x)
    np.testing.assert_allclose(y.array, x.array @ dense.astype(np.float32), rtol=1e-4, atol=1e-4)


def test_no_rows() -> None:
    (y,) = Product([random_weight("Q8_0", 12, 64)])(Tensor(np.empty((0, 64), np.float32)))
    assert y.shape == (0, 12)


def test_concurrent_callers_get_their_own_results() -> None:
    product = Product([random_weight("Q4_K", 300, 512), random_weight("Q8_0", 300, 512)])
    inputs = [activations(1 + at % 3, 512, at) for at in range(8)]
    expected = [[y.array for y in product(x)] for x in inputs]
    wrong: list[int] = []

    def call(at: int) -> None:
        for _ in range(20):
            outputs = product(inputs[at])
            wrong.extend(at for y, e in zip(outputs, expected[at], strict=True) if not np.array_equal(y.array, e))

    threads = [threading.Thread(target=call, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_float64_activations_are_refused() -> None:
    with pytest.raises(DTypeError, match="float32 activations"):
        Product([random_weight("Q8_0", 4, 64)])(Tensor(np.zeros((1, 64))))


@pytest.mark.parametrize("shape", [(64,), (1, 32), (1, 1, 64)])
def test_activations_of_the_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="do not fit"):
        Product([random_weight("Q8_0", 4, 64)])(Tensor(np.zeros(shape, np.float32)))


def test_weights_of_different_width_are_refused() -> None:
    with pytest.raises(ShapeError, match="same number of columns"):
        Product([random_weight("Q8_0", 4, 64), random_weight("Q8_0", 4, 32)])


def test_an_empty_product_is_refused() -> None:
    with pytest.raises(ShapeError, match="at least one"):
        Product([])


def test_integer_weights_are_refused() -> None:
    with pytest.raises(DTypeError, match="not int8"):
        Product([Tensor(np.zeros((4, 64), np.int8))])


def test_experts_must_be_picked_before_a_product() -> None:
    raw = np.zeros((6, 34), np.uint8)
    with pytest.raises(ShapeError, match="two-dimensional"):
        Product([QuantTensor(raw, QUANT_TYPES["Q8_0"], (2, 3, 32))])


@pytest.mark.parametrize("name", [*KERNEL_TYPES, WITHOUT_KERNELS])
def test_take_rows_equals_dequantization(name: str) -> None:
    weight = random_weight(name, 20, columns_of(name))
    np.testing.assert_array_equal(take_rows(weight, [19, 0, 0, 7]).array, as_floats(weight)[[19, 0, 0, 7]])


@pytest.mark.parametrize("name", ["F32", "Q8_0", WITHOUT_KERNELS])
@pytest.mark.parametrize("bad", [-1, 20])
def test_rows_outside_the_weight_are_refused(name: str, bad: int) -> None:
    with pytest.raises(IndexError, match=r"0\.\.19"):
        take_rows(random_weight(name, 20, columns_of(name)), [3, bad])
