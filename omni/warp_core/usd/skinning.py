"""Skinning: the joints of a skeleton and the blend shapes that move the points of a geometry, as UsdSkel has them.

USD's own UsdSkel computes joints, weights and points. Where it would only warn, a StageError says why, as the points
would be wrong. Start with `Skeletons.of`, and with `Pose` for what it does to points and normals.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from pxr import Gf, Usd, UsdSkel, Vt

from .numpy_conversion import to_numpy, to_usd
from .prim_access import inverse_transposes, local_to_world, numbers, quietly, transformed, transformed_normals
from .stage import READ_ERRORS, StageError, quiet, reason


class Skeletons:
    """The skeletons of a stage, each looked up once. Edits of prims or of their bindings make this outdated."""

    def __init__(self) -> None:
        self._roots: dict[str, tuple[Any, list[str]]] = {}

    def of(self, prim: Usd.Prim) -> Skinning | None:
        """Return what moves a prim, None for a prim that no skeleton moves. Raises StageError for a broken skeleton."""
        root = UsdSkel.Root.Find(prim) if is_bound(prim) else None
        if not root:
            return None
        cache, said = self._root(root)
        query = cache.GetSkinningQuery(prim)
        if not query or not (query.HasJointInfluences() or query.HasBlendShapes()):
            return None
        with _strictly(prim):
            bound = UsdSkel.BindingAPI(prim).GetInheritedSkeleton()
        if not bound:
            return None
        path = bound.GetPrim().GetPath().pathString
        wrong = next((text for text in said if text.startswith((f"{path} ", f"{path}."))), None)
        if wrong is not None:
            raise _not_posed(prim, wrong)
        return Skinning(prim, bound.GetPrim(), query, cache.GetSkelQuery(bound))

    def _root(self, root: UsdSkel.Root) -> tuple[Any, list[str]]:
        """Return the bindings below a root, and what UsdSkel says about them."""
        path = root.GetPath().pathString
        if path not in self._roots:
            cache = UsdSkel.Cache()
            with quiet() as delegate:
                cache.Populate(root, Usd.TraverseInstanceProxies())
                said = [str(message.commentary) for message in delegate.TakeUncoalescedDiagnostics()]
            self._roots[path] = cache, said
        return self._roots[path]


def is_bound(prim: Usd.Prim) -> bool:
    """True if a skeleton may move a prim."""
    return bool(prim.HasAPI(UsdSkel.BindingAPI))


class Skinning:
    """What moves one geometry, and the skeleton's prim, its `place`."""

    def __init__(self, prim: Usd.Prim, place: Usd.Prim, query: Any, skeleton: Any):
        self.prim, self.place, self.query, self.skeleton = prim, place, query, skeleton

    def at(self, time: Usd.TimeCode) -> Pose:
        """Return the pose at a time. Raises StageError."""
        return Pose(self, time)


class Pose:
    """What a skeleton and blend shapes do to a geometry at a time. Results are in the space of its prim."""

    def __init__(self, skinning: Skinning, time: Usd.TimeCode):
        self._prim, self._query, self._time = skinning.prim, skinning.query, time
        self._method, self._width = self._query.GetSkinningMethod(), self._query.GetNumInfluencesPerComponent()
        with _strictly(self._prim):
            self._joints = skinning.skeleton.ComputeSkinningTransforms(time)
        self._moves = _moves(skinning, time)
        self._placed = _to_prim(self._prim, skinning.place, time)

    def points(self, rest: np.ndarray) -> np.ndarray:
        """Return the points of the rest pose, float32 (n, 3), where they are now. Raises StageError."""
        with _strictly(self._prim):
            points = _blended(rest, [(move, move.offsets) for move in self._moves])
        if not self._query.HasJointInfluences():
            return points
        joints, weights = self._influences(len(rest))
        posed, bind = to_usd(points, "point3f[]"), self._query.GetGeomBindTransform(self._time)
        with _strictly(self._prim):
            UsdSkel.SkinPoints(self._method, bind, self._order(), joints, weights, self._width, posed)
        return transformed(to_numpy(posed), self._placed)

    def normals(self, rest: np.ndarray, points: int, corners: np.ndarray | None) -> np.ndarray:
        """Return the normals of the rest pose, turned. Raises StageError.

        Args:
            rest: A normal for each point or corner, float32 (n, 3).
            points: How many points the geometry has.
            corners: The point of each corner, for normals of corners; None for normals of points.
        """
        with _strictly(self._prim):
            normals = _blended(rest, [(m, m.normal_offsets) for m in self._moves] if corners is None else [])
        if not self._query.HasJointInfluences():
            return normals
        joints, weights = self._influences(points)
        if corners is not None:
            joints = to_usd(to_numpy(joints).reshape(points, -1)[corners].reshape(-1), "int[]")
            weights = to_usd(to_numpy(weights).reshape(points, -1)[corners].reshape(-1), "float[]")
        posed, bind = to_usd(normals, "normal3f[]"), np.array([self._query.GetGeomBindTransform(self._time)])
        turns = Vt.Matrix3dArray.FromNumpy(inverse_transposes(np.array(self._order())))
        turn = Gf.Matrix3d(inverse_transposes(bind)[0].tolist())
        with _strictly(self._prim):
            UsdSkel.SkinNormals(self._method, turn, turns, joints, weights, self._width, posed)
        return transformed_normals(to_numpy(posed), self._placed)

    def _order(self) -> Any:
        """Return the transforms of the joints in the order in which the geometry names them."""
        mapper = self._query.GetJointMapper()
        if mapper is None:
            return self._joints
        return Vt.Matrix4dArray(mapper.RemapTransforms(self._joints, Vt.Matrix4dArray()))

    def _influences(self, points: int) -> tuple[Any, Any]:
        with _strictly(self._prim):
            found = self._query.ComputeVaryingJointInfluences(points, self._time)
        if found is None:
            raise _not_posed(self._prim, f"its jointIndices and jointWeights do not fit its {points} points")
        joints, weights = found
        return joints, weights


