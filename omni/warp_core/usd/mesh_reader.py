"""Meshes of a stage as arrays: triangles, with all values of faces and corners in the order of the triangles.

Start with `read_mesh`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

import omni.warp_core as wp

from .element_types import to_array
from .mesh_subsets import MeshSubset, read_subsets
from .polygons import Triangulation, triangulate
from .prim_access import (
    bounds,
    is_mirrored,
    local_to_world,
    numbers,
    require_length,
    schema_of,
    text_of,
    time_code,
    transformed,
    transformed_normals,
    transformed_vectors,
)
from .primvars import Elements, NormalChange, Primvar, read_normals, read_primvars, uvs_of
from .skinning import Pose, Skeletons
from .stage import StageError


@dataclass(frozen=True, eq=False)
class MeshData:
    """A mesh of triangles as `read_mesh` returns it: n points, m triangles.

    Attributes:
        path: Path of the prim.
        points: Positions, `wp.array` of `wp.vec3`, n.
        indices: Points of the triangles, `wp.array` of int, 3 m, counterclockwise around the outward normal.
        faces: The face of the prim that each triangle belongs to, `wp.array` of int, m.
        normals: The authored normals as a `Primvar` of `wp.vec3`, None without them.
        uvs: The texture coordinates: the primvar `st` or one of its other usual names, None without one.
        primvars: All primvars by name, `wp.usd.Primvar`. With interpolation "uniform" they have a value for each
            triangle, with "faceVarying" for each of the 3 m corners, with "vertex" and "varying" for each point.
        subsets: The parts that GeomSubset prims below the mesh name, `wp.usd.MeshSubset` by name: triangles or points.
        velocities: Velocities of the points in units per second, `wp.array` of `wp.vec3`, None without them.
        transform: Matrix that takes these points to world space, `wp.mat44` for column vectors as in
            `wp.transform_point(transform, point)`.
        extent: Lowest and highest corner of the points that are finite, two `wp.vec3`.
    """

    path: str
    points: wp.array
    indices: wp.array
    faces: wp.array
    normals: Primvar | None
    uvs: Primvar | None
    primvars: dict[str, Primvar]
    subsets: dict[str, MeshSubset]
    velocities: wp.array | None
    transform: Any
    extent: tuple[Any, Any]


def read_mesh(
    prim: Any, time: Any = None, device: Any = None, *, world: bool = False, skinning: bool = True
) -> MeshData:
    """Read a mesh of a stage as triangles.

    Convex faces become fans, concave ones are triangulated by ear clipping. A face of n corners gives n - 2 triangles,
    and faces in `holeIndices` give none. Triangles of left-handed meshes are turned, so that all of them are
    counterclockwise seen from outside. Of a subdivision surface this is the control mesh.

    Args:
        prim: A `Usd.Prim` of type Mesh, or a `UsdGeom.Mesh`; instance proxies too.
        time: The time code to read; None for the earliest, where attributes without samples have their defaults.
        device: Device of the arrays; None for the default device.
        world: Return points, normals and velocities in world space. `transform` is the identity then, and a mirroring
            transform does not turn triangles inside out.
        skinning: Return points and normals as the skeleton of the mesh and its blend shapes pose them; False for the
            rest pose. A posed mesh has no velocities, and of normals those of points and corners.

    Returns:
        The mesh as a `MeshData`.

    Raises:
        StageError: The prim is no mesh, its topology, a primvar or its skeleton is invalid, or USD cannot read it. The
            message has the prim, the attribute and the value.

    Warns:
        UserWarning: A subset does not fit the mesh, which is read without it.

    >>> from pxr import Usd, UsdGeom
    >>> stage = Usd.Stage.CreateInMemory()
    >>> mesh = UsdGeom.Mesh.Define(stage, "/Square")
    >>> _ = mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    >>> _ = mesh.CreateFaceVertexCountsAttr([4]), mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    >>> wp.usd.read_mesh(mesh).indices.list()
    [0, 1, 2, 0, 2, 3]
    """
    mesh, at = schema_of(prim, UsdGeom.Mesh), time_code(time)
    matrix = local_to_world(mesh.GetPrim(), at)
    applied = matrix if world else np.identity(4)
    rest = numbers(mesh.GetPointsAttr(), at, np.float32, 3)
    counts, indices = read_topology(mesh, at, len(rest))
    pose, points = _posed(mesh, at, rest) if skinning else (None, rest)
    flip = (text_of(mesh.GetOrientationAttr(), at) == "leftHanded") != is_mirrored(applied)
    found = triangulate(points, counts, indices, flip, read_holes(mesh, at, len(counts)))
    elements = _elements(len(points), counts, indices, found)
    primvars = read_primvars(mesh.GetPrim(), at, elements, device)
    normals = read_normals(
        mesh.GetPrim(), mesh.GetNormalsAttr(), str(mesh.GetNormalsInterpolation()), at, elements, device,
        _turning(pose, len(points), indices, applied),
    )  # fmt: skip
    placed = transformed(points, applied)
    return MeshData(
        path=str(mesh.GetPath()),
        points=to_array(placed, "point3f[]", device),
        indices=to_array(found.triangles.reshape(-1), "int[]", device),
        faces=to_array(found.faces, "int[]", device),
        normals=normals,
        uvs=uvs_of(primvars),
        primvars=primvars,
        subsets=read_subsets(mesh, at, len(points), len(counts), found.faces, device),
        velocities=read_velocities(mesh, at, len(points), applied, device) if pose is None else None,
        transform=to_transform(np.identity(4) if world else matrix),
        extent=to_extent(*bounds(placed)),
    )


def _posed(mesh: UsdGeom.Mesh, time: Usd.TimeCode, rest: np.ndarray) -> tuple[Pose | None, np.ndarray]:
    """Return the pose of a mesh, None for one without a skeleton, and its points in that pose. Raises StageError."""
    try:
        moved = Skeletons().of(mesh.GetPrim())
        pose = None if moved is None else moved.at(time)
        return pose, rest if pose is None else pose.points(rest)
    except StageError as error:
        raise StageError(f"{error}; skinning=False reads the rest pose") from None


def _turning(pose: Pose | None, points: int, indices: np.ndarray, matrix: np.ndarray) -> NormalChange:
    """Return what a pose and then a matrix do to the normals of a mesh: None for those that no pose can turn."""
    is_placed = np.array_equal(matrix, np.identity(4))

    def turned(values: np.ndarray, interpolation: str) -> np.ndarray | None:
        if pose is not None and interpolation not in ("vertex", "varying", "faceVarying"):
            return None
        if pose is not None:
            values = pose.normals(values, points, indices if interpolation == "faceVarying" else None)
        return values if is_placed else transformed_normals(values, matrix)

    return turned


def read_topology(mesh: UsdGeom.Mesh, time: Usd.TimeCode, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts and the indices of the faces of a mesh with so many points. Raises StageError."""
    sizes, corners = mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()
    counts, indices = numbers(sizes, time, np.int32), numbers(corners, time, np.int32)
    if len(counts) and counts.min() < 0:
        face = int(np.argmax(counts < 0))
        raise StageError(f"{sizes.GetPath()}[{face}] is {counts[face]}; a face has at least 0 corners")
    total = int(counts.sum(dtype=np.int64))
    if total != len(indices):
        raise StageError(
            f"{sizes.GetPath()} counts {total} corners in {len(counts)} faces, and {corners.GetName()} "
            f"has {len(indices)}"
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= points):
        at = int(np.argmax((indices < 0) | (indices >= points)))
        raise StageError(f"{corners.GetPath()}[{at}] is {indices[at]}, and the mesh has {points} points")
    return counts, indices


