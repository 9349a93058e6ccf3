"""Read Mesh, Points and Curves, Write Mesh and Points: geometry of prims as arrays, for nodes that take no bundles.

An output keeps its array for as long as the prim has the same values. A writer writes the inputs that have elements,
over the bundle if one is connected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.attribute import GraphError
from ..graph.bundle_exchange import input_bundle
from ..stock.prims.prim_nodes import one_target
from ..stock.prims.prim_readers import PrimReader, timecode
from ..stock.prims.prim_writers import PrimWriter
from ..values.attribute_values import same
from ..values.bundles import EMPTY, Bundle, Item, item
from .mesh_parts import NO_PART, read_part
from .prim_bundles import array_of, find_prim, give, on_stage, triangles_of, world_matrix

# By kind of prim: the outputs that a reader has, with the attribute and the type of each.
_READ = {
    "Mesh": {
        "points": ("points", "pointf[3][]"),
        "faceVertexCounts": ("faceVertexCounts", "int[]"),
        "faceVertexIndices": ("faceVertexIndices", "int[]"),
        "normals": ("normals", "normalf[3][]"),
        "colors": ("primvars:displayColor", "colorf[3][]"),
    },
    "Points": {
        "points": ("points", "pointf[3][]"),
        "velocities": ("velocities", "vectorf[3][]"),
        "widths": ("widths", "float[]"),
        "colors": ("primvars:displayColor", "colorf[3][]"),
    },
    "BasisCurves": {
        "points": ("points", "pointf[3][]"),
        "curveVertexCounts": ("curveVertexCounts", "int[]"),
        "widths": ("widths", "float[]"),
        "colors": ("primvars:displayColor", "colorf[3][]"),
    },
}
_CURVES = {"type": "cubic", "basis": "bezier", "wrap": "nonperiodic"}  # what USD takes where a prim is silent
_VARYING = ("normals", "primvars:displayColor", "widths")  # one value for each of several kinds of elements


class GeometryReader:
    """The prim that a node read last."""

    def __init__(self) -> None:
        self.reader = PrimReader()
        self.prim = EMPTY


@on_stage
def read_mesh(db: Any) -> None:
    """Compute Read Mesh."""
    state, prim = db.per_instance_state, _read(db, "Mesh")
    if prim is not state.prim:
        db.outputs.triangles = triangles_of(prim).ravel()
        state.prim = prim
    name, path = db.inputs.subset, one_target(db, "prim")
    part = read_part(db.host.store, path, name, timecode(db), prim) if name else NO_PART
    _put(db, "subsetFaces", part.faces)
    _put(db, "subsetPoints", part.points)
    _put(db, "subsetTriangles", part.triangles.ravel())


@on_stage
def read_points(db: Any) -> None:
    """Compute Read Points."""
    _read(db, "Points")


@on_stage
def read_curves(db: Any) -> None:
    """Compute Read Curves."""
    state, prim = db.per_instance_state, _read(db, "BasisCurves")
    if prim is state.prim:
        return
    counts, points = array_of(prim, "curveVertexCounts", "int[]"), array_of(prim, "points", "pointf[3][]")
    starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if starts[-1] != len(points) or (counts < 0).any():
        path = prim.value("sourcePrimPath")
        raise GraphError(f"{path}: curveVertexCounts is for {starts[-1]} points, and there are {len(points)}")
    db.outputs.curveStarts = starts.astype(np.int32)
    for name, silent in _CURVES.items():
        setattr(db.outputs, name, prim.value(name, silent))
    state.prim = prim


def _read(db: Any, kind: str) -> Bundle:
    path = one_target(db, "prim")
    posed_by = "skinning" if kind == "Mesh" and db.inputs.skinning else ""
    prim: Bundle = db.per_instance_state.reader.read_one(db, path, "*", posed_by)
    if prim.value("sourcePrimType") != kind:
        raise GraphError(f"{path} is {prim.value('sourcePrimType') or 'a prim without a type'}, and a {kind} is needed")
    for name, (attribute, type_name) in _READ[kind].items():
        _put(db, name, array_of(prim, attribute, type_name))
    _put(db, "worldMatrix", world_matrix(prim))
    give(db, "bundle", prim)
    return prim


def _put(db: Any, name: str, value: np.ndarray) -> None:
    """Set an output. Equal values leave it as it is."""
    present = db.node.get_attribute(f"outputs:{name}").value
    if not same(present, value):
        setattr(db.outputs, name, value)


@on_stage
def write_mesh(db: Any) -> None:
    """Compute Write Mesh."""
    _write(db, "Mesh")


@on_stage
def write_points(db: Any) -> None:
    """Compute Write Points."""
    _write(db, "Points")


def _write(db: Any, kind: str) -> None:
    path, bundle = one_target(db, "prim"), input_bundle(db, "bundle")
    new = Bundle({"sourcePrimType": item("token", kind)})
    base = new if bundle is EMPTY else find_prim(bundle, "bundle", kind)
    given = {a: (t, getattr(db.inputs, name)) for name, (a, t) in _READ[kind].items() if len(getattr(db.inputs, name))}
    prim = base.having({name: item(type_name, value) for name, (type_name, value) in given.items()})
    counts = _elements(db, path, prim, kind)
    for name in set(_VARYING) & set(given):
        prim = prim.having({name: _spread(path, name, prim.attributes[name], counts)})
    db.per_instance_state.write(db, [(path, prim)], "*")


def _elements(db: Any, path: str, prim: Bundle, kind: str) -> dict[str, int]:
    """Return how many values each interpolation has, of the prim as it will be. Raises GraphError for broken faces."""
    points = len(_current(db, path, prim, "points", "pointf[3][]"))
    if kind == "Points":
        return {"constant": 1, "vertex": points}
    sizes = _current(db, path, prim, "faceVertexCounts", "int[]")
    indices = _current(db, path, prim, "faceVertexIndices", "int[]")
    if int(np.maximum(sizes, 0).sum(dtype=np.int64)) != len(indices) or (sizes < 0).any():
        raise GraphError(
            f"{path}: faceVertexCounts is for {sizes.sum()} corners, and faceVertexIndices has {len(indices)}"
        )
    if len(indices) and not 0 <= indices.min() <= indices.max() < points:
        raise GraphError(f"{path}: faceVertexIndices goes from {indices.min()} to {indices.max()} for {points} points")
    return {"constant": 1, "vertex": points, "faceVarying": len(indices), "uniform": len(sizes)}


def _current(db: Any, path: str, prim: Bundle, name: str, type_name: str) -> np.ndarray:
    """Return an array that the node writes, else that of the prim on the stage."""
    store = db.host.store
    if name not in prim.attributes and store.prims.exists(path) and store.value_names(path, name):
        kind, value = store.look(path, name)
        prim = Bundle({name: Item(kind, value)})
    return array_of(prim, name, type_name)


def _spread(path: str, name: str, found: Item, counts: dict[str, int]) -> Item:
    """Return an attribute with the interpolation that its number of values means. Raises GraphError."""
    for interpolation in ("constant", "vertex", "faceVarying", "uniform"):
        if counts.get(interpolation) == len(found.held):
            return Item(found.type, found.held, {"interpolation": item("token", interpolation)})
    expected = ", ".join(f"{count} ({name})" for name, count in counts.items())
    raise GraphError(f"{path}.{name} has {len(found.value)} values; it may have {expected}")


def writer() -> PrimWriter:
    """Return the state of a node that writes."""
    return PrimWriter()
