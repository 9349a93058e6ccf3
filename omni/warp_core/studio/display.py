"""The geometry to draw: what the scene holds, with the results of the last frame over it.

`Display` takes the results of a session as values in a layer of its own. Above the scene, this layer gives the stage
that the pictures' readers understand. `Display.update` returns the arrays of the prims that changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdVol

from ..usd.output_layer import FrameFile, SampleLayer
from ..usd.pictures.camera import stage_view
from ..usd.pictures.drawables import GREY, Gatherer
from ..usd.pictures.pieces import Piece
from ..usd.skinning import is_bound
from ..usd.stage import StageError
from .dense_volumes import volume_arrays
from .fewer_triangles import Part, fewer_triangles

MOST_PRIMS = 20_000
MOST_ELEMENTS = 1 << 24  # vertices that a page is given
MOST_POINTS = 2_000_000  # of one prim that a page is given; of more points it gets a random part
MOST_TRIANGLES = 2_000_000  # of one prim that a page is given; of more it gets a coarser mesh
_FIELDS = ("vertices", "normals", "triangles", "colors", "points", "point_colors", "radii", "point_numbers")


@dataclass
class Shape:
    """Arrays of one prim in its own space, and its transform for row vectors."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    matrix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # of no shape yet


@dataclass
class Update:
    """Changes since the last update: new arrays by prim and name, transforms. `prims` are all prims to draw, or None
    if these are the same.
    """

    arrays: dict[str, dict[str, np.ndarray]]
    matrices: dict[str, list[float]]
    prims: tuple[str, ...] | None


