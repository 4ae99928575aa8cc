import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numr as nr


@pytest.mark.parametrize("name", ["all", "any"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_truth(name, axis, keepdims):
    x = np.asarray([[True, False], [True, True]])

    result = getattr(nr, name)(nr.asarray(x), axis=axis, keepdims=keepdims)

    assert result.dtype == nr.bool
    assert_array_equal(np.asarray(result), getattr(np, name)(x, axis=axis, keepdims=keepdims))


def test_truth_of_nothing():
    assert bool(nr.all(nr.zeros(0))) is True
    assert bool(nr.any(nr.zeros(0))) is False


@pytest.mark.parametrize("dtype", [nr.int8, nr.float64, nr.complex64, nr.bfloat16])
def test_numbers_are_true_unless_zero(dtype):
    x = nr.asarray([0, 2], dtype=dtype)

    assert nr.any(x).dtype == nr.all(x).dtype == nr.bool
    assert (bool(nr.any(x)), bool(nr.all(x))) == (True, False)


def test_nan_is_true():
    assert bool(nr.all(nr.asarray([float("nan")])))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_diff(n):
    x = np.asarray([[1, 4, 9], [0, 0, 5]])

    assert_array_equal(np.asarray(nr.diff(nr.asarray(x), n=n, axis=1)), np.diff(x, n=n, axis=1))


def test_diff_joins_the_ends():
    result = nr.diff(nr.asarray([1, 2]), prepend=nr.asarray([0]), append=nr.asarray([5, 6]))

    assert result.tolist() == [1, 1, 3, 1]
    assert nr.diff(nr.asarray([1, 2]), append=nr.asarray([5])).tolist() == [1, 3]
