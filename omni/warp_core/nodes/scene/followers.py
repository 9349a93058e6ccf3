"""Followers of the geometry that a play writes: bounds, normals, velocities and skeletons, which would go stale."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from ...usd.numpy_conversion import to_usd
from ...usd.output_layer import SampleLayer
from ...usd.prim_access import bounds
from ..graph.node_graph import Log
from .posed_prims import PosedPrims

Key = tuple[str, str]
_EXTENT, _EXTENT_TYPE, _POINTS = "extent", "float3[]", "points"
_HINT = str(UsdGeom.Tokens.extentsHint)  # the bounds of all that is in a model
_SIZES = ("height", "length", "radius", "radiusBottom", "radiusTop", "size", "width")  # of USD's own shapes
_INSTANCES = ("orientations", "orientationsf", "positions", "protoIndices", "scales")
_BOUNDED = frozenset((_POINTS, "widths", "axis", *_SIZES, *_INSTANCES))
_TRANSFORM = "xformOp"  # begins the names of what moves a prim
_NORMALS = ("normals", "primvars:normals")
_BINDING = "SkelBindingAPI"
_VELOCITIES = ("velocities", "accelerations")


class Store(Protocol):
    """What is asked of the store whose writes are followed."""

    stage: Usd.Stage
    log: Log
    frame: int
    posed: PosedPrims

    def is_written(self, path: str, name: str) -> bool:
        """True if the play has written an attribute."""

    def is_created(self, path: str) -> bool:
        """True if the play made the prim."""

    def now_or_none(self, path: str, name: str) -> Any:
        """Return the value of an attribute now, None if it has none."""

    def scene_or_none(self, path: str, name: str) -> Any:
        """Return the value without what the play has written, None if it has none."""

    def reach(self, path: str) -> float:
        """Return how far the points of a prim reach: half of the greatest width."""

    def until_now(self, source: Usd.Attribute) -> list[tuple[int, Any]]:
        """Return samples of what the scene has in the frames before this one."""


class Followers:
    """Keeps bounds right, and ends the normals, velocities and skeletons that belong to points of before."""

    def __init__(self, store: Store):
        self._store = store
        self._extents: dict[str, tuple[int, Any]] = {}  # the last computed bounds of prims, with their frames
        self._ended: set[Key] = set()
        self._hinted: set[str] = set()  # prims whose models have no bounds of before
        self._followed: set[str] = set()
        self._unbound: set[str] = set()
        self._instancers: list[tuple[str, list[Sdf.Path]]] | None = None

    def follow(self, output: SampleLayer, dirty: Iterable[Key]) -> None:
        """Give the output what follows from the attributes that were written in this frame."""
        changed: dict[str, set[str]] = {}
        for path, name in dirty:
            is_bounded = name in _BOUNDED
            if not (is_bounded or name.startswith(_TRANSFORM)) or not self._store.is_written(path, name):
                continue
            self._end_hints(output, path)
            if is_bounded:
                changed.setdefault(path, set()).add(name)
        for path, names in changed.items():
            prim = self._store.stage.GetPrimAtPath(path)
            if prim.IsA(UsdGeom.PointBased) and self._store.is_written(path, _POINTS):
                self._bound(output, prim)
            elif prim.IsA(UsdGeom.Boundable):
                self._end_extent(output, prim)
            if _POINTS in names and prim.IsA(UsdGeom.PointBased):
                self._end_old(output, prim)
                self._unbind(output, path)
            self._end_instancers(output, path)

    def _bound(self, output: SampleLayer, prim: Usd.Prim) -> None:
        """Bounds go with the points, or viewers would cull by the old ones."""
        path, frame = prim.GetPath().pathString, self._store.frame
        points = self._store.now_or_none(path, _POINTS)
        if points is None or not len(points):
            return
        corners = to_usd(np.stack(bounds(points, self._store.reach(path))).astype(np.float32), _EXTENT_TYPE)
        last = self._extents.get(path)
        if last is not None and last[0] < frame - 1:  # USD interpolates between samples
            output.derive(path, _EXTENT, _EXTENT_TYPE, last[1], frame - 1)
        elif last is None:
            self._hold(output, prim.GetAttribute(_EXTENT))
        output.derive(path, _EXTENT, _EXTENT_TYPE, corners, frame)
        self._extents[path] = frame, corners

    def _end_extent(self, output: SampleLayer, prim: Usd.Prim, name: str = _EXTENT) -> None:
        """End authored bounds; without them, viewers compute those of the present."""
        extent = prim.GetAttribute(name)
        if extent and extent.HasAuthoredValue() and not self._store.is_written(prim.GetPath().pathString, name):
            self._end(output, extent)

    def _end_hints(self, output: SampleLayer, path: str) -> None:
        """End the authored bounds of the models that a prim is in."""
        if path not in self._hinted:
            self._hinted.add(path)
            for place in Sdf.Path(path).GetPrefixes():
                if prim := self._store.stage.GetPrimAtPath(place):
                    self._end_extent(output, prim, _HINT)

    def _end_instancers(self, output: SampleLayer, path: str) -> None:
        """End the authored bounds of point instancers whose prototypes change."""
        if path in self._followed:
            return
        self._followed.add(path)
        if self._instancers is None:
            found = (UsdGeom.PointInstancer(p) for p in self._store.stage.Traverse() if p.IsA(UsdGeom.PointInstancer))
            self._instancers = [(one.GetPath().pathString, one.GetPrototypesRel().GetTargets()) for one in found]
        for instancer, prototypes in self._instancers:
            if any(Sdf.Path(path).HasPrefix(prototype) for prototype in prototypes):
                self._end_extent(output, self._store.stage.GetPrimAtPath(instancer))
                self._end_hints(output, instancer)

    def _end_old(self, output: SampleLayer, prim: Usd.Prim) -> None:
        """End the scene's normals and velocities where the points are no longer those of the scene, and tell it."""
        path = prim.GetPath().pathString
        is_smooth = prim.IsA(UsdGeom.Mesh) and UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get() != "none"
        names = _VELOCITIES if is_smooth else _NORMALS + _VELOCITIES  # normals of subdivision surfaces do not count
        old = [name for name in names if self._is_left(prim, name)]
        scene = self._store.scene_or_none(path, _POINTS) if old else None
        if not old or (scene is not None and np.array_equal(scene, self._store.now_or_none(path, _POINTS))):
            return
        for name in old:
            self._end(output, prim.GetAttribute(name))
        self._store.log.warning(
            f"{path}.{_POINTS}",
            f"moves, and the scene has {', '.join(old)} for the points before; the result has none of these from frame "
            f"{self._store.frame} on. To have new ones, write them as well",
        )

    def _unbind(self, output: SampleLayer, path: str) -> None:
        """Free posed points from their skeleton, which would move them once more."""
        if path not in self._unbound and self._store.posed.is_read(path):
            self._unbound.add(path)
            output.unapply(path, _BINDING)

    def _is_left(self, prim: Usd.Prim, name: str) -> bool:
        path = prim.GetPath().pathString
        known = (path, name) in self._ended or self._store.is_written(path, name) or self._store.is_created(path)
        return not known and bool(prim.GetAttribute(name)) and prim.GetAttribute(name).HasAuthoredValue()

    def _end(self, output: SampleLayer, attribute: Usd.Attribute) -> None:
        """Let an attribute have no value from this frame on."""
        key = attribute.GetPrim().GetPath().pathString, attribute.GetName()
        if key not in self._ended:
            self._ended.add(key)
            self._hold(output, attribute)
            output.derive(*key, str(attribute.GetTypeName()), Sdf.ValueBlock(), self._store.frame)

    def _hold(self, output: SampleLayer, attribute: Usd.Attribute) -> None:
        """Let an attribute have in the frames before this one what the scene has."""
        path, name = attribute.GetPrim().GetPath().pathString, attribute.GetName()
        if not self._store.is_created(path):
            for frame, value in self._store.until_now(attribute):
                output.derive(path, name, str(attribute.GetTypeName()), value, frame)
