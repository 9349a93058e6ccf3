"""Bundles of meshes and points as the geometry nodes make and take them, checked.

A node reads with `require_bundle`, `find_prim`, `points_of` and `triangles_of`. It makes `mesh_prim` and `points_prim`,
and gives them to an output with `give`. Prims lie where `worldMatrix` says, a matrix for row vectors as in USD.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...late_bound import late
from ...usd.polygons import triangle_points
from ..graph import execution
from ..graph.attribute import GraphError
from ..graph.bundle_exchange import input_bundle, output_bundle
from ..graph.bundle_handles import BundleContents
from ..values.attribute_types import parse
from ..values.attribute_values import Value, converter
from ..values.bundles import EMPTY, Bundle, Item, expanded, item, prims_bundle, prims_of, with_changed

MOST_POINTS = 1 << 24  # of what one node makes

_POINTS, _INTS = parse("pointf[3][]"), parse("int[]")


def require_room(count: float, what: str, remedy: str) -> None:
    """Raise GraphError for more points than one node makes."""
    if not count <= MOST_POINTS:
        raise GraphError(f"{what} are {count:.6g}, and one node makes at most {MOST_POINTS}; {remedy}")


def mesh_prim(points: Value, counts: Value, indices: Value, world: np.ndarray) -> Bundle:
    """Return a mesh as a bundle: points (n, 3), the number of corners of each face, and the point of each corner."""
    return Bundle(
        {
            "sourcePrimType": item("token", "Mesh"),
            "worldMatrix": item("matrixd[4]", world),
            "points": item("pointf[3][]", points),
            "faceVertexCounts": item("int[]", counts),
            "faceVertexIndices": item("int[]", indices),
            "subdivisionScheme": item("token", "none"),
        }
    )


def normals_item(normals: Value, interpolation: str = "faceVarying") -> dict[str, Item]:
    """Return normals (n, 3) as an attribute of a bundle."""
    return {"normals": item("normalf[3][]", normals, interpolation=interpolation)}


def with_points(prim: Bundle, points: Value) -> Bundle:
    """Return a prim with other points, and without the normals and extent that belonged to the old ones."""
    return with_changed(prim, {"points": item("pointf[3][]", points)})


def points_prim(points: Value, widths: Value, world: np.ndarray) -> Bundle:
    """Return points (n, 3) with their widths (n,) as a bundle."""
    return Bundle(
        {
            "sourcePrimType": item("token", "Points"),
            "worldMatrix": item("matrixd[4]", world),
            "points": item("pointf[3][]", points),
            "widths": item("float[]", widths),
        }
    )


def give(db: Any, name: str, prim: Bundle) -> None:
    """Set an output to a bundle of one prim. It is left as it is if the prim is the same object."""
    contents = getattr(db.outputs, name)
    present = prims_of(contents.value) if isinstance(contents, BundleContents) else []
    if len(present) != 1 or present[0] is not prim:
        output_bundle(db, name, prims_bundle([prim]))


def require_bundle(db: Any, name: str, what: str) -> Bundle:
    """Return the bundle of an input. Raises GraphError if it has none."""
    bundle = input_bundle(db, name)
    if bundle is EMPTY:
        raise GraphError(f"inputs:{name} has no bundle; connect it to a node with a bundle of {what}")
    return bundle


def find_prim(bundle: Bundle, name: str, kind: str) -> Bundle:
    """Return the first prim of a type in the bundle of an input. Raises GraphError."""
    kinds = []
    for prim in prims_of(bundle):
        kinds.append(str(prim.value("sourcePrimType", "a prim without a type")))
        if kinds[-1] == kind:
            return prim
    raise GraphError(f"inputs:{name} has no {kind}; it has {', '.join(kinds) or 'no prim'}")


def array_of(prim: Bundle, name: str, type_name: str) -> np.ndarray:
    """Return an array of a prim as one of a type, empty where the prim lacks it. Raises GraphError.

    Of a primvar with indices, each element has its value.
    """
    wanted = parse(type_name)
    if name not in prim.attributes:
        return np.zeros((0, *wanted.shape), wanted.dtype)
    try:
        found = expanded(prim, name)
    except IndexError as error:
        raise GraphError(f"{name_of(prim)}.{error}") from None
    convert = converter(found.type, wanted) if found.type.is_numeric else None
    if convert is None:
        raise GraphError(f"{name_of(prim)}.{name} is {found.type}, and {type_name} is needed")
    return np.ascontiguousarray(convert(found.value))


def count_of(prim: Bundle, name: str) -> int:
    """Return the number of elements of an array of a prim, wherever it lies."""
    found = prim.attributes.get(name)
    return 0 if found is None else len(found.held)


def name_of(prim: Bundle) -> str:
    """Return the path of a prim, or its type, for errors."""
    return str(prim.value("sourcePrimPath") or prim.value("sourcePrimType") or "the prim")


def points_of(prim: Bundle) -> np.ndarray:
    """Return the points of a prim, float32 of shape (n, 3). Raises GraphError for points that are not finite."""
    points = array_of(prim, "points", "pointf[3][]")
    if not np.isfinite(points).all():
        raise GraphError(f"{name_of(prim)}.points has {int((~np.isfinite(points)).sum())} numbers that are not finite")
    return points


def triangles_of(prim: Bundle) -> np.ndarray:
    """Return the points of the triangles of a mesh, int32 of shape (m, 3). Raises GraphError.

    They are counterclockwise seen from outside, and leave holes out, as those of `wp.usd.read_mesh`.
    """
    count, sizes = count_of(prim, "points"), array_of(prim, "faceVertexCounts", "int[]")
    indices, holes = array_of(prim, "faceVertexIndices", "int[]"), array_of(prim, "holeIndices", "int[]")
    if len(indices) and not (indices.min() >= 0 and indices.max() < count):
        bad = indices[(indices < 0) | (indices >= count)][0]
        raise GraphError(f"{name_of(prim)}.faceVertexIndices names the point {bad} of {count} points")
    if len(holes) and not (holes.min() >= 0 and holes.max() < len(sizes)):
        bad = holes[(holes < 0) | (holes >= len(sizes))][0]
        raise GraphError(f"{name_of(prim)}.holeIndices names the face {bad} of {len(sizes)} faces")
    is_turned = prim.value("orientation") == "leftHanded"
    return triangle_points(lambda: points_of(prim), sizes, indices, is_turned, holes)


def world_matrix(prim: Bundle) -> np.ndarray:
    """Return the transform of a prim to the world, for row vectors; without one, the identity."""
    matrix = prim.value("worldMatrix")
    is_matrix = isinstance(matrix, np.ndarray) and matrix.shape == (4, 4) and np.isfinite(matrix).all()
    return np.asarray(matrix, np.float64) if is_matrix else np.identity(4)


def between(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the matrix from the space of one world matrix to that of another. Raises GraphError for a flat target."""
    if np.array_equal(source, target):
        return np.identity(4)
    try:
        found: np.ndarray = source @ np.linalg.inv(target)
    except np.linalg.LinAlgError:
        raise GraphError("inputs:transform cannot be inverted; a scale in it is 0") from None
    return found


def on_stage(work: Callable[[Any], None]) -> Callable[[Any], None]:
    """Give the work of a node the stage as `db.host.store`: that of the play, or in Kit that which is open."""
    return _with_host(work, "work_on_kit_stage")


def on_graph(work: Callable[[Any], None]) -> Callable[[Any], None]:
    """Give the work of a node its graph as `db.node.get_graph()`: that of the play, or in Kit a copy of Kit's."""
    return _with_host(work, "work_on_kit_graph")


def _with_host(work: Callable[[Any], None], in_kit: str) -> Callable[[Any], None]:
    @wraps(work)
    def with_host(db: Any) -> None:
        if hasattr(db, "host"):
            work(db)
        else:
            late(in_kit)(db, work)

    return with_host


def run(db: Any, work: Callable[[Any], None]) -> bool:
    """Do the work of a node, then let execution go on; a GraphError becomes the error of the node."""
    done = run_data(db, work)
    if done:
        execution.enable(db, "execOut")
    return done


def run_data(db: Any, work: Callable[[Any], None]) -> bool:
    """Do the work of a node without execution; a GraphError becomes the error of the node."""
    try:
        work(db)
    except GraphError as error:
        db.log_error(str(error))
        return False
    return True
