"""The linear algebra extension of the array API standard. Stacks of matrices: the last two axes hold each one.

Decompositions exist for float32, float64 and the complex dtypes; narrower ones raise UnsupportedError.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from numr.backends import array_of, arrays_of, backend_of, require_dtype_support
from numr.dtypes import DTypeLike, optional_dtype
from numr.errors import ShapeError
from numr.namespace.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from numr.tensor import Array, Tensor, wrap

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

Axes: TypeAlias = int | tuple[int, ...] | None


class EigResult(NamedTuple):
    """Eigenvalues (..., M) and, in columns, eigenvectors (..., M, M); complex."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues (..., M), real and ascending, and, in columns, eigenvectors (..., M, M)."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """Q with orthonormal columns and R upper triangular."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """Sign and natural logarithm of the magnitude of a determinant, both (...)."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """U, the singular values S (..., K) in descending order, and the adjoint of V."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """(..., M, M) lower (or upper) factor of Hermitian positive definite matrices; numpy's LinAlgError for others."""
    xp, a = _ready("cholesky", x)
    return wrap(xp.cholesky(a, upper=upper))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products along an axis of length 3; the other axes broadcast. Raises ShapeError for other lengths."""
    a, b = arrays_of(x1, x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} must have length 3 in both, shapes are {a.shape} and {b.shape}")
    return wrap(backend_of(a).linalg.cross(a, b, axis=axis))


def det(x: Tensor, /) -> Tensor:
    """Determinants (...) of (..., M, M)."""
    xp, a = _ready("det", x)
    return wrap(xp.det(a))


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The `offset`-th diagonals, (..., min(M, N)) at offset 0; a read-only view."""
    a = array_of(x)
    return wrap(backend_of(a).linalg.diagonal(a, offset=offset))


def eig(x: Tensor, /) -> EigResult:
    """Eigenvalues and right eigenvectors of general (..., M, M), always complex."""
    xp, a = _ready("eig", x)
    values, vectors = xp.eig(a)
    return EigResult(_complex(values), _complex(vectors))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian (..., M, M), read from the lower triangle."""
    xp, a = _ready("eigh", x)
    return EighResult(*map(Tensor, xp.eigh(a)))


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues (..., M) of general (..., M, M), always complex."""
    xp, a = _ready("eigvals", x)
    return _complex(xp.eigvals(a))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues (..., M) of Hermitian (..., M, M), real and ascending."""
    xp, a = _ready("eigvalsh", x)
    return wrap(xp.eigvalsh(a))


def inv(x: Tensor, /) -> Tensor:
    """Inverses of (..., M, M); numpy's LinAlgError for a singular one."""
    xp, a = _ready("inv", x)
    return wrap(xp.inv(a))


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Norms (...) of (..., M, N): "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    xp, a = _ready("matrix_norm", x)
    return wrap(xp.matrix_norm(a, keepdims=keepdims, ord=ord))


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """(..., M, M) to an integer power; a negative one inverts first."""
    xp, a = _ready("matrix_power", x)
    return wrap(xp.matrix_power(a, n))


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Ranks (...) of (..., M, N): singular values above rtol * the largest (default max(M, N) * eps)."""
    xp, a = _ready("matrix_rank", x)
    return wrap(xp.matrix_rank(a, rtol=rtol.array if isinstance(rtol, Tensor) else rtol))


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """(M,), (N,) -> (M, N): all products. Raises ShapeError for other numbers of axes."""
    a, b = arrays_of(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: both operands must have one axis, shapes are {a.shape} and {b.shape}")
    return wrap(a[:, None] * b[None, :])


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Moore-Penrose inverses (..., N, M) of (..., M, N); singular values below rtol * the largest count as zero."""
    xp, a = _ready("pinv", x)
    return wrap(xp.pinv(a, rtol=rtol.array if isinstance(rtol, Tensor) else rtol))


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """(..., M, N) = Q R with K = min(M, N) columns in Q, or all M of them in mode "complete"."""
    xp, a = _ready("qr", x)
    return QRResult(*map(Tensor, xp.qr(a, mode=mode)))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Sign and log-magnitude of the determinants of (..., M, M)."""
    xp, a = _ready("slogdet", x)
    return SlogdetResult(*map(wrap, xp.slogdet(a)))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x of x1 @ x = x2, for x1 (..., M, M) and x2 (M,) or (..., M, K). Raises ShapeError; LinAlgError when singular."""
    a, b = arrays_of(x1, x2)
    require_dtype_support("linalg.solve", a, b)
    rows = b.shape[0] if b.ndim == 1 else b.shape[-2] if b.ndim else None
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != rows:
        raise ShapeError(f"linalg.solve: shapes {a.shape} and {b.shape} do not fit (..., M, M) and (M,) or (..., M, K)")
    return wrap(backend_of(a).linalg.solve(a, b))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """(..., M, N) = U diag(S) Vh; without `full_matrices` U is (..., M, K) and Vh (..., K, N), K = min(M, N)."""
    xp, a = _ready("svd", x)
    return SVDResult(*map(Tensor, xp.svd(a, full_matrices=full_matrices)))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values (..., K) of (..., M, N) in descending order."""
    xp, a = _ready("svdvals", x)
    return wrap(xp.svdvals(a))


def trace(x: Tensor, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Sums (...) of the `offset`-th diagonals of (..., M, N), in the dtype that `numr.sum` would give."""
    a = array_of(x)
    backend = backend_of(a)
    return wrap(backend.sum(backend.linalg.diagonal(a, offset=offset), axis=-1, dtype=optional_dtype(dtype)))


def vector_norm(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """`ord`-norms over one, several or all axes (None, as one vector)."""
    xp, a = _ready("vector_norm", x)
    return wrap(xp.vector_norm(a, axis=axis, keepdims=keepdims, ord=ord))


def _ready(name: str, x: Tensor) -> tuple[Any, Array]:
    a = array_of(x)
    require_dtype_support(f"linalg.{name}", a)
    return backend_of(a).linalg, a


def _complex(values: Any) -> Tensor:
    if values.dtype.kind == "c":
        return wrap(values)
    return wrap(values.astype("complex64" if values.dtype == "float32" else "complex128"))
