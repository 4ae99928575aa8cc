"""Indexing with [], reading and writing, against NumPy's on the same keys."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr

quick = settings(max_examples=50, deadline=None)


@quick
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
def test_basic_keys(data, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))

    result = nr.asarray(array)[key]

    assert result.shape == array[key].shape
    assert_array_equal(np.asarray(result), array[key])


@quick
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_integer_tensors(data, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    key = data.draw(hnp.integer_array_indices(shape, dtype=np.dtype("int64")))

    result = nr.asarray(array)[tuple(nr.asarray(part) for part in key)]

    assert_array_equal(np.asarray(result), array[key])


@quick
@given(mask=hnp.arrays(np.bool_, hnp.array_shapes(min_dims=0, max_dims=3, max_side=3)))
def test_boolean_tensors(mask):
    array = np.arange(mask.size).reshape(mask.shape)

    assert_array_equal(np.asarray(nr.asarray(array)[nr.asarray(mask)]), array[mask])


@quick
@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_writing(data, shape):
    array = np.zeros(shape)
    tensor = nr.zeros(shape)
    key = data.draw(hnp.basic_indices(shape))

    array[key] = 1.0
    tensor[key] = 1.0

    assert_array_equal(np.asarray(tensor), array)


def test_integers_and_tensors_mix():
    tensor = nr.reshape(nr.arange(12), (3, 4))

    assert tensor[1, nr.asarray([0, -1])].tolist() == [4, 7]
    assert tensor[nr.asarray([[0], [2]]), nr.asarray([1, 3])].tolist() == [[1, 3], [9, 11]]


def test_ndarray_positions_are_accepted():
    assert nr.arange(5)[np.asarray([3, 1])].tolist() == [3, 1]


def test_slices_are_views():
    tensor = nr.zeros(4)

    tensor[1:3][0] = 5.0

    assert tensor.tolist() == [0.0, 5.0, 0.0, 0.0]


def test_writing_through_a_mask():
    tensor = nr.asarray([1.0, -2.0, -3.0])

    tensor[tensor < 0] = 0.0

    assert tensor.tolist() == [1.0, 0.0, 0.0]


def test_writing_a_tensor_broadcasts():
    tensor = nr.zeros((2, 3))

    tensor[:, 1:] = nr.asarray([1.0, 2.0])

    assert tensor.tolist() == [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]


@pytest.mark.parametrize("key", [[0, 1], "x", 1.0, {1}])
def test_other_keys_are_refused(key):
    with pytest.raises(IndexError, match=type(key).__name__):
        nr.zeros(3)[key]


def test_positions_out_of_range_are_refused():
    with pytest.raises(IndexError):
        nr.zeros(3)[3]
    with pytest.raises(IndexError):
        nr.zeros(3)[nr.asarray([0, 3])]


def test_masks_of_another_shape_are_refused():
    with pytest.raises(IndexError):
        nr.zeros((2, 3))[nr.asarray([True, False, True])]


@pytest.mark.parametrize("value", [0.5, 1j, np.float32(1), nr.asarray(1.0)])
def test_values_that_do_not_fit_the_dtype_are_refused(value):
    tensor = nr.zeros(2, dtype=nr.int32)
    with pytest.raises(nr.DTypeError, match="int32"):
        tensor[0] = value


def test_other_values_are_refused():
    with pytest.raises(TypeError, match="list"):
        nr.zeros(2)[:] = [1, 2]


def test_integers_out_of_range_are_refused():
    with pytest.raises(OverflowError):
        nr.zeros(1, dtype=nr.uint8)[0] = 256
