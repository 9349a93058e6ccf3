"""`wp.fem.linalg`: functions of small matrices for integrands, of any size and any type of floats."""

# Annotations are values here: the types of kernels.
# mypy: ignore-errors

from typing import Any

from .. import abs, ddot, dot, identity, length, max, outer, sqrt, tid, trace, transpose
from ..arrays.array import array
from ..lang.generics import F, M, Mat, N, Vec
from ..lang.kernel import func, kernel
from ..launches.launch import launch

__all__ = [
    *("array_axpy", "generalized_inner", "generalized_outer", "householder_make_hessenberg"),
    *("householder_qr_decomposition", "inverse_qr", "skew_part", "solve_triangular", "spherical_part"),
    *("symmetric_eigenvalues_qr", "symmetric_part", "tridiagonal_symmetric_eigenvalues_qr"),
]

ROUNDS = 12  # of rotations, which converge quadratically


@kernel
def add_scaled(x: array(dtype=Any), y: array(dtype=Any), alpha: Any, beta: Any):
    """Write alpha times x plus beta times y to y."""
    i = tid()
    y[i] = alpha * x[i] + beta * y[i]


def array_axpy(x: array, y: array, alpha: float = 1.0, beta: float = 1.0) -> None:
    """Set `y` to `alpha * x + beta * y`.

    Args:
        x: An array.
        y: An array of the same type and shape.
        alpha: The factor of `x`.
        beta: The factor of `y`.

    >>> x, y = wp.array([1.0, 2.0], dtype=float), wp.array([10.0, 20.0], dtype=float)
    >>> wp.fem.linalg.array_axpy(x, y, alpha=2.0)
    >>> y.list()
    [12.0, 24.0]
    """
    if x.dtype is not y.dtype or x.shape != y.shape:
        raise ValueError(f"x and y must be alike, got {x.dtype.__name__}{x.shape} and {y.dtype.__name__}{y.shape}")
    number = getattr(x.dtype, "_wp_scalar_type_", x.dtype)
    flat = x.flatten(), y.flatten()
    launch(add_scaled, flat[0].size, [*flat, number(alpha), number(beta)], device=x.device)


@func
def generalized_inner(x: F, y: F):
    """Return the product of all components: `x : y` of matrices, the scalar product of vectors."""
    return x * y


@func
def generalized_inner(x: Vec[N, F], y: Vec[N, F]):  # noqa: F811 - an overload
    """The scalar product."""
    return dot(x, y)


@func
def generalized_inner(x: Mat[M, N, F], y: Mat[M, N, F]):  # noqa: F811 - an overload
    """The sum of the products of components."""
    return ddot(x, y)


@func
def generalized_outer(x: F, y: Vec[N, F]):
    """Return the outer product: of two vectors a matrix, of a number and a vector a vector."""
    return x * y


@func
def generalized_outer(x: Vec[M, F], y: Vec[N, F]):  # noqa: F811 - an overload
    """The matrix `x y^T`."""
    return outer(x, y)


@func
def symmetric_part(x: Mat[N, N, F]):
    """Return the symmetric part of a matrix."""
    return F(0.5) * (x + transpose(x))


@func
def skew_part(x: Mat[2, 2, F]):
    """Return the part of a matrix that rotates: an angle in the plane, a vector in space."""
    return F(0.5) * (x[1, 0] - x[0, 1])


@func
def skew_part(x: Mat[3, 3, F]):  # noqa: F811 - an overload
    """The vector of the rotation."""
    return F(0.5) * type(x[0])(x[2, 1] - x[1, 2], x[0, 2] - x[2, 0], x[1, 0] - x[0, 1])


@func
def spherical_part(x: Mat[N, N, F]):
    """Return the part of a matrix that is a multiple of the identity."""
    return trace(x) / F(N) * identity(n=N, dtype=F)


@func
def mirror_axis(r: Mat[N, N, F], column: int, first: int):
    """The vector whose reflection leaves of a column the elements up to `first`."""
    v = type(r[0])()
    for k in range(first, N):
        v[k] = r[k, column]
    size = length(v)
    if v[first] < F(0.0):
        size = -size
    v[first] = v[first] + size
    return v


