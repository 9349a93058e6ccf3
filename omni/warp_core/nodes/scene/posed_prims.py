"""Meshes that nodes read as their skeletons pose them.

Points that a play writes to such a mesh are posed already, so the result unbinds the mesh from its skeleton: viewers
would pose the points once more.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from pxr import Usd

from ...usd.numpy_conversion import to_usd
from ...usd.skinning import Pose, Skeletons
from ...usd.stage import StageError
from ..graph.attribute import GraphError
from ..values.attribute_types import AttributeType, parse
from ..values.attribute_values import Value

POINTS, _NORMALS, _CORNERS = "points", "normals", "faceVertexIndices"
_AT_POINTS, _AT_CORNERS = ("", "vertex", "varying"), "faceVarying"
# What belongs to the rest pose alone.
_STALE = ("extent", "velocities", "accelerations", "primvars:normals", "primvars:normals:indices")
_NORMALS_TYPE, _POINTS_TYPE = parse("normalf[3][]"), parse("pointf[3][]")


class Store(Protocol):
    """What is asked of the store that reads the stage."""

    def source(self, path: str, timecode: float | None) -> tuple[Usd.Prim, Usd.TimeCode]:
        """Return the prim and the time that a read looks at."""

    def look(self, path: str, name: str, timecode: float | None = None) -> tuple[AttributeType, Value]:
        """Return type and value of an attribute."""

    def value_names(self, path: str, *only: str) -> list[str]:
        """Return those of the attributes that have a value."""

    def interpolation(self, path: str, name: str) -> str:
        """Return how values go with the elements of a prim."""

    def is_written(self, path: str, name: str) -> bool:
        """True if the play has written an attribute."""


class Posed(NamedTuple):
    """A mesh in a pose: its new values with their types, and the names of values that no longer hold."""

    values: dict[str, tuple[AttributeType, np.ndarray]]
    stale: tuple[str, ...]


class PosedPrims:
    """The meshes of a stage that nodes have read in a pose."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._skeletons = Skeletons()
        self._read: set[str] = set()

    def is_read(self, path: str) -> bool:
        """True if a node has read a prim in a pose."""
        return path in self._read

    def look_again(self) -> None:
        """Look up all skeletons anew, as others may have edited the stage."""
        self._skeletons = Skeletons()

    def of(self, path: str, timecode: float | None) -> Posed | None:
        """Return a mesh in its pose at a time code, None for now. Raises GraphError.

        A mesh that no skeleton moves has no pose. Points that the play has written are posed already.
        """
        if timecode is None and self._store.is_written(path, POINTS):
            return None
        prim, time = self._store.source(path, timecode)
        try:
            moved = self._skeletons.of(prim)
            if moved is None:
                return None
            self._read.add(path)
            return self._move(path, moved.at(time), timecode)
        except StageError as error:
            raise GraphError(str(error)) from None

    def points(self, path: str, timecode: float) -> Any:
        """Return the points of a mesh in its pose as USD has them. Raises GraphError."""
        posed = self.of(path, timecode)
        assert posed is not None, path
        return to_usd(posed.values[POINTS][1], "point3f[]")

    def _move(self, path: str, pose: Pose, timecode: float | None) -> Posed:
        names = self._store.value_names(path, POINTS, _NORMALS, _CORNERS)
        rest = {name: np.asarray(self._store.look(path, name, timecode)[1]) for name in names}
        points = rest.get(POINTS, np.zeros((0, 3))).astype(np.float32)
        found = {POINTS: (_POINTS_TYPE, pose.points(points))}
        if _NORMALS not in rest:
            return Posed(found, _STALE)
        normals, place = rest[_NORMALS].astype(np.float32), self._store.interpolation(path, _NORMALS)
        corners = rest.get(_CORNERS) if place == _AT_CORNERS else None
        is_at_points = place in _AT_POINTS and len(normals) == len(points)
        is_at_corners = corners is not None and len(corners) == len(normals) and _fits(corners, len(points))
        if not (is_at_points or is_at_corners):
            return Posed(found, (*_STALE, _NORMALS))
        found[_NORMALS] = _NORMALS_TYPE, pose.normals(normals, len(points), corners)
        return Posed(found, _STALE)


def _fits(corners: np.ndarray, points: int) -> bool:
    return bool(((corners >= 0) & (corners < points)).all())
