"""Polygons to triangles on all cores: convex polygons become fans, others are triangulated by ear clipping.

A polygon of n corners gives n - 2 triangles whatever its shape, so that the place of each triangle is known before the
kernels run. Start with `triangulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import omni.warp_core as wp

# The attributes of a Mesh prim that decide its triangles.
FACES = ("faceVertexCounts", "faceVertexIndices", "orientation", "holeIndices")


@dataclass(frozen=True)
class Triangulation:
    """Triangles of polygons: `corners` (m, 3) are positions in the indices of the polygons, `triangles` (m, 3) the
    indices at these positions, `faces` (m) the polygons that the triangles belong to.
    """

    corners: np.ndarray
    triangles: np.ndarray
    faces: np.ndarray


def triangulate(
    points: np.ndarray,
    counts: np.ndarray,
    indices: np.ndarray,
    flip: bool = False,
    holes: Sequence[int] | np.ndarray = (),
) -> Triangulation:
    """Return the triangles of polygons, in the order of the polygons.

    A face without triangles is a hole, has fewer than three corners, or lacks indices. A face with an index that is no
    point becomes a fan.

    Args:
        points: Positions, float32 of shape (n, 3).
        counts: Number of corners of each face.
        indices: Points of the corners, face after face.
        flip: Reverse the orientation of all triangles.
        holes: Numbers of faces to leave out.

    >>> arrow = np.array([(0, 0, 0), (2, -1, 0), (1, 0, 0), (2, 1, 0)], np.float32)
    >>> triangulate(arrow, np.array([4]), np.array([0, 1, 2, 3])).triangles.tolist()
    [[0, 1, 2], [2, 3, 0]]
    """
    counts = np.maximum(counts, 0).astype(np.int64)
    ends = np.cumsum(counts)
    pieces = np.where(ends <= len(indices), np.maximum(counts - 2, 0), 0)
    pieces[np.asarray(holes, np.int64)] = 0
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(pieces, out=offsets[1:])
    starts = np.minimum(ends - counts, len(indices)).astype(np.int32)
    total = int(offsets[-1])
    found = Triangulation(np.empty((total, 3), np.int32), np.empty((total, 3), np.int32), np.empty(total, np.int32))
    polygons = [_contiguous(points, np.float32), _contiguous(indices, np.int32), starts, offsets, int(flip)]
    outputs = [found.corners, found.triangles, found.faces]
    concave = np.zeros(len(counts), np.bool_)
    wp.launch(write_fans, len(counts), [*polygons, *outputs, concave], device="cpu")
    numbers = np.flatnonzero(concave).astype(np.int32)
    if len(numbers):
        lists = np.zeros(len(numbers) + 1, np.int32)
        np.cumsum(counts[numbers], out=lists[1:])
        links = [np.empty(lists[-1], np.int32) for _ in ("before", "after")]
        flat = np.empty((lists[-1], 2), np.float32)
        wp.launch(clip_ears, len(numbers), [numbers, lists, *links, flat, *polygons, *outputs], device="cpu")
    return found


def triangle_points(
    points: Callable[[], np.ndarray],
    counts: np.ndarray | None,
    indices: np.ndarray,
    flip: bool = False,
    holes: Sequence[int] | np.ndarray = (),
) -> np.ndarray:
    """Return the points of the triangles of polygons, (m, 3).

    Args:
        points: Gives the positions, where a polygon has more than three corners.
        counts: Number of corners of each face; None for triangles.
        indices: Points of the corners, face after face.
        flip: Reverse the orientation of all triangles.
        holes: Numbers of faces to leave out.
    """
    if counts is not None and (3 * len(counts) != len(indices) or (np.asarray(counts) != 3).any()):
        return triangulate(points(), np.asarray(counts), indices, flip, holes).triangles
    triangles = np.asarray(indices, np.int32).reshape(-1, 3)
    if len(holes):
        triangles = np.delete(triangles, np.asarray(holes, np.int64), 0)
    return triangles[:, [0, 2, 1]] if flip else triangles


def _contiguous(values: np.ndarray, dtype: type) -> np.ndarray:
    return np.ascontiguousarray(values, dtype)


@wp.struct
class Plane:
    """The coordinate plane that a polygon is projected to: its axes, in the order that makes the polygon's turns
    positive.
    """

    u: int
    v: int


@wp.func
def offset(points: wp.array[wp.vec3], i: int, origin: wp.vec3) -> wp.vec3d:
    """A point relative to another one, in float64."""
    p = points[i]
    return wp.vec3d(
        wp.float64(p[0]) - wp.float64(origin[0]),
        wp.float64(p[1]) - wp.float64(origin[1]),
        wp.float64(p[2]) - wp.float64(origin[2]),
    )


@wp.func
def plane_of(points: wp.array[wp.vec3], indices: wp.array[int], first: int, n: int) -> Plane:
    """The plane in which the polygon is largest."""
    origin = points[indices[first]]
    normal = wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0))
    before = offset(points, indices[first + 1], origin)
    for i in range(2, n):
        after = offset(points, indices[first + i], origin)
        normal += wp.cross(before, after)
        before = after
    axis = 0
    for k in range(1, 3):
        if wp.abs(normal[k]) > wp.abs(normal[axis]):
            axis = k
    u, v = 1, 2
    if axis == 1:
        u, v = 2, 0
    elif axis == 2:
        u, v = 0, 1
    plane = Plane()
    plane.u, plane.v = u, v
    if normal[axis] < wp.float64(0.0):
        plane.u, plane.v = v, u
    return plane


@wp.func
def projected(p: wp.vec3, plane: Plane) -> wp.vec2:
    """A point in the plane."""
    return wp.vec2(p[plane.u], p[plane.v])


@wp.func
def turn(a: wp.vec2, b: wp.vec2, c: wp.vec2) -> wp.float64:
    """Twice the area of a triangle; positive for a turn to the left at b."""
    # Differences of most float32 coordinates are exact in float64, and so are their products.
    au, av = wp.float64(a[0]), wp.float64(a[1])
    bu, bv = wp.float64(b[0]) - au, wp.float64(b[1]) - av
    cu, cv = wp.float64(c[0]) - au, wp.float64(c[1]) - av
    return bu * cv - bv * cu


@wp.func
def needs_clipping(points: wp.array[wp.vec3], indices: wp.array[int], first: int, n: int) -> bool:
    """True if a fan from the first corner would leave the polygon or have triangles without an area."""
    for i in range(n):
        if indices[first + i] < 0 or indices[first + i] >= points.shape[0]:
            return False
    plane = plane_of(points, indices, first, n)
    a = projected(points[indices[first + n - 2]], plane)
    b = projected(points[indices[first + n - 1]], plane)
    for i in range(n):
        c = projected(points[indices[first + i]], plane)
        if not turn(a, b, c) > wp.float64(0.0):
            return True
        a = b
        b = c
    return False


@wp.func
def write_triangle(
    t: int, face: int, a: int, b: int, c: int, flip: int,
    indices: wp.array[int], corners: wp.array2d[int], triangles: wp.array2d[int], faces: wp.array[int],
):  # fmt: skip
    """Store one triangle, whose corners are positions in `indices`."""
    second, third = b, c
    if flip != 0:
        second, third = c, b
    faces[t] = face
    corners[t, 0] = a
    corners[t, 1] = second
    corners[t, 2] = third
    triangles[t, 0] = indices[a]
    triangles[t, 1] = indices[second]
    triangles[t, 2] = indices[third]


@wp.kernel
def write_fans(
    points: wp.array[wp.vec3],
    indices: wp.array[int],
    starts: wp.array[int],
    offsets: wp.array[int],
    flip: int,
    corners: wp.array2d[int],
    triangles: wp.array2d[int],
    faces: wp.array[int],
    concave: wp.array[wp.bool],
):
    """One thread a face: write its fan, or set `concave` where ears must be clipped."""
    f = wp.tid()
    pieces = offsets[f + 1] - offsets[f]
    if pieces > 1 and needs_clipping(points, indices, starts[f], pieces + 2):
        concave[f] = True
        return
    for k in range(pieces):
        write_triangle(
            offsets[f] + k, f, starts[f], starts[f] + k + 1, starts[f] + k + 2, flip, indices, corners, triangles, faces
        )


@wp.func
def is_within(a: wp.vec2, b: wp.vec2, c: wp.vec2, p: wp.vec2) -> bool:
    """True if a point is in a triangle that turns left, or on its sides."""
    zero = wp.float64(0.0)
    return turn(a, b, p) >= zero and turn(b, c, p) >= zero and turn(c, a, p) >= zero


@wp.func
def is_ear(a: int, b: int, c: int, after: wp.array[int], base: int, flat: wp.array[wp.vec2]) -> bool:
    """True if the corners a, b, c turn left and no other corner of the polygon lies in their triangle."""
    pa = flat[base + a]
    pb = flat[base + b]
    pc = flat[base + c]
    if not turn(pa, pb, pc) > wp.float64(0.0):
        return False
    low = wp.min(pa, wp.min(pb, pc))
    high = wp.max(pa, wp.max(pb, pc))
    i = after[base + c]
    while i != a:
        p = flat[base + i]
        is_near = p[0] >= low[0] and p[0] <= high[0] and p[1] >= low[1] and p[1] <= high[1]
        # Corners at the same place are those of a slit, as polygons with holes have it.
        if is_near and p != pa and p != pb and p != pc and is_within(pa, pb, pc, p):
            return False
        i = after[base + i]
    return True


@wp.kernel
def clip_ears(
    numbers: wp.array[int],
    lists: wp.array[int],
    before: wp.array[int],
    after: wp.array[int],
    flat: wp.array[wp.vec2],
    points: wp.array[wp.vec3],
    indices: wp.array[int],
    starts: wp.array[int],
    offsets: wp.array[int],
    flip: int,
    corners: wp.array2d[int],
    triangles: wp.array2d[int],
    faces: wp.array[int],
):
    """One thread a concave face: cut ears off until a triangle is left.

    A polygon that crosses itself may run out of ears. Then a corner without an area goes first, then any.
    """
    k = wp.tid()
    f = numbers[k]
    base = lists[k]
    first = starts[f]
    t = offsets[f]
    n = lists[k + 1] - base
    for i in range(n):
        before[base + i] = i - 1
        after[base + i] = i + 1
    before[base] = n - 1
    after[base + n - 1] = 0
    plane = plane_of(points, indices, first, n)
    for i in range(n):
        flat[base + i] = projected(points[indices[first + i]], plane)
    b = 0
    left = n
    tried = 0
    while left > 3:
        a = before[base + b]
        c = after[base + b]
        cut = tried >= 2 * left
        if tried < left:
            cut = is_ear(a, b, c, after, base, flat)
        elif not cut:
            cut = turn(flat[base + a], flat[base + b], flat[base + c]) == wp.float64(0.0)
        if cut:
            write_triangle(t, f, first + a, first + b, first + c, flip, indices, corners, triangles, faces)
            after[base + a] = c
            before[base + c] = a
            t += 1
            left -= 1
            tried = 0
            b = after[base + c]  # not c, or the triangles would be slivers around one corner
        else:
            tried += 1
            b = c
    a = before[base + b]
    c = after[base + b]
    write_triangle(t, f, first + a, first + b, first + c, flip, indices, corners, triangles, faces)
