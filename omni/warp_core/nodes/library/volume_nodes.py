"""Read Volume, Write Volume and Volume From Mesh: fields on dense grids, from files, to files, and around meshes.

A dense field has `dim1` x `dim2` x `dim3` nodes, the last index fastest. It fills a box of a `size` around the origin
of a space that `transform` takes to the world: Mesh From Volume takes the same inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pxr import Ar

import omni.warp_core as wp

from ...usd.output_layer import FrameFile
from ...usd.stage import StageError
from ...usd.volume_fields import VolumeField, read_volume
from ...volumes.allocation import background_of, dense_leaves, placement_of
from ...volumes.grid_builder import build_grid
from ...volumes.grid_tree import read_grid
from ...volumes.layout import GRID_CLASSES
from ...volumes.vdb.vdb_conversion import write_volume_file
from ..graph.attribute import GraphError
from ..stock.prims.prim_nodes import one_target
from ..stock.prims.prim_readers import timecode
from ..values.bundles import Bundle, Item, item
from .device_arrays import compute, given, sent
from .point_arrays import Faces, bounds_on, points_on
from .prim_bundles import find_prim, on_stage, require_bundle, world_matrix
from .volume_surface import MOST_NODES

_FORMATS = ("nvdb", "vdb")
_CLASSES = {"unknown": "unknown", "levelSet": "level set", "fogVolume": "fog"}


@wp.kernel
def look_up(volume: wp.uint64, first: wp.vec3i, field: wp.array3d[float]):
    """Write the values of voxels from `first` on."""
    i, j, k = wp.tid()
    field[i, j, k] = wp.volume_lookup_f(volume, first[0] + i, first[1] + j, first[2] + k)


@wp.kernel
def find_distances(mesh: wp.uint64, first: wp.vec3, cell: float, reach: float, field: wp.array3d[float]):
    """Write the distances of nodes to a mesh, negative inside, and at most `reach`."""
    i, j, k = wp.tid()
    p = first + cell * wp.vec3(float(i), float(j), float(k))
    near = wp.mesh_query_point_sign_winding_number(mesh, p, reach)
    distance = reach
    if near.result:
        closest = wp.mesh_eval_position(mesh, near.face, near.u, near.v)  # type: ignore[arg-type]
        distance = near.sign * wp.length(p - closest)
    field[i, j, k] = distance


class HeldField:
    """The field that a node has given to its outputs, and what it was made of."""

    def __init__(self) -> None:
        self.made_of: tuple = ()
        self.faces = Faces()


@on_stage
def read(db: Any) -> None:
    """Compute Read Volume. Raises GraphError."""
    path, at, store = one_target(db, "prim"), timecode(db), db.host.store
    try:
        fields = read_volume(store.prim(path), store.now if at is None else at)
        field = _chosen(path, fields, db.inputs.field)
        db.host.require_readable(Ar.SplitPackageRelativePathOuter(field.file)[0])
        made_of = (field.file, field.grid, field.index, np.array(field.transform).tobytes())
        if made_of == db.per_instance_state.made_of:
            return
        _give_grid(db, field)
    except (StageError, ValueError) as error:
        raise GraphError(str(error)) from None
    db.per_instance_state.made_of = made_of


def _chosen(path: str, fields: dict[str, VolumeField], name: str) -> VolumeField:
    if name in fields:
        return fields[name]
    if name or not fields:
        raise GraphError(f"the volume {path} has no field {name!r}; it has {', '.join(fields) or 'none'}")
    return fields.get("density") or next(iter(fields.values()))


def _give_grid(db: Any, field: VolumeField) -> None:
    data = field.read()
    low, high = np.array(read_grid(data).root["bbox"], np.int64)
    shape = tuple((high - low + 1).tolist())
    if min(shape) < 1:
        raise GraphError(f"{field.path}: the grid {field.grid!r} has no active voxels")
    _require_nodes(shape, "read a smaller grid")
    volume = wp.Volume(sent(db, data, wp.uint8))
    if volume.dtype is not wp.float32:
        raise GraphError(f"{field.path}: the grid {field.grid!r} has values of type {volume.get_grid_info().type_str}; "
                         "this node reads float")  # fmt: skip
    (values,) = compute(db, look_up, shape, [volume.id, wp.vec3i(*map(int, low))], (shape, float))
    info = volume.get_grid_info()
    index_to_world = np.identity(4)
    index_to_world[:3, :3] = np.array(info.transform_matrix, np.float64).reshape(3, 3).T  # for row vectors
    index_to_world[3, :3] = np.array(info.translation, np.float64)
    middle = np.identity(4)
    middle[3, :3] = (low + high) / 2
    world = np.array(field.transform, np.float64).reshape(4, 4).T
    _give(db, values, np.array(shape) - 1.0, middle @ index_to_world @ world)
    db.outputs.voxelSize = float(np.mean(volume.get_voxel_size()))


def from_mesh(db: Any) -> None:
    """Compute Volume From Mesh. Raises GraphError."""
    inputs, state = db.inputs, db.per_instance_state
    prim = find_prim(require_bundle(db, "mesh", "a closed mesh"), "mesh", "Mesh")
    cell, margin = float(inputs.voxelSize), float(inputs.margin)
    if not (math.isfinite(cell) and cell > 0 and math.isfinite(margin) and margin >= 0):
        raise GraphError("inputs:voxelSize must be above 0, and inputs:margin at least 0")
    if state.made_of != (prim, cell, margin):
        _give_distances(db, prim, cell, margin)
        state.made_of = (prim, cell, margin)


def _give_distances(db: Any, prim: Bundle, cell: float, margin: float) -> None:
    points, faces = points_on(db, prim), db.per_instance_state.faces
    faces.take(db, prim)
    if not len(faces.triangles):
        raise GraphError("the mesh has no triangles, so nothing has a distance to it")
    low, high = bounds_on(db, points, faces.corners)
    low, high = low - margin, high + margin
    counts = np.maximum(np.ceil((high - low) / cell), 1) + 1
    _require_nodes(tuple(counts), "set a larger inputs:voxelSize or a smaller inputs:margin")
    shape, size = tuple(int(n) for n in counts), (counts - 1) * cell
    middle = (low + high) / 2
    mesh = wp.Mesh(points, faces.corners, support_winding_number=True)
    reach = float(np.linalg.norm(size)) + cell
    arguments = [mesh.id, wp.vec3(*(middle - size / 2).tolist()), cell, reach]
    (field,) = compute(db, find_distances, shape, arguments, (shape, float))
    place = np.identity(4)
    place[3, :3] = middle
    _give(db, field, size, place @ world_matrix(prim))


def _require_nodes(shape: tuple, remedy: str) -> None:
    count = math.prod(float(n) for n in shape)
    if count > MOST_NODES:
        raise GraphError(f"the field would have {count:.6g} nodes, and {MOST_NODES} are the most; {remedy}")


def _give(db: Any, field: Any, size: np.ndarray, transform: np.ndarray) -> None:
    outputs = db.outputs
    outputs.dim1, outputs.dim2, outputs.dim3 = field.shape
    outputs.size, outputs.transform = size.astype(np.float32), transform
    outputs.data_size = field.size  # Kit wants the size first
    outputs.data = given(db, field, "float[]")


@on_stage
def write(db: Any) -> None:
    """Compute Write Volume. Raises GraphError."""
    inputs, store, path = db.inputs, db.host.store, one_target(db, "prim")
    shape = tuple(int(getattr(inputs, f"dim{axis}")) for axis in (1, 2, 3))
    if min(shape) < 2 or math.prod(shape) != len(inputs.data):
        raise GraphError(f"inputs:data has {len(inputs.data)} values for {' x '.join(map(str, shape))} nodes")
    if not (np.isfinite(inputs.size).all() and (inputs.size > 0).all()):
        raise GraphError("the numbers of inputs:size must be above 0")
    name = inputs.field
    if not name.isidentifier():
        raise GraphError(f"inputs:field is {name!r}; it must be a name such as density")
    if inputs.fileFormat not in _FORMATS:
        raise GraphError(f"inputs:fileFormat is {inputs.fileFormat!r}; it must be one of {', '.join(_FORMATS)}")
    buffer = grid_buffer(inputs.data.reshape(shape), inputs.size, float(inputs.background), name, inputs.gridClass)
    asset, half = f"{path}/{name}", np.asarray(inputs.size, np.float32) / 2
    volume = {"worldMatrix": item("matrixd[4]", np.array(inputs.transform))}
    volume["extent"] = item("float[3][]", np.stack([-half, half]))
    field = {"fieldName": item("token", name)}
    places = [(path, _prim("Volume", volume)), (asset, _prim("OpenVDBAsset", field))]
    db.per_instance_state.write(db, places, "*")
    store.prims.relate(path, f"field:{name}", [asset])
    file = asset.strip("/").replace("/", "_")
    store.prims.attach(FrameFile(file, ((asset, "filePath"),), store.frame, f".{inputs.fileFormat}", _writer(buffer)))


def _prim(kind: str, attributes: dict[str, Item]) -> Bundle:
    return Bundle({"sourcePrimType": item("token", kind), **attributes})


def _writer(buffer: np.ndarray) -> Callable[[str], None]:
    return lambda target: write_volume_file(target, [buffer], "blosc")


def grid_buffer(field: np.ndarray, size: np.ndarray, background: float, name: str, grid_class: str) -> np.ndarray:
    """Return a dense field (l, m, n) around the origin as the grid buffer of a volume, its voxels active alone."""
    if grid_class not in _CLASSES:
        raise GraphError(f"inputs:gridClass is {grid_class!r}; it must be one of {', '.join(_CLASSES)}")
    voxel = np.asarray(size, np.float64) / (np.array(field.shape) - 1)
    place = placement_of(voxel.tolist(), (-np.asarray(size, np.float64) / 2).tolist())
    value_type, outside = background_of(background)
    leaves = dense_leaves(field, value_type, outside, is_whole=False)
    return build_grid(leaves, value_type, outside, place, name, GRID_CLASSES.index(_CLASSES[grid_class]))
