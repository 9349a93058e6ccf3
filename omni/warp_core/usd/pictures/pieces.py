"""Pieces: the geometry of single prims as pictures need it, in the space of the prim or placed in another one.

Broken meshes and points give what is left of them, as a picture shows it best. Start with `Pieces.of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from pxr import Usd, UsdGeom, UsdVol

from ..curves import read_curves
from ..mesh_reader import read_holes, read_topology
from ..numpy_conversion import to_numpy
from ..polygons import Triangulation, triangulate
from ..prim_access import bounds, inverse_transposes, mean_scale, numbers, text_of
from ..primvars import Elements, why_unfit
from ..skinning import Pose, Skeletons
from ..stage import StageError, unraised_errors
from .drawn_volumes import DrawnVolume, VolumeLoader
from .shapes import Surface, triangles_of, tubes

NO_ROWS = np.zeros((0, 3), np.float32)
NO_TRIANGLES = np.zeros((0, 3), np.int32)


@dataclass(frozen=True)
class Piece:
    """Triangles, points and volumes with colors, linear RGB. Colors are None where the prim has none.

    vertices (n, 3), normals (n, 3) and zero where they follow from the triangles, triangles (m, 3), colors (n, 3);
    points (k, 3), point_colors (k, 3), radii (k). `point_numbers` (k) says which points of the prim these are, None for
    all of them.
    """

    vertices: np.ndarray = field(default_factory=lambda: NO_ROWS)
    normals: np.ndarray = field(default_factory=lambda: NO_ROWS)
    triangles: np.ndarray = field(default_factory=lambda: NO_TRIANGLES)
    colors: np.ndarray | None = None
    points: np.ndarray = field(default_factory=lambda: NO_ROWS)
    point_colors: np.ndarray | None = None
    radii: np.ndarray = field(default_factory=lambda: NO_ROWS[:, 0])
    volumes: tuple[DrawnVolume, ...] = ()
    point_numbers: np.ndarray | None = None

    @property
    def is_finite(self) -> bool:
        """True if no place is infinite or NaN."""
        return bool(
            np.isfinite(self.vertices).all() and np.isfinite(self.points).all() and np.isfinite(self.radii).all()
        )

    def finite(self) -> Piece:
        """Return the piece without what is infinite or NaN.

        Vertices keep their numbers: those at no place lie at another vertex, and have no triangles.
        """
        placed = np.isfinite(self.vertices).all(1)
        whole = placed[self.triangles].all(1)
        spare = self.vertices[np.argmax(placed)] if whole.any() else np.zeros(3, np.float32)
        kept = np.flatnonzero(np.isfinite(self.points).all(1) & np.isfinite(self.radii))
        return replace(
            self,
            vertices=np.where(placed[:, None], self.vertices, spare) if whole.any() else NO_ROWS,
            normals=self.normals if whole.any() else NO_ROWS,
            colors=self.colors if whole.any() else None,
            triangles=self.triangles[whole],
            points=self.points[kept],
            point_colors=None if self.point_colors is None else self.point_colors[kept],
            radii=self.radii[kept],
            point_numbers=kept.astype(np.int32),
        )

    def placed(self, matrices: np.ndarray, colors: np.ndarray | None = None) -> Piece:
        """Return copies of the piece after each of k matrices for column vectors, (k, 4, 4), one after the other.

        `colors` (k, 3) are for copies of a piece without its own.
        """
        count, n = len(matrices), len(self.vertices)
        if count == 1 and colors is None and np.array_equal(matrices[0], np.identity(4)):
            return self
        with np.errstate(all="ignore"):
            factors = np.array([mean_scale(m) for m in matrices], np.float32)
            normals = inverse_transposes(matrices)
            steps = (np.arange(count, dtype=np.int64) * n)[:, None, None]
            return Piece(
                _moved(self.vertices, matrices),
                np.einsum("nj,kij->kni", self.normals, normals).reshape(-1, 3).astype(np.float32),
                (self.triangles + steps).reshape(-1, 3).astype(np.int32),
                _repeated(self.colors, colors, count, n),
                _moved(self.points, matrices),
                _repeated(self.point_colors, colors, count, len(self.points)),
                (self.radii * factors[:, None]).reshape(-1).astype(np.float32),
                tuple(
                    volume.placed(matrix, None if colors is None else colors[number])
                    for number, matrix in enumerate(matrices)
                    for volume in self.volumes
                ),
            )


def _moved(points: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    moved = np.einsum("nj,kij->kni", points, matrices[:, :3, :3]) + matrices[:, None, :3, 3]
    return moved.reshape(-1, 3).astype(np.float32)


def _repeated(own: np.ndarray | None, given: np.ndarray | None, count: int, size: int) -> np.ndarray | None:
    """Return colors for copies: a piece's own, or else one for each copy."""
    if own is not None:
        return np.tile(own, (count, 1))
    return None if given is None else np.repeat(given, size, axis=0)


