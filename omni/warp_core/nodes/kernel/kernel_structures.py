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

from ...usd.polygons import FACES, triangle_points
from ..graph.node_graph import GraphError
from ..graph.placement import placed_numbers
from ..values.attribute_types import AttributeType, parse
from ..values.device_values import DeviceValue, known
from . import code_file
from .node_values import NodeValues

MESH, GRID, VOLUME = "mesh", "hash grid", "volume"
_CLASSES = {MESH: "wp.Mesh", GRID: "wp.HashGrid", VOLUME: "wp.Volume"}
_NEEDED = {MESH: ("points", "faceVertexIndices"), GRID: ("points", "radius"), VOLUME: ("file",)}
_POINTS, _INTS = parse("pointf[3][]"), parse("int[]")
Arrays = Callable[[str], Any]  # gives the memory of an array by its name
_LARGEST_FILE = 1 << 32  # bytes
_MOST_CELLS = 128  # along an axis of a grid whose number of cells nothing sets


def kind_of(name: str, inputs: Mapping[str, AttributeType]) -> str:
    """Return which structure the companions of a parameter make, "" for none."""
    fitting = (kind for kind, needed in _NEEDED.items() if all(f"{name}_{what}" in inputs for what in needed))
    return next(fitting, "")


def hint(name: str, inputs: Mapping[str, AttributeType]) -> str:
    """Return which inputs a parameter needs to be the id of a structure, those that are there left out."""
    begun = {kind: [what for what in needed if f"{name}_{what}" not in inputs] for kind, needed in _NEEDED.items()}
    most = max(len(_NEEDED[kind]) - len(missing) for kind, missing in begun.items())
    fitting = {k: missing for k, missing in begun.items() if len(_NEEDED[k]) - len(missing) == most}
    ways = (
        f"for a {_CLASSES[kind]} add " + " and ".join(f"inputs:{name}:{what}" for what in missing)
        for kind, missing in fitting.items()
    )
    return "; " + ", ".join(ways)


@dataclass
class _Held:
    """A structure and what it was made of. `numbers` are its points on the CPU, None if they come from a device."""

    structure: Any
    count: int
    made_of: tuple[Any, ...]
    numbers: np.ndarray | None = None


class Structures:
    """The structures of one node. Each is made anew or refitted when its values have changed."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def argument(self, values: NodeValues, name: str, device: str, arrays: Arrays) -> int:
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

    def record(self, name: str, points: Any) -> None:
        """Let a graph that is being captured bring a mesh or hash grid up to date with an array of points."""
        held = self._held[name]
        _follow(held, points)
        held.numbers = None

    def _mesh(self, values: NodeValues, name: str, device: str, arrays: Arrays) -> Any:
        points = points_of(values, name, device, arrays)
        counts, indices, orientation, holes = made_of = tuple(values.companion(name, what) for what in FACES)
        held = self._held.get(name)
        if held is None or held.count != len(points) or not _equal(held.made_of, made_of):
            is_turned, holes = orientation == "leftHanded", () if holes is None else holes
            faces = triangle_points(
                lambda: _on_cpu(values, points), counts, np.asarray(indices, np.int32), is_turned, holes
            )
            corners = placed_numbers(np.ravel(faces), _INTS, device, values.timing)
            mesh = wp.Mesh(wp.clone(_placed(values, points, device)), corners)
            held = self._held[name] = _Held(mesh, len(points), made_of)
        elif _is_new(held, points):
            _follow(held, _placed(values, points, device))
        held.numbers = points.copy() if isinstance(points, np.ndarray) else None
        return held.structure.id

    def _grid(self, values: NodeValues, name: str, device: str, arrays: Arrays) -> Any:
        points, radius = points_of(values, name, device, arrays), float(values.companion(name, "radius"))
        cells = values.companion(name, "cells")
        cells = _cells_for(len(points)) if cells is None else tuple(np.broadcast_to(cells, 3).tolist())
        held, (x, y, z) = self._held.get(name), cells
        if held is None or held.made_of[0] != cells:
            held = self._held[name] = _Held(wp.HashGrid(x, y, z, device), 0, (cells, 0.0))
        if held.made_of[1] != radius or _is_new(held, points):
            held.made_of = (cells, radius)
            _follow(held, _placed(values, points, device))
        held.numbers = points.copy() if isinstance(points, np.ndarray) else None
        return held.structure.id

    def _volume(self, values: NodeValues, name: str, device: str, arrays: Arrays) -> Any:
        path = _file(values, f"{name}_file")
        held = self._held.get(name)
        if held is None or held.made_of != (path,):
            try:
                data = code_file.read_bytes(path, _LARGEST_FILE)
            except GraphError as error:
                raise GraphError(f"inputs:{name}:file: {error}") from None
            if device != "cpu":
                values.timing.count_upload()
            load = wp.Volume.load_from_vdb if path.lower().endswith(".vdb") else wp.Volume.load_from_nvdb
            held = self._held[name] = _Held(load(data, device=device), 0, (path,))
        return held.structure.id


def follows_arrays(values: NodeValues, name: str) -> bool:
    """True if the structure follows an array of the node in every substep."""
    kind = values.attributes.inputs.get(f"{name}_points")
    return kind is not None and kind.base == "token"


def points_of(values: NodeValues, name: str, device: str, arrays: Arrays) -> Any:
    """The points of a structure, float32: NumPy of shape (n, 3), or an array of the launch's device if they are there.

    Raises GraphError and ValueError.
    """
    given = values.companion(name, "points")
    points = known(arrays(given) if isinstance(given, str) else given)
    if isinstance(points, DeviceValue):
        points = points.array if points.is_on(device) else points.numbers()
    if isinstance(points, wp.array):
        if points.dtype is wp.vec3:
            return points
        points = _on_cpu(values, points)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"inputs:{name}:points must be an array of points, such as point3f[]")
    return np.ascontiguousarray(points, np.float32)


def _on_cpu(values: NodeValues, points: Any) -> np.ndarray:
    if isinstance(points, np.ndarray):
        return points
    values.timing.count_download()
    found: np.ndarray = points.numpy()
    return found


def _placed(values: NodeValues, points: Any, device: str) -> Any:
    """Points as an array of a device."""
    is_numbers = isinstance(points, np.ndarray)
    return placed_numbers(points, _POINTS, device, values.timing) if is_numbers else points


def _is_new(held: _Held, points: Any) -> bool:
    """True if a structure has to follow points. Those on a device are never compared."""
    return held.numbers is None or not isinstance(points, np.ndarray) or not np.array_equal(held.numbers, points)


def _follow(held: _Held, points: Any) -> None:
    """Bring a mesh or a hash grid up to date with an array of points on its device."""
    if isinstance(held.structure, wp.HashGrid):
        held.structure.build(points, held.made_of[1])
    else:
        wp.copy(held.structure.points, points)
        held.structure.refit()


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
