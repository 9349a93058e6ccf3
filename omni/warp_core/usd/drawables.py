"""Drawables of a stage at one time: triangles and points in world space, with colours.

All meshes become one list of vertices and triangles, all point clouds one list of discs. Start with `Gatherer.at`; it
keeps what does not change from frame to frame (triangulation, neighbourhoods).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from pxr import Gf, Usd, UsdGeom

GREY = np.array([0.62, 0.62, 0.62], np.float32)


@dataclass
class Drawable:
    """Geometry in world space. Colours are linear RGB; `radii` belong to points.

    vertices (n, 3), colors (n, 3), triangles (m, 3) into vertices; points (k, 3), point_colors (k, 3), radii (k).
    `starts` (n + 1) and `around` (3 m) list the triangles around each vertex.
    """

    vertices: np.ndarray
    colors: np.ndarray
    triangles: np.ndarray
    starts: np.ndarray
    around: np.ndarray
    points: np.ndarray
    point_colors: np.ndarray
    radii: np.ndarray

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to draw."""
        return not (len(self.triangles) or len(self.points))

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner of everything."""
        corners = []
        for positions, reach in ((self.vertices, 0.0), (self.points, self.radii)):
            if len(positions):
                columns = np.ascontiguousarray(positions.T)  # NumPy reduces along rows much faster than across them
                corners += [(columns - reach).min(1), (columns + reach).max(1)]
        return np.min(corners, 0), np.max(corners, 0)


def fan(counts: np.ndarray, indices: np.ndarray, flip: bool = False) -> np.ndarray:
    """Triangles (m, 3) of polygons, as positions in `indices`. Polygons of fewer than three corners give none.

    >>> fan(np.array([4]), np.array([7, 8, 9, 6])).tolist()
    [[0, 1, 2], [0, 2, 3]]
    """
    counts = np.maximum(counts, 0)
    ends = np.cumsum(counts)
    usable = ends <= len(indices)
    pieces = np.where(usable, np.maximum(counts - 2, 0), 0)
    first = np.repeat(ends - counts, pieces)
    step = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    order = (first, first + step + 2, first + step + 1) if flip else (first, first + step + 1, first + step + 2)
    return np.stack(order, -1).astype(np.int32)


@dataclass
class _Topology:
    """Triangles of one mesh: corner positions, and vertex numbers after corners were pulled apart if they had to be."""

    corners: np.ndarray
    triangles: np.ndarray
    faces: np.ndarray
    indices: np.ndarray


@dataclass
class _Parts:
    """Pieces that are put together at the end."""

    vertices: list[np.ndarray] = field(default_factory=list)
    colors: list[np.ndarray] = field(default_factory=list)
    triangles: list[np.ndarray] = field(default_factory=list)
    points: list[np.ndarray] = field(default_factory=list)
    point_colors: list[np.ndarray] = field(default_factory=list)
    radii: list[np.ndarray] = field(default_factory=list)
    count: int = 0


class Gatherer:
    """Collects the visible meshes and points of a stage."""

    def __init__(self, stage: Usd.Stage):
        self.stage = stage
        self._topology: dict[str, tuple[object, _Topology]] = {}
        self._around: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def at(self, time: Usd.TimeCode) -> Drawable:
        """Everything to draw at a time."""
        parts, cache = _Parts(), UsdGeom.XformCache(time)
        for prim in self.stage.Traverse(Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)):
            if not prim.IsA(UsdGeom.PointBased) or not _is_visible(prim, time):
                continue
            to_world = cache.GetLocalToWorldTransform(prim)
            if prim.IsA(UsdGeom.Mesh):
                self._mesh(UsdGeom.Mesh(prim), time, to_world, parts)
            elif prim.IsA(UsdGeom.Points):
                _points(UsdGeom.Points(prim), time, to_world, parts)
        return self._together(parts)

    def _mesh(self, mesh: UsdGeom.Mesh, time: Usd.TimeCode, to_world: Gf.Matrix4d, parts: _Parts) -> None:
        points = _floats3(mesh.GetPointsAttr().Get(time))
        topology = self._triangulated(mesh, time)
        if not len(points) or not len(topology.triangles):
            return
        valid = (topology.triangles >= 0).all(1) & (topology.triangles < len(points)).all(1)
        triangles, corners, faces = topology.triangles[valid], topology.corners[valid], topology.faces[valid]
        vertices = _transformed(points, to_world)
        colors, interpolation = _display_color(mesh, time)
        if interpolation in ("uniform", "faceVarying") and len(colors):
            # one colour per face or corner: every triangle gets vertices of its own
            chosen = faces[:, None].repeat(3, 1) if interpolation == "uniform" else corners
            colors = colors[np.minimum(chosen, len(colors) - 1).reshape(-1)]
            vertices = vertices[triangles.reshape(-1)]
            triangles = np.arange(len(vertices), dtype=np.int32).reshape(-1, 3)
        parts.vertices.append(vertices)
        parts.colors.append(_spread(colors, len(vertices)))
        parts.triangles.append(triangles + np.int32(parts.count))
        parts.count += len(vertices)

    def _triangulated(self, mesh: UsdGeom.Mesh, time: Usd.TimeCode) -> _Topology:
        path = str(mesh.GetPath())
        counts, indices = mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()
        fixed = not (counts.ValueMightBeTimeVarying() or indices.ValueMightBeTimeVarying())
        if path in self._topology and fixed:
            return self._topology[path][1]
        sizes, numbers = _ints(counts.Get(time)), _ints(indices.Get(time))
        flip = mesh.GetOrientationAttr().Get(time) == "leftHanded"
        corners = fan(sizes, numbers, flip)
        pieces = np.where(np.cumsum(np.maximum(sizes, 0)) <= len(numbers), np.maximum(sizes - 2, 0), 0)
        faces = np.repeat(np.arange(len(sizes)), pieces)
        found = _Topology(corners, numbers[corners] if len(corners) else corners, faces, numbers)
        self._topology[path] = (None, found)
        return found

    def _together(self, parts: _Parts) -> Drawable:
        triangles = np.concatenate(parts.triangles) if parts.triangles else np.zeros((0, 3), np.int32)
        if self._around is None or not np.array_equal(self._around[0], triangles):
            self._around = (triangles, *neighbourhoods(triangles, parts.count))
        return Drawable(
            _stack(parts.vertices), _stack(parts.colors), triangles, *self._around[1:],
            _stack(parts.points), _stack(parts.point_colors),
            np.concatenate(parts.radii) if parts.radii else np.zeros(0, np.float32),
        )  # fmt: skip


def neighbourhoods(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The triangles around each of `count` vertices: those of vertex i are around[starts[i]:starts[i + 1]]."""
    flat = triangles.reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(flat, minlength=count), out=starts[1:])
    return starts, (order // 3).astype(np.int32)


def _points(points: UsdGeom.Points, time: Usd.TimeCode, to_world: Gf.Matrix4d, parts: _Parts) -> None:
    positions = _floats3(points.GetPointsAttr().Get(time))
    if not len(positions):
        return
    scale = abs(np.linalg.det(np.asarray(to_world)[:3, :3])) ** (1 / 3)
    widths = points.GetWidthsAttr().Get(time)
    reach = (
        np.asarray(widths, np.float32).reshape(-1) if widths is not None and len(widths) else np.zeros(0, np.float32)
    )
    if not len(reach):  # no widths: about what fills the volume loosely
        extent = np.ptp(positions, axis=0).max()
        reach = np.array([extent / max(len(positions), 1) ** (1 / 3) * 0.5 or 1.0], np.float32)
    colors, _ = _display_color(points, time)
    parts.points.append(_transformed(positions, to_world))
    parts.point_colors.append(_spread(colors, len(positions)))
    parts.radii.append(_spread(reach[:, None], len(positions))[:, 0] * np.float32(scale / 2))


def _is_visible(prim: Usd.Prim, time: Usd.TimeCode) -> bool:
    imageable = UsdGeom.Imageable(prim)
    shown = imageable.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return shown and imageable.ComputeVisibility(time) != UsdGeom.Tokens.invisible


def _display_color(prim: UsdGeom.Gprim, time: Usd.TimeCode) -> tuple[np.ndarray, str]:
    primvar = prim.GetDisplayColorPrimvar()
    value = primvar.ComputeFlattened(time) if primvar else None
    colors = _floats3(value)
    return (colors, primvar.GetInterpolation()) if len(colors) else (GREY[None], "constant")


def _spread(values: np.ndarray, count: int) -> np.ndarray:
    """One row for each of `count` elements: as given, or the first for all."""
    return values if len(values) == count else np.broadcast_to(values[0], (count, values.shape[1]))


def _floats3(value: object) -> np.ndarray:
    return np.asarray(value, np.float32).reshape(-1, 3) if value is not None else np.zeros((0, 3), np.float32)


def _ints(value: object) -> np.ndarray:
    return np.asarray(value, np.int32).reshape(-1) if value is not None else np.zeros(0, np.int32)


def _transformed(points: np.ndarray, matrix: Gf.Matrix4d) -> np.ndarray:
    m = np.asarray(matrix)
    if np.array_equal(m, np.identity(4)):
        return points
    return (points @ m[:3, :3] + m[3, :3]).astype(np.float32)


def _stack(parts: list[np.ndarray]) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(parts)) if parts else np.zeros((0, 3), np.float32)
