"""Gradients of `svd2`, `svd3`, `eig3` and `qr3`.

The derivative of a factor has the differences of singular values or eigenvalues below the line (Papadopoulo and
Lourakis, "Estimating the Jacobian of the Singular Value Decomposition", 2000; Giles, "Collected Matrix Derivative
Results for Forward and Reverse Mode Algorithmic Differentiation", 2008), so factors have none where values are equal.
What is made of all factors often has one: U * diag(s) * transpose(V) is the matrix itself. So adjoints compute with
factors of a matrix nearby, whose values are apart by the square root of the rounding unit in units of the largest one:
nearer, differences are made of rounding. These factors come from stand-ins, which also give the values as they are.
U * transpose(V), the rotation, needs no differences. It keeps all its digits, because what is nothing but rounding is
not divided.

In the code dA = U * P * transpose(V), and x and y are what the gradients of U and V give to turning columns i and j
towards each other. Start with `_pair`.
"""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F, Mat, Vec
from ..lang.registry import builtin, gradient, stand_in
from ..lang.scalars import bool as boolean
from ..lang.scalars import float32, float64
from .decompositions import eig3, qr3, svd2, svd3
from .matrices import diag, transpose
from .norms import norm_l1


@builtin
def _limits(like: float32) -> tuple[float32, float32, float32]:
    """(nearest that values may be, what rounding makes of zero, both in units of the largest; that at least is 1)."""
    return 2.0**-11, 2.0**-23, 1e-19


@builtin(name="_limits")
def _limits_double(like: float64) -> tuple[float64, float64, float64]:
    return 2.0**-26, 2.0**-52, 1e-150


@builtin(name="_limits")
def _limits_half(like: F) -> tuple[F, F, F]:
    return F(2.0**-5), F(2.0**-10), F(2.0**-5)


@builtin
def _step(largest: F) -> F:
    """How near values may be to each other beside the largest one."""
    gap, _, least = _limits(largest)
    return gap * prim.max(largest, least)


# -- stand-ins --------------------------------------------------------------------------------------------------------


@stand_in
def svd2_apart(A: Mat[2, 2, F]) -> tuple[Mat[2, 2, F], Vec[2, F], Mat[2, 2, F], Vec[2, F]]:
    """The difference of the values is at least a step."""
    U, s, V = svd2(A)
    return U, Vec[2, F](prim.max(s[0], s[1] + _step(s[0])), s[1]), V, s


@stand_in
def svd3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F], Mat[3, 3, F], Vec[3, F]]:
    """Differences and sums of the values are at least a step."""
    U, s, V = svd3(A)
    step = _step(s[0])
    second = prim.max(s[1], prim.abs(s[2]) + step)
    return U, Vec[3, F](prim.max(s[0], second + step), second, s[2]), V, s


@stand_in
def eig3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Vec[3, F]]:
    """The largest and the smallest value leave the one between."""
    Q, d = eig3(A)
    x, y, z = d[0], d[1], d[2]
    low, high = prim.min(x, y), prim.max(x, y)
    middle = prim.max(low, prim.min(high, z))
    step = _step(prim.max(prim.abs(prim.min(low, z)), prim.abs(prim.max(high, z))))
    above, below = middle + step, middle - step
    # Of equal values the later one is the larger.
    xy, yz, xz = x > y, y > z, x > z
    yx, zy, zx = prim.bit_xor(xy, True), prim.bit_xor(yz, True), prim.bit_xor(xz, True)
    return Q, Vec[3, F](
        _moved(x, prim.bit_and(xy, xz), prim.bit_and(yx, zx), above, below),
        _moved(y, prim.bit_and(yx, yz), prim.bit_and(xy, zy), above, below),
        _moved(z, prim.bit_and(zx, zy), prim.bit_and(xz, yz), above, below),
    )


@builtin
def _moved(x: F, largest: boolean, smallest: boolean, above: F, below: F) -> F:
    return prim.select(largest, prim.max(x, above), prim.select(smallest, prim.min(x, below), x))


@stand_in
def qr3_apart(A: Mat[3, 3, F]) -> tuple[Mat[3, 3, F], Mat[3, 3, F]]:
    """A first column of length zero, and a second one along the first, have got a step of their own."""
    Q, R = qr3(A)
    step = _step(norm_l1(R[0]) + norm_l1(R[1]) + norm_l1(R[2]))
    R[0, 0] = prim.select(R[0, 0] > F(0.0), R[0, 0], step)
    R[1, 1] = prim.select(_beyond_rounding(R[1, 1], prim.abs(R[0, 1])) > F(0.0), R[1, 1], step)
    return Q, R


# -- gradients --------------------------------------------------------------------------------------------------------


@builtin
def _beyond_rounding(x: F, size: F) -> F:
    """`x`, or 0 where rounding of numbers of this size can be all of it."""
    return prim.select(prim.abs(x) > _limits(x)[1] * size, x, F(0.0))


