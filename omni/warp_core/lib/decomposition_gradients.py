"""Derivatives of `svd2`, `svd3`, `eig3` and `qr3`.

The derivative of a factor has the differences of singular values or eigenvalues below the line, so factors have none
where values are equal. See Papadopoulo and Lourakis, "Estimating the Jacobian of the Singular Value Decomposition",
2000, and Giles, "Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic Differentiation", 2008.
What is made of all factors often has one: U * diag(s) * transpose(V) is the matrix itself. So derivatives are those at
a matrix nearby, whose values are apart by the square root of the rounding unit in units of the largest one: nearer,
differences are made of rounding. Its factors come from stand-ins. Second derivatives divide by differences twice, so
they are at a matrix whose values are apart by the cubic root, which stand-ins of the stand-ins factor.

Besides the factors, surrogates return whether these are not those of the matrix itself (`moved`), and whether
derivatives are `sharp`. They do not divide what is only rounding. So U * transpose(V), the rotation, which needs no
differences, keeps all its digits in reverse. That is no smooth function, so second derivatives do without.

In the code dA = U * P * transpose(V), and x and y are what the gradients of U and V give to turning columns i and j
towards each other. Start with `_pair`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Mat, Vec
from ..lang.registry import builtin, gradient, surrogate, tangent
from ..lang.values.scalars import bool as boolean
from ..lang.values.scalars import float32, float64
from .decompositions import eig3, qr3, svd2, svd3
from .matrices import diag, get_diag, transpose
from .norms import norm_l1


@builtin
def _limits(like: float32) -> tuple[float32, float32, float32, float32]:
    """(nearest that values may be, for second derivatives. Next, what rounding makes of zero, all in units of the
    largest value. Last, the least value that counts as that, unless it is zero).
    """
    return 2.0**-11, 2.0**-8, 2.0**-23, 1e-19


@builtin(name="_limits")
def _limits_double(like: float64) -> tuple[float64, float64, float64, float64]:
    return 2.0**-26, 2.0**-17, 2.0**-52, 1e-150


@builtin(name="_limits")
def _limits_half(like: F) -> tuple[F, F, F, F]:
    return F(2.0**-5), F(2.0**-3), F(2.0**-10), F(2.0**-5)


@builtin
def _step(largest: F, sharp: boolean) -> F:
    """How near values may be to each other beside the largest one. Where that is zero, functions know of no scale but
    1.
    """
    nearest, nearest_twice, _, least = _limits(largest)
    unit = prim.select(largest > F(0.0), prim.max(largest, least), F(1.0))
    return prim.select(sharp, nearest, nearest_twice) * unit


# -- factors of matrices nearby ---------------------------------------------------------------------------------------


@builtin
def _svd2_apart(
    A: Mat[2, 2, F], sharp: boolean
) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F], Vec[2, F], boolean, boolean]:
    """The difference of the values is at least a step."""
    U, s, V = svd2(A)
    w = Vec[2, F](prim.max(s[0], s[1] + _step(s[0], sharp)), s[1])
    return U, w, V, prim.select(sharp, s, w), w[0] > s[0], sharp


@surrogate
def svd2_apart(A: Mat[2, 2, F]) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F], Vec[2, F], boolean, boolean]:
    """For first derivatives."""
    return _svd2_apart(A, True)


@surrogate
def svd2_apart_apart(A: Mat[2, 2, F]) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F], Vec[2, F], boolean, boolean]:
    """For second derivatives."""
    return _svd2_apart(A, False)


@builtin
def _svd3_apart(
    A: Mat[3, 3, F], sharp: boolean
) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """Differences and sums of the values are at least a step."""
    U, s, V = svd3(A)
    step = _step(s[0], sharp)
    second = prim.max(s[1], prim.abs(s[2]) + step)
    w = Vec[3, F](prim.max(s[0], second + step), second, s[2])
    return U, w, V, prim.select(sharp, s, w), prim.bit_or(w[0] > s[0], w[1] > s[1]), sharp


@surrogate
def svd3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """For first derivatives."""
    return _svd3_apart(A, True)


@surrogate
def svd3_apart_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """For second derivatives."""
    return _svd3_apart(A, False)


@builtin
def _eig3_apart(A: Mat[3, 3, F], sharp: boolean) -> tuple[Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """The largest and the smallest value leave the one between."""
    Q, d = eig3(A)
    x, y, z = d[0], d[1], d[2]
    low, high = prim.min(x, y), prim.max(x, y)
    middle = prim.max(low, prim.min(high, z))
    step = _step(prim.max(prim.abs(prim.min(low, z)), prim.abs(prim.max(high, z))), sharp)
    above, below = middle + step, middle - step
    # Of equal values the later one is the larger.
    xy, yz, xz = x > y, y > z, x > z
    yx, zy, zx = prim.bit_xor(xy, True), prim.bit_xor(yz, True), prim.bit_xor(xz, True)
    w = Vec[3, F](
        _apart_from_middle(x, prim.bit_and(xy, xz), prim.bit_and(yx, zx), above, below),
        _apart_from_middle(y, prim.bit_and(yx, yz), prim.bit_and(xy, zy), above, below),
        _apart_from_middle(z, prim.bit_and(zx, zy), prim.bit_and(xz, yz), above, below),
    )
    return Q, w, prim.bit_or(prim.bit_or(w[0] != x, w[1] != y), w[2] != z), sharp


@builtin
def _apart_from_middle(x: F, largest: boolean, smallest: boolean, above: F, below: F) -> F:
    return prim.select(largest, prim.max(x, above), prim.select(smallest, prim.min(x, below), x))


@surrogate
def eig3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """For first derivatives."""
    return _eig3_apart(A, True)


@surrogate
def eig3_apart_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], boolean, boolean]:
    """For second derivatives."""
    return _eig3_apart(A, False)


@builtin
def _qr3_apart(A: Mat[3, 3, F], sharp: boolean) -> tuple[Mat[3, 3, F], Mat[3, 3, F], boolean, boolean]:
    """A first column of length zero, and a second one along the first, have got a step of their own."""
    Q, R = qr3(A)
    step = _step(norm_l1(R[0]) + norm_l1(R[1]) + norm_l1(R[2]), sharp)
    first, second = R[0, 0] > F(0.0), _beyond_rounding(R[1, 1], prim.abs(R[0, 1]), True) > F(0.0)
    R[0, 0] = prim.select(first, R[0, 0], step)
    R[1, 1] = prim.select(second, R[1, 1], step)
    return Q, R, prim.bit_xor(prim.bit_and(first, second), True), sharp


@surrogate
def qr3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Mat[3, 3, F], boolean, boolean]:
    """For first derivatives."""
    return _qr3_apart(A, True)


@surrogate
def qr3_apart_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Mat[3, 3, F], boolean, boolean]:
    """For second derivatives."""
    return _qr3_apart(A, False)


# -- turning columns --------------------------------------------------------------------------------------------------


@builtin
def _beyond_rounding(x: F, size: F, sharp: boolean) -> F:
    """`x`, or 0 where rounding of numbers of this size can be all of it."""
    kept = prim.abs(x) > _limits(x)[2] * size
    return prim.select(prim.bit_and(sharp, prim.bit_xor(kept, True)), F(0.0), x)


@builtin
def _pair(x: F, y: F, size: F, difference: F, total: F, sharp: boolean) -> tuple[F, F]:
    """The gradients of P[i, j] and P[j, i] from x and y, s[j] - s[i] and s[i] + s[j].

    P[i, j] + P[j, i] turns both columns alike, by its share in the difference. P[i, j] - P[j, i] turns them apart, by
    its share in the sum. So the same gives how far both turn when x and y are P[i, j] and P[j, i].
    """
    alike = _beyond_rounding(x + y, size, sharp) / difference
    apart = (x - y) / total
    return F(0.5) * (alike + apart), F(0.5) * (alike - apart)


@builtin
def _total(a: F, b: F, apart: F, largest: F) -> F:
    """The sum of two singular values, as it is unless it is small, so that rotations keep all their digits."""
    return prim.select(F(8.0) * (a + b) > largest, a + b, apart)


@builtin
def _total2(s: Vec[2, F], w: Vec[2, F]) -> F:
    """The sum of both singular values, or the least step. It is differentiated: no maximum, which has kinks at ties."""
    total, step = s[0] + s[1], w[0] - w[1]
    return prim.select(total >= step, total, step)


@builtin
def _size(A: Mat[3, 3, F]) -> F:
    return norm_l1(A[0]) + norm_l1(A[1]) + norm_l1(A[2])


# -- gradients --------------------------------------------------------------------------------------------------------


@gradient
def svd2_apart_gradient(
    A: Mat[2, 2, F],
    U: Mat[2, 2, F],
    w: Vec[2, F],
    V: Mat[2, 2, F],
    s: Vec[2, F],
    moved: boolean,
    sharp: boolean,
    g_u: Mat[2, 2, F],
    g_w: Vec[2, F],
    g_v: Mat[2, 2, F],
    g_s: Vec[2, F],
) -> Mat[2, 2, F]:
    """Gradient of the factors, for singular values `w` instead of `s`."""
    x, y = transpose(U) * g_u, transpose(V) * g_v
    size = norm_l1(g_u[0]) + norm_l1(g_u[1]) + norm_l1(g_v[0]) + norm_l1(g_v[1])
    a, b = _pair(x[0, 1] - x[1, 0], y[0, 1] - y[1, 0], size, w[1] - w[0], _total2(s, w), sharp)
    return U * Mat[2, 2, F](g_w[0] + g_s[0], a, b, g_w[1] + g_s[1]) * transpose(V)


@gradient
def svd3_apart_gradient(
    A: Mat[3, 3, F],
    U: Mat[3, 3, F],
    w: Vec[3, F],
    V: Mat[3, 3, F],
    s: Vec[3, F],
    moved: boolean,
    sharp: boolean,
    g_u: Mat[3, 3, F],
    g_w: Vec[3, F],
    g_v: Mat[3, 3, F],
    g_s: Vec[3, F],
) -> Mat[3, 3, F]:
    """Gradient of the factors, for singular values `w` instead of `s`."""
    x, y, u, v = transpose(U) * g_u, transpose(V) * g_v, transpose(g_u), transpose(g_v)
    size = Vec[3, F]([norm_l1(u[j]) + norm_l1(v[j]) for j in range(3)])
    p = diag(g_w + g_s)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        total = _total(s[i], s[j], w[i] + w[j], s[0])
        p[i, j], p[j, i] = _pair(x[i, j] - x[j, i], y[i, j] - y[j, i], size[i] + size[j], w[j] - w[i], total, sharp)
    return U * p * transpose(V)


@gradient
def eig3_apart_gradient(
    A: Mat[3, 3, F],
    Q: Mat[3, 3, F],
    d: Vec[3, F],
    moved: boolean,
    sharp: boolean,
    g_q: Mat[3, 3, F],
    g_d: Vec[3, F],
) -> Mat[3, 3, F]:
    """Gradient of the factors; zero below the diagonal, which is not read."""
    x, q = transpose(Q) * g_q, transpose(g_q)
    p = diag(g_d)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        p[i, j] = _beyond_rounding(x[i, j] - x[j, i], norm_l1(q[i]) + norm_l1(q[j]), sharp) / (d[j] - d[i])
    h = Q * p * transpose(Q)
    zero = F(0.0)
    xy, xz, yz = h[0, 1] + h[1, 0], h[0, 2] + h[2, 0], h[1, 2] + h[2, 1]
    return Mat[3, 3, F](h[0, 0], xy, xz, zero, h[1, 1], yz, zero, zero, h[2, 2])


@gradient
def qr3_apart_gradient(
    A: Mat[3, 3, F],
    Q: Mat[3, 3, F],
    R: Mat[3, 3, F],
    moved: boolean,
    sharp: boolean,
    g_q: Mat[3, 3, F],
    g_r: Mat[3, 3, F],
) -> Mat[3, 3, F]:
    """Gradient of the factors: dA = Q * (turn * R + dR), where the turn follows from the part below the diagonal."""
    x = transpose(Q) * g_q
    first = x[1, 0] - x[0, 1] + g_r[0, 1] * R[1, 1] + g_r[0, 2] * R[1, 2] - g_r[1, 1] * R[0, 1] - g_r[1, 2] * R[0, 2]
    second = x[2, 0] - x[0, 2] + g_r[0, 2] * R[2, 2] - g_r[2, 2] * R[0, 2]
    third = (x[2, 1] - x[1, 2] + g_r[1, 2] * R[2, 2] - g_r[2, 2] * R[1, 2]) / R[1, 1]
    p = g_r
    p[1, 0], p[2, 0], p[2, 1] = first / R[0, 0], (second - third * R[0, 1]) / R[0, 0], third
    return Q * p


# -- tangents ---------------------------------------------------------------------------------------------------------


@tangent
def svd2_apart_tangent(
    A: Mat[2, 2, F],
    U: Mat[2, 2, F],
    w: Vec[2, F],
    V: Mat[2, 2, F],
    s: Vec[2, F],
    moved: boolean,
    sharp: boolean,
    t: Mat[2, 2, F],
) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F], Vec[2, F]]:
    """Of the factors, and of `s`, which is `w` where that matters."""
    p, zero = transpose(U) * t * V, F(0.0)
    a, b = _pair(p[0, 1], p[1, 0], norm_l1(t[0]) + norm_l1(t[1]), w[1] - w[0], _total2(s, w), sharp)
    turn_u, turn_v = Mat[2, 2, F](zero, a, -a, zero), Mat[2, 2, F](zero, b, -b, zero)
    return U * turn_u, get_diag(p), V * turn_v, get_diag(p)


@tangent
def svd3_apart_tangent(
    A: Mat[3, 3, F],
    U: Mat[3, 3, F],
    w: Vec[3, F],
    V: Mat[3, 3, F],
    s: Vec[3, F],
    moved: boolean,
    sharp: boolean,
    t: Mat[3, 3, F],
) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F], Vec[3, F]]:
    """Of the factors, and of `s`, which is `w` where that matters."""
    p, turn_u, turn_v, size = transpose(U) * t * V, Mat[3, 3, F](), Mat[3, 3, F](), _size(t)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        total = _total(s[i], s[j], w[i] + w[j], s[0])
        a, b = _pair(p[i, j], p[j, i], size, w[j] - w[i], total, sharp)
        turn_u[i, j], turn_u[j, i], turn_v[i, j], turn_v[j, i] = a, -a, b, -b
    return U * turn_u, get_diag(p), V * turn_v, get_diag(p)


@tangent
def eig3_apart_tangent(
    A: Mat[3, 3, F], Q: Mat[3, 3, F], d: Vec[3, F], moved: boolean, sharp: boolean, t: Mat[3, 3, F]
) -> tuple[Mat[3, 3, F], Vec[3, F]]:
    """Of the factors; what is below the diagonal is not read."""
    xy, xz, yz = t[0, 1], t[0, 2], t[1, 2]
    symmetric = Mat[3, 3, F](t[0, 0], xy, xz, xy, t[1, 1], yz, xz, yz, t[2, 2])
    p, turn, size = transpose(Q) * symmetric * Q, Mat[3, 3, F](), _size(symmetric)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        a = _beyond_rounding(p[i, j], size, sharp) / (d[j] - d[i])
        turn[i, j], turn[j, i] = a, -a
    return Q * turn, get_diag(p)


@tangent
def qr3_apart_tangent(
    A: Mat[3, 3, F], Q: Mat[3, 3, F], R: Mat[3, 3, F], moved: boolean, sharp: boolean, t: Mat[3, 3, F]
) -> tuple[Mat[3, 3, F], Mat[3, 3, F]]:
    """Of the factors: dA = Q * (turn * R + dR), where the turn follows from what is below the diagonal."""
    p, zero = transpose(Q) * t, F(0.0)
    x, y = p[1, 0] / R[0, 0], p[2, 0] / R[0, 0]
    z = (p[2, 1] - y * R[0, 1]) / R[1, 1]
    turn = Mat[3, 3, F](zero, -x, -y, x, zero, -z, y, z, zero)
    r = p - turn * R
    r[1, 0], r[2, 0], r[2, 1] = zero, zero, zero
    return Q * turn, r