class _Topology(NamedTuple):
    """The triangles of a mesh, and how many faces and corners of faces it has."""

    triangulation: Triangulation
    faces: int
    corners: int


class Pieces:
    """Makes pieces, and keeps the triangles of meshes whose topology does not change.

    `volumes` reads volumes, and `warn` is called with each sentence about values that do not fit.
    """

    def __init__(self, volumes: VolumeLoader, warn: Callable[[str], None]) -> None:
        self._topology: dict[str, _Topology] = {}
        self._volumes = volumes
        self._warn = warn
        self._told: set[str] = set()
        self._skeletons = Skeletons()

    def begin(self) -> None:
        """Begin another picture: prims and skeletons may be others."""
        self._skeletons = Skeletons()

    def of(self, prim: Usd.Prim, time: Usd.TimeCode) -> Piece | None:
        """Return the piece of a prim in its own space, None where it has none. Raises StageError."""
        if prim.IsA(UsdGeom.Mesh):
            return self._mesh(UsdGeom.Mesh(prim), time)
        if prim.IsA(UsdGeom.Points):
            return self._points(UsdGeom.Points(prim), time)
        if prim.IsA(UsdGeom.BasisCurves):
            return _curves(UsdGeom.BasisCurves(prim), time)
        if prim.IsA(UsdVol.Volume):
            colors, _ = display_color(UsdGeom.Gprim(prim), time)
            return Piece(volumes=tuple(self._volumes.of(prim, time, None if colors is None else colors[0])))
        if prim.IsA(UsdGeom.Gprim):
            surface = triangles_of(prim, time)
            colors, _ = display_color(UsdGeom.Gprim(prim), time)
            if surface is not None:
                return _painted(surface, colors)
            kind = str(prim.GetTypeName())
            self._tell(kind, f"{prim.GetPath()} is of the type {kind}; pictures leave out all prims of this type")
        return None

    def _tell(self, what: str, text: str) -> None:
        """Warn once about something: values of other frames do not fit in other words."""
        if what not in self._told:
            self._told.add(what)
            self._warn(text)

    def _mesh(self, mesh: UsdGeom.Mesh, time: Usd.TimeCode) -> Piece | None:
        rest = numbers(mesh.GetPointsAttr(), time, np.float32, 3)
        found, faces, corners = self._topology_of(mesh, time, rest)
        points, pose = self._posed(mesh.GetPrim(), time, rest)
        counts = {"uniform": faces, "varying": len(points), "vertex": len(points), "faceVarying": corners}
        elements = Elements(counts, {})
        valid = (found.triangles >= 0).all(1) & (found.triangles < len(points)).all(1)
        triangles = found.triangles[valid]
        if not len(triangles):
            return None
        rows = {"uniform": found.faces[valid][:, None].repeat(3, 1), "faceVarying": found.corners[valid]}
        colors, kind = self.colors(mesh, time, elements)
        normals, normal_kind = self._directions(mesh, time, elements, pose)
        if kind in rows or normal_kind in rows:  # every triangle gets vertices of its own
            spread = [_at_corners(v, rows.get(k, triangles)) for v, k in ((colors, kind), (normals, normal_kind))]
            points, triangles = points[triangles.reshape(-1)], np.arange(triangles.size, dtype=np.int32).reshape(-1, 3)
            colors, normals = spread
        shades = None if colors is None else _spread(colors, len(points))
        directions = np.zeros_like(points)
        if normals is not None and len(normals) in (1, len(points)):
            directions = _spread(normals, len(points))
        return Piece(points, directions, triangles, shades)

    def _directions(
        self, mesh: UsdGeom.Mesh, time: Usd.TimeCode, elements: Elements, pose: Pose | None
    ) -> tuple[np.ndarray | None, str]:
        """Return the normals of a mesh in its pose and their interpolation; warn if they do not fit its elements."""
        normals, kind = _normals(mesh, time)
        wanted, points = elements.counts.get(kind, 1), elements.counts["vertex"]
        if normals is not None and len(normals) != wanted:
            has = f"has {len(normals)} normals, and their interpolation {kind!r} needs {wanted}"
            self._tell(f"{mesh.GetPath()}.normals", f"{mesh.GetPath()} {has}; the picture has other normals")
        if normals is None or pose is None:
            return normals, kind
        corners = numbers(mesh.GetFaceVertexIndicesAttr(), time, np.int32) if kind == "faceVarying" else None
        is_fit = len(normals) == wanted and kind in ("vertex", "varying", "faceVarying")
        if not is_fit or (corners is not None and not ((corners >= 0) & (corners < points)).all()):
            return None, ""
        return pose.normals(normals, points, corners), kind

    def _posed(self, prim: Usd.Prim, time: Usd.TimeCode, rest: np.ndarray) -> tuple[np.ndarray, Pose | None]:
        """Return the points as a skeleton poses them, and the pose; those of the rest pose where it is broken."""
        try:
            moved = self._skeletons.of(prim)
            pose = None if moved is None else moved.at(time)
            return (rest, None) if pose is None else (pose.points(rest), pose)
        except StageError as error:
            self._tell(f"{prim.GetPath()} posed", f"{error}; the picture has its rest pose")
            return rest, None

    def _topology_of(self, mesh: UsdGeom.Mesh, time: Usd.TimeCode, points: np.ndarray) -> _Topology:
        path = str(mesh.GetPath())
        counts, indices = mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()
        fixed = not (counts.ValueMightBeTimeVarying() or indices.ValueMightBeTimeVarying())
        if path in self._topology and fixed:
            return self._topology[path]
        sizes, corners = numbers(counts, time, np.int32), numbers(indices, time, np.int32)
        try:
            read_topology(mesh, time, len(points))
            read_holes(mesh, time, len(sizes))
        except StageError as error:
            self._tell(path, f"{error}; the picture has the rest of the mesh")
        holes = numbers(mesh.GetHoleIndicesAttr(), time, np.int32)
        flip = text_of(mesh.GetOrientationAttr(), time) == "leftHanded"
        kept = holes[(holes >= 0) & (holes < len(sizes))]
        found = triangulate(points, sizes, corners, flip, kept)
        self._topology[path] = _Topology(found, len(sizes), len(corners))
        return self._topology[path]

    def _points(self, points: UsdGeom.Points, time: Usd.TimeCode) -> Piece | None:
        positions = numbers(points.GetPointsAttr(), time, np.float32, 3)
        count = len(positions)
        if not count:
            return None
        reach = numbers(points.GetWidthsAttr(), time, np.float32)
        if len(reach) not in (0, 1, count):
            attribute = str(points.GetWidthsAttr().GetPath())
            has = f"has {len(reach)} values for {count} points"
            self._tell(attribute, f"{attribute} {has}; the picture has the first one for all")
        if not len(reach):  # no widths: about what fills the volume loosely
            reach = np.array([_size(positions) / count ** (1 / 3) * 0.5 or 1.0], np.float32)
        elements = Elements({"uniform": 1, "varying": count, "vertex": count, "faceVarying": count}, {})
        colors, _ = self.colors(points, time, elements)
        shades = None if colors is None else _spread(colors, count)
        return Piece(points=positions, point_colors=shades, radii=_spread(reach[:, None], count)[:, 0] / 2)

    def colors(self, prim: UsdGeom.Imageable, time: Usd.TimeCode, elements: Elements) -> tuple[np.ndarray | None, str]:
        """Return what `display_color` does, and warn if it does not fit the elements of the prim."""
        primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayColor")
        if primvar and (why := why_unfit(primvar, time, elements)):
            self._tell(str(primvar.GetAttr().GetPath()), f"{why}; the picture has other colors")
        return display_color(prim, time)


