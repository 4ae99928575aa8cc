import array as buffers

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import numr as nr
from numr.dtypes import BY_NAME

quick = settings(max_examples=30, deadline=None)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("shape", [(), 0, 1, (2, 3), (0, 4)])
def test_filled(name, shape):
    dtype = getattr(nr, name)

    for function, value in ((nr.zeros, 0), (nr.ones, 1)):
        result = function(shape, dtype=dtype)
        assert result.dtype == dtype
        assert_array_equal(np.asarray(result), np.full(shape, value, dtype=dtype))
    assert nr.empty(shape, dtype=dtype).shape == nr.zeros(shape).shape
    assert nr.full(shape, 1, dtype=dtype).dtype == dtype


def test_defaults_are_the_widest():
    assert nr.zeros(1).dtype == nr.ones(1).dtype == nr.eye(1).dtype == nr.linspace(0, 1, 2).dtype == nr.float64
    assert nr.arange(3).dtype == nr.asarray([1]).dtype == nr.full(1, 1).dtype == nr.int64
    assert nr.full(1, True).dtype == nr.bool
    assert nr.full(1, 1j).dtype == nr.complex128


@pytest.mark.parametrize(
    "function", [nr.zeros_like, nr.ones_like, nr.empty_like, lambda x, **o: nr.full_like(x, 1, **o)]
)
def test_like(function):
    source = nr.zeros((2, 1), dtype=nr.bfloat16)

    assert (function(source).shape, function(source).dtype) == ((2, 1), nr.bfloat16)
    assert function(source, dtype=nr.int8).dtype == nr.int8


@quick
@given(
    start=st.integers(-50, 50),
    stop=st.integers(-50, 50),
    step=st.integers(-7, 7).filter(bool),
    dtype=st.sampled_from([nr.int32, nr.float32, nr.bfloat16]),
)
def test_arange(start, stop, step, dtype):
    result = nr.arange(start, stop, step, dtype=dtype)

    assert result.dtype == dtype
    assert result.tolist() == list(range(start, stop, step))


def test_arange_of_one_argument_starts_at_zero():
    assert nr.arange(3).tolist() == [0, 1, 2]
    assert nr.arange(0).shape == (0,)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 5])
def test_linspace(num, endpoint):
    expected = np.linspace(-1, 1, num, endpoint=endpoint, dtype=np.float32)

    assert_array_equal(np.asarray(nr.linspace(-1, 1, num, dtype=nr.float32, endpoint=endpoint)), expected)


def test_eye_and_triangles():
    assert nr.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert nr.tril(nr.ones((2, 2))).tolist() == [[1, 0], [1, 1]]
    assert nr.triu(nr.ones((2, 2)), k=1).tolist() == [[0, 1], [0, 0]]


def test_meshgrid():
    x, y = nr.meshgrid(nr.arange(2), nr.arange(3), indexing="ij")

    assert x.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert y.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert nr.meshgrid() == ()


@pytest.mark.parametrize("obj", [True, 3, 0.5, 1j, [], [1, 2], [[1.0], [2.0]], (1, 2.5)])
def test_asarray_of_python_objects(obj):
    expected = np.asarray(obj)

    result = nr.asarray(obj)

    assert (result.dtype, result.shape, result.tolist()) == (expected.dtype, expected.shape, expected.tolist())


def test_asarray_of_buffers_and_arrays():
    assert nr.asarray(buffers.array("f", [1.0, 2.0])).dtype == nr.float32
    assert nr.asarray(np.asarray([1], dtype=ml_dtypes.bfloat16)).dtype == nr.bfloat16
    assert nr.asarray([nr.asarray(1), nr.asarray(2)]).tolist() == [1, 2]


def test_asarray_shares_memory_unless_told_otherwise():
    array = np.zeros(3)

    assert nr.asarray(array).array is array
    assert not np.shares_memory(nr.asarray(array, copy=True).array, array)
    with pytest.raises(ValueError):
        nr.asarray(array, dtype=nr.float32, copy=False)


def test_asarray_of_a_tensor():
    tensor = nr.zeros(2)

    assert nr.asarray(tensor).array is tensor.array
    assert nr.asarray(tensor, dtype=nr.int8).dtype == nr.int8


def test_asarray_turns_foreign_byte_order_round():
    result = nr.asarray(np.asarray([1.0, 2.0], dtype=">f4"))

    assert result.dtype == nr.float32
    assert result.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="byte order"):
        nr.asarray(np.zeros(1, dtype=">f4"), copy=False)


@pytest.mark.parametrize("obj", ["text", ["a"], None, object(), {"a": 1}, np.zeros(1, dtype="M8[s]"), np.longdouble(1)])
def test_asarray_refuses_other_elements(obj):
    with pytest.raises(nr.DTypeError):
        nr.asarray(obj)


def test_asarray_refuses_integers_beyond_64_bits():
    with pytest.raises(OverflowError):
        nr.asarray([2**70])
    with pytest.raises(OverflowError):
        nr.asarray(300, dtype=nr.int8)


def test_ragged_sequences_are_refused():
    with pytest.raises(ValueError):
        nr.asarray([[1, 2], [3]])


def test_unknown_dtypes_are_named():
    with pytest.raises(nr.DTypeError, match="float8"):
        nr.zeros(1, dtype="float8")


def test_like_needs_a_tensor():
    with pytest.raises(TypeError, match=r"got ndarray: make one with numr\.asarray"):
        nr.zeros_like(np.zeros(1))
