"""Points and point instancers of a stage as arrays. Start with `read_points` and `read_instancer`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom

import omni.warp_core as wp

from .element_types import to_array
from .mesh_reader import read_velocities, to_extent, to_transform
from .prim_access import (
    bounds,
    local_to_world,
    mean_scale,
    numbers,
    require_length,
    schema_of,
    time_code,
    transformed,
)
from .primvars import Elements, Primvar, read_primvars
from .stage import READ_ERRORS, StageError, prim_at, unreadable


@dataclass(frozen=True, eq=False)
class PointsData:
    """Points as `read_points` returns them: n points.

    Attributes:
        path: Path of the prim.
        points: Positions, `wp.array` of `wp.vec3`, n.
        widths: Diameters, `wp.array` of float: n, or 1 for all points; None without them.
        ids: Numbers of the points that stay the same over time, `wp.array` of `wp.int64`, n; None without them.
        primvars: All primvars by name, `wp.usd.Primvar`.
        velocities: Velocities in units per second, `wp.array` of `wp.vec3`, n; None without them.
        transform: Matrix that takes these points to world space, `wp.mat44` for column vectors.
        extent: Lowest and highest corner of the points that are finite, and of their widths, two `wp.vec3`.
    """

    path: str
    points: wp.array
    widths: wp.array | None
    ids: wp.array | None
    primvars: dict[str, Primvar]
    velocities: wp.array | None
    transform: Any
    extent: tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class InstancerData:
    """Instances as `read_instancer` returns them: n instances. Inactive and invisible ones are left out.

    Attributes:
        path: Path of the prim.
        prototypes: Paths of the prims that are repeated.
        indices: The prototype of each instance, `wp.array` of int, n.
        transforms: `wp.array` of `wp.mat44` for column vectors, n: from the parent space of the prototype's prim, whose
            own transform they include, to that of the instancer.
        ids: Numbers of the instances that stay the same over time, `wp.array` of `wp.int64`, n.
        transform: Matrix that takes the instancer to world space, `wp.mat44` for column vectors.
    """

    path: str
    prototypes: tuple[str, ...]
    indices: wp.array
    transforms: wp.array
    ids: wp.array
    transform: Any


def read_points(prim: Any, time: Any = None, device: Any = None, *, world: bool = False) -> PointsData:
    """Read a cloud of points of a stage.

    Args:
        prim: A `Usd.Prim` of type Points, or a `UsdGeom.Points`.
        time: The time code to read; None for the earliest.
        device: Device of the arrays; None for the default device.
        world: Return points and velocities in world space, with widths scaled by the cube root of the determinant.

    Returns:
        The points as a `PointsData`.

    Raises:
        StageError: The prim is another one, counts do not fit together, or USD cannot read it.

    >>> from pxr import Usd, UsdGeom
    >>> stage = Usd.Stage.CreateInMemory()
    >>> drops = UsdGeom.Points.Define(stage, "/Drops")
    >>> _ = drops.CreatePointsAttr([(0, 0, 0), (1, 2, 3)]), drops.CreateWidthsAttr([0.5, 0.5])
    >>> read_points(drops).extent[1]
    vec3f([1.25, 2.25, 3.25])
    """
    cloud, at = schema_of(prim, UsdGeom.Points), time_code(time)
    matrix = local_to_world(cloud.GetPrim(), at)
    applied = matrix if world else np.identity(4)
    points = transformed(numbers(cloud.GetPointsAttr(), at, np.float32, 3), applied)
    widths = read_widths(cloud.GetWidthsAttr(), at, len(points)) * np.float32(mean_scale(applied))
    elements = Elements({"uniform": 1, "varying": len(points), "vertex": len(points), "faceVarying": len(points)}, {})
    return PointsData(
        path=str(cloud.GetPath()),
        points=to_array(points, "point3f[]", device),
        widths=to_array(widths, "float[]", device) if len(widths) else None,
        ids=_ids(cloud.GetIdsAttr(), at, len(points), device),
        primvars=read_primvars(cloud.GetPrim(), at, elements, device),
        velocities=read_velocities(cloud, at, len(points), applied, device),
        transform=to_transform(np.identity(4) if world else matrix),
        extent=to_extent(*bounds(points, widths / 2 if len(widths) else 0.0)),
    )


def read_widths(attribute: Usd.Attribute, time: Usd.TimeCode, count: int) -> np.ndarray:
    """Return the diameters of `count` points: none, one for all, or one for each. Raises StageError."""
    widths = numbers(attribute, time, np.float32)
    if len(widths) > 1:
        require_length(attribute, widths, count, "points")
    return widths


def _ids(attribute: Usd.Attribute, time: Usd.TimeCode, count: int, device: Any) -> wp.array | None:
    ids = numbers(attribute, time, np.int64)
    if not len(ids):
        return None
    require_length(attribute, ids, count, "points")
    return to_array(ids, "int64[]", device)


def read_instancer(prim: Any, time: Any = None, device: Any = None) -> InstancerData:
    """Read the instances of a point instancer.

    Args:
        prim: A `Usd.Prim` of type PointInstancer, or a `UsdGeom.PointInstancer`.
        time: The time code to read; None for the earliest.
        device: Device of the arrays; None for the default device.

    Returns:
        The instances as an `InstancerData`.

    Raises:
        StageError: The prim is another one, counts do not fit together, or an index has no prototype.

    >>> from pxr import Usd, UsdGeom
    >>> stage = Usd.Stage.CreateInMemory()
    >>> trees = UsdGeom.PointInstancer.Define(stage, "/Trees")
    >>> _ = UsdGeom.Cone.Define(stage, "/Trees/Tree"), trees.CreatePrototypesRel().SetTargets(["/Trees/Tree"])
    >>> _ = trees.CreateProtoIndicesAttr([0]), trees.CreatePositionsAttr([(1, 2, 3)])
    >>> read_instancer(trees).transforms.numpy()[0, :3, 3].tolist()
    [1.0, 2.0, 3.0]
    """
    instancer, at = schema_of(prim, UsdGeom.PointInstancer), time_code(time)
    prototypes = _prototypes(instancer)
    attribute = instancer.GetProtoIndicesAttr()
    indices = numbers(attribute, at, np.int32)
    wrong = np.flatnonzero((indices < 0) | (indices >= len(prototypes)))
    if len(wrong):
        raise StageError(
            f"{attribute.GetPath()}[{wrong[0]}] is {indices[wrong[0]]}, and there are {len(prototypes)} prototypes"
        )
    _require_instances(instancer, at, len(indices))
    kept = visible_instances(instancer, at, len(indices))
    ids = numbers(instancer.GetIdsAttr(), at, np.int64)
    ids = ids if len(ids) else np.arange(len(indices))
    return InstancerData(
        path=str(instancer.GetPath()),
        prototypes=prototypes,
        indices=to_array(indices[kept], "int[]", device),
        transforms=to_array(instance_matrices(instancer, at)[kept].astype(np.float32), "matrix", device),
        ids=to_array(ids[kept].astype(np.int64), "int64[]", device),
        transform=to_transform(local_to_world(instancer.GetPrim(), at)),
    )


def _prototypes(instancer: UsdGeom.PointInstancer) -> tuple[str, ...]:
    stage, relationship = instancer.GetPrim().GetStage(), instancer.GetPrototypesRel()
    paths = tuple(str(path) for path in relationship.GetForwardedTargets())
    for path in paths:
        if prim_at(stage, path) is None:
            raise StageError(f"{relationship.GetPath()} names {path}, where the stage has no prim")
    return paths


def _require_instances(instancer: UsdGeom.PointInstancer, time: Usd.TimeCode, count: int) -> None:
    """Raise StageError where an attribute has not one value for each instance."""
    rows = {
        instancer.GetPositionsAttr(): (3,), instancer.GetOrientationsAttr(): (4,), instancer.GetScalesAttr(): (3,),
        instancer.GetIdsAttr(): (), instancer.GetVelocitiesAttr(): (3,), instancer.GetAngularVelocitiesAttr(): (3,),
    }  # fmt: skip
    for attribute, shape in rows.items():
        values = numbers(attribute, time, np.float64, *shape)
        if len(values) or attribute.GetName() == "positions":
            require_length(attribute, values, count, "instances")


def visible_instances(instancer: UsdGeom.PointInstancer, time: Usd.TimeCode, count: int) -> np.ndarray:
    """Return for each of `count` instances whether it is active and visible. Raises StageError."""
    try:
        kept = np.asarray(instancer.ComputeMaskAtTime(time), bool)
    except READ_ERRORS as error:
        raise unreadable(instancer.GetPrim().GetStage(), str(instancer.GetPath()), error) from None
    return kept if len(kept) == count else np.ones(count, bool)


def instance_matrices(instancer: UsdGeom.PointInstancer, time: Usd.TimeCode) -> np.ndarray:
    """Return the matrices of all instances, float64 of shape (n, 4, 4) for column vectors. Raises StageError."""
    try:
        found = instancer.ComputeInstanceTransformsAtTime(
            time, time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
    except READ_ERRORS as error:
        raise unreadable(instancer.GetPrim().GetStage(), str(instancer.GetPath()), error) from None
    return np.asarray(found, np.float64).reshape(-1, 4, 4).transpose(0, 2, 1)