def _normals(mesh: UsdGeom.Mesh, time: Usd.TimeCode) -> tuple[np.ndarray | None, str]:
    """Return the authored normals and their interpolation; those of a subdivision surface follow from its triangles."""
    if text_of(mesh.GetSubdivisionSchemeAttr(), time) != "none":
        return None, ""
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
    if primvar and primvar.HasAuthoredValue():
        values, kind = flattened(primvar, time), primvar.GetInterpolation()
    else:
        values, kind = numbers(mesh.GetNormalsAttr(), time, np.float32, 3), mesh.GetNormalsInterpolation()
    return (values, str(kind)) if len(values) else (None, "")


def _at_corners(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the values of all corners of triangles; where there are too few, the last one."""
    if values is None:
        return None
    return values[np.minimum(rows, len(values) - 1).reshape(-1)]


def _painted(surface: Surface, colors: np.ndarray | None) -> Piece:
    shades = None if colors is None else _spread(colors[:1], len(surface.vertices))
    return Piece(surface.vertices, surface.normals, surface.triangles, shades)


def _curves(curves: UsdGeom.BasisCurves, time: Usd.TimeCode) -> Piece | None:
    """Return tubes, and a ball at each point where they meet. Raises StageError for broken curves."""
    read = read_curves(curves, time, "cpu")
    points, starts = read.points.numpy(), read.starts.numpy()
    if not len(points):
        return None
    widths = np.array([_size(points) * 0.005 or 1.0], np.float32) if read.widths is None else read.widths.numpy()
    radii = _spread(widths[:, None], len(points))[:, 0] / 2
    surface, owners = tubes(points, starts, radii)
    shades = _curve_colors(read.primvars.get("displayColor"), starts, len(points))
    painted = None if shades is None else shades[owners]
    return Piece(surface.vertices, surface.normals, surface.triangles, painted, points, shades, radii)


def _curve_colors(primvar: Any, starts: np.ndarray, count: int) -> np.ndarray | None:
    """Return a color for each point of polylines, None without fitting colors."""
    colors = NO_ROWS if primvar is None or isinstance(primvar.values, tuple) else primvar.values.numpy()
    if not len(colors) or colors.shape[1:] != (3,):
        return None
    if primvar.interpolation == "uniform":
        colors = np.repeat(colors, np.diff(starts), axis=0)
    return _spread(colors.astype(np.float32), count)


def display_color(prim: UsdGeom.Imageable, time: Usd.TimeCode) -> tuple[np.ndarray | None, str]:
    """Return the colors of a prim and their interpolation, None without colors."""
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayColor")
    colors = flattened(primvar, time) if primvar else NO_ROWS
    return (colors, str(primvar.GetInterpolation())) if len(colors) else (None, "constant")


def flattened(primvar: UsdGeom.Primvar, time: Usd.TimeCode) -> np.ndarray:
    """Return the rows of three numbers of a primvar without its indices; no rows where it has other values."""
    with unraised_errors() as errors:
        value = to_numpy(primvar.ComputeFlattened(time))
    if errors or not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.shape[1:] != (3,):
        return NO_ROWS
    return value.astype(np.float32)


def _size(points: np.ndarray) -> float:
    """Return the longest edge of the box of points, of those that are somewhere."""
    low, high = bounds(points)
    return float((high - low).max())


def _spread(values: np.ndarray, count: int) -> np.ndarray:
    """One row for each of `count` elements: as given, or the first for all."""
    return values if len(values) == count else np.broadcast_to(values[0], (count, values.shape[1]))
