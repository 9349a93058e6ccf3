"""Parts of meshes: what a GeomSubset below a mesh names, as arrays for kernels. Start with `read_part`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...lang.errors import did_you_mean, nearest
from ..graph.attribute import GraphError
from ..values.bundles import Bundle, item
from .prim_bundles import array_of, count_of, triangles_of

_FACE, _POINT, _EDGE = "face", "point", "edge"


class Part(NamedTuple):
    """A part of a mesh: its faces and its points, each once and in ascending order, and the triangles of the faces."""

    faces: np.ndarray
    points: np.ndarray
    triangles: np.ndarray


NO_PART = Part(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 3), np.int32))


def read_part(store: Any, path: str, name: str, timecode: float | None, mesh: Bundle) -> Part:
    """Return the part of a mesh that the GeomSubset of a name below it has at a time code, None for now.

    Raises:
        GraphError: There is no such subset, or it does not fit the mesh.
    """
    place = f"{path}/{name}"
    names = [prim.GetName() for prim in store.prims.below(path, recursive=False) if _is_subset(prim)]
    if name not in names:
        raise GraphError(f"{path} has no GeomSubset {name!r} below it" + did_you_mean(nearest(name, names)))
    kind = _value(store, place, "elementType", timecode, _FACE)
    counts = array_of(mesh, "faceVertexCounts", "int[]")
    sizes = {_FACE: len(counts), _POINT: count_of(mesh, "points"), _EDGE: count_of(mesh, "points")}
    if kind not in sizes:
        raise GraphError(f"{place} is a subset of elements {kind!r}, which meshes do not have")
    indices = np.asarray(_value(store, place, "indices", timecode, ()), np.int32)
    wrong = indices[(indices < 0) | (indices >= sizes[kind])]
    if len(wrong):
        what = "faces" if kind == _FACE else "points"
        raise GraphError(f"{place}.indices has {wrong[0]}, and the mesh has {sizes[kind]} {what}")
    chosen = np.unique(indices)
    return _of_faces(mesh, chosen, counts) if kind == _FACE else NO_PART._replace(points=chosen)


def _is_subset(prim: Any) -> bool:
    return str(prim.GetTypeName()) == "GeomSubset"


def _value(store: Any, path: str, name: str, timecode: float | None, silent: Any) -> Any:
    return store.look(path, name, timecode)[1] if store.value_names(path, name) else silent


def _of_faces(mesh: Bundle, faces: np.ndarray, counts: np.ndarray) -> Part:
    holes = array_of(mesh, "holeIndices", "int[]")
    triangles_of(mesh)  # refuses broken faces
    return Part(faces, np.unique(_corners(mesh, faces, counts)), _triangles(mesh, np.setdiff1d(faces, holes), counts))


def _corners(mesh: Bundle, faces: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the points of the corners of some faces, face after face."""
    is_chosen = np.zeros(len(counts), bool)
    is_chosen[faces] = True
    return array_of(mesh, "faceVertexIndices", "int[]")[np.repeat(is_chosen, counts)]


def _triangles(mesh: Bundle, faces: np.ndarray, counts: np.ndarray) -> np.ndarray:
    part = {"faceVertexCounts": counts[faces], "faceVertexIndices": _corners(mesh, faces, counts)}
    part["holeIndices"] = np.zeros(0, np.int32)
    return triangles_of(mesh.having({name: item("int[]", value) for name, value in part.items()}))
