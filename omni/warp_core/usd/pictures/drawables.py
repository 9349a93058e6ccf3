"""Drawables of a stage at one time: triangles, points and volumes in world space, with colours.

All surfaces become one list of vertices and triangles, all points one list of discs; volumes stay grids. Start with
`Gatherer.at`; it keeps what does not change from frame to frame (triangulation, neighbourhoods, grids).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pxr import Usd, UsdGeom

from ..points_reader import read_instancer, visible_instances
from ..prim_access import bounds, numbers
from ..primvars import Elements
from ..stage import StageError, prim_at
from .drawn_volumes import DrawnVolume, VolumeLoader
from .pieces import NO_ROWS, NO_TRIANGLES, Piece, Pieces

GREY = np.array([0.62, 0.62, 0.62], np.float32)
MOST_ELEMENTS = 1 << 26  # vertices and points of a picture; instances of instances could have any number
MOST_VOLUMES = 256


@dataclass
class Drawable:
    """Geometry in world space. Colours are linear RGB; `radii` belong to points.

    vertices (n, 3), normals (n, 3) and zero where they follow from the triangles, colors (n, 3), triangles (m, 3) into
    vertices; points (k, 3), point_colors (k, 3), radii (k).
    `starts` (n + 1) and `around` (3 m) list the triangles around each vertex.
    """

    vertices: np.ndarray
    normals: np.ndarray
    colors: np.ndarray
    triangles: np.ndarray
    starts: np.ndarray
    around: np.ndarray
    points: np.ndarray
    point_colors: np.ndarray
    radii: np.ndarray
    volumes: tuple[DrawnVolume, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to draw."""
        return not (len(self.triangles) or len(self.points) or self.volumes)

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner of everything, as doubles, whose squares stay finite."""
        corners = [bounds(p, reach) for p, reach in ((self.vertices, 0.0), (self.points, self.radii)) if len(p)]
        corners += [bounds(volume.corners) for volume in self.volumes]
        low, high = np.array([low for low, _ in corners], float), np.array([high for _, high in corners], float)
        return low.min(0), high.max(0)


class Gatherer:
    """Collects the visible surfaces, points, curves and volumes of a stage.

    A prim that cannot be read is left out, and so are vertices and points that are infinite or NaN. `warn` gets a text
    about each of them, once.
    """

    def __init__(self, stage: Usd.Stage, warn: Callable[[str], None] = lambda text: None):
        self.stage = stage
        self._warn = warn
        self._warned: set[str] = set()
        self._volumes = VolumeLoader(self._complain)
        self._pieces = Pieces(self._volumes, self._complain)
        self._around: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @np.errstate(all="ignore")  # sizes and places in damaged files may be huge
    def at(self, time: Usd.TimeCode) -> Drawable:
        """Everything to draw at a time. Raises StageError where it is too large."""
        root = self.stage.GetPseudoRoot()
        self.begin()
        return self._together(list(_limited(self._below(root, root, time, Usd.PrimDefaultPredicate, ()))))

    @np.errstate(all="ignore")
    def piece(self, prim: Usd.Prim, time: Usd.TimeCode) -> Piece | None:
        """Return all that one prim draws, in its own space: its geometry, or the instances of an instancer.

        Raises:
            StageError: It is too large.
        """
        if not prim.IsA(UsdGeom.PointInstancer):
            own = self._own(prim, time)
            return None if own is None else self._finite(own, prim)
        parts = list(_limited(self._instances(UsdGeom.PointInstancer(prim), time, ())))
        return joined(parts) if parts else None

    def begin(self) -> None:
        """Begin another picture: volumes that the last one did not use are forgotten, and skeletons looked up anew."""
        self._volumes.begin()
        self._pieces.begin()

    def _below(
        self, top: Usd.Prim, space: Usd.Prim, time: Usd.TimeCode, predicate: object, within: tuple[str, ...]
    ) -> Iterator[Piece]:
        """Give the pieces of a prim and of those below it, in the space of the prim `space`."""
        cache = UsdGeom.XformCache(time)
        prims = iter(Usd.PrimRange(top, Usd.TraverseInstanceProxies(predicate)))
        for prim in prims:
            if prim.IsA(UsdGeom.PointInstancer):
                prims.PruneChildren()  # its prototypes are drawn for each instance alone
            if not (prim.IsA(UsdGeom.Boundable) and _is_visible(prim, time)):
                continue
            if prim.IsA(UsdGeom.PointInstancer):
                pieces = self._instances(UsdGeom.PointInstancer(prim), time, within)
            else:
                own = self._own(prim, time)
                pieces = iter(() if own is None else (own,))
            for piece in pieces:
                whole = cache.GetLocalToWorldTransform(prim)
                if space != self.stage.GetPseudoRoot():
                    whole = whole * cache.GetLocalToWorldTransform(space).GetInverse()
                yield self._finite(piece.placed(np.array(whole, np.float64).T[None]), prim)

    def _own(self, prim: Usd.Prim, time: Usd.TimeCode) -> Piece | None:
        try:
            return self._pieces.of(prim, time)
        except StageError as error:
            self._complain(str(error))
            return None

    def _finite(self, piece: Piece, prim: Usd.Prim) -> Piece:
        if piece.is_finite:
            return piece
        self._complain(f"{prim.GetPath()} has places that are infinite or NaN, and is drawn without them")
        return piece.finite()

    def _complain(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)

    def _instances(
        self, instancer: UsdGeom.PointInstancer, time: Usd.TimeCode, within: tuple[str, ...]
    ) -> Iterator[Piece]:
        """Give the pieces of all instances in the space of the instancer. One that has itself as a part has none."""
        path = str(instancer.GetPath())
        if path in within:
            return
        try:
            read = read_instancer(instancer, time, "cpu")
        except StageError as error:
            self._complain(str(error))
            return
        matrices, indices = read.transforms.numpy().astype(np.float64), read.indices.numpy()
        colors = self._instance_colors(instancer, time)
        for number, prototype in enumerate(read.prototypes):
            chosen = indices == number
            prim = prim_at(self.stage, prototype)
            if prim is None or not chosen.any():
                continue
            shades = None if colors is None else colors[chosen]
            predicate = Usd.PrimIsActive & Usd.PrimIsLoaded  # of classes, too
            for piece in self._below(prim, prim, time, predicate, (*within, path)):
                copies = len(matrices[chosen])
                _require_few(copies * (len(piece.vertices) + len(piece.points)), path, copies * len(piece.volumes))
                yield self._finite(piece.placed(matrices[chosen], shades), instancer.GetPrim())

    def _instance_colors(self, instancer: UsdGeom.PointInstancer, time: Usd.TimeCode) -> np.ndarray | None:
        """Return a color for each visible instance, None if the instancer has none that fit."""
        count = len(numbers(instancer.GetProtoIndicesAttr(), time, np.int32))
        elements = Elements({"uniform": count, "varying": count, "vertex": count, "faceVarying": count}, {})
        colors, _ = self._pieces.colors(instancer, time, elements)
        if colors is None or len(colors) not in (1, count):
            return None
        return np.broadcast_to(colors, (count, 3))[visible_instances(instancer, time, count)]

    def _together(self, pieces: list[Piece]) -> Drawable:
        whole = joined(pieces)
        if self._around is None or not np.array_equal(self._around[0], whole.triangles):
            self._around = (whole.triangles, *neighbourhoods(whole.triangles, len(whole.vertices)))
        assert whole.colors is not None and whole.point_colors is not None
        return Drawable(
            whole.vertices, whole.normals, whole.colors, *self._around, whole.points, whole.point_colors, whole.radii,
            tuple(volume for volume in whole.volumes if volume.is_solid),
        )  # fmt: skip


def joined(parts: list[Piece]) -> Piece:
    """Return pieces of one space as one; parts without colors are grey."""
    counts = np.cumsum([0, *(len(p.vertices) for p in parts)])
    return Piece(
        _stack([p.vertices for p in parts]), _stack([p.normals for p in parts]),
        _stack([p.triangles + np.int32(first) for p, first in zip(parts, counts)], NO_TRIANGLES),
        _stack([_colored(p.colors, len(p.vertices)) for p in parts]), _stack([p.points for p in parts]),
        _stack([_colored(p.point_colors, len(p.points)) for p in parts]),
        _stack([p.radii for p in parts], NO_ROWS[:, 0]), tuple(volume for p in parts for volume in p.volumes),
    )  # fmt: skip


def _limited(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Give pieces until there are too many elements to draw. Raises StageError then."""
    total, volumes = 0, 0
    for piece in pieces:
        total += len(piece.vertices) + len(piece.points)
        volumes += len(piece.volumes)
        _require_few(total, "the stage", volumes)
        yield piece


def _require_few(count: int, what: str, volumes: int = 0) -> None:
    if volumes > MOST_VOLUMES:
        raise StageError(f"{what} has more than {MOST_VOLUMES} volumes to draw; draw a part of the stage")
    if count > MOST_ELEMENTS:
        raise StageError(f"{what} has more than {MOST_ELEMENTS} vertices and points to draw; draw a part of the stage")


def _colored(colors: np.ndarray | None, count: int) -> np.ndarray:
    return np.broadcast_to(GREY, (count, 3)) if colors is None else colors


def neighbourhoods(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The triangles around each of `count` vertices: those of vertex i are around[starts[i]:starts[i + 1]]."""
    flat = triangles.reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(flat, minlength=count), out=starts[1:])
    return starts, (order // 3).astype(np.int32)


def _is_visible(prim: Usd.Prim, time: Usd.TimeCode) -> bool:
    imageable = UsdGeom.Imageable(prim)
    shown = imageable.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return shown and imageable.ComputeVisibility(time) != UsdGeom.Tokens.invisible


def _stack(parts: list[np.ndarray], empty: np.ndarray = NO_ROWS) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(parts)) if parts else empty
