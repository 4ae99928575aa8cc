import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr

quick = settings(max_examples=40, deadline=None)
keys = hnp.arrays(np.int8, hnp.array_shapes(max_dims=2, min_side=0, max_side=6), elements=st.integers(-3, 3))


@quick
@given(x=keys, descending=st.booleans(), stable=st.booleans())
def test_sort(x, descending, stable):
    result = nr.sort(nr.asarray(x), descending=descending, stable=stable)

    expected = np.sort(x, axis=-1)
    assert_array_equal(np.asarray(result), expected[..., ::-1] if descending else expected)


@quick
@given(x=hnp.arrays(np.int8, st.integers(0, 8), elements=st.integers(-2, 2)), descending=st.booleans())
def test_argsort_keeps_equal_elements_in_order(x, descending):
    positions = nr.argsort(nr.asarray(x), descending=descending)

    expected = sorted(range(len(x)), key=lambda i: -int(x[i]) if descending else int(x[i]))
    assert positions.dtype == nr.int64
    assert positions.tolist() == expected


@pytest.mark.parametrize("axis", [0, -1])
def test_axes(axis):
    x = np.asarray([[3, 1], [2, 4]])

    assert_array_equal(np.asarray(nr.sort(nr.asarray(x), axis=axis)), np.sort(x, axis=axis))
    assert_array_equal(np.asarray(nr.argsort(nr.asarray(x), axis=axis)), np.argsort(x, axis=axis))


@pytest.mark.parametrize("dtype", [nr.float64, nr.float16, nr.bfloat16])
def test_infinities_and_nan_are_at_the_ends(dtype):
    x = nr.asarray([float("inf"), 0.0, float("nan"), -float("inf")], dtype=dtype)

    assert nr.sort(x).dtype == dtype
    assert nr.sort(x).tolist()[:3] == [-np.inf, 0.0, np.inf]
    assert nr.sort(x, descending=True).tolist()[1:] == [np.inf, 0.0, -np.inf]
    assert nr.argsort(x).tolist() == [3, 1, 0, 2]


def test_unsigned_integers_sort_downwards():
    assert nr.sort(nr.asarray([0, 255, 3], dtype=nr.uint8), descending=True).tolist() == [255, 3, 0]


def test_the_argument_stays_as_it_was():
    x = nr.asarray([2, 1])

    nr.sort(x)

    assert x.tolist() == [2, 1]
