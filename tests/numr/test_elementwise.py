"""Elementwise functions against NumPy's, and the special cases in which the standard asks for more than NumPy gives."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import numr as nr

quick = settings(max_examples=15, deadline=None)
INF, NAN = float("inf"), float("nan")

REAL_UNARY = ["abs", "ceil", "conj", "floor", "isfinite", "isinf", "isnan", "negative", "positive", "real", "round"]
REAL_UNARY += ["sign", "signbit", "square", "trunc"]
FLOAT_UNARY = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log10"]
FLOAT_UNARY += ["log1p", "log2", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"]
BINARY = ["add", "atan2", "copysign", "divide", "equal", "greater", "greater_equal", "hypot", "less", "less_equal"]
BINARY += ["logaddexp", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract"]
INTEGER_BINARY = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]
INTEGER_BINARY += ["floor_divide"]

CORNERS = np.asarray([0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, -1e30, INF, -INF, NAN])


@pytest.mark.parametrize("name", REAL_UNARY + FLOAT_UNARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unary_at_the_corners(name, dtype):
    corners = np.concatenate([CORNERS, [np.finfo(dtype).max, np.finfo(dtype).tiny]]).astype(dtype)

    with np.errstate(all="ignore"):
        result = getattr(nr, name)(nr.asarray(corners))
        expected = getattr(np, name)(corners)

    assert result.dtype == expected.dtype
    assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", REAL_UNARY + FLOAT_UNARY)
@pytest.mark.parametrize("shape", [(0,), (), (1,), (2, 0, 3)])
def test_unary_keeps_empty_and_single_shapes(name, shape):
    x = nr.ones(shape, dtype=nr.float32)

    with np.errstate(all="ignore"):
        result = getattr(nr, name)(x)

    assert isinstance(result.array, np.ndarray)
    assert result.shape == shape


@pytest.mark.parametrize("name", [name for name in REAL_UNARY if name != "signbit"])  # signbit is for floats only
def test_unary_of_integers_keeps_or_answers(name):
    expected = getattr(np, name)(np.asarray([-3, 0, 7], dtype=np.int8))

    result = getattr(nr, name)(nr.asarray([-3, 0, 7], dtype=nr.int8))

    assert result.dtype == expected.dtype
    assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", BINARY)
def test_binary_at_the_corners(name):
    with np.errstate(all="ignore"):
        result = getattr(nr, name)(nr.asarray(CORNERS[:, None]), nr.asarray(CORNERS))
        expected = getattr(np, name)(CORNERS[:, None], CORNERS)

    assert result.shape == (11, 11)
    assert result.dtype == expected.dtype
    assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", BINARY)
@quick
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3))
def test_binary_shapes(name, shapes):
    a, b = (nr.ones(shape, dtype=nr.float32) for shape in shapes.input_shapes)

    assert getattr(nr, name)(a, b).shape == shapes.result_shape


@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_binary(name):
    a, b = np.asarray([7, 0, 100, 3], dtype=np.int32), np.asarray([1, 3, 2, 5], dtype=np.int32)

    assert_array_equal(np.asarray(getattr(nr, name)(nr.asarray(a), nr.asarray(b))), getattr(np, name)(a, b))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name):
    a, b = np.asarray([True, True, False, False]), np.asarray([True, False, True, False])

    assert_array_equal(np.asarray(getattr(nr, name)(nr.asarray(a), nr.asarray(b))), getattr(np, name)(a, b))
    assert_array_equal(np.asarray(nr.logical_not(nr.asarray(a))), ~a)


def test_complex_parts():
    x = nr.asarray([1 + 2j, -3j], dtype=nr.complex64)

    assert nr.real(x).tolist() == [1, 0]
    assert nr.imag(x).tolist() == [2, -3]
    assert nr.conj(x).tolist() == [1 - 2j, 3j]
    assert nr.abs(x).dtype == nr.float32


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(INF, 2.0, INF), (-INF, 2.0, -INF), (INF, -2.0, -INF), (1.0, -INF, -0.0), (-1.0, INF, -0.0), (7.0, 2.0, 3.0)],
)
def test_floor_divide_of_infinities(a, b, expected):
    result = float(nr.floor_divide(nr.asarray(a), b))

    assert result == expected
    assert np.signbit(result) == np.signbit(expected)


def test_floor_divide_of_two_infinities_is_nan():
    assert nr.isnan(nr.floor_divide(nr.asarray(INF), nr.asarray(INF)))


def test_floor_divide_mixes_infinite_and_finite_elements():
    assert nr.floor_divide(nr.asarray([INF, 5.0, -5.0]), nr.asarray(2.0)).tolist() == [INF, 2.0, -3.0]


@pytest.mark.parametrize(
    ("given", "real", "imag"),
    [
        (complex(-0.0, 0.0), 0.0, 0.0),
        (complex(INF, 0.0), INF, 0.0),
        (complex(-INF, INF), -1.0, 0.0),
        (complex(-INF, NAN), -1.0, 0.0),
        (complex(INF, INF), INF, NAN),
        (complex(NAN, 0.0), NAN, 0.0),
    ],
)
def test_complex_expm1_at_infinity(given, real, imag):
    result = complex(nr.expm1(nr.asarray(given)))

    assert_array_equal([result.real, result.imag], [real, imag])


def test_complex_expm1_is_exact_near_zero():
    assert_allclose(complex(nr.expm1(nr.asarray(1e-12 + 1e-12j))), 1e-12 + 1e-12j, rtol=1e-11)


@pytest.mark.parametrize(
    ("given", "expected"), [(complex(INF, 2.0), 1 + 0j), (complex(-INF, -2.0), complex(-1.0, -0.0))]
)
def test_complex_tanh_at_infinity(given, expected):
    result = complex(nr.tanh(nr.asarray(given)))

    assert (result, np.signbit(result.imag)) == (expected, np.signbit(expected.imag))


@quick
@given(x=hnp.arrays(np.float64, (4,), elements=st.floats(-10, 10)), low=st.floats(-5, 0), high=st.floats(0, 5))
def test_clip_limits(x, low, high):
    assert_array_equal(np.asarray(nr.clip(nr.asarray(x), low, high)), np.clip(x, low, high))


def test_clip_without_limits_copies():
    x = nr.asarray([1.0])

    assert nr.clip(x).tolist() == [1.0]
    assert not np.shares_memory(nr.clip(x).array, x.array)


def test_clip_of_nan_is_nan():
    assert np.isnan(np.asarray(nr.clip(nr.asarray([1.0, NAN]), NAN, 2.0))).all()


def test_clip_keeps_the_dtype():
    small = nr.asarray([0, 100, 255], dtype=nr.uint8)

    assert nr.clip(small, -5, 1000).tolist() == [0, 100, 255]
    assert nr.clip(small, min=-5, max=50).dtype == nr.uint8
    assert nr.clip(nr.ones(2, dtype=nr.bfloat16), 0.0, 0.5).dtype == nr.bfloat16


def test_clip_with_tensors_broadcasts():
    assert nr.clip(nr.asarray([[1.0], [5.0]]), nr.asarray([2.0, 3.0]), 4).tolist() == [[2.0, 3.0], [4.0, 4.0]]


def test_clip_names_shapes_that_do_not_fit():
    with pytest.raises(nr.ShapeError, match=r"clip: shapes \(2,\) and \(3,\)"):
        nr.clip(nr.zeros(2), nr.zeros(3))


def test_round_takes_halves_to_even():
    assert nr.round(nr.asarray([0.5, 1.5, 2.5, -0.5])).tolist() == [0.0, 2.0, 2.0, -0.0]


@pytest.mark.parametrize("dtype", [nr.float16, nr.bfloat16])
@pytest.mark.parametrize("name", ["exp", "log1p", "tanh", "sqrt", "floor", "abs"])
def test_narrow_floats_are_computed_and_kept(name, dtype):
    x = nr.asarray([0.25, 1.0, 3.0], dtype=dtype)

    result = getattr(nr, name)(x)

    assert result.dtype == dtype
    exact = getattr(np, name)(np.asarray(x).astype(np.float64))
    assert_allclose(np.asarray(result).astype(np.float64), exact, rtol=2**-7)  # one ulp of bfloat16


@pytest.mark.parametrize(("name", "args"), [("bitwise_and", 2), ("bitwise_invert", 1), ("bitwise_left_shift", 2)])
def test_operations_without_a_kernel_name_dtype_and_device(name, args):
    x = nr.zeros(1, dtype=nr.bfloat16)
    with pytest.raises(nr.UnsupportedError, match=rf"{name} has no kernel for bfloat16.* on device 'cpu'"):
        getattr(nr, name)(*[x] * args)


def test_values_that_no_result_has_pass_as_numpy_says():
    with pytest.raises(ValueError, match="negative integer powers"):
        nr.pow(nr.asarray([2]), nr.asarray([-1]))


def test_scalars_beyond_the_dtype_overflow():
    with pytest.raises(OverflowError):
        nr.add(nr.asarray([1], dtype=nr.int8), 300)


@pytest.mark.parametrize("operands", [(1, 2.0), (np.zeros(1), 1)])
def test_one_operand_must_be_a_tensor(operands):
    with pytest.raises(TypeError, match="at least one operand must be a numr Tensor"):
        nr.add(*operands)


@pytest.mark.parametrize("function", [nr.exp, lambda x: nr.add(nr.zeros(1), x)])
@pytest.mark.parametrize("given", [[1.0], np.zeros(1), None, "x"])
def test_other_objects_are_refused(function, given):
    with pytest.raises(TypeError, match=type(given).__name__):
        function(given)


def test_functions_carry_their_names_and_words():
    assert nr.add.__name__ == "add"
    assert nr.sin.__doc__ == "Sine of radians."