@func
def householder_qr_decomposition(A: Mat[N, N, F]):
    """Return `Q` and `R` with `Q R = A`: Q is orthonormal, R is upper triangular."""
    q, r = identity(n=N, dtype=F), A
    for i in range(N - 1):
        v = mirror_axis(r, i, i)
        square = dot(v, v)
        if square > F(0.0):
            w = v * (F(2.0) / square)
            r = r - outer(w, transpose(r) * v)
            q = q - outer(q * v, w)
            for k in range(i + 1, N):
                r[k, i] = F(0.0)
    return q, r


@func
def householder_make_hessenberg(A: Mat[N, N, F]):
    """Return `Q` and `H` with `Q H Q^T = A`: Q is orthonormal, H has one diagonal below the main one, and no more.

    H of a symmetric matrix is tridiagonal.
    """
    q, h = identity(n=N, dtype=F), A
    for i in range(N - 2):
        v = mirror_axis(h, i, i + 1)
        square = dot(v, v)
        if square > F(0.0):
            w = v * (F(2.0) / square)
            h = h - outer(w, transpose(h) * v)
            h = h - outer(h * v, w)
            q = q - outer(q * v, w)
            for k in range(i + 2, N):
                h[k, i] = F(0.0)
    return q, h


@func
def solve_triangular(R: Mat[N, N, F], b: Vec[N, F]):
    """Return the solution `x` of `R x = b`, for an upper triangular `R`."""
    x = b
    for k in range(N):
        i = N - 1 - k
        for j in range(i + 1, N):
            x[i] = x[i] - R[i, j] * x[j]
        x[i] = x[i] / R[i, i]
    return x


@func
def inverse_qr(A: Mat[N, N, F]):
    """Return the inverse of a matrix."""
    q, r = householder_qr_decomposition(A)
    found = A
    for j in range(N):
        x = solve_triangular(r, q[j])
        for i in range(N):
            found[i, j] = x[i]
    return found


@func
def symmetric_eigenvalues_qr(A: Mat[N, N, F], tol: F):
    """Return the eigenvalues of a symmetric matrix, and a matrix whose rows are the eigenvectors: `A = P^T D P`.

    Rotations of two axes at a time make the matrix diagonal. `tol` is how large what is left may be, relative to the
    diagonal.
    """
    d, p = A, identity(n=N, dtype=F)
    turns = 0
    while turns < ROUNDS:
        turns += 1
        largest = F(0.0)
        for i in range(N):
            for j in range(i + 1, N):
                scale = abs(d[i, i]) + abs(d[j, j])
                if abs(d[i, j]) > tol * scale:
                    largest = max(largest, abs(d[i, j]))
                if d[i, j] != F(0.0):
                    z = (d[j, j] - d[i, i]) / (F(2.0) * d[i, j])
                    t = F(1.0) / (abs(z) + sqrt(z * z + F(1.0)))
                    if z < F(0.0):
                        t = -t
                    c = F(1.0) / sqrt(t * t + F(1.0))
                    turn = identity(n=N, dtype=F)
                    turn[i, i], turn[j, j] = c, c
                    turn[i, j], turn[j, i] = -t * c, t * c
                    d = turn * d * transpose(turn)
                    p = turn * p
        if largest == F(0.0):
            turns = ROUNDS
    values = type(A[0])()
    for i in range(N):
        values[i] = d[i, i]
    return values, p


@func
def tridiagonal_symmetric_eigenvalues_qr(D: Vec[N, F], L: Any, Q: Mat[N, N, F], tol: F):
    """Return the eigenvalues of a symmetric tridiagonal matrix, and a matrix whose rows are the eigenvectors.

    `D` is the diagonal, and `L[i]` the element of row `i + 1` below it. `Q` is the identity, or leads to the matrix:
    then the result is that of `Q T Q^T`. `tol` is that of `symmetric_eigenvalues_qr`.
    """
    t = Q - Q
    for i in range(N):
        t[i, i] = D[i]
    for i in range(N - 1):
        t[i + 1, i], t[i, i + 1] = L[i], L[i]
    values, p = symmetric_eigenvalues_qr(t, tol)
    return values, p * transpose(Q)
