"""Meshes for tests, and what is true of them: every triangle against every query, in double precision."""

from __future__ import annotations

import numpy as np


def box():
    """The cube from -1 to 1, its faces outwards."""
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def sphere(rows=24, columns=32):
    """The unit sphere with its poles, closed, its faces outwards. The faces at the poles have no area."""
    down, around = np.meshgrid(np.linspace(0, np.pi, rows + 1), np.arange(columns) * 2 * np.pi / columns, indexing="ij")
    points = np.stack([np.sin(down) * np.cos(around), np.sin(down) * np.sin(around), np.cos(down)], -1)
    points[0], points[-1] = (0, 0, 1), (0, 0, -1)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    faces = [np.stack(t, -1).reshape(-1, 3) for t in ((a, a + columns, b), (b, a + columns, b + columns))]
    return points.reshape(-1, 3).astype(np.float32), np.concatenate(faces).astype(np.int32)


def soup(count=300, seed=0):
    """Random triangles of many sizes that cross each other, none connected."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count, 1, 3))
    corners = centres + rng.normal(size=(count, 3, 3)) * 10.0 ** rng.uniform(-3, 0.3, size=(count, 1, 1))
    return corners.reshape(-1, 3).astype(np.float32), np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def degenerate():
    """Triangles that are points, or have two equal corners, among some that are not."""
    points, faces = soup(60, seed=5)
    points[faces[::3, 1]] = points[faces[::3, 0]]
    points[faces[::3, 2]] = points[faces[::3, 0]]
    points[faces[1::3, 2]] = points[faces[1::3, 1]]
    return points, faces


def collinear():
    """Triangles whose corners lie on a line, up to rounding."""
    points, faces = soup(60, seed=6)
    points[faces[:, 2]] = 0.25 * points[faces[:, 0]] + 0.75 * points[faces[:, 1]]
    return points, faces


def one():
    return np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], np.float32), np.array([[0, 1, 2]], np.int32)


def equal():
    """A thousand times the same triangle."""
    points, faces = one()
    return points, np.repeat(faces, 1000, axis=0)


def line():
    """Triangles whose sizes grow by powers of two, which makes deep trees."""
    scale = (2.0 ** np.arange(-4, 30))[:, None, None]
    corners = scale * np.array([(1, 0, 0), (1.5, 0, 0), (1, 0.25, 0.1)])
    return corners.reshape(-1, 3).astype(np.float32), np.arange(102, dtype=np.int32).reshape(-1, 3)


SCENES = {f.__name__: f for f in (box, sphere, soup, degenerate, one, equal, line)}


def hit_by_all(points, faces, start, direction):
    """(t of the first hit or inf, how far inside of its nearest edge the decision is) by solving for each triangle.

    The second number is relative to the size of the triangles: a decision below it could go either way in rounding.
    """
    a, b, c = (points[faces[:, k]].astype(np.float64) for k in range(3))
    system = np.stack([b - a, c - a, np.broadcast_to(-direction, a.shape)], axis=-1)
    volume = np.linalg.det(system)
    scale = np.prod(np.linalg.norm(system, axis=1), axis=1)
    flat = np.abs(volume) <= 1e-7 * scale
    system[flat] = np.eye(3)
    v, w, t = np.linalg.solve(system, (start - a)[..., None])[..., 0].T
    margin = np.minimum(np.minimum(v, w), np.minimum(1 - v - w, t))
    margin[flat] = -1.0
    hit = margin >= 0
    return (t[hit].min() if hit.any() else np.inf), np.abs(margin).min()


def distances_to_each(points, faces, p):
    """The distance of the closest point of each triangle, by projecting on its plane and on its edges."""
    corners = [points[faces[:, k]].astype(np.float64) - p for k in range(3)]
    best = np.full(len(faces), np.inf)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        edge = corners[b] - corners[a]
        size = np.maximum((edge**2).sum(1), 1e-300)
        s = np.clip(-(corners[a] * edge).sum(1) / size, 0, 1)
        best = np.minimum(best, np.linalg.norm(corners[a] + s[:, None] * edge, axis=1))
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    size = np.linalg.norm(normal, axis=1)
    sides = [(normal * np.cross(corners[k], corners[(k + 1) % 3])).sum(1) for k in range(3)]
    above = (np.minimum.reduce(sides) >= 0) & (size > 0)
    best[above] = np.minimum(best[above], np.abs((normal * corners[0]).sum(1)[above] / size[above]))
    return best


def distance_to_all(points, faces, p):
    """The distance of the closest point of all triangles."""
    return distances_to_each(points, faces, p).min()