@builtin
def _pair(x: F, y: F, size: F, difference: F, total: F) -> tuple[F, F]:
    """The gradients of P[i, j] and P[j, i], from s[j] - s[i] and s[i] + s[j].

    P[i, j] + P[j, i] turns both columns alike, by its share in the difference; P[i, j] - P[j, i] turns them apart, by
    its share in the sum.
    """
    alike = _beyond_rounding(x + y, size) / difference
    apart = (x - y) / total
    return F(0.5) * (alike + apart), F(0.5) * (alike - apart)


@builtin
def _total(a: F, b: F, apart: F, largest: F) -> F:
    """The sum of two singular values, as it is unless it is small, so that rotations keep all their digits."""
    return prim.select(F(8.0) * (a + b) > largest, a + b, apart)


@gradient
def svd2_apart_gradient(
    A: Mat[2, 2, F],
    U: Mat[2, 2, F],
    w: Vec[2, F],
    V: Mat[2, 2, F],
    s: Vec[2, F],
    g_u: Mat[2, 2, F],
    g_w: Vec[2, F],
    g_v: Mat[2, 2, F],
    unused: Vec[2, F],
) -> Mat[2, 2, F]:
    """That of the factors, for singular values `w` instead of `s`."""
    x, y = transpose(U) * g_u, transpose(V) * g_v
    size = norm_l1(g_u[0]) + norm_l1(g_u[1]) + norm_l1(g_v[0]) + norm_l1(g_v[1])
    total = prim.max(s[0] + s[1], w[0] - w[1])
    a, b = _pair(x[0, 1] - x[1, 0], y[0, 1] - y[1, 0], size, w[1] - w[0], total)
    return U * Mat[2, 2, F](g_w[0], a, b, g_w[1]) * transpose(V)


@gradient
def svd3_apart_gradient(
    A: Mat[3, 3, F],
    U: Mat[3, 3, F],
    w: Vec[3, F],
    V: Mat[3, 3, F],
    s: Vec[3, F],
    g_u: Mat[3, 3, F],
    g_w: Vec[3, F],
    g_v: Mat[3, 3, F],
    unused: Vec[3, F],
) -> Mat[3, 3, F]:
    """That of the factors, for singular values `w` instead of `s`."""
    x, y, u, v = transpose(U) * g_u, transpose(V) * g_v, transpose(g_u), transpose(g_v)
    size = Vec[3, F]([norm_l1(u[j]) + norm_l1(v[j]) for j in range(3)])
    p = diag(g_w)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        total = _total(s[i], s[j], w[i] + w[j], s[0])
        p[i, j], p[j, i] = _pair(x[i, j] - x[j, i], y[i, j] - y[j, i], size[i] + size[j], w[j] - w[i], total)
    return U * p * transpose(V)


@gradient
def eig3_apart_gradient(
    A: Mat[3, 3, F], Q: Mat[3, 3, F], d: Vec[3, F], g_q: Mat[3, 3, F], g_d: Vec[3, F]
) -> Mat[3, 3, F]:
    """That of the factors; zero below the diagonal, which is not read."""
    x, q = transpose(Q) * g_q, transpose(g_q)
    p = diag(g_d)
    for n in range(3):
        i, j = n // 2, 1 + (n + 1) // 2
        p[i, j] = _beyond_rounding(x[i, j] - x[j, i], norm_l1(q[i]) + norm_l1(q[j])) / (d[j] - d[i])
    h = Q * p * transpose(Q)
    zero = F(0.0)
    xy, xz, yz = h[0, 1] + h[1, 0], h[0, 2] + h[2, 0], h[1, 2] + h[2, 1]
    return Mat[3, 3, F](h[0, 0], xy, xz, zero, h[1, 1], yz, zero, zero, h[2, 2])


@gradient
def qr3_apart_gradient(
    A: Mat[3, 3, F], Q: Mat[3, 3, F], R: Mat[3, 3, F], g_q: Mat[3, 3, F], g_r: Mat[3, 3, F]
) -> Mat[3, 3, F]:
    """That of the factors: dA = Q * (turn * R + dR), where the turn follows from what is below the diagonal."""
    x = transpose(Q) * g_q
    first = x[1, 0] - x[0, 1] + g_r[0, 1] * R[1, 1] + g_r[0, 2] * R[1, 2] - g_r[1, 1] * R[0, 1] - g_r[1, 2] * R[0, 2]
    second = x[2, 0] - x[0, 2] + g_r[0, 2] * R[2, 2] - g_r[2, 2] * R[0, 2]
    third = (x[2, 1] - x[1, 2] + g_r[1, 2] * R[2, 2] - g_r[2, 2] * R[1, 2]) / R[1, 1]
    p = g_r
    p[1, 0], p[2, 0], p[2, 1] = first / R[0, 0], (second - third * R[0, 1]) / R[0, 0], third
    return Q * p
