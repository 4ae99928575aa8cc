import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numr as nr

rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3))],
)
def test_matmul(left, right):
    a, b = rng.normal(size=left), rng.normal(size=right)

    result = nr.matmul(nr.asarray(a), nr.asarray(b))

    assert result.shape == (a @ b).shape
    assert_array_equal(np.asarray(result), a @ b)


@pytest.mark.parametrize("dtype", [nr.float16, nr.bfloat16])
@pytest.mark.parametrize("function", [nr.matmul, nr.vecdot, nr.tensordot])
def test_narrow_products_are_summed_in_float32(function, dtype):
    ones = nr.ones((100, 100), dtype=dtype)

    with np.errstate(over="ignore"):
        result = function(nr.full((100, 100), 10, dtype=dtype), ones)

    assert result.dtype == dtype
    exact = 100_000 if function is nr.tensordot else 1000
    expected = float("inf") if dtype == nr.float16 and exact > 65504 else exact
    assert_allclose(np.asarray(result).astype(np.float64), expected, rtol=2**-8)


def test_mixed_widths_promote():
    assert nr.matmul(nr.ones((2, 2), dtype=nr.bfloat16), nr.ones((2, 2), dtype=nr.float32)).dtype == nr.float32


def test_vecdot_conjugates_the_first():
    assert complex(nr.vecdot(nr.asarray([1j, 2]), nr.asarray([1j, 1]))) == 3


def test_vecdot_along_another_axis():
    a, b = rng.normal(size=(3, 2)), rng.normal(size=(3, 1))

    assert_allclose(np.asarray(nr.vecdot(nr.asarray(a), nr.asarray(b), axis=-2)), (a * b).sum(axis=0))


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0))])
def test_tensordot(axes):
    a = rng.normal(size=(3, 3))

    assert_allclose(np.asarray(nr.tensordot(nr.asarray(a), nr.asarray(a), axes=axes)), np.tensordot(a, a, axes=axes))


def test_matrix_transpose():
    assert nr.matrix_transpose(nr.zeros((2, 3, 4))).shape == (2, 4, 3)


@pytest.mark.parametrize("name", ["matmul", "vecdot", "tensordot"])
def test_shapes_that_do_not_fit_are_named(name):
    with pytest.raises(nr.ShapeError, match=rf"{name}: shapes \(2, 3\) and \(2, 4\)"):
        getattr(nr, name)(nr.zeros((2, 3)), nr.zeros((2, 4)))


def test_scalars_are_no_matrices():
    with pytest.raises(ValueError):
        nr.matmul(nr.asarray(1.0), nr.asarray(1.0))
    with pytest.raises(TypeError, match="float"):
        nr.matmul(nr.zeros(2), 1.0)
