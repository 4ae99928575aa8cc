"""Operators of the Tensor against Python's operators on ndarrays."""

import operator

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr

quick = settings(max_examples=25, deadline=None)

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITWISE = ["and_", "or_", "xor"]
SHIFTS = ["lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]

shapes = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)
small = st.floats(min_value=0.5, max_value=8, width=32)


@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
@quick
@given(shapes=shapes, data=st.data())
def test_binary_of_floats(name, shapes, data):
    a, b = (data.draw(hnp.arrays(np.float32, shape, elements=small)) for shape in shapes.input_shapes)
    function = getattr(operator, name)

    result = function(nr.asarray(a), nr.asarray(b))

    expected = function(a, b)
    assert result.shape == shapes.result_shape
    assert result.dtype == expected.dtype
    assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", BITWISE + SHIFTS)
def test_binary_of_integers(name):
    a, b = np.asarray([0, 1, 5, 100], dtype=np.int16), np.asarray([3, 0, 2, 1], dtype=np.int16)
    function = getattr(operator, name)

    assert_array_equal(np.asarray(function(nr.asarray(a), nr.asarray(b))), function(a, b))


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize("scalar", [3, 2.5])
def test_python_scalars_stand_on_either_side(name, scalar):
    a = np.asarray([1.0, 2.0, 3.0], dtype=np.float32)
    function = getattr(operator, name)

    for result, expected in (
        (function(nr.asarray(a), scalar), function(a, scalar)),
        (function(scalar, nr.asarray(a)), function(scalar, a)),
    ):
        assert result.dtype == expected.dtype
        assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", [*BITWISE, *SHIFTS])
def test_reflected_integers(name):
    a = np.asarray([1, 2, 3])
    function = getattr(operator, name)

    assert_array_equal(np.asarray(function(6, nr.asarray(a))), function(6, a))


@pytest.mark.parametrize("name", ["neg", "pos", "abs"])
def test_unary(name):
    a = np.asarray([-1.5, 0.0, 2.0])

    assert_array_equal(np.asarray(getattr(operator, name)(nr.asarray(a))), getattr(operator, name)(a))


def test_invert():
    assert (~nr.asarray([True, False])).tolist() == [False, True]
    assert (~nr.asarray([0, 5])).tolist() == [-1, -6]


def test_matmul():
    a = np.arange(6.0).reshape(2, 3)

    assert_array_equal(np.asarray(nr.asarray(a) @ nr.asarray(a.T)), a @ a.T)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_in_place_keeps_the_memory(name):
    array = np.asarray([1.0, 2.0, 3.0])
    tensor = nr.asarray(array)
    expected = getattr(operator, name)(array.copy(), 2.0)

    result = getattr(operator, name)(tensor, nr.asarray(2.0))

    assert result is tensor
    assert_array_equal(array, expected)


def test_in_place_matmul():
    tensor = nr.asarray([[1.0, 1.0], [0.0, 1.0]])

    tensor @= tensor

    assert tensor.tolist() == [[1.0, 2.0], [0.0, 1.0]]


def test_in_place_keeps_the_dtype():
    tensor = nr.ones(2, dtype=nr.bfloat16)

    tensor += 0.5

    assert tensor.dtype == nr.bfloat16
    assert tensor.tolist() == [1.5, 1.5]


def test_in_place_refuses_another_shape():
    tensor = nr.zeros((1, 2))
    with pytest.raises(nr.ShapeError, match=r"\(3, 2\).*\(1, 2\)"):
        tensor += nr.zeros((3, 2))


def test_in_place_refuses_another_kind():
    tensor = nr.zeros(2, dtype=nr.int64)
    with pytest.raises(nr.DTypeError, match=r"float64.*int64"):
        tensor += 0.5


def test_zero_dimensional_results_are_tensors():
    result = nr.asarray(1.0) + nr.asarray(2.0)

    assert isinstance(result.array, np.ndarray)
    assert result.shape == ()


@pytest.mark.parametrize("other", [None, "text", object()])
def test_foreign_objects_are_unequal(other):
    assert (nr.zeros(1) == other) is False
    assert (nr.zeros(1) != other) is True


def test_foreign_objects_do_not_add():
    with pytest.raises(TypeError, match="unsupported operand"):
        nr.zeros(1) + "text"


@pytest.mark.parametrize("function", [operator.add, operator.eq, operator.matmul])
def test_ndarrays_are_refused_on_either_side(function):
    with pytest.raises(TypeError, match=r"numr\.asarray"):
        function(nr.zeros(2), np.zeros(2))
    with pytest.raises(TypeError, match=r"numr\.asarray"):
        function(np.zeros(2), nr.zeros(2))


def test_numpy_scalars_keep_their_dtype():
    assert (nr.zeros(1, dtype=nr.float32) + np.float64(1)).dtype == nr.float64


def test_bfloat16_stays_beside_python_scalars():
    tensor = nr.asarray([1.0, 2.0], dtype=nr.bfloat16)

    for result in (tensor * 1.5, 1.5 * tensor, tensor + 1, nr.maximum(tensor, 0.5), nr.where(tensor > 1, tensor, 0.0)):
        assert result.dtype == nr.bfloat16


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(nr.ShapeError, match=r"add: shapes \(2,\) and \(3,\)"):
        nr.zeros(2) + nr.zeros(3)