def read_holes(mesh: UsdGeom.Mesh, time: Usd.TimeCode, faces: int) -> np.ndarray:
    """Return the numbers of the faces of a mesh that are holes. Raises StageError."""
    attribute = mesh.GetHoleIndicesAttr()
    holes = numbers(attribute, time, np.int32)
    wrong = np.flatnonzero((holes < 0) | (holes >= faces))
    if len(wrong):
        raise StageError(f"{attribute.GetPath()}[{wrong[0]}] is {holes[wrong[0]]}, and the mesh has {faces} faces")
    return holes


def _elements(points: int, counts: np.ndarray, indices: np.ndarray, found: Triangulation) -> Elements:
    return Elements(
        {"uniform": len(counts), "varying": points, "vertex": points, "faceVarying": len(indices)},
        {
            "uniform": lambda values: values[found.faces],
            "faceVarying": lambda values: values[found.corners.reshape(-1)],
        },
    )


def read_velocities(
    geometry: UsdGeom.PointBased, time: Usd.TimeCode, count: int, matrix: np.ndarray, device: Any
) -> wp.array | None:
    """Return the velocities of the points of a geometry after a matrix, None without them. Raises StageError."""
    attribute = geometry.GetVelocitiesAttr()
    values = numbers(attribute, time, np.float32, 3)
    if not len(values):
        return None
    require_length(attribute, values, count, "points")
    return to_array(transformed_vectors(values, matrix), "vector3f[]", device)


def to_transform(matrix: np.ndarray) -> Any:
    """Return a matrix for column vectors as `wp.mat44`."""
    with np.errstate(over="ignore"):
        return wp.mat44(matrix.astype(np.float32))


def to_extent(low: np.ndarray, high: np.ndarray) -> tuple[Any, Any]:
    """Return two corners as `wp.vec3`."""
    return wp.vec3(*low.tolist()), wp.vec3(*high.tolist())
