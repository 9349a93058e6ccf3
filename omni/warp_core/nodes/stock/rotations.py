"""Rotations as matrices, Euler angles and quaternions, many at a time.

Conventions of USD: matrices act on row vectors (v * M), angles are in degrees, quaternions are (i, j, k, w). Euler
angles are always (x, y, z); an order such as "ZXY" says which axis turns first.
"""

from __future__ import annotations

import numpy as np

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., n) with length 1; zero vectors stay zero."""
    largest = np.max(np.abs(vectors), axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest != 0)  # squares must not overflow
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.divide(scaled, length, out=np.zeros_like(scaled), where=length != 0)


def from_axis(axis: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) that turn by angles (n,) around axes (n, 3) or (3,); the formula of Rodrigues."""
    x, y, z = np.moveaxis(np.broadcast_to(unit(axis), (len(degrees), 3)), -1, 0)
    zero = np.zeros_like(x)
    k = np.stack([zero, z, -y, -z, zero, x, y, -x, zero], axis=-1).reshape(-1, 3, 3)
    angle = np.radians(degrees)[:, None, None]
    return np.identity(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


def from_euler(angles: np.ndarray, order: str) -> np.ndarray:
    """Matrices (n, 3, 3) of Euler angles (n, 3)."""
    out = np.broadcast_to(np.identity(3), (len(angles), 3, 3))
    for letter in order:
        out = out @ from_axis(np.array(AXES[letter]), angles[:, "XYZ".index(letter)])
    return out


def to_euler(matrices: np.ndarray, order: str) -> np.ndarray:
    """Euler angles (n, 3) of rotation matrices; where two axes fall together, the last one does not turn."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = matrices
    sine = np.clip(-sign * m[:, i, k], -1.0, 1.0)
    free = np.hypot(m[:, i, i], m[:, i, j]) > 1e-9  # else the middle angle is 90 degrees
    first = np.where(free, np.arctan2(sign * m[:, j, k], m[:, k, k]), np.arctan2(-sign * m[:, k, j], m[:, j, j]))
    out = np.empty((len(m), 3))
    out[:, i], out[:, j] = first, np.arcsin(sine)
    out[:, k] = np.where(free, np.arctan2(sign * m[:, i, j], m[:, i, i]), 0.0)
    return np.degrees(out)


def from_quaternion(quaternions: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) of quaternions (n, 4) of any length but zero."""
    x, y, z, w = unit(quaternions).T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)),
        (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)),
        (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def to_quaternion(matrices: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) of rotation matrices, by the largest of their components (Shepperd, 1978)."""
    m = matrices
    trace = np.trace(m, axis1=1, axis2=2)
    squares = np.stack([*(1 + 2 * m[:, i, i] - trace for i in range(3)), 1 + trace], axis=-1)  # four times each
    products = np.empty((len(m), 4, 4))  # four times each component with each other one
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        products[:, i, j] = products[:, j, i] = m[:, i, j] + m[:, j, i]
        products[:, k, 3] = products[:, 3, k] = m[:, i, j] - m[:, j, i]
    products[:, range(4), range(4)] = squares
    largest = np.argmax(squares, axis=1)
    out = unit(products[np.arange(len(m)), largest])
    return np.where(out[:, 3:] < 0, -out, out)


def nearest(matrices: np.ndarray) -> np.ndarray:
    """The nearest rotations to matrices (n, 3, 3): without their scale, shear and mirroring (polar decomposition)."""
    left, _, right = np.linalg.svd(matrices)
    mirrored = np.linalg.det(left @ right) < 0
    right[mirrored, 2] *= -1
    return left @ right


def slerp(a: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Quaternions at `t` (n, 1) of the way from `a` to `b`, both (n, 4), along the shorter arc (Shoemake, 1985)."""
    a, b = unit(a), unit(b)
    cosine = np.sum(a * b, axis=-1, keepdims=True)
    b, cosine = np.where(cosine < 0, -b, b), np.minimum(np.abs(cosine), 1.0)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    near = sine < 1e-6  # there, a straight line is the same
    safe = np.where(near, 1.0, sine)
    blended = np.where(near, a + t * (b - a), (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / safe)
    return unit(blended)


def frame(forward: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The rows right, up and forward (3, 3) of a view along `forward`; another `up` where the two are parallel."""
    z = unit(forward)
    x = np.cross(unit(up), z)
    if np.linalg.norm(x) < 1e-9:
        x = np.cross(np.identity(3)[np.argmin(np.abs(z))], z)
    x = unit(x)
    return np.stack([x, np.cross(z, x), z])
