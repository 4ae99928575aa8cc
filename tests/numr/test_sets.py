import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr

quick = settings(max_examples=30, deadline=None)
values = hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, min_side=0, max_side=5), elements=st.integers(-3, 3))


@quick
@given(x=values)
def test_unique_parts_belong_together(x):
    distinct, first, inverse, counts = nr.unique_all(nr.asarray(x))

    assert sorted(distinct.tolist()) == sorted(set(x.ravel().tolist()))
    assert_array_equal(x.ravel()[np.asarray(first)], np.asarray(distinct))
    assert_array_equal(np.asarray(distinct)[np.asarray(inverse)], x)
    assert int(nr.sum(counts)) == x.size
    assert inverse.shape == x.shape


@quick
@given(x=values)
def test_the_shorter_forms_agree(x):
    tensor = nr.asarray(x)
    whole = nr.unique_all(tensor)

    assert sorted(nr.unique_values(tensor).tolist()) == sorted(whole.values.tolist())
    assert nr.unique_counts(tensor).counts.tolist() == whole.counts.tolist()
    assert nr.unique_inverse(tensor).inverse_indices.tolist() == whole.inverse_indices.tolist()


def test_each_nan_is_a_value():
    assert nr.unique_values(nr.asarray([float("nan"), float("nan"), 1.0])).size == 3


@pytest.mark.parametrize("invert", [True, False])
def test_isin(invert):
    x = nr.asarray([[1, 2], [3, 4]])

    result = nr.isin(x, nr.asarray([2, 4]), invert=invert)

    assert result.tolist() == [[invert, not invert], [invert, not invert]]
    assert nr.isin(x, 3).tolist() == [[False, False], [True, False]]
    assert nr.isin(3, x).shape == ()


def test_bfloat16_with_nan():
    x = nr.asarray([2.0, float("nan"), 1.0, 2.0], dtype=nr.bfloat16)

    values, _, inverse, counts = nr.unique_all(x)

    assert values.dtype == nr.unique_values(x).dtype == nr.bfloat16
    assert values.tolist()[:2] == [1.0, 2.0]
    assert (inverse.tolist(), counts.tolist()) == ([1, 2, 0, 1], [1, 2, 1])
    assert nr.isin(x, nr.asarray([1.0], dtype=nr.bfloat16)).tolist() == [False, False, True, False]
