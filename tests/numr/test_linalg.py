"""Decompositions are checked by what they promise (A = U S Vh, ...), not against another library's choice of signs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numr as nr
from numr import linalg

rng = np.random.default_rng(1)
SQUARE = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
TALL = rng.normal(size=(4, 2))


def dense(tensor):
    return np.asarray(tensor)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_inverse_and_solve(dtype):
    a = SQUARE.astype(dtype)
    tolerance = 1e-4 if a.real.dtype == np.float32 else 1e-10

    inverse = linalg.inv(nr.asarray(a))
    solution = linalg.solve(nr.asarray(a), nr.asarray(a[..., :1]))

    assert inverse.dtype == dtype
    assert_allclose(a @ dense(inverse), np.broadcast_to(np.eye(3), a.shape), atol=tolerance)
    assert_allclose(a @ dense(solution), a[..., :1], atol=tolerance)


def test_solve_for_a_vector():
    b = rng.normal(size=3)

    result = linalg.solve(nr.asarray(SQUARE[0]), nr.asarray(b))

    assert result.shape == (3,)
    assert_allclose(SQUARE[0] @ dense(result), b)


@pytest.mark.parametrize("upper", [True, False])
def test_cholesky(upper):
    a = SQUARE[0] @ SQUARE[0].T

    factor = dense(linalg.cholesky(nr.asarray(a), upper=upper))

    assert_allclose(factor.T @ factor if upper else factor @ factor.T, a)
    assert_allclose(np.triu(factor) if upper else np.tril(factor), factor)


@pytest.mark.parametrize("full_matrices", [True, False])
def test_svd(full_matrices):
    u, s, vh = (dense(part) for part in linalg.svd(nr.asarray(TALL), full_matrices=full_matrices))

    assert u.shape == ((4, 4) if full_matrices else (4, 2))
    assert_allclose(u[:, :2] * s @ vh, TALL)
    assert_allclose(dense(linalg.svdvals(nr.asarray(TALL))), s)


@pytest.mark.parametrize(("mode", "columns"), [("reduced", 2), ("complete", 4)])
def test_qr(mode, columns):
    result = linalg.qr(nr.asarray(TALL), mode=mode)

    assert result.Q.shape == (4, columns)
    assert_allclose(dense(result.Q @ result.R), TALL, atol=1e-12)


def test_hermitian_eigenvalues():
    a = SQUARE[0] + SQUARE[0].T

    values, vectors = linalg.eigh(nr.asarray(a))

    assert_allclose(a @ dense(vectors), dense(vectors) * dense(values), atol=1e-12)
    assert_allclose(dense(linalg.eigvalsh(nr.asarray(a))), dense(values))


@pytest.mark.parametrize(("dtype", "expected"), [(np.float32, nr.complex64), (np.float64, nr.complex128)])
def test_general_eigenvalues_are_complex(dtype, expected):
    a = np.diag([1, 2, 3]).astype(dtype)

    values, vectors = linalg.eig(nr.asarray(a))

    assert values.dtype == vectors.dtype == linalg.eigvals(nr.asarray(a)).dtype == expected
    assert_allclose(a @ dense(vectors), dense(vectors) * dense(values), atol=1e-6)


def test_determinants():
    sign, logarithm = linalg.slogdet(nr.asarray(SQUARE))

    assert_allclose(dense(sign) * np.exp(dense(logarithm)), np.linalg.det(SQUARE))
    assert_allclose(dense(linalg.det(nr.asarray(SQUARE))), np.linalg.det(SQUARE))
    assert float(linalg.det(nr.zeros((0, 0)))) == 1.0


def test_rank_and_pseudo_inverse():
    low = TALL @ TALL.T

    assert int(linalg.matrix_rank(nr.asarray(low))) == 2
    assert int(linalg.matrix_rank(nr.asarray(np.diag([1.0, 1e-3])), rtol=nr.asarray(0.01))) == 1
    assert_allclose(low @ dense(linalg.pinv(nr.asarray(low))) @ low, low)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")])
def test_matrix_norms(ord):
    assert_allclose(
        dense(linalg.matrix_norm(nr.asarray(SQUARE), ord=ord)), np.linalg.norm(SQUARE, ord=ord, axis=(-2, -1))
    )


@pytest.mark.parametrize("ord", [0, 1, 2, 3, float("inf"), -float("inf")])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_vector_norms(ord, axis):
    result = linalg.vector_norm(nr.asarray(TALL), ord=ord, axis=axis)

    flat = TALL.ravel() if axis != 0 else TALL
    assert_allclose(dense(result), np.linalg.norm(flat, ord=ord, axis=0))


def test_powers():
    assert_allclose(dense(linalg.matrix_power(nr.asarray(SQUARE), 3)), SQUARE @ SQUARE @ SQUARE)
    assert_allclose(dense(linalg.matrix_power(nr.asarray(SQUARE), -1)), np.linalg.inv(SQUARE))


def test_outer_cross_and_diagonals():
    x, y = nr.asarray([1.0, 0.0, 0.0]), nr.asarray([0.0, 1.0, 0.0])

    assert linalg.outer(x, y).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert linalg.cross(x, y).tolist() == [0, 0, 1]
    assert linalg.diagonal(nr.asarray([[1, 2], [3, 4]]), offset=1).tolist() == [2]
    assert int(linalg.trace(nr.asarray([[1, 2], [3, 4]], dtype=nr.int8))) == 5
    assert linalg.trace(nr.ones((2, 2), dtype=nr.int8)).dtype == nr.int64


@pytest.mark.parametrize("dtype", [nr.float16, nr.bfloat16])
@pytest.mark.parametrize("name", ["inv", "svd", "det", "eigh", "qr", "cholesky", "vector_norm"])
def test_narrow_floats_have_no_kernel(name, dtype):
    with pytest.raises(nr.UnsupportedError, match=rf"linalg\.{name} has no kernel for {dtype} on device 'cpu'"):
        getattr(linalg, name)(nr.ones((2, 2), dtype=dtype))


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(nr.ShapeError, match=r"solve: shapes \(3, 3\) and \(2,\)"):
        linalg.solve(nr.zeros((3, 3)), nr.zeros(2))
    with pytest.raises(nr.ShapeError, match="length 3"):
        linalg.cross(nr.zeros(2), nr.zeros(2))
    with pytest.raises(nr.ShapeError, match="one axis"):
        linalg.outer(nr.zeros((1, 1)), nr.zeros(1))


def test_singular_matrices_are_refused():
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        linalg.inv(nr.zeros((2, 2)))
