"""Arrays as meshes, points and curves of a stage. Start with `write_mesh`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

from .authoring import authored, host_values, set_held, set_primvars, set_value, write_time
from .mesh_subsets import checked_subsets, write_subsets
from .prim_access import bounds


def write_mesh(
    stage: Usd.Stage,
    path: str,
    points: Any,
    indices: Any,
    counts: Any = None,
    time: Any = None,
    *,
    normals: Any = None,
    uvs: Any = None,
    colors: Any = None,
    velocities: Any = None,
    primvars: Mapping[str, Any] | None = None,
    subsets: Mapping[str, Any] | None = None,
) -> Usd.Prim:
    """Write a mesh, or one time sample of it.

    Topology is written where it differs from that of the time before, so it may change over time. The mesh gets no
    subdivision. Normals, texture coordinates, colors and primvars are arrays, or `wp.usd.Primvar` with an
    interpolation. Arrays have one value for each point, corner or face, or one for all: the first of these that fits.

    Args:
        stage: The stage; `wp.usd.save` writes it to a file.
        path: Path of the prim, which is made where the stage has none.
        points: Positions: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
        indices: Points of the faces, face after face.
        counts: Number of corners of each face; None for triangles.
        time: The time code; None for the default value.
        normals: Normals, written as the primvar `normals`.
        uvs: Texture coordinates, written as the primvar `st`.
        colors: Colors, linear RGB, written as the primvar `displayColor`.
        velocities: Velocities of the points in units per second.
        primvars: Further primvars by name.
        subsets: Parts of the mesh by name, as GeomSubset prims: numbers of faces for materials, or
            `wp.usd.MeshSubset`.

    Returns:
        The prim.

    Raises:
        StageError: The path or the prim there does not fit, or USD has no type for the values.
        ValueError: Shapes or counts do not fit together.

    >>> from pxr import Usd
    >>> stage = Usd.Stage.CreateInMemory()
    >>> prim = write_mesh(stage, "/Triangle", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [0, 1, 2], colors=[(1, 0, 0)])
    >>> prim.GetAttribute("faceVertexCounts").Get()
    Vt.IntArray(1, (3,))
    """
    positions, at = host_values(points, "points", np.float32, 3), write_time(time)
    corners = host_values(indices, "indices", np.int32).reshape(-1)
    faces = face_counts(counts, corners)
    require_points(corners, len(positions))
    parts = checked_subsets(subsets, len(faces), len(positions))
    with authored(stage, path, UsdGeom.Mesh) as mesh:
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
        if mesh.GetHoleIndicesAttr().HasAuthoredValue():  # numbers of faces that are replaced
            mesh.GetHoleIndicesAttr().Block()
        _set_points(mesh, positions, velocities, at)
        set_held(mesh.CreateFaceVertexCountsAttr(), faces, at, mesh.GetPointsAttr())
        set_held(mesh.CreateFaceVertexIndicesAttr(), corners, at, mesh.GetPointsAttr())
        sizes = {
            "vertex": len(positions),
            "faceVarying": len(corners),
            "uniform": len(faces),
            "varying": len(positions),
        }
        named = {"normals": normals, "st": uvs, "displayColor": colors}
        set_primvars(mesh, {**named, **(primvars or {})}, sizes, at)
        write_subsets(mesh, parts, at)
    return mesh.GetPrim()


def face_counts(counts: Any, corners: np.ndarray) -> np.ndarray:
    """Return the counts of faces; None is triangles. Raises ValueError where they do not fit to so many corners."""
    if counts is None:
        if len(corners) % 3:
            raise ValueError(f"indices has {len(corners)} numbers, which are no triangles; give counts for other faces")
        return np.full(len(corners) // 3, 3, np.int32)
    faces = host_values(counts, "counts", np.int32).reshape(-1)
    total = int(faces.sum(dtype=np.int64))
    if total != len(corners) or (len(faces) and faces.min() < 0):
        raise ValueError(f"counts has {total} corners in {len(faces)} faces, and indices has {len(corners)} numbers")
    return faces


def require_points(corners: np.ndarray, count: int) -> None:
    """Raise ValueError for an index below 0, or from `count` on."""
    if len(corners) and (corners.min() < 0 or corners.max() >= count):
        at = int(np.argmax((corners < 0) | (corners >= count)))
        raise ValueError(f"indices[{at}] is {corners[at]}, and there are {count} points")


def _set_points(
    geometry: UsdGeom.PointBased, points: np.ndarray, velocities: Any, time: Usd.TimeCode, reach: Any = 0.0
) -> None:
    """Write points, their velocities and the extent of both."""
    set_value(geometry.CreatePointsAttr(), points, time)
    set_value(geometry.CreateExtentAttr(), np.stack(bounds(points, reach)).astype(np.float32), time)
    if velocities is not None:
        speeds = host_values(velocities, "velocities", np.float32, 3)
        if len(speeds) != len(points):
            raise ValueError(f"velocities has {len(speeds)} rows for {len(points)} points")
        set_value(geometry.CreateVelocitiesAttr(), speeds, time)


def write_points(
    stage: Usd.Stage,
    path: str,
    points: Any,
    widths: Any = None,
    time: Any = None,
    *,
    ids: Any = None,
    colors: Any = None,
    velocities: Any = None,
    primvars: Mapping[str, Any] | None = None,
) -> Usd.Prim:
    """Write a cloud of points, or one time sample of it.

    Args:
        stage: The stage.
        path: Path of the prim, which is made where the stage has none.
        points: Positions: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
        widths: Diameters: one for each point, or one number.
        time: The time code; None for the default value.
        ids: Numbers of the points that stay the same over time.
        colors: Colors, linear RGB, one for each point or one for all.
        velocities: Velocities of the points in units per second.
        primvars: Further primvars by name.

    Returns:
        The prim.

    Raises:
        StageError: The path or the prim there does not fit, or USD has no type for the values.
        ValueError: Shapes or counts do not fit together.

    >>> from pxr import Usd
    >>> stage = Usd.Stage.CreateInMemory()
    >>> write_points(stage, "/Drops", [(0, 0, 0), (1, 2, 3)], widths=0.5).GetAttribute("widths").Get()
    Vt.FloatArray(1, (0.5,))
    """
    positions, at = host_values(points, "points", np.float32, 3), write_time(time)
    diameters = None if widths is None else _widths(widths, {"vertex": len(positions)})
    with authored(stage, path, UsdGeom.Points) as cloud:
        _set_points(cloud, positions, velocities, at, 0.0 if diameters is None else diameters / 2)
        if diameters is not None:
            _set_widths(cloud, diameters, len(positions), at)
        if ids is not None:
            numbers = host_values(ids, "ids", np.int64).reshape(-1)
            if len(numbers) != len(positions):
                raise ValueError(f"ids has {len(numbers)} numbers for {len(positions)} points")
            set_value(cloud.CreateIdsAttr(), numbers, at)
        set_primvars(cloud, {"displayColor": colors, **(primvars or {})}, {"vertex": len(positions)}, at)
    return cloud.GetPrim()


def _widths(widths: Any, counts: Mapping[str, int]) -> np.ndarray:
    values = host_values(widths, "widths", np.float32).reshape(-1)
    fitting = sorted({1, *counts.values()})
    if len(values) not in fitting:
        raise ValueError(f"widths has {len(values)} numbers; the counts that fit are {', '.join(map(str, fitting))}")
    return values


def _set_widths(geometry: Any, widths: np.ndarray, count: int, time: Usd.TimeCode) -> None:
    """Write the diameters of `count` points. Their interpolation is the same at all times."""
    attribute = geometry.CreateWidthsAttr()
    is_replaced = time.IsDefault() and not attribute.GetNumTimeSamples()
    before = str(geometry.GetWidthsInterpolation()) if attribute.HasAuthoredValue() and not is_replaced else ""
    if len(widths) == 1 and before == UsdGeom.Tokens.vertex:
        widths = np.repeat(widths, count)
    elif len(widths) == 1 and before != UsdGeom.Tokens.constant:
        geometry.SetWidthsInterpolation(UsdGeom.Tokens.constant)
    elif len(widths) != 1:
        if before == UsdGeom.Tokens.constant:
            _repeat_widths(attribute, geometry.GetPointsAttr())
        geometry.SetWidthsInterpolation(UsdGeom.Tokens.vertex)
    set_value(attribute, widths, time)


def _repeat_widths(widths: Usd.Attribute, points: Usd.Attribute) -> None:
    """Give each point the diameter that was written for all of them."""
    times = [Usd.TimeCode(time) for time in widths.GetTimeSamples()]
    for time in times or [Usd.TimeCode.Default()]:
        set_value(widths, np.resize(np.asarray(widths.Get(time)), len(points.Get(time) or ())), time)


def write_curves(
    stage: Usd.Stage,
    path: str,
    points: Any,
    starts: Any = None,
    widths: Any = None,
    time: Any = None,
    *,
    colors: Any = None,
    velocities: Any = None,
    primvars: Mapping[str, Any] | None = None,
) -> Usd.Prim:
    """Write polylines as linear basis curves, or one time sample of them.

    Args:
        stage: The stage.
        path: Path of the prim, which is made where the stage has none.
        points: Points of all polylines, curve after curve: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
        starts: The first point of each curve and n at the end, as `read_curves` returns it; None for one curve.
        widths: Diameters: one for each point, or one number.
        time: The time code; None for the default value.
        colors: Colors, linear RGB: one for each point or curve, or one for all.
        velocities: Velocities of the points in units per second.
        primvars: Further primvars by name.

    Returns:
        The prim.

    Raises:
        StageError: The path or the prim there does not fit, or USD has no type for the values.
        ValueError: Shapes or counts do not fit together.

    >>> from pxr import Usd
    >>> stage = Usd.Stage.CreateInMemory()
    >>> prim = write_curves(stage, "/Hair", [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)], starts=[0, 2, 4])
    >>> prim.GetAttribute("curveVertexCounts").Get()
    Vt.IntArray(2, (2, 2))
    """
    positions, at = host_values(points, "points", np.float32, 3), write_time(time)
    bounds_of = [0, len(positions)] if starts is None else starts
    first = host_values(bounds_of, "starts", np.int32).reshape(-1)
    if not len(first) or first[0] != 0 or first[-1] != len(positions) or (np.diff(first) < 0).any():
        raise ValueError(f"starts goes from 0 up to the number of points, {len(positions)}; it is {first.tolist()[:8]}")
    diameters = None if widths is None else _widths(widths, {"vertex": len(positions)})
    with authored(stage, path, UsdGeom.BasisCurves) as curves:
        curves.CreateTypeAttr(UsdGeom.Tokens.linear)
        curves.CreateWrapAttr(UsdGeom.Tokens.nonperiodic)
        _set_points(curves, positions, velocities, at, 0.0 if diameters is None else diameters / 2)
        set_held(curves.CreateCurveVertexCountsAttr(), np.diff(first), at, curves.GetPointsAttr())
        if diameters is not None:
            _set_widths(curves, diameters, len(positions), at)
        sizes = {"vertex": len(positions), "uniform": len(first) - 1}
        set_primvars(curves, {"displayColor": colors, **(primvars or {})}, sizes, at)
    return curves.GetPrim()
