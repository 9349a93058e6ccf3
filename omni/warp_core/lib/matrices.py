"""Matrices of any shape: products, transpose, trace, diagonal, determinant, inverse.

Determinants and inverses are closed forms for sizes 2 to 4. `mul` is what the operators `*` and `@` mean between
matrices, vectors, quaternions and transforms; numbers times matrices are handled before they get here.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, K, M, Mat, N, Quat, T, Transform, Vec
from ..lang.registry import builtin
from ..lang.values.scalars import int32
from .vectors import cross


@builtin
def mul(a: Mat[M, N, T], b: Vec[N, T]) -> Vec[M, T]:
    """Product of matrices and vectors, of quaternions, of transforms; also written `a * b` and `a @ b`.

    Args:
        a: an M x N matrix (or a vector of M, on the left of a matrix), a quaternion, or a transform.
        b: a vector of N, an N x K matrix, a quaternion, or a transform.

    Returns:
        The product: a vector of M for a vector on the right, of N for one on the left. For matrices an M x K matrix.
        For quaternions and transforms the rotation or rigid motion that does first `b`, then `a`.

    Error: one rounding for each term.
    Derivative: g * transpose(b) in `a`, transpose(a) * g in `b`, for the gradient g of the result.

    >>> wp.mul(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.vec2(1.0, 1.0))
    vec2f([3.0, 7.0])
    """
    return Vec[M, T]([sum(a[i, j] * b[j] for j in range(N)) for i in range(M)])


@builtin(name="mul")
def _mul_vector_matrix(a: Vec[M, T], b: Mat[M, N, T]) -> Vec[N, T]:
    return Vec[N, T]([sum(a[i] * b[i, j] for i in range(M)) for j in range(N)])


@builtin(name="mul")
def _mul_matrices(a: Mat[M, N, T], b: Mat[N, K, T]) -> Mat[M, K, T]:
    return Mat[M, K, T]([sum(a[i, j] * b[j, k] for j in range(N)) for i in range(M) for k in range(K)])


@builtin
def index(a: Vec[N, T], i: int32) -> T:
    """Component of a value as a function: `a[i]`, `m[i]` and `m[i, j]`.

    Args:
        a: a vector, quaternion, transform or matrix.
        i: a component, or a row of a matrix; numbers below zero count from the end.

    Returns:
        The component; for a matrix the row, or with a second number its component there.

    Error: exact.
    Derivative: that of the component, zero elsewhere.

    >>> wp.index(wp.vec3(1.0, 2.0, 3.0), 1), wp.index(wp.mat22(1.0, 2.0, 3.0, 4.0), 1, 0)
    (2.0, 3.0)
    """
    return a[i]


@builtin(name="index")
def _index_quat(a: Quat[F], i: int32) -> F:
    return a[i]


@builtin(name="index")
def _index_transform(a: Transform[F], i: int32) -> F:
    return a[i]


@builtin(name="index")
def _index_row(a: Mat[M, N, T], i: int32) -> Vec[N, T]:
    return a[i]


@builtin(name="index")
def _index_matrix(a: Mat[M, N, T], i: int32, j: int32) -> T:
    return a[i, j]


@builtin
def transpose(a: Mat[M, N, T]) -> Mat[N, M, T]:
    """Transpose of a matrix.

    Args:
        a: an M x N matrix.

    Returns:
        The N x M matrix with rows and columns exchanged.

    Error: exact.
    Derivative: transpose(g), for the gradient g of the result.

    >>> wp.transpose(wp.mat22(1.0, 2.0, 3.0, 4.0))
    mat22f([[1.0, 3.0],
     [2.0, 4.0]])
    """
    return Mat[N, M, T]([a[i, j] for j in range(N) for i in range(M)])


@builtin
def trace(a: Mat[N, N, T]) -> T:
    """Sum of the diagonal.

    Args:
        a: a square matrix.

    Returns:
        The sum of a[i, i], a scalar.

    Error: one rounding for each term.
    Derivative: the identity.

    >>> wp.trace(wp.mat22(1.0, 2.0, 3.0, 4.0))
    5.0
    """
    return sum(a[i, i] for i in range(N))


@builtin
def ddot(a: Mat[M, N, T], b: Mat[M, N, T]) -> T:
    """Inner product of matrices, component by component.

    Args:
        a: a matrix.
        b: another of the same type.

    Returns:
        The sum of a[i, j] * b[i, j], a scalar.

    Error: one rounding for each term.
    Derivative: `b` in `a`, `a` in `b`.

    >>> wp.ddot(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.mat22(1.0, 1.0, 1.0, 1.0))
    10.0
    """
    return sum(a[i, j] * b[i, j] for i in range(M) for j in range(N))


@builtin
def diag(a: Vec[N, T]) -> Mat[N, N, T]:
    """Diagonal matrix.

    Args:
        a: the diagonal, a vector of N.

    Returns:
        The N x N matrix with `a` on the diagonal and zeros elsewhere.

    Error: exact.
    Derivative: get_diag(g), for the gradient g of the result.

    >>> wp.diag(wp.vec2(1.0, 2.0))
    mat22f([[1.0, 0.0],
     [0.0, 2.0]])
    """
    return Mat[N, N, T]([a[i] if i == j else T(0) for i in range(N) for j in range(N)])


@builtin
def get_diag(a: Mat[N, N, T]) -> Vec[N, T]:
    """Diagonal of a matrix.

    Args:
        a: a square matrix.

    Returns:
        The vector of a[i, i].

    Error: exact.
    Derivative: diag(g), for the gradient g of the result.

    >>> wp.get_diag(wp.mat22(1.0, 2.0, 3.0, 4.0))
    vec2f([1.0, 4.0])
    """
    return Vec[N, T]([a[i, i] for i in range(N)])


@builtin
def determinant(a: Mat[2, 2, F]) -> F:
    """Determinant.

    Args:
        a: a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        The determinant, a scalar.

    Error: 4 ULP of the determinant with all its N! products taken positive.
    Derivative: determinant(a) * transpose(inverse(a)).

    >>> wp.determinant(wp.mat22(1.0, 2.0, 3.0, 4.0))
    -2.0
    """
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


@builtin(name="determinant")
def _determinant3(a: Mat[3, 3, F]) -> F:
    c = cross(a[1], a[2])
    return a[0, 0] * c[0] + a[0, 1] * c[1] + a[0, 2] * c[2]


@builtin
def _minors(a: Vec[4, F], b: Vec[4, F]) -> Vec[6, F]:
    """The six 2 x 2 determinants of two rows: columns 01, 02, 03, 12, 13, 23."""
    return Vec[6, F](
        a[0] * b[1] - a[1] * b[0],
        a[0] * b[2] - a[2] * b[0],
        a[0] * b[3] - a[3] * b[0],
        a[1] * b[2] - a[2] * b[1],
        a[1] * b[3] - a[3] * b[1],
        a[2] * b[3] - a[3] * b[2],
    )


@builtin
def _laplace(s: Vec[6, F], c: Vec[6, F]) -> F:
    """The determinant from the minors `s` of rows 0, 1 and `c` of rows 2, 3."""
    return (s[0] * c[5] - s[1] * c[4]) + (s[2] * c[3] + s[3] * c[2]) + (s[5] * c[0] - s[4] * c[1])


@builtin(name="determinant")
def _determinant4(a: Mat[4, 4, F]) -> F:
    return _laplace(_minors(a[0], a[1]), _minors(a[2], a[3]))


@builtin
def _reciprocal(d: F) -> F:
    """1 / d, and 0 for 0: what makes the inverse of a singular matrix zero."""
    regular = d != F(0.0)
    return prim.select(regular, F(1.0) / prim.select(regular, d, F(1.0)), F(0.0))


@builtin
def inverse(a: Mat[2, 2, F]) -> Mat[2, 2, F]:
    """Inverse of a matrix.

    Args:
        a: a 2 x 2, 3 x 3 or 4 x 4 matrix.

    Returns:
        The matrix b with a * b the identity; zeros if the determinant is zero.

    Error: 4 ULP of (c + abs(b) * d) / abs(determinant(a)), with c the cofactors and d the determinant when all products
    are taken positive. No bound where ULP of d reach the determinant.
    Derivative: -transpose(b) * g * transpose(b), for the result b and its gradient g.

    >>> wp.inverse(wp.mat22(2.0, 0.0, 0.0, 4.0))
    mat22f([[0.5, 0.0],
     [0.0, 0.25]])
    """
    r = _reciprocal(determinant(a))
    return Mat[2, 2, F](a[1, 1], F(0.0) - a[0, 1], F(0.0) - a[1, 0], a[0, 0]) * r


@builtin(name="inverse")
def _inverse3(a: Mat[3, 3, F]) -> Mat[3, 3, F]:
    r0, r1, r2 = a[0], a[1], a[2]
    c0, c1, c2 = cross(r1, r2), cross(r2, r0), cross(r0, r1)
    d = r0[0] * c0[0] + r0[1] * c0[1] + r0[2] * c0[2]
    return Mat[3, 3, F](c0[0], c1[0], c2[0], c0[1], c1[1], c2[1], c0[2], c1[2], c2[2]) * _reciprocal(d)


@builtin(name="inverse")
def _inverse4(a: Mat[4, 4, F]) -> Mat[4, 4, F]:
    s, c = _minors(a[0], a[1]), _minors(a[2], a[3])
    adjugate = Mat[4, 4, F](
        a[1, 1] * c[5] - a[1, 2] * c[4] + a[1, 3] * c[3],
        a[0, 2] * c[4] - a[0, 1] * c[5] - a[0, 3] * c[3],
        a[3, 1] * s[5] - a[3, 2] * s[4] + a[3, 3] * s[3],
        a[2, 2] * s[4] - a[2, 1] * s[5] - a[2, 3] * s[3],
        a[1, 2] * c[2] - a[1, 0] * c[5] - a[1, 3] * c[1],
        a[0, 0] * c[5] - a[0, 2] * c[2] + a[0, 3] * c[1],
        a[3, 2] * s[2] - a[3, 0] * s[5] - a[3, 3] * s[1],
        a[2, 0] * s[5] - a[2, 2] * s[2] + a[2, 3] * s[1],
        a[1, 0] * c[4] - a[1, 1] * c[2] + a[1, 3] * c[0],
        a[0, 1] * c[2] - a[0, 0] * c[4] - a[0, 3] * c[0],
        a[3, 0] * s[4] - a[3, 1] * s[2] + a[3, 3] * s[0],
        a[2, 1] * s[2] - a[2, 0] * s[4] - a[2, 3] * s[0],
        a[1, 1] * c[1] - a[1, 0] * c[3] - a[1, 2] * c[0],
        a[0, 0] * c[3] - a[0, 1] * c[1] + a[0, 2] * c[0],
        a[3, 1] * s[1] - a[3, 0] * s[3] - a[3, 2] * s[0],
        a[2, 0] * s[3] - a[2, 1] * s[1] + a[2, 2] * s[0],
    )
    return adjugate * _reciprocal(_laplace(s, c))
