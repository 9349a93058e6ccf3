"""Transforms and point instancers of a stage. Start with `write_transform`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

import omni.warp_core as wp

from .authoring import authored, host_values, set_held, set_value, write_time
from .prim_access import row_matrix
from .stage import StageError

_TRANSFORMS = (wp.transformh, wp.transformf, wp.transformd)


def write_transform(
    stage: Usd.Stage, path: str, transform: Any, scale: Sequence[float] | None = None, time: Any = None
) -> Usd.Prim:
    """Write the transform of a prim to its parent, or one time sample of it.

    A rigid transform is written as translation, orientation and scale, a matrix as a matrix. Between samples of rigid
    transforms bodies turn evenly, and between samples of matrices they shrink.

    Args:
        stage: The stage.
        path: Path of the prim; an Xform is made where the stage has none.
        transform: A `wp.transform`, a `Gf.Matrix4d` of pxr, or a matrix for column vectors: `wp.mat44` or 4 x 4
            numbers.
        scale: Three factors that are applied first, beside a `wp.transform`.
        time: The time code; None for the default value.

    Returns:
        The prim.

    Raises:
        StageError: The prim has no transform, or has operations of another kind.
        ValueError: The transform is not a 4x4 matrix, or one for row vectors.

    >>> from pxr import Usd
    >>> stage = Usd.Stage.CreateInMemory()
    >>> pose = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    >>> write_transform(stage, "/Body", pose).GetAttribute("xformOp:translate").Get()
    Gf.Vec3d(1.0, 2.0, 3.0)
    """
    present = stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(str(path)) else None
    schema, at = UsdGeom.Xformable if present and present.GetTypeName() else UsdGeom.Xform, write_time(time)
    with authored(stage, path, schema) as xformable:
        operations = list(_operations(transform, scale))
        names = [name for name, _, _ in operations]
        for place, (_, kind, value) in enumerate(operations):
            _operation(xformable, names, place, kind).Set(value, at)
    return xformable.GetPrim()


def _operations(transform: Any, scale: Sequence[float] | None) -> Iterator[tuple[str, Any, Any]]:
    """Return name, kind and value of each operation of a transform. Raises ValueError."""
    if isinstance(transform, _TRANSFORMS):
        x, y, z, i, j, k, w = (float(number) for number in transform)
        yield "xformOp:translate", UsdGeom.XformOp.TypeTranslate, Gf.Vec3d(x, y, z)
        yield "xformOp:orient", UsdGeom.XformOp.TypeOrient, Gf.Quatf(w, i, j, k)
        factors = np.ones(3) if scale is None else np.asarray(scale, np.float64)
        if factors.shape != (3,):
            raise ValueError(f"scale has the shape {factors.shape}; three factors are needed")
        yield "xformOp:scale", UsdGeom.XformOp.TypeScale, Gf.Vec3f(*factors.tolist())
        return
    if scale is not None:
        raise ValueError("scale goes with a wp.transform; multiply it into the matrix")
    yield "xformOp:transform", UsdGeom.XformOp.TypeTransform, _row_matrix(transform)


def _row_matrix(transform: Any) -> Gf.Matrix4d:
    """Return a matrix as USD has it, for row vectors. Raises ValueError."""
    if isinstance(transform, (Gf.Matrix4d, Gf.Matrix4f)):
        return Gf.Matrix4d(transform)
    numbers = np.asarray(transform, np.float64)
    if numbers.size != 16:
        raise ValueError(f"transform has {numbers.size} numbers; a wp.transform or 4 x 4 numbers are needed")
    matrix = numbers.reshape(4, 4)
    if matrix[3, :3].any() and not matrix[:3, 3].any():
        raise ValueError(
            f"the last row of transform is {matrix[3].tolist()}: the matrix is for row vectors. Pass its transpose, or "
            "a Gf.Matrix4d"
        )
    return row_matrix(matrix)


def _operation(xformable: UsdGeom.Xformable, names: list[str], place: int, kind: Any) -> UsdGeom.XformOp:
    """Return one of the operations with these names, made where the prim has none yet. Raises StageError."""
    present = xformable.GetOrderedXformOps()
    found = [str(op.GetOpName()) for op in present]
    if found != names[: len(found)]:
        raise StageError(
            f"{xformable.GetPath()} has the operations {', '.join(found)}, and {', '.join(names)} cannot replace them; "
            "call ClearXformOpOrder() on its UsdGeom.Xformable first"
        )
    if place < len(present):
        return present[place]
    double = kind in (UsdGeom.XformOp.TypeTranslate, UsdGeom.XformOp.TypeTransform)
    return xformable.AddXformOp(kind, UsdGeom.XformOp.PrecisionDouble if double else UsdGeom.XformOp.PrecisionFloat)


def write_instancer(
    stage: Usd.Stage,
    path: str,
    prototypes: Sequence[str],
    indices: Any,
    positions: Any,
    orientations: Any = None,
    scales: Any = None,
    time: Any = None,
    *,
    ids: Any = None,
) -> Usd.Prim:
    """Write a point instancer, or one time sample of it.

    Args:
        stage: The stage.
        path: Path of the prim, which is made where the stage has none.
        prototypes: Paths of the prims that are repeated.
        indices: The prototype of each of n instances.
        positions: Positions: `wp.array` of `wp.vec3`, or numbers of shape (n, 3).
        orientations: Rotations: `wp.array` of `wp.quat`, or x, y, z, w of shape (n, 4); None for none.
        scales: Factors along the axes, of shape (n, 3); None for none.
        time: The time code; None for the default value.
        ids: Numbers of the instances that stay the same over time.

    Returns:
        The prim.

    Raises:
        StageError: The path or the prim there does not fit.
        ValueError: Shapes or counts do not fit together, or an index has no prototype.
    """
    at, numbers = write_time(time), host_values(indices, "indices", np.int32).reshape(-1)
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(prototypes)):
        wrong = int(np.argmax((numbers < 0) | (numbers >= len(prototypes))))
        raise ValueError(f"indices[{wrong}] is {numbers[wrong]}, and there are {len(prototypes)} prototypes")
    rows = {"positions": (positions, np.float32, 3), "orientations": (orientations, np.float16, 4)}
    rows |= {"scales": (scales, np.float32, 3)}
    values = {name: host_values(v, name, dtype, width) for name, (v, dtype, width) in rows.items() if v is not None}
    if ids is not None:
        values["ids"] = host_values(ids, "ids", np.int64).reshape(-1)
    for name, array in values.items():
        if len(array) != len(numbers):
            raise ValueError(f"{name} has {len(array)} rows for {len(numbers)} instances")
    with authored(stage, path, UsdGeom.PointInstancer) as instancer:
        instancer.CreatePrototypesRel().SetTargets([Sdf.Path(p) for p in prototypes])
        set_held(instancer.CreateProtoIndicesAttr(), numbers, at, instancer.CreatePositionsAttr())
        for name, array in values.items():
            set_value(instancer.GetPrim().GetAttribute(name), array, at)
    return instancer.GetPrim()
