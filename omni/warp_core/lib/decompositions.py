"""Decompositions of small matrices: singular values, eigenvalues, QR.

All work by plane rotations until nothing is left to rotate, so equal and vanishing singular values need no special
treatment. `svd3` and `eig3` repeat one rotation of the first two columns, and then renumber the columns in a circle. So
their code is small and their results are rotations (Hestenes, "Inversion of matrices by biorthogonalization", 1958;
Jacobi, 1846). Half precisions compute in single and round. Start with `_turn`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Mat, Vec
from ..lang.ref_params import ref
from ..lang.registry import builtin
from ..lang.values.scalars import float32, float64
from .matrices import transpose
from .vectors import cross, dot

MAX_TURNS = 30  # ten rounds; four are usual, NaN ends at once
CLOSE, CLOSE_DOUBLE = 4.8e-7, 8.9e-16  # what counts as orthogonal, 4 units of 1
SMALL, SMALL_DOUBLE = 1.2e-38, 2.3e-308  # no reciprocal of anything smaller

# -- rotations and frames ---------------------------------------------------------------------------------------------


@builtin
def _turn(difference: F, product: F) -> tuple[F, F]:
    """(cosine, sine) of the rotation that makes the symmetric matrix (a, product; product, a + difference) diagonal."""
    zero, one = F(0.0), F(1.0)
    z = difference / (product + product)
    t = one / (prim.abs(z) + prim.sqrt(one + z * z))
    t = prim.select(product == zero, zero, prim.select(z < zero, prim.neg(t), t))
    c = one / prim.sqrt(one + t * t)
    return c, c * t


@builtin
def _reciprocal_scale(a: Mat[3, 3, F], small: F) -> F:
    """Return the factor that makes the largest component of `a` 1."""
    size = small
    for i in range(3):
        for j in range(3):
            size = prim.max(prim.abs(a[i, j]), size)
    return F(1.0) / size


@builtin
def _unit_or(v: Vec[3, F], least: F, other: Vec[3, F]) -> Vec[3, F]:
    """`v` at length 1, or `other` if the square of the length of `v` is not above `least`."""
    n = dot(v, v)
    return prim.select(n > least, v * (F(1.0) / prim.sqrt(n)), other)


@builtin
def _frame(a: Vec[3, F], b: Vec[3, F], close: F) -> Mat[3, 3, F]:
    """A rotation matrix with rows along `a`, then along `b` as far as it is at right angles to `a`, then across.

    Vectors that are parallel to `close` have no such part; any direction does.
    """
    zero, one = F(0.0), F(1.0)
    x = _unit_or(a, zero, Vec[3, F](one, zero, zero))
    rest = b - x * dot(x, b)
    rest = rest - x * dot(x, rest)
    flat = prim.abs(x[0]) < F(0.6)
    across = cross(x, prim.select(flat, Vec[3, F](one, zero, zero), Vec[3, F](zero, one, zero)))
    y = _unit_or(rest, close * close * dot(b, b), across * (one / prim.sqrt(dot(across, across))))
    z = cross(x, y)
    return Mat[3, 3, F](x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])


# -- singular values --------------------------------------------------------------------------------------------------


@builtin
def svd2(A: Mat[2, 2, F]) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F]]:
    """Singular value decomposition of a 2 x 2 matrix.

    The older form with variables for the results, `wp.svd2(A, U, sigma, V)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        U: orthogonal matrix, the left singular vectors in its columns.
        sigma: the singular values, the larger one first; none is negative.
        V: rotation, the right singular vectors in its columns. A = U * diag(sigma) * transpose(V).

    Error: 8 ULP of the largest singular value, wherever squares of components do not overflow.
    Derivative: that of the factors. Where singular values are equal, U and V have none. What is computed from U, sigma
    and V together may have one, and it is right; see docs/gradients.md.

    >>> wp.svd2(wp.mat22(0.0, 2.0, 1.0, 0.0))[1]
    vec2f([2.0, 1.0])
    """
    zero, one = F(0.0), F(1.0)
    p, q = Vec[2, F](A[0, 0], A[1, 0]), Vec[2, F](A[0, 1], A[1, 1])
    c, s = _turn(dot(q, q) - dot(p, p), dot(p, q))
    p, q = p * c - q * s, p * s + q * c
    np, nq = dot(p, p), dot(q, q)
    swap = np < nq
    p, q = prim.select(swap, q, p), prim.select(swap, prim.neg(p), q)
    c, s = prim.select(swap, s, c), prim.select(swap, prim.neg(c), s)
    size = prim.sqrt(prim.max(np, nq))
    inside = size > zero
    u = prim.select(inside, p * (one / prim.select(inside, size, one)), Vec[2, F](one, zero))
    across = Vec[2, F](prim.neg(u[1]), u[0])
    other = dot(across, q)
    across = prim.select(other < zero, prim.neg(across), across)
    sigma = Vec[2, F](size, prim.min(prim.abs(other), size))
    return Mat[2, 2, F](u[0], across[0], u[1], across[1]), sigma, Mat[2, 2, F](c, s, prim.neg(s), c)


@builtin
def _svd3(a: Mat[3, 3, F], close: F, small: F) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F]]:
    zero, one = F(0.0), F(1.0)
    scale = _reciprocal_scale(a, small)
    columns = transpose(a) * scale
    p, q, r = columns[0], columns[1], columns[2]
    u, v, w = Vec[3, F](one, zero, zero), Vec[3, F](zero, one, zero), Vec[3, F](zero, zero, one)
    turns, quiet = 0, 0
    while quiet < 3 and turns < MAX_TURNS:
        pp, qq, pq = dot(p, p), dot(q, q), dot(p, q)
        quiet = quiet + 1 if not pq * pq > close * close * (pp * qq) else 0
        c, s = _turn(qq - pp, pq)
        p, q, r = p * s + q * c, r, p * c - q * s
        u, v, w = u * s + v * c, w, u * c - v * s
        turns = turns + 1
    p, q, u, v = _larger_first(p, q, u, v)
    p, r, u, w = _larger_first(p, r, u, w)
    q, r, v, w = _larger_first(q, r, v, w)
    left = _frame(p, q, close)
    first = dot(left[0], p)
    second = prim.min(prim.abs(dot(left[1], q)), first)
    third = dot(left[2], r)
    third = prim.max(prim.neg(second), prim.min(third, second))
    right = Mat[3, 3, F](u[0], v[0], w[0], u[1], v[1], w[1], u[2], v[2], w[2])
    return transpose(left), Vec[3, F](first, second, third) / scale, right


@builtin
def _larger_first(
    p: Vec[3, F], q: Vec[3, F], u: Vec[3, F], v: Vec[3, F]
) -> tuple[Vec[3, F], Vec[3, F], Vec[3, F], Vec[3, F]]:
    """Two columns, the longer one first, and the columns that go with them, turned together."""
    swap = dot(p, p) < dot(q, q)
    return (
        prim.select(swap, q, p),
        prim.select(swap, prim.neg(p), q),
        prim.select(swap, v, u),
        prim.select(swap, prim.neg(u), v),
    )


@builtin
def svd3(A: Mat[3, 3, float32]) -> tuple[Mat[3, 3, float32], Vec[3, float32], Mat[3, 3, float32]]:
    """Singular value decomposition of a 3 x 3 matrix.

    The older form with variables for the results, `wp.svd3(A, U, sigma, V)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        U: rotation, the left singular vectors in its columns.
        sigma: the singular values in decreasing order; the last one has the sign of the determinant of `A`.
        V: rotation, the right singular vectors in its columns. A = U * diag(sigma) * transpose(V).

    Error: 16 ULP of the largest singular value.
    Derivative: that of the factors. Where singular values are equal or opposite, U and V have none. What is computed
    from U, sigma and V together may have one, and it is right; see docs/gradients.md.

    >>> wp.svd3(wp.mat33(0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0))[1]
    vec3f([3.0, 2.0, -1.0])
    """
    return _svd3(A, CLOSE, SMALL)


@builtin(name="svd3")
def _svd3_double(A: Mat[3, 3, float64]) -> tuple[Mat[3, 3, float64], Vec[3, float64], Mat[3, 3, float64]]:
    return _svd3(A, CLOSE_DOUBLE, SMALL_DOUBLE)


@builtin(name="svd3")
def _svd3_half(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F]]:
    u, sigma, v = _svd3(prim.cast(A, Mat[3, 3, float32]), CLOSE, SMALL)
    return prim.cast(u, Mat[3, 3, F]), prim.cast(sigma, Vec[3, F]), prim.cast(v, Mat[3, 3, F])


# -- eigenvalues ------------------------------------------------------------------------------------------------------


@builtin
def _eig3(a: Mat[3, 3, F], close: F) -> tuple[Mat[3, 3, F], Vec[3, F]]:
    zero, one = F(0.0), F(1.0)
    x, y, z = a[0, 0], a[1, 1], a[2, 2]
    xy, yz, zx = a[0, 1], a[1, 2], a[0, 2]
    u, v, w = Vec[3, F](one, zero, zero), Vec[3, F](zero, one, zero), Vec[3, F](zero, zero, one)
    size = prim.abs(x) + prim.abs(y) + prim.abs(z) + prim.abs(xy) + prim.abs(yz) + prim.abs(zx)
    limit = size * (close * F(0.0625))
    turns, quiet = 0, 0
    while quiet < 3 and turns < MAX_TURNS:
        quiet = quiet + 1 if not prim.abs(xy) > limit else 0
        c, s = _turn(y - x, xy)
        shift = prim.select(c == one, s * xy, (s / c) * xy)
        x, y, z, xy, yz, zx = y + shift, z, x - shift, s * zx + c * yz, c * zx - s * yz, zero
        u, v, w = u * s + v * c, w, u * c - v * s
        turns = turns + 1
    return Mat[3, 3, F](u[0], v[0], w[0], u[1], v[1], w[1], u[2], v[2], w[2]), Vec[3, F](x, y, z)


@builtin
def eig3(A: Mat[3, 3, float32]) -> tuple[Mat[3, 3, float32], Vec[3, float32]]:
    """Eigenvalues and eigenvectors of a symmetric 3 x 3 matrix.

    The older form with variables for the results, `wp.eig3(A, Q, d)`, assigns them.

    Args:
        A: a symmetric matrix; what is below the diagonal is not read.

    Returns:
        Q: rotation, the eigenvectors in its columns.
        d: the eigenvalues, in no particular order. A = Q * diag(d) * transpose(Q).

    Error: 16 ULP of the largest eigenvalue.
    Derivative: that of the factors; zero below the diagonal. Where eigenvalues are equal, Q has none, but what is made
    of Q and d may have one, which comes out right; see docs/gradients.md.

    >>> sorted(wp.eig3(wp.mat33(3.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0))[1])
    [-2.0, 2.0, 3.0]
    """
    return _eig3(A, CLOSE)


@builtin(name="eig3")
def _eig3_double(A: Mat[3, 3, float64]) -> tuple[Mat[3, 3, float64], Vec[3, float64]]:
    return _eig3(A, CLOSE_DOUBLE)


@builtin(name="eig3")
def _eig3_half(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F]]:
    q, d = _eig3(prim.cast(A, Mat[3, 3, float32]), CLOSE)
    return prim.cast(q, Mat[3, 3, F]), prim.cast(d, Vec[3, F])


# -- QR ---------------------------------------------------------------------------------------------------------------


@builtin
def _qr3(a: Mat[3, 3, F], close: F, small: F) -> tuple[Mat[3, 3, F], Mat[3, 3, F]]:
    columns = transpose(a)
    scaled = columns * _reciprocal_scale(a, small)
    q = _frame(scaled[0], scaled[1], close)
    p0, p1, p2 = columns[0], columns[1], columns[2]
    zero = F(0.0)
    x, y = prim.max(dot(q[0], p0), zero), prim.max(dot(q[1], p1), zero)
    upper = Mat[3, 3, F](x, dot(q[0], p1), dot(q[0], p2), zero, y, dot(q[1], p2), zero, zero, dot(q[2], p2))
    return transpose(q), upper


@builtin
def qr3(A: Mat[3, 3, float32]) -> tuple[Mat[3, 3, float32], Mat[3, 3, float32]]:
    """QR decomposition of a 3 x 3 matrix.

    The older form with variables for the results, `wp.qr3(A, Q, R)`, assigns them.

    Args:
        A: any matrix.

    Returns:
        Q: rotation.
        R: upper triangular matrix with A = Q * R; its first two diagonal components are not negative.

    Error: 8 ULP of the largest component.
    Derivative: that of the factors. Where the first two columns of `A` depend on each other, Q has none. What is
    computed from Q and R together may have one, and it is right; see docs/gradients.md.

    >>> wp.get_diag(wp.qr3(wp.mat33(0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0))[1])
    vec3f([3.0, 2.0, -1.0])
    """
    return _qr3(A, CLOSE, SMALL)


@builtin(name="qr3")
def _qr3_double(A: Mat[3, 3, float64]) -> tuple[Mat[3, 3, float64], Mat[3, 3, float64]]:
    return _qr3(A, CLOSE_DOUBLE, SMALL_DOUBLE)


@builtin(name="qr3")
def _qr3_half(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Mat[3, 3, F]]:
    q, r = _qr3(prim.cast(A, Mat[3, 3, float32]), CLOSE, SMALL)
    return prim.cast(q, Mat[3, 3, F]), prim.cast(r, Mat[3, 3, F])


# -- results given to variables of the caller -------------------------------------------------------------------------


@builtin(name="svd2")
def _svd2_into(A: Mat[2, 2, F], U: ref[Mat[2, 2, F]], sigma: ref[Vec[2, F]], V: ref[Mat[2, 2, F]]) -> None:
    U, sigma, V = svd2(A)


@builtin(name="svd3")
def _svd3_into(A: Mat[3, 3, F], U: ref[Mat[3, 3, F]], sigma: ref[Vec[3, F]], V: ref[Mat[3, 3, F]]) -> None:
    U, sigma, V = svd3(A)


@builtin(name="eig3")
def _eig3_into(A: Mat[3, 3, F], Q: ref[Mat[3, 3, F]], d: ref[Vec[3, F]]) -> None:
    Q, d = eig3(A)


@builtin(name="qr3")
def _qr3_into(A: Mat[3, 3, F], Q: ref[Mat[3, 3, F]], R: ref[Mat[3, 3, F]]) -> None:
    Q, R = qr3(A)
