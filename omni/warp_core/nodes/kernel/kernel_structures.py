"""Meshes, hash grids and volumes as arguments of a kernel, made of the companions of a `wp.uint64` parameter.

    inputs:mesh:points, inputs:mesh:faceVertexIndices, inputs:mesh:faceVertexCounts    a wp.Mesh
    inputs:grid:points, inputs:grid:radius, inputs:grid:cells                          a wp.HashGrid
    inputs:smoke:file                                                                  a wp.Volume

Instead of points, a token names an array that the kernels write: the structure then follows it in every substep.
Start with `kind_of` and `Structures.argument`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import omni.warp_core as wp

from ...usd.polygons import triangulate
from ..graph.node_graph import GraphError
from ..values.attribute_types import AttributeType
from . import code_file
from .node_values import NodeValues

MESH, GRID, VOLUME = "mesh", "hash grid", "volume"
_NEEDED = {MESH: ("points", "faceVertexIndices"), GRID: ("points", "radius"), VOLUME: ("file",)}
POINTS_KIND = np.dtype(np.float32)
_LARGEST_FILE = 1 << 32  # bytes
_MOST_CELLS = 128  # along an axis of a grid whose number of cells nothing sets
HINT = (
    "; for a wp.Mesh add inputs:{0}:points, inputs:{0}:faceVertexCounts and inputs:{0}:faceVertexIndices, for a "
    "wp.HashGrid inputs:{0}:points and inputs:{0}:radius, for a wp.Volume inputs:{0}:file"
)


def kind_of(name: str, inputs: Mapping[str, AttributeType]) -> str:
    """Return which structure the companions of a parameter make, "" for none."""
    fitting = (kind for kind, needed in _NEEDED.items() if all(f"{name}_{what}" in inputs for what in needed))
    return next(fitting, "")


@dataclass
class _Held:
    """A structure with the values that it was made of."""

    structure: Any
    made_of: tuple[Any, ...]


class Structures:
    """The structures of one node. Each is made anew or refitted when its values have changed."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def argument(self, values: NodeValues, name: str, device: str, arrays: Callable[[str], np.ndarray]) -> int:
        """The id of the structure for the parameter `name`.

        Args:
            values: Those of the node.
            name: The parameter.
            device: The device of the launch.
            arrays: Gives the memory of an array of the node that a token names.

        Raises:
            GraphError: If a value does not fit, or the file cannot be read.
        """
        kind = kind_of(name, values.attributes.inputs)
        make = {MESH: self._mesh, GRID: self._grid, VOLUME: self._volume}[kind]
        try:
            return int(make(values, name, device, arrays))
        except (ValueError, TypeError, OSError) as error:
            self._held.pop(name, None)
            raise GraphError(f"the {kind} of parameter `{name}` cannot be made: {error}") from None

    def record(self, name: str, points: np.ndarray) -> None:
        """Let a graph that is being captured bring a mesh or hash grid up to date with an array of points."""
        held = self._held[name]
        given: Any = wp.array(points, dtype=wp.vec3, device="cpu", copy=False)
        if isinstance(held.structure, wp.Mesh):
            wp.copy(held.structure.points, given)
            held.structure.refit()
            held.made_of = (np.full_like(points, np.nan), *held.made_of[1:])  # equals no points
        else:
            cells, _, radius = held.made_of
            held.structure.build(given, radius)
            held.made_of = (cells, None, radius)

    def _mesh(self, values: NodeValues, name: str, device: str, arrays: Callable[[str], np.ndarray]) -> Any:
        points = _points(values, name, arrays)
        counts, indices = values.companion(name, "faceVertexCounts"), values.companion(name, "faceVertexIndices")
        held = self._held.get(name)
        if held is None or len(held.made_of[0]) != len(points) or not _equal(held.made_of[1:], (counts, indices)):
            faces = indices if counts is None else triangulate(points, counts, indices).triangles
            corners: Any = wp.array(np.ascontiguousarray(faces, np.int32).reshape(-1), dtype=int, device=device)
            vertices: Any = wp.array(points.copy(), dtype=wp.vec3, device=device)
            mesh = wp.Mesh(vertices, corners)
            held = self._held[name] = _Held(mesh, (points.copy(), counts, indices))
        elif not np.array_equal(held.made_of[0], points):
            held.structure.points.assign(points)
            held.structure.refit()
            held.made_of = (points.copy(), counts, indices)
        return held.structure.id

    def _grid(self, values: NodeValues, name: str, device: str, arrays: Callable[[str], np.ndarray]) -> Any:
        points, radius = _points(values, name, arrays), float(values.companion(name, "radius"))
        cells = values.companion(name, "cells")
        cells = _cells_for(len(points)) if cells is None else tuple(np.broadcast_to(cells, 3).tolist())
        held, (x, y, z) = self._held.get(name), cells
        if held is None or held.made_of[0] != cells:
            held = self._held[name] = _Held(wp.HashGrid(x, y, z, device), (cells, None, 0.0))
        if held.made_of[1] is None or held.made_of[2] != radius or not np.array_equal(held.made_of[1], points):
            held.structure.build(wp.array(points.copy(), dtype=wp.vec3, device=device), radius)
            held.made_of = (cells, points.copy(), radius)
        return held.structure.id

    def _volume(self, values: NodeValues, name: str, device: str, arrays: Callable[[str], np.ndarray]) -> Any:
        path = _file(values, f"{name}_file")
        held = self._held.get(name)
        if held is None or held.made_of != (path,):
            data = code_file.read_bytes(path, _LARGEST_FILE)
            load = wp.Volume.load_from_vdb if path.lower().endswith(".vdb") else wp.Volume.load_from_nvdb
            held = self._held[name] = _Held(load(data, device=device), (path,))
        return held.structure.id


def follows_arrays(values: NodeValues, name: str) -> bool:
    """True if the structure follows an array of the node in every substep."""
    kind = values.attributes.inputs.get(f"{name}_points")
    return kind is not None and kind.base == "token"


def _points(values: NodeValues, name: str, arrays: Callable[[str], np.ndarray]) -> np.ndarray:
    """The points of a structure as float32 of shape (n, 3)."""
    given = values.companion(name, "points")
    points = np.asarray(arrays(given) if isinstance(given, str) else given)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"inputs:{name}:points must be an array of points, such as point3f[]")
    return np.ascontiguousarray(points, np.float32)


def _equal(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return all(x is y or (x is not None and y is not None and np.array_equal(x, y)) for x, y in zip(a, b, strict=True))


def _cells_for(count: int) -> tuple[int, int, int]:
    """Cells of a grid, about as many along an axis as evenly spread points have."""
    side = 8
    while side < _MOST_CELLS and side**3 < 8 * count:
        side *= 2
    return side, side, side


def _file(values: NodeValues, name: str) -> str:
    """The path of a file: in this host the one that was there when the user consented."""
    host = getattr(values.db, "host", None)
    if host is None:
        return str(values.value(name))
    found = host.files.get((values.db.node.get_prim_path(), name))
    if not found:
        raise ValueError("the file is not named in the scene; the player reads only files that the scene names")
    return found