class Display(SampleLayer):
    """The results of the last frame as values over a scene."""

    def __init__(self, scene: Usd.Stage):
        super().__init__()
        self._scene = scene
        self.warnings: list[str] = []
        self._shapes: dict[str, Shape] = {}
        root = Sdf.Layer.CreateAnonymous(".usda")
        root.subLayerPaths = [
            self._layer.identifier,
            scene.GetSessionLayer().identifier,
            scene.GetRootLayer().identifier,
        ]
        for name in ("upAxis", "metersPerUnit", "timeCodesPerSecond"):
            if scene.HasAuthoredMetadata(name):
                root.pseudoRoot.SetInfo(name, scene.GetMetadata(name))
        self.stage = Usd.Stage.Open(root)
        self._gatherer = Gatherer(self.stage, self._warn)
        self._parts: dict[int, np.ndarray] = {}
        self._mesh_parts: dict[str, Part] = {}
        self._own_files: dict[tuple[tuple[str, str], ...], str] = {}
        self._written = 0
        self._changed: set[str] = set()
        self._varying: set[str] = set()  # prims with values that change with time
        self._whole: set[str] = set()  # prims that draw values of other prims
        self._sources: dict[str, set[str]] = {}  # of a prim in an instance: the prims that its values stand at
        self._is_stale = True
        self._is_animated = False
        self._told: tuple[str, ...] = ()

    def clear(self) -> None:
        """Forget all results: what is drawn is the scene as authored."""
        with Sdf.ChangeBlock():
            self._layer.Clear()
        self._attributes.clear()
        self._prims.clear()
        self._is_stale = True

    def set_uniform(self, prim: str, name: str, type_name: str, value: Any) -> None:
        """Take a value of the current frame."""
        self.set(prim, name, type_name, value, 0.0)

    def set(self, prim: str, name: str, type_name: str, value: Any, time: float, size: int = 64) -> None:
        """Take a value of the current frame."""
        self._layer.GetAttributeAtPath(self.declare(prim, name, type_name)).default = value
        self._changed.add(prim)
        self._is_stale |= name.startswith("xformOp") or name == "visibility"

    def define(self, prim: str, type_name: str) -> None:
        """Make a prim exist."""
        super().define(prim, type_name)
        self._is_stale = True

    def show(self, prim: str, visible: bool) -> None:
        """Let a prim be visible from now on, or no longer."""
        self.set(prim, "visibility", "token", "inherited" if visible else "invisible", 0.0)

    def block(self, prim: str, name: str) -> None:
        """Let an attribute have no value from now on."""
        spec = self._layer.GetAttributeAtPath(Sdf.Path(prim).AppendProperty(name))
        if spec is not None:
            spec.default = Sdf.ValueBlock()
        self._changed.add(prim)

    def attach(self, file: FrameFile) -> None:
        """Write a file of the current frame into the engine's temporary folder, in place of that of the last frame."""
        self._written += 1
        path = os.path.join(tempfile.gettempdir(), f"{os.getpid()}.{self._written}{file.extension}")
        file.write(path)
        if (old := self._own_files.get(file.places)) is not None:
            os.unlink(old)
        self._own_files[file.places] = path
        self.name_file(file, path)

    def refresh(self) -> None:
        """Read everything anew with the next update, as the scene has changed."""
        self._is_stale = True

    def view(self, time: Usd.TimeCode) -> dict[str, Any]:
        """Return the camera to begin with, and the axis that points up."""
        found = stage_view(self.stage, time, 16 / 9)
        up = UsdGeom.GetStageUpAxis(self.stage)
        return {"up": str(up), "camera": None if found is None else _camera(self.stage, time)}

    @np.errstate(all="ignore")
    def update(self, time: Usd.TimeCode) -> Update:
        """Return what changed since the last update. A prim that cannot be read is left out, with a warning."""
        told = self._told
        self._gatherer.begin()
        if self._is_stale:
            self._gatherer = Gatherer(self.stage, self._warn)
        if self._is_stale or self._is_animated:
            prims = self._find(time)
            self._learn(prims)
            due = set(prims) if self._is_stale else self._due() | (prims.keys() - self._shapes.keys())
            self._shapes = {path: self._shapes.get(path) or Shape() for path in prims}
            self._told = tuple(prims)
        else:
            due = self._due()
            prims = {path: self.stage.GetPrimAtPath(path) for path in due}
        arrays, matrices = {}, {}
        cache = UsdGeom.XformCache(time)
        for path, prim in prims.items():
            if path in due and (changed := self._read(path, prim, time)):
                arrays[path] = changed
            elif not (self._is_stale or self._is_animated):
                continue  # it is where it was
            matrix = np.array(cache.GetLocalToWorldTransform(prim), np.float64)
            if not np.array_equal(matrix, self._shapes[path].matrix):
                self._shapes[path].matrix = matrix
                matrices[path] = matrix.reshape(-1).tolist()
        self._is_stale = False
        self._changed.clear()
        return Update(arrays, matrices, None if told == self._told else self._told)

    def _learn(self, prims: dict[str, Usd.Prim]) -> None:
        """Find out which prims may change by themselves or with others: all of them, or those that have appeared."""
        if self._is_stale:
            self._varying, self._whole, self._sources = set(), set(), {}
            self._is_animated = any(map(_moves, self._imageables()))
        new = prims if self._is_stale else {path: prims[path] for path in prims.keys() - self._shapes.keys()}
        self._varying |= {path for path, prim in new.items() if _varies(prim)}
        self._whole |= {path for path, prim in new.items() if _has_parts(prim)}
        self._sources.update({path: _sources(prim) for path, prim in new.items() if prim.IsInstanceProxy()})

    def _due(self) -> Set[str]:
        """Return the paths of prims to read anew, as they or what they draw may have other values."""
        due = self._changed | self._varying
        if not self._changed <= self._shapes.keys():  # a prototype of instances, or a field of a volume
            due |= self._whole
        due |= {path for path, sources in self._sources.items() if not self._changed.isdisjoint(sources)}
        return due & self._shapes.keys()

    def _imageables(self) -> Iterator[Usd.Prim]:
        prims = iter(self.stage.Traverse(Usd.TraverseInstanceProxies()))
        for prim in prims:
            if prim.IsA(UsdGeom.PointInstancer):
                prims.PruneChildren()  # its prototypes are drawn for each instance alone
            if prim.IsA(UsdGeom.Imageable):
                yield prim

    def _find(self, time: Usd.TimeCode) -> dict[str, Usd.Prim]:
        found = {}
        for prim in self._imageables():
            is_drawn = prim.IsA(UsdGeom.PointInstancer) or prim.IsA(UsdGeom.Gprim)
            if is_drawn and _is_visible(prim, time):
                found[str(prim.GetPath())] = prim
                if len(found) >= MOST_PRIMS:
                    self._warn(f"the scene has more than {MOST_PRIMS} prims to draw; the rest is left out")
                    break
        return found

    def _read(self, path: str, prim: Usd.Prim, time: Usd.TimeCode) -> dict[str, np.ndarray]:
        """Return the arrays of a prim that are not as before."""
        try:
            piece = self._gatherer.piece(prim, time)
        except StageError as error:
            self._warn(str(error))
            piece = None
        shape = self._shapes[path]
        new = {} if piece is None else dict([*_arrays(piece), *volume_arrays(piece.volumes)])
        new = self._coarse(path, self._sparse(new))
        if sum(len(array) for array in new.values()) > MOST_ELEMENTS:
            self._warn(f"{path} has more than {MOST_ELEMENTS} elements, and is not drawn")
            new = {}
        for name in shape.arrays.keys() - new.keys():
            new[name] = np.zeros((0, 3), np.float32)
        changed = {n: a for n, a in new.items() if n not in shape.arrays or not np.array_equal(a, shape.arrays[n])}
        shape.arrays.update(changed)
        return changed

    def _sparse(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Take a random part of the points if there are too many; `point_numbers` says which ones these are.

        Points of which some are left out come in a random order too, as the page draws the first ones alone in motion.
        """
        count = len(arrays.get("points", ()))
        if count <= MOST_POINTS and "point_numbers" not in arrays:
            return arrays
        if count not in self._parts:
            self._parts = {count: np.random.default_rng(0).permutation(count)[:MOST_POINTS].astype(np.int32)}
        part = self._parts[count]
        sparse = {n: a[part] if n.startswith("point") and len(a) == count else a for n, a in arrays.items()}
        grown = np.float32(max(1.0, count / MOST_POINTS) ** 0.5)  # covers about the same area
        return {"point_numbers": part, **sparse, "radii": arrays["radii"][part] * grown}

    def _coarse(self, path: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Take fewer triangles of a mesh if there are too many; `vertex_numbers` says which vertices are left."""
        triangles = arrays.get("triangles")
        if triangles is None or len(triangles) <= MOST_TRIANGLES:
            self._mesh_parts.pop(path, None)
            return arrays
        part, count = self._mesh_parts.get(path), len(arrays["vertices"])
        if part is None or not np.array_equal(part.whole, triangles):
            part = self._mesh_parts[path] = fewer_triangles(arrays["vertices"], triangles, MOST_TRIANGLES)
            self._warn(f"{path} has {len(triangles):,} triangles; the viewport draws it with {len(part.triangles):,}")
        left = {
            n: a[part.vertices] if n in ("vertices", "normals", "colors") and len(a) == count else a
            for n, a in arrays.items()
        }
        return {**left, "triangles": part.triangles, "vertex_numbers": part.vertices}

    def _warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _arrays(piece: Piece) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a piece in the form of the page: colors as bytes, the square roots of linear RGB."""
    for name in _FIELDS:
        array = getattr(piece, name)
        if name in ("colors", "point_colors"):
            count = len(piece.vertices if name == "colors" else piece.points)
            if not count:
                continue
            array = np.broadcast_to(GREY, (1, 3)) if array is None else array
            array = array[:1] if array.strides[0] == 0 else array  # one colour for all
            array = np.sqrt(np.clip(np.nan_to_num(array), 0.0, 1.0))
            array = np.rint(255.0 * array).astype(np.uint8)
        elif array is None or (name == "normals" and not array.any()):
            continue
        if len(array):
            # a copy: arrays of USD may be those that the next frame writes
            yield name, np.array(array, np.int32 if name == "triangles" else None)


def _is_visible(prim: Usd.Prim, time: Usd.TimeCode) -> bool:
    imageable = UsdGeom.Imageable(prim)
    shown = imageable.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return shown and imageable.ComputeVisibility(time) != UsdGeom.Tokens.invisible


def _sources(prim: Usd.Prim) -> set[str]:
    """Return the paths at which the layers of a prim in an instance have its values."""
    return {str(spec.path) for spec in prim.GetPrimInPrototype().GetPrimStack()}


def _has_parts(prim: Usd.Prim) -> bool:
    """True if other prims have values that a prim draws."""
    return prim.IsA(UsdGeom.PointInstancer) or prim.IsA(UsdVol.Volume)


def _varies(prim: Usd.Prim) -> bool:
    parts = Usd.PrimRange(prim) if _has_parts(prim) else [prim]
    return is_bound(prim) or any(
        attribute.ValueMightBeTimeVarying() for part in parts for attribute in part.GetAttributes()
    )


def _moves(prim: Usd.Prim) -> bool:
    """True if the transform or the visibility of a prim changes with time."""
    names = ("visibility", *(n for n in prim.GetAuthoredPropertyNames() if n.startswith("xformOp:")))
    return any((a := prim.GetAttribute(name)) and a.ValueMightBeTimeVarying() for name in names)


def _camera(stage: Usd.Stage, time: Usd.TimeCode) -> dict[str, Any] | None:
    prim = next((p for p in stage.Traverse() if p.IsA(UsdGeom.Camera)), None)
    if prim is None:
        return None
    camera = UsdGeom.Camera(prim).GetCamera(time)
    frustum = camera.frustum
    return {
        "eye": list(frustum.position),
        "direction": list(frustum.ComputeViewDirection()),
        "fov": float(camera.GetFieldOfView(camera.FOVVertical)),
    }