@quietly
def _to_prim(prim: Usd.Prim, place: Usd.Prim, time: Usd.TimeCode) -> np.ndarray:
    """Return the matrix from the space of a skeleton's prim to that of a geometry. Raises StageError."""
    with _strictly(prim):
        own, skeleton = local_to_world(prim, time), local_to_world(place, time)
    try:
        found: np.ndarray = np.linalg.inv(own) @ skeleton
    except np.linalg.LinAlgError:
        raise _not_posed(prim, "its transform cannot be inverted, as a scale in it is 0") from None
    return found


class _Move(NamedTuple):
    """One blend shape, or an in-between of it, with its weight."""

    weight: float
    shape: Any
    indices: np.ndarray | None  # the points that it moves; None for all
    offsets: np.ndarray
    normal_offsets: np.ndarray


def _moves(skinning: Skinning, time: Usd.TimeCode) -> list[_Move]:
    """Return what the blend shapes of a geometry do at a time. Raises StageError."""
    prim, query, animation = skinning.prim, skinning.query, skinning.skeleton.GetAnimQuery()
    if not query.HasBlendShapes() or not animation:
        return []
    with _strictly(prim):
        weights, mapper = animation.ComputeBlendShapeWeights(time), query.GetBlendShapeMapper()
        if weights is None or mapper is None:
            return []
        shapes = UsdSkel.BlendShapeQuery(UsdSkel.BindingAPI(prim))
        active = zip(*shapes.ComputeSubShapeWeights(mapper.Remap(weights)), strict=True)
        return [found for each in active if (found := _move(shapes, *each)) is not None]


def _move(shapes: Any, weight: float, number: int, part: int) -> _Move | None:
    """Return a move of a blend shape, None for its rest pose."""
    shape, between = shapes.GetBlendShape(number), shapes.GetInbetween(part)
    offsets, given = to_numpy(shapes.ComputeSubShapePointOffsets()[part]), shape.GetPointIndicesAttr()
    if not len(offsets):
        return None
    indices = numbers(given, Usd.TimeCode.Default(), np.int32) if given.HasAuthoredValue() else None
    source = between.GetNormalOffsetsAttr() if between else shape.GetNormalOffsetsAttr()
    return _Move(weight, shape, indices, offsets, numbers(source, Usd.TimeCode.Default(), np.float32, 3))


@quietly
def _blended(rest: np.ndarray, moves: list[tuple[_Move, np.ndarray]]) -> np.ndarray:
    """Return points or normals after the offsets of blend shapes. Raises StageError for offsets that do not fit."""
    moved = rest.copy() if moves else rest
    for move, offsets in moves:
        if not len(offsets):
            continue
        path = move.shape.GetPrim().GetPath()
        indices = np.arange(len(rest)) if move.indices is None else move.indices
        if len(offsets) != len(indices):
            what = f"for {len(indices)} points" if move.indices is None else f"for {len(indices)} pointIndices"
            raise StageError(f"{path} has {len(offsets)} offsets {what}")
        wrong = np.flatnonzero((indices < 0) | (indices >= len(rest)))
        if len(wrong):
            at = int(wrong[0])
            raise StageError(f"{path}.pointIndices[{at}] is {indices[at]}, and the mesh has {len(rest)} points")
        np.add.at(moved, indices, np.float32(move.weight) * offsets)
    return moved


@contextmanager
def _strictly(prim: Usd.Prim) -> Iterator[None]:
    """Turn all that UsdSkel says while it poses a prim into a StageError."""
    try:
        with quiet() as delegate:
            yield
            said = [str(message.commentary) for message in delegate.TakeUncoalescedDiagnostics()]
    except READ_ERRORS as error:
        raise _not_posed(prim, reason(error)) from None
    except StageError as error:
        raise _not_posed(prim, str(error)) from None
    if said:
        raise _not_posed(prim, "; ".join(dict.fromkeys(said)))


def _not_posed(prim: Usd.Prim, why: str) -> StageError:
    return StageError(f"{prim.GetPath()} cannot be posed: {why.rstrip('.')}")
