"""Formulas of vectors, rotations and rigid motions on whole arrays, in extended precision, to judge the library by.

Every argument has the samples in its first dimension. Quaternions are (x, y, z, w), transforms are (p, q), spatial
vectors are (w, v), the angular part first.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

PI = np.longdouble("3.14159265358979323846264338327950288")


def dot(a, b):
    """Sums of products over the last dimension."""
    return (a * b).sum(-1)


def length(a):
    """Square roots of the sums of squares."""
    return np.sqrt(dot(a, a))


def column(a):
    """Numbers as vectors of one component, to multiply vectors."""
    return np.asarray(a)[..., None]


def unit(a):
    """Vectors brought to length 1; zero stays zero."""
    size = column(length(a))
    return np.divide(a, size, out=np.zeros_like(a), where=size > 0)


def rotate(q, x):
    """Vectors turned by unit quaternions, by the formula that the documentation gives."""
    v, w = q[..., :3], q[..., 3:]
    return x * (2 * w * w - 1) + 2 * w * np.cross(v, x) + 2 * v * column(dot(v, x))


def conjugate(q):
    """Inverse rotations."""
    return q * np.array([-1, -1, -1, 1])


def product(p, q):
    """Hamilton's product."""
    u, a, v, b = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    return np.concatenate([a * v + b * u + np.cross(u, v), a * b - column(dot(u, v))], axis=-1)


def turn(axis, angle):
    """Quaternions of rotations about axes of length 1."""
    return np.concatenate([axis * column(np.sin(angle / 2)), column(np.cos(angle / 2))], axis=-1)


def axis_angle(q):
    """Axis and angle, the angle not above a half turn."""
    v, w = q[..., :3], q[..., 3]
    return unit(v) * column(np.where(w < 0, -1, 1)), 2 * np.arctan2(length(v), np.abs(w))


def about(n, angle):
    """Quaternions of rotations about a coordinate axis."""
    return turn(np.eye(3, dtype=np.longdouble)[n], angle)


def euler(i, j, k, e):
    """Rotations about fixed axes i, then j, then k, by the components of `e`."""
    return product(about(k, e[:, k]), product(about(j, e[:, j]), about(i, e[:, i])))


def slerp(a, b, t):
    """Interpolated rotations."""
    axis, angle = axis_angle(product(conjugate(a), b))
    return product(a, turn(axis, t * angle))


def between(a, b):
    """Shortest rotations of one direction to another."""
    u, v = unit(a), unit(b)
    return unit(np.concatenate([np.cross(u, v), column(1 + dot(u, v))], axis=-1))


def matrix(q):
    """Rotation matrices: the turned axes are the columns."""
    return np.stack([rotate(q, x) for x in np.eye(3, dtype=np.longdouble)], axis=-1)


def quaternion(m):
    """Rotations of the matrices, of either sign: the longest of four multiples."""
    a, b, c = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    x, y, z = (m[:, k, j] - m[:, j, k] for j, k in ((1, 2), (2, 0), (0, 1)))
    xy, xz, yz = (m[:, j, k] + m[:, k, j] for j, k in ((0, 1), (0, 2), (1, 2)))
    rows = [
        [1 + a - b - c, xy, xz, x],
        [xy, 1 + b - a - c, yz, y],
        [xz, yz, 1 + c - a - b, z],
        [x, y, z, 1 + a + b + c],
    ]
    multiples = np.stack([np.stack(row, -1) for row in rows], 1)
    longest = multiples[np.arange(len(m)), length(multiples).argmax(1)]
    return unit(longest)


def affine(p, q, s):
    """4 x 4 matrices of a scale, a rotation and a translation."""
    m = np.zeros((len(p), 4, 4), np.longdouble)
    m[:, :3, :3], m[:, :3, 3], m[:, 3, 3] = matrix(q) * s[:, None, :], p, 1
    return m


def twist_of(axis, q):
    """The part of rotations about axes."""
    return unit(np.concatenate([axis * column(dot(q[:, :3], axis)), q[:, 3:]], axis=-1))


def join(*parts):
    """Vectors of the components of several."""
    return np.concatenate(parts, axis=-1)


def signed_products(a, signs):
    """The sum over all permutations of products of one component of each row: determinant, or permanent."""
    n = a.shape[-1]
    total = np.zeros(a.shape[:-2], np.longdouble)
    for p in itertools.permutations(range(n)):
        odd = sum(p[i] > p[j] for i in range(n) for j in range(i + 1, n)) % 2
        total += (-1 if signs and odd else 1) * math.prod(a[..., i, p[i]] for i in range(n))
    return total


def determinant(a):
    """Determinants by Leibniz's formula."""
    return signed_products(a, True)


def permanent(a):
    """The same products, of magnitudes, added."""
    return signed_products(np.abs(a), False)


def cofactors(a, of):
    """`of` (determinant or permanent) of the matrices without row j and column i, at [i, j]."""
    n = a.shape[-1]
    rest = [[k for k in range(n) if k != i] for i in range(n)]
    return np.stack([np.stack([of(a[:, rest[j]][:, :, rest[i]]) for j in range(n)], -1) for i in range(n)], -2)


def adjugate(a):
    """Transposed matrices of signed cofactors."""
    n = np.arange(a.shape[-1])
    return cofactors(a, determinant) * np.where((n[:, None] + n) % 2, -1, 1)
