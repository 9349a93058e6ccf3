"""Fewer triangles for meshes that are too large for a page: vertices in one cell of a grid become one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Part:
    """The vertices of a mesh that are drawn, by number (int32), and triangles (n, 3) of them.

    `whole` has the triangles of the mesh itself: the part is valid as long as these stay, wherever the vertices move.
    """

    whole: np.ndarray
    vertices: np.ndarray
    triangles: np.ndarray


def fewer_triangles(vertices: np.ndarray, triangles: np.ndarray, most: int) -> Part:
    """Return a part of a mesh with at most `most` triangles, evenly spread."""
    low, high = (each(vertices[np.isfinite(vertices).all(axis=1)], axis=0) for each in (np.min, np.max))
    longest = max(float((high - low).max()), 1e-30)
    cells = int(2 * most**0.5) + 1  # along the longest side; a flat square would need half of them
    while True:
        part = _clustered(vertices, triangles, low, cells / longest)
        if len(part.triangles) <= most or cells == 1:
            return part
        cells = max(1, int(0.95 * cells * min(0.95, (most / len(part.triangles)) ** 0.5)))


def _clustered(vertices: np.ndarray, triangles: np.ndarray, low: np.ndarray, scale: float) -> Part:
    places = np.nan_to_num((vertices - low) * scale, posinf=0.0, neginf=0.0).astype(np.int64)
    keys = (places[:, 0] << 42) | (places[:, 1] << 21) | places[:, 2]
    _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    corners = cell.astype(np.int32)[triangles]
    a, b, c = corners.T
    return Part(triangles, first.astype(np.int32), corners[(a != b) & (b != c) & (c != a)])
