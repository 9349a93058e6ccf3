"""Points and faces of prims on the device of a node: checked, moved to another space, measured.

Start with `points_on` and `Faces`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...usd.polygons import FACES
from ..graph.attribute import GraphError
from ..values.bundles import Bundle, Item
from ..values.device_values import DeviceValue, known
from .device_arrays import compute, device_of, launch, numbers, prim_array, sent
from .prim_bundles import count_of, name_of, points_of, triangles_of


@wp.kernel
def count_infinite(points: wp.array[wp.vec3], count: wp.array[int]):
    """Count the numbers that are infinite or NaN."""
    p = points[wp.tid()]
    for k in range(3):
        if not wp.isfinite(p[k]):
            wp.atomic_add(count, 0, 1)


@wp.func
def through(p: wp.vec3, w: float, matrix: wp.mat44d) -> wp.vec3:
    """Return a point (w = 1) or a direction (w = 0) that a matrix for row vectors moves."""
    q = wp.vec4d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2]), wp.float64(w)) * matrix
    return wp.vec3(float(q[0]), float(q[1]), float(q[2]))


@wp.kernel
def move(points: wp.array[wp.vec3], matrix: wp.mat44d, out: wp.array[wp.vec3]):
    """Move points by a matrix for row vectors."""
    i = wp.tid()
    out[i] = through(points[i], 1.0, matrix)


@wp.kernel
def find_bounds(points: wp.array[wp.vec3], corners: wp.array[int], bounds: wp.array2d[float]):
    """Widen the bounds, a row of lower and one of upper ones, to the corners of triangles."""
    p = points[corners[wp.tid()]]
    for k in range(3):
        wp.atomic_min(bounds, 0, k, p[k])
        wp.atomic_max(bounds, 1, k, p[k])


def infinite_in(db: Any, points: Any) -> int:
    """Return how many numbers of points are infinite or NaN."""
    count = wp.zeros(1, dtype=int, device=device_of(db))
    launch(db, count_infinite, len(points), [points, count])
    return int(numbers(db, count)[0])


def points_on(db: Any, prim: Bundle) -> Any:
    """Return the points of a prim on the device of a node. Raises GraphError for points that are not finite."""
    found = prim.attributes.get("points")
    is_away = found is not None and isinstance(known(found.held), DeviceValue)
    if not is_away:
        points_of(prim)  # checks them on the CPU
    points = prim_array(db, prim, "points", "pointf[3][]")
    if is_away and (infinite := infinite_in(db, points)):
        raise GraphError(f"{name_of(prim)}.points has {infinite} numbers that are not finite")
    return points


def matrix_of(matrix: np.ndarray) -> Any:
    """Return a matrix as an argument of kernels."""
    return wp.mat44d(*np.asarray(matrix, np.float64).ravel().tolist())


def moved_on(db: Any, points: Any, matrix: np.ndarray) -> Any:
    """Return points that a matrix for row vectors has moved; the same array for the identity."""
    if np.array_equal(matrix, np.identity(4)):
        return points
    return compute(db, move, len(points), [points, matrix_of(matrix)], (len(points), wp.vec3))[0]


def bounds_on(db: Any, points: Any, corners: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper bounds of the corners of triangles, float64 (3,)."""
    bounds = sent(db, np.array([np.inf, -np.inf], np.float32).repeat(3), float).reshape((2, 3))
    launch(db, find_bounds, len(corners), [points, corners, bounds])
    lower, upper = numbers(db, bounds).astype(np.float64)
    return lower, upper


class Faces:
    """The triangles of a mesh whose points may move: found anew when its faces change."""

    def __init__(self) -> None:
        self._made_of: tuple[list[Item | None], int] | None = None
        self.triangles = np.zeros((0, 3), np.int32)
        self.corners: Any = None  # on the device of the node

    def take(self, db: Any, prim: Bundle) -> bool:
        """Take the faces of a prim; True if they are others than before. Raises GraphError."""
        made_of = [prim.attributes.get(name) for name in FACES], count_of(prim, "points")
        known = self._made_of
        if known is not None and known[1] == made_of[1] and all(map(operator.is_, known[0], made_of[0])):
            return False
        triangles = triangles_of(prim)
        is_new = known is None or known[1] != made_of[1] or not np.array_equal(triangles, self.triangles)
        if is_new:
            self.triangles, self.corners = triangles, sent(db, triangles.ravel(), int)
        self._made_of = made_of
        return is_new
