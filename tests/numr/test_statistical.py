import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import numr as nr

quick = settings(max_examples=25, deadline=None)
REDUCTIONS = ["max", "mean", "min", "prod", "std", "sum", "var"]


@pytest.mark.parametrize("name", REDUCTIONS)
@quick
@given(
    x=hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=st.floats(-4, 4)),
    data=st.data(),
    keepdims=st.booleans(),
)
def test_reductions(name, x, data, keepdims):
    axis = data.draw(st.none() | hnp.valid_tuple_axes(x.ndim, min_size=1) | st.integers(-x.ndim, x.ndim - 1))

    result = getattr(nr, name)(nr.asarray(x), axis=axis, keepdims=keepdims)

    expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
    assert result.shape == expected.shape
    assert_allclose(np.asarray(result), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "expected"), [("sum", 0.0), ("prod", 1.0)])
def test_over_no_elements(name, expected):
    assert getattr(nr, name)(nr.zeros((0, 2)), axis=0).tolist() == [expected] * 2


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_no_elements_are_refused(name):
    with pytest.raises(ValueError):
        getattr(nr, name)(nr.zeros(0))


@pytest.mark.parametrize("dtype", [nr.float32, nr.bfloat16])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_propagates(name, dtype):
    assert nr.isnan(getattr(nr, name)(nr.asarray([1.0, float("nan"), 2.0], dtype=dtype)))


@pytest.mark.parametrize(
    ("dtype", "expected"), [("int8", "int64"), ("uint8", "uint64"), ("float32", "float32"), ("bfloat16", "bfloat16")]
)
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
def test_dtypes_of_sums(name, dtype, expected):
    x = nr.ones(3, dtype=dtype)

    assert getattr(nr, name)(x).dtype == getattr(nr, expected)
    assert getattr(nr, name)(x, dtype=nr.float32).dtype == nr.float32


def test_integer_sums_do_not_wrap():
    assert int(nr.sum(nr.full(1000, 127, dtype=nr.int8))) == 127000


def test_bfloat16_is_summed_in_float32():
    ones = nr.ones(1000, dtype=nr.bfloat16)

    assert float(nr.sum(ones)) == 1000.0
    assert float(nr.mean(ones)) == 1.0
    assert nr.sum(ones, dtype=nr.float64).dtype == nr.float64
    assert float(nr.cumulative_sum(ones)[-1]) == 1000.0


def test_sums_into_bfloat16():
    result = nr.sum(nr.asarray([1.0, 2.5]), dtype=nr.bfloat16)

    assert (result.dtype, float(result)) == (nr.bfloat16, 3.5)


def test_huge_values_overflow_to_infinity():
    with np.errstate(over="ignore"):
        assert float(nr.sum(nr.full(2, 3e38, dtype=nr.float32))) == float("inf")


def test_correction_lowers_the_divisor():
    x = nr.asarray([1.0, 2.0, 4.0])

    assert_allclose(float(nr.var(x, correction=1)), 7 / 3)
    assert_allclose(float(nr.std(x, correction=1.0)), np.sqrt(7 / 3))


@quick
@given(
    x=hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=4), elements=st.floats(-4, 4)), initial=st.booleans()
)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative(name, x, initial):
    result = getattr(nr, name)(nr.asarray(x), axis=-1, include_initial=initial)

    assert_array_equal(np.asarray(result), getattr(np, name)(x, axis=-1, include_initial=initial))


def test_cumulative_needs_an_axis_in_several_dimensions():
    with pytest.raises(ValueError):
        nr.cumulative_sum(nr.zeros((2, 2)))


@pytest.mark.parametrize("axis", [2, -3, (0, 0)])
def test_axes_that_do_not_exist_are_refused(axis):
    with pytest.raises(ValueError):
        nr.sum(nr.zeros((2, 2)), axis=axis)
