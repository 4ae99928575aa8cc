import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr

quick = settings(max_examples=25, deadline=None)


def counted(*shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@quick
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
def test_broadcasting(shapes):
    tensors = [nr.zeros(shape) for shape in shapes.input_shapes]

    assert nr.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
    assert {tensor.shape for tensor in nr.broadcast_arrays(*tensors)} == {shapes.result_shape}
    assert nr.broadcast_to(tensors[0], shapes.result_shape).shape == shapes.result_shape


def test_broadcasting_of_nothing():
    assert nr.broadcast_shapes() == ()
    assert nr.broadcast_arrays() == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda: nr.broadcast_shapes((2,), (3,)),
        lambda: nr.broadcast_arrays(nr.zeros(2), nr.zeros(3)),
        lambda: nr.broadcast_to(nr.zeros(2), (3,)),
    ],
)
def test_broadcasting_names_shapes_that_do_not_fit(call):
    with pytest.raises(nr.ShapeError, match=r"\(2,\).*\(3,\)"):
        call()


@quick
@given(data=st.data(), axis=st.integers(-2, 1))
def test_concat(data, axis):
    shapes = [(2, 3)] * data.draw(st.integers(1, 3))
    arrays = [counted(*shape) for shape in shapes]

    result = nr.concat([nr.asarray(array) for array in arrays], axis=axis)

    assert_array_equal(np.asarray(result), np.concat(arrays, axis=axis))


def test_concat_flattens_without_an_axis():
    assert nr.concat((nr.zeros((1, 2)), nr.ones(1)), axis=None).tolist() == [0, 0, 1]


def test_concat_promotes():
    assert nr.concat([nr.zeros(1, dtype=nr.bfloat16), nr.zeros(1, dtype=nr.float32)]).dtype == nr.float32


def test_concat_names_the_shapes():
    with pytest.raises(nr.ShapeError, match=r"axis 0.*\(1, 2\), \(1, 3\)"):
        nr.concat([nr.zeros((1, 2)), nr.zeros((1, 3))])
    with pytest.raises(nr.ShapeError, match="concat"):
        nr.concat([])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack_and_unstack_undo_each_other(axis):
    arrays = [counted(2, 3), counted(2, 3) + 10]

    stacked = nr.stack([nr.asarray(array) for array in arrays], axis=axis)

    assert_array_equal(np.asarray(stacked), np.stack(arrays, axis=axis))
    for part, array in zip(nr.unstack(stacked, axis=axis), arrays, strict=True):
        assert_array_equal(np.asarray(part), array)


def test_unstack_of_a_vector_gives_zero_dimensional_tensors():
    assert [part.shape for part in nr.unstack(nr.arange(2))] == [(), ()]


def test_stack_names_the_shapes():
    with pytest.raises(nr.ShapeError, match=r"\(2,\), \(3,\)"):
        nr.stack([nr.zeros(2), nr.zeros(3)])


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (0, -1)])
def test_expand_dims_and_squeeze_undo_each_other(axis):
    x = nr.zeros((2, 3))

    expanded = nr.expand_dims(x, axis)

    assert expanded.shape == np.expand_dims(np.zeros((2, 3)), axis).shape
    assert nr.squeeze(expanded, axis).shape == (2, 3)


def test_squeeze_refuses_longer_axes():
    with pytest.raises(nr.ShapeError, match=r"axis 0 of shape \(2,\)"):
        nr.squeeze(nr.zeros(2), 0)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_flip(axis):
    assert_array_equal(np.asarray(nr.flip(nr.asarray(counted(2, 3)), axis=axis)), np.flip(counted(2, 3), axis=axis))


@quick
@given(axes=st.permutations([0, 1, 2]))
def test_permute_dims(axes):
    result = nr.permute_dims(nr.asarray(counted(2, 3, 4)), tuple(axes))

    assert_array_equal(np.asarray(result), counted(2, 3, 4).transpose(axes))


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2)])
def test_permute_dims_refuses_other_orders(axes):
    with pytest.raises(nr.ShapeError, match="no order of the 2 axes"):
        nr.permute_dims(nr.zeros((2, 3)), axes)


def test_moveaxis():
    assert nr.moveaxis(nr.zeros((2, 3, 4)), 0, -1).shape == (3, 4, 2)
    assert nr.moveaxis(nr.zeros((2, 3, 4)), (0, 1), (1, 2)).shape == (4, 2, 3)


@pytest.mark.parametrize("shape", [(6,), (3, 2), (-1, 3), (1, 6, 1)])
def test_reshape_is_a_view(shape):
    x = nr.asarray(counted(2, 3))

    result = nr.reshape(x, shape)

    assert_array_equal(np.asarray(result), counted(2, 3).reshape(shape))
    assert np.shares_memory(result.array, x.array)


def test_reshape_copies_on_request():
    x = nr.zeros((2, 3))

    assert not np.shares_memory(nr.reshape(x, (6,), copy=True).array, x.array)
    with pytest.raises(nr.ShapeError, match="copy=False"):
        nr.reshape(x.T, (6,), copy=False)


def test_reshape_of_nothing():
    assert nr.reshape(nr.zeros((0, 3)), (3, 0)).shape == (3, 0)


def test_reshape_names_both_shapes():
    with pytest.raises(nr.ShapeError, match=r"\(2, 3\) to \(4,\)"):
        nr.reshape(nr.zeros((2, 3)), (4,))


@pytest.mark.parametrize(("shift", "axis"), [(1, None), (-1, 0), ((1, 2), (0, 1))])
def test_roll(shift, axis):
    result = nr.roll(nr.asarray(counted(2, 3)), shift, axis=axis)

    assert_array_equal(np.asarray(result), np.roll(counted(2, 3), shift, axis=axis))


def test_repeat_and_tile():
    x = nr.asarray([1, 2])

    assert nr.repeat(x, 2).tolist() == [1, 1, 2, 2]
    assert nr.repeat(x, nr.asarray([0, 3])).tolist() == [2, 2, 2]
    assert nr.tile(x, (2, 2)).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]


@pytest.mark.parametrize("function", [nr.flip, lambda x: nr.reshape(x, (1,)), lambda x: nr.concat([x])])
def test_ndarrays_are_refused(function):
    with pytest.raises(TypeError, match=r"numr\.asarray"):
        function(np.zeros(1))
