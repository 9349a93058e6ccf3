"""Triangle meshes of the examples. Each function returns points of shape (n, 3), and triangles of three indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Shape = tuple[np.ndarray, np.ndarray]


def tube(curve: np.ndarray, radius: float, sides: int = 24) -> Shape:
    """Return a closed tube around a closed curve, whose points have shape (n, 3). The curve must bend everywhere."""
    ahead, behind = np.roll(curve, -1, 0), np.roll(curve, 1, 0)
    tangent = _unit(ahead - behind)
    bend = ahead - 2.0 * curve + behind
    normal = _unit(bend - (bend * tangent).sum(1, keepdims=True) * tangent)
    side = np.cross(tangent, normal)
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)[:, None, None]
    points = curve + radius * (np.cos(angle) * normal + np.sin(angle) * side)
    i, j = (grid.ravel() for grid in np.indices((sides, len(curve))))
    corner = [(i + a) % sides * len(curve) + (j + b) % len(curve) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return points.reshape(-1, 3), _halves(*corner)


def trefoil(steps: int = 240) -> np.ndarray:
    """Return points of a knot that lies in the plane y = 0, within 1 of the middle; shape (steps, 3)."""
    t = np.linspace(0.0, 2.0 * np.pi, steps, endpoint=False)
    x, y, z = np.sin(t) + 2.0 * np.sin(2.0 * t), np.sin(3.0 * t), np.cos(t) - 2.0 * np.cos(2.0 * t)
    return np.stack([x, y, z], 1) / 3.0


def circle(radius: float, steps: int = 96) -> np.ndarray:
    """Return points of a circle in the plane y = 0; shape (steps, 3)."""
    t = np.linspace(0.0, 2.0 * np.pi, steps, endpoint=False)
    return radius * np.stack([np.cos(t), np.zeros_like(t), np.sin(t)], 1)


def sphere(radius: float, rows: int = 32) -> Shape:
    """Return a sphere of rows from pole to pole."""
    columns = 2 * rows
    polar, turn = np.pi * np.arange(1, rows) / rows, 2.0 * np.pi * np.arange(columns) / columns
    ring = np.stack(
        np.broadcast_arrays(
            np.sin(polar)[:, None] * np.cos(turn), np.cos(polar)[:, None], -np.sin(polar)[:, None] * np.sin(turn)
        ),
        -1,
    ).reshape(-1, 3)
    points = radius * np.concatenate([ring, [(0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]])
    i, j = (grid.ravel() for grid in np.indices((rows - 2, columns)))
    corner = [(i + a) * columns + (j + b) % columns for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    first, last = np.arange(columns), (rows - 2) * columns + np.arange(columns)
    north, south = np.full(columns, len(ring)), np.full(columns, len(ring) + 1)
    caps = np.stack([north, first, np.roll(first, -1)], 1), np.stack([south, np.roll(last, -1), last], 1)
    return points, np.concatenate([_halves(*corner), *caps])


def floor(size: float) -> Shape:
    """Return a square in the plane y = 0 that faces up."""
    points = 0.5 * size * np.array([(-1.0, 0.0, -1.0), (-1.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 0.0, -1.0)])
    return points, np.array([(0, 1, 2), (0, 2, 3)])


def moved(shape: Shape, shift: Sequence[float], turn: np.ndarray | None = None) -> Shape:
    """Return a shape that is turned by a matrix and then shifted."""
    points = shape[0] if turn is None else shape[0] @ turn.T
    return points + np.asarray(shift, float), shape[1]


def joined(shapes: Sequence[Shape]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, triangles, and which of the shapes each triangle belongs to."""
    begin = np.cumsum([0, *(len(points) for points, _ in shapes)])
    triangles = [part + first for (_, part), first in zip(shapes, begin)]
    parts = np.repeat(np.arange(len(shapes)), [len(part) for part in triangles])
    return np.concatenate([points for points, _ in shapes]), np.concatenate(triangles), parts


def vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return for each point the unit normal of the faces around it, weighted by their areas; shape (n, 3)."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    total = np.zeros_like(points)
    for k in range(3):
        np.add.at(total, triangles[:, k], np.cross(b - a, c - a))
    return _unit(total)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _halves(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return two triangles for each quadrilateral."""
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
