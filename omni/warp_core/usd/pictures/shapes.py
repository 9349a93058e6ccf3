"""USD's own shapes as triangles: surfaces of revolution, boxes, rectangles. Start with `triangles_of`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from pxr import Usd, UsdGeom

from ..prim_access import text_of, value_of
from ..stage import StageError

AROUND = 32  # corners of a circle
QUARTER = 8  # straight pieces of a quarter of a circle


@dataclass(frozen=True)
class Surface:
    """Triangles with smooth normals: vertices (n, 3), normals (n, 3), triangles (m, 3)."""

    vertices: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray


def joined(surfaces: list[Surface]) -> Surface:
    """Return several surfaces as one."""
    counts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    return Surface(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.normals for s in surfaces]),
        np.concatenate([s.triangles + np.int32(first) for s, first in zip(surfaces, counts)]),
    )


def triangles_of(prim: Usd.Prim, time: Usd.TimeCode) -> Surface | None:
    """Return the surface of a shape of USD in its own space, None for other prims. Raises StageError."""
    if prim.IsA(UsdGeom.Sphere):
        return _sphere(_number(prim, "radius", time))
    if prim.IsA(UsdGeom.Cube):
        return _box(_number(prim, "size", time) / 2)
    if prim.IsA(UsdGeom.Plane):
        return _rectangle(_number(prim, "width", time) / 2, _number(prim, "length", time) / 2, _axis(prim, time))
    profiles = {UsdGeom.Capsule: _capsule, UsdGeom.Cylinder: _cylinder, UsdGeom.Cone: _cone}
    for schema, profile in profiles.items():
        if prim.IsA(schema):
            half = _number(prim, "height", time) / 2
            return _revolved(profile, _number(prim, "radius", time), half, _axis(prim, time))
    return None


def _number(prim: Usd.Prim, name: str, time: Usd.TimeCode) -> float:
    value = value_of(prim.GetAttribute(name), time)
    if not isinstance(value, (int, float)):
        raise StageError(f"{prim.GetPath()}.{name} is {value!r}, and a number is needed")
    return float(value)


def _axis(prim: Usd.Prim, time: Usd.TimeCode) -> str:
    value = text_of(prim.GetAttribute("axis"), time)
    if value not in ("X", "Y", "Z"):
        raise StageError(f"{prim.GetPath()}.axis is {value!r}; it must be one of X, Y, Z")
    return value


# A profile has a row for each point along the axis: radius, height, and both of the normal there.


def _arc(centre_and_radius: tuple[float, float], first: int, last: int) -> np.ndarray:
    """A profile of quarters of a circle, counted from the equator."""
    centre, radius = centre_and_radius
    angles = np.linspace(first, last, (last - first) * QUARTER // 2 + 1) * (np.pi / 4)
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([radius * c, centre + radius * s, c, s], 1)


def _capsule(radius: float, half: float) -> list[np.ndarray]:
    side = np.array([[radius, -half, 1.0, 0.0], [radius, half, 1.0, 0.0]])
    return [_arc((-half, radius), -2, 0), side, _arc((half, radius), 0, 2)]


def _disc(radius: float, height: float, up: float) -> np.ndarray:
    profile = np.array([[0.0, height, 0.0, up], [radius, height, 0.0, up]])
    return profile if up < 0.0 else profile[::-1]  # profiles go up, so that triangles face outward


def _cylinder(radius: float, half: float) -> list[np.ndarray]:
    side = np.array([[radius, -half, 1.0, 0.0], [radius, half, 1.0, 0.0]])
    return [_disc(radius, -half, -1.0), side, _disc(radius, half, 1.0)]


def _cone(radius: float, half: float) -> list[np.ndarray]:
    length = np.hypot(2 * half, radius) or 1.0
    normal = [2 * half / length, radius / length]
    return [_disc(radius, -half, -1.0), np.array([[radius, -half, *normal], [0.0, half, *normal]])]


# Many shapes of a scene have the same size.
alike = lru_cache(maxsize=64)


@alike
def _sphere(radius: float) -> Surface:
    return _turned(_arc((0.0, radius), -2, 2), "Z")


@alike
def _revolved(profile: Callable[[float, float], list[np.ndarray]], radius: float, half: float, axis: str) -> Surface:
    return joined([_turned(part, axis) for part in profile(radius, half)])


def _turned(profile: np.ndarray, axis: str) -> Surface:
    """Return the surface of a profile that turns around an axis."""
    angles = np.arange(AROUND) * (2 * np.pi / AROUND)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)

    def around(radii: np.ndarray, heights: np.ndarray) -> np.ndarray:
        ring = np.repeat(radii, AROUND)[:, None] * np.tile(circle, (len(radii), 1))
        columns = np.concatenate([ring, np.repeat(heights, AROUND)[:, None]], 1)
        return np.roll(columns, {"X": 1, "Y": 2, "Z": 0}[axis], axis=1).astype(np.float32)

    row, step = np.meshgrid(np.arange(len(profile) - 1), np.arange(AROUND), indexing="ij")
    a, b = row * AROUND + step, row * AROUND + (step + 1) % AROUND
    quads = np.stack([a, b, b + AROUND, a, b + AROUND, a + AROUND], -1).reshape(-1, 3)
    return Surface(around(profile[:, 0], profile[:, 1]), around(profile[:, 2], profile[:, 3]), quads.astype(np.int32))


_SQUARE = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32)
_QUAD = np.array([(0, 1, 2), (0, 2, 3)], np.int32)


def _rectangle(width: float, length: float, axis: str, offset: float = 0.0) -> Surface:
    """Return a rectangle across an axis, with the sides that USD gives its planes."""
    place = "XYZ".index(axis)
    sides = {"X": (2, 1), "Y": (0, 2), "Z": (0, 1)}[axis]
    vertices, normals = np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32)
    vertices[:, sides[0]], vertices[:, sides[1]] = _SQUARE[:, 0] * width, _SQUARE[:, 1] * length
    vertices[:, place], normals[:, place] = offset, 1.0 if offset >= 0.0 else -1.0
    turned = (axis != "Z") != (offset < 0.0)  # the sides of X and Y are in left-handed order
    return Surface(vertices, normals, _QUAD[:, ::-1] if turned else _QUAD)


@alike
def _box(half: float) -> Surface:
    return joined([_rectangle(half, half, axis, end) for axis in "XYZ" for end in (-half, half)])


def tubes(points: np.ndarray, starts: np.ndarray, radii: np.ndarray, sides: int = 6) -> tuple[Surface, np.ndarray]:
    """Return polylines as tubes around their lines, and the point that each vertex belongs to.

    Args:
        points: Points of all polylines, (n, 3).
        starts: The first point of each polyline, and n.
        radii: Radius at each point, (n).
        sides: Corners of a tube's cross section.
    """
    lines = np.ones(max(len(points) - 1, 0), bool)
    inner = starts[1:-1]
    lines[inner[(inner > 0) & (inner < len(points))] - 1] = False  # from the end of a polyline to the next one
    first = np.flatnonzero(lines)
    along = points[first + 1] - points[first]
    across = np.cross(along, np.eye(3, dtype=np.float32)[np.argmin(np.abs(along), 1)])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)
    third = np.cross(along, across)
    third /= np.maximum(np.linalg.norm(third, axis=1, keepdims=True), 1e-30)
    angles = np.arange(sides) * (2 * np.pi / sides)
    ring = across[:, None] * np.cos(angles)[:, None] + third[:, None] * np.sin(angles)[:, None]
    ends = np.stack([first, first + 1], 1)
    vertices = points[ends][:, :, None] + ring[:, None] * radii[ends][:, :, None, None]
    normals = np.broadcast_to(ring[:, None], vertices.shape)
    k, line = np.arange(sides), np.arange(len(first))[:, None] * (2 * sides)
    a, b = line + k, line + (k + 1) % sides
    quads = np.stack([a, b, b + sides, a, b + sides, a + sides], -1).reshape(-1, 3)
    surface = Surface(
        vertices.reshape(-1, 3).astype(np.float32), normals.reshape(-1, 3).astype(np.float32), quads.astype(np.int32)
    )
    return surface, np.repeat(ends.reshape(-1), sides)
