import numpy as np
import pytest

import numr as nr

NAN = float("nan")


@pytest.mark.parametrize("keepdims", [True, False])
def test_positions_of_extremes(keepdims):
    x = nr.asarray([[3.0, 1.0, 3.0], [0.0, 5.0, -1.0]])

    assert nr.argmax(x, axis=1, keepdims=keepdims).tolist() == ([[0], [1]] if keepdims else [0, 1])
    assert nr.argmin(x, axis=1).tolist() == [1, 2]
    assert int(nr.argmax(x)) == 4
    assert nr.argmax(x).dtype == nr.int64


def test_nan_is_the_extreme():
    assert int(nr.argmax(nr.asarray([1.0, NAN, 2.0]))) == 1
    assert int(nr.argmin(nr.asarray([1.0, NAN, 2.0]))) == 1


def test_extremes_of_bfloat16():
    assert int(nr.argmax(nr.asarray([1.0, 3.0, 2.0], dtype=nr.bfloat16))) == 1


def test_extremes_of_nothing_are_refused():
    with pytest.raises(ValueError):
        nr.argmax(nr.zeros(0))


def test_count_nonzero():
    x = nr.asarray([[0, 1], [2, 3]])

    assert (int(nr.count_nonzero(x)), nr.count_nonzero(x).dtype) == (3, nr.int64)
    assert nr.count_nonzero(x, axis=0, keepdims=True).tolist() == [[1, 2]]
    assert int(nr.count_nonzero(nr.zeros(0))) == 0


def test_nonzero():
    rows, columns = nr.nonzero(nr.asarray([[0, 5], [7, 0]]))

    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_nonzero_needs_an_axis():
    with pytest.raises(ValueError):
        nr.nonzero(nr.asarray(1))


@pytest.mark.parametrize(("side", "expected"), [("left", [0, 1, 3]), ("right", [1, 3, 3])])
def test_searchsorted(side, expected):
    assert nr.searchsorted(nr.asarray([1, 2, 2]), nr.asarray([1, 2, 9]), side=side).tolist() == expected


def test_searchsorted_of_a_scalar_and_with_a_sorter():
    assert nr.searchsorted(nr.asarray([1.0, 2.0]), 1.5).shape == ()
    assert int(nr.searchsorted(nr.asarray([3, 1, 2]), 2, sorter=nr.asarray([1, 2, 0]))) == 1


def test_searchsorted_knows_where_a_bfloat16_nan_belongs():
    x = nr.asarray([1.0, 2.0], dtype=nr.bfloat16)

    assert nr.searchsorted(x, nr.asarray([NAN, 1.5], dtype=nr.bfloat16)).tolist() == [2, 1]


def test_where_promotes_and_broadcasts():
    mask = nr.asarray([[True], [False]])

    result = nr.where(mask, nr.asarray([1, 2], dtype=nr.int32), nr.asarray(0.5, dtype=nr.float64))

    assert result.dtype == nr.float64
    assert result.tolist() == [[1.0, 2.0], [0.5, 0.5]]


@pytest.mark.parametrize("scalar", [0, 0.5])
def test_where_takes_scalars(scalar):
    x = nr.ones(2, dtype=nr.float32)
    mask = nr.asarray([True, False])

    assert nr.where(mask, x, scalar).dtype == nr.float32
    assert nr.where(mask, scalar, x).tolist() == [scalar, 1.0]


def test_where_names_shapes_that_do_not_fit():
    with pytest.raises(nr.ShapeError, match=r"where: shapes \(2,\) and \(3,\)"):
        nr.where(nr.asarray([True, False]), nr.zeros(3), 0.0)


def test_take():
    x = nr.asarray([[1, 2, 3], [4, 5, 6]])

    assert nr.take(x, nr.asarray([2, 0]), axis=1).tolist() == [[3, 1], [6, 4]]
    assert nr.take(nr.arange(4), nr.asarray([[0, 3]])).tolist() == [[0, 3]]


def test_take_needs_an_axis_in_several_dimensions():
    with pytest.raises(ValueError, match="1 dimension"):
        nr.take(nr.zeros((2, 2)), nr.asarray([0]))


def test_take_refuses_positions_out_of_range():
    with pytest.raises(IndexError):
        nr.take(nr.arange(2), nr.asarray([2]))


def test_take_along_axis_undoes_argsort():
    x = nr.asarray(np.asarray([[3.0, 1.0], [0.0, 2.0]]))

    assert nr.take_along_axis(x, nr.argsort(x)).tolist() == [[1.0, 3.0], [0.0, 2.0]]
