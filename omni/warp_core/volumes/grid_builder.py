"""Building a grid buffer from voxels: leaves in the order of the tree, then the nodes above them.

Native code sorts leaves and writes nodes (native/src/volumes/grid_builder.cpp). Start with `GridPlan` and `build_grid`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .grid_tree import GridTree, Level
from .layout import (
    ALIGNMENT,
    BLIND,
    CLASS_INDEX,
    FLAG_BBOX,
    FLAG_BREADTH_FIRST,
    FLAG_LONG_NAME,
    GRID,
    LEAF_SIDE,
    LEAF_WIDTH,
    MAGICS,
    NAME_BYTES,
    NO_CHECKSUM,
    ROOT_OFFSET,
    TREE,
    TREE_OFFSET,
    VERSION,
    ValueType,
    layout_of,
    native_layout,
)

MOST_VOXELS = 2**31 - 1  # leaves and the places of voxels are counted by int32
_NONE = np.zeros(0, np.int64)
_BEHIND = np.array([[0.0] * 3, [1.0] * 3])  # the last voxels of a box
_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])  # of a box: which end on each axis


class Leaves(NamedTuple):
    """The leaves of a grid to build, in the order of the tree.

    Attributes:
        origins: int32 (n, 3): the least voxel of each, multiples of 8.
        masks: uint8 (n, 64): the bits of active voxels, z fastest.
        values: (n, 512) or (n, 512, components), of all voxels; None if all have the background, or for indices.
        rows: which row of `values` each leaf has; None if they are in the order of leaves.
        dense: in place of `values`, an array whose element (i, j, k) is the value of voxel (i, j, k).
    """

    origins: np.ndarray
    masks: np.ndarray
    values: np.ndarray | None = None
    rows: np.ndarray | None = None
    dense: np.ndarray | None = None


class Tiles(NamedTuple):
    """Blocks of voxels of one value, none inside of another or of a leaf.

    Attributes:
        origins: int32 (n, 3): the least voxel of each, multiples of its extent.
        extents: int32 (n,): voxels along an edge: 8, 128 or 4096.
        values: (n,) or (n, components).
        active: bool (n,): whether the voxels are active.
    """

    origins: np.ndarray
    extents: np.ndarray
    values: np.ndarray
    active: np.ndarray


class Placement(NamedTuple):
    """Where a grid is in the world: place = matrix * index + translation. `matrix` is (3, 3), both float64."""

    matrix: np.ndarray
    translation: np.ndarray

    @property
    def voxel_size(self) -> np.ndarray:
        """How long the edges of a voxel are."""
        return np.linalg.norm(self.matrix, axis=0)


def leaf_origins(voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the origins of the leaves that hold voxels, int32 (n, 3), and which of them holds each voxel, int32.

    Leaves come in the order of the tree.
    """
    origins, holders = _native.find_blocks(_voxels(voxels), LEAF_WIDTH)
    return _rows(origins), np.frombuffer(holders, np.int32)


def whole_masks(count: int) -> np.ndarray:
    """Return the masks of leaves whose voxels are all active."""
    return np.full((count, LEAF_SIDE**3 // 8), 255, np.uint8)


def leaves_of_box(low: list[int], high: list[int]) -> np.ndarray:
    """Return the origins of the leaves of a box of voxels, int32 (n, 3), in the order of the tree.

    Args:
        low: the least voxel, three integers.
        high: the greatest voxel, which the box includes.

    Raises:
        ValueError: If they have more than 2**31 - 1 voxels.
    """
    _require_room(math.prod(b // LEAF_WIDTH - a // LEAF_WIDTH + 1 for a, b in zip(low, high)))
    return _rows(_native.leaves_of_box(low, high))


def leaves_of_voxels(voxels: np.ndarray, values: np.ndarray | None = None, background: Any = 0) -> Leaves:
    """Return the leaves of active voxels, int32 (n, 3), which may come twice; the last value of a voxel counts."""
    origins, bits = _native.masked_leaves(_voxels(voxels))
    leaves = Leaves(_rows(origins), np.frombuffer(bits, np.uint8).reshape(-1, LEAF_SIDE**3 // 8))
    if values is None:
        return leaves
    table = np.empty((len(leaves.origins), LEAF_SIDE**3, *values.shape[1:]), values.dtype)
    table[:] = background
    x, y, z = (voxels & LEAF_WIDTH - 1).T
    table[leaf_origins(voxels)[1], x << 6 | y << 3 | z] = values
    return leaves._replace(values=table)


class GridPlan:
    """The nodes of a grid that has no memory yet, in the order in which a tree has them.

    Args:
        leaves: no two with one origin; `leaf_origins` has the order.
        value_type: of the values; grids of indices have none.
        tiles: of a grid with values; none by default.

    Attributes:
        lower: int32 (n, 3): the origins of lower nodes, and so on for `upper` and for the entries of the `root`.
        size: bytes of the grid buffer.

    Raises:
        ValueError: If there are more than 2**31 - 1 voxels in leaves.
    """

    def __init__(self, leaves: Leaves, value_type: ValueType, tiles: Tiles | None = None):
        _require_room(len(leaves.origins))
        self.leaves, self.value_type, self._tiles = leaves, value_type, tiles
        in_tiles = (_NONE, _NONE) if tiles is None else (_voxels(tiles.origins), _plain(tiles.extents, np.int32))
        self._nodes = _native.NodeTree(_voxels(leaves.origins), *in_tiles)
        self._begins = self._nodes.offsets(native_layout(value_type))
        self.size = self._begins[3]
        self.lower, self.upper, self.root = (_rows(o) for o in (self._nodes.lower, self._nodes.upper, self._nodes.root))

    def write(
        self, data: np.ndarray, background: Any, placement: Placement, name: str = "", grid_class: int = 0
    ) -> GridTree:
        """Write the grid.

        Args:
            data: uint8, one dimension: memory for the grid buffer.
            background: the value of voxels outside of leaves and tiles.
            placement: where the grid is in the world.
            name: of the grid.
            grid_class: what the values mean, as a grid buffer spells it.
        """
        active = self._write_nodes(data, background)
        grid = self._tree_in(data)
        _write_header(grid.header, self.value_type, name, grid_class)
        write_placement(grid.header, placement, grid.root["bbox"])
        grid.header["grid_size"] = data.size
        if self.value_type.is_index:
            numbered = active if self.value_type.counts_active else LEAF_SIDE**3 * len(self.leaves.origins)
            grid.header["num_values"] = 1 + numbered
        return grid

    def _write_nodes(self, data: np.ndarray, background: Any) -> int:
        """Write all but the header. Return how many voxels of leaves are active."""
        value_type, leaves, tiles = self.value_type, self.leaves, self._tiles
        base, components = np.dtype(value_type.base), value_type.dtype.shape
        one = np.empty(components, base)
        one[...] = background
        table, shape = leaves.values, (0, 0, 0)
        if leaves.dense is not None:
            table, shape = leaves.dense, leaves.dense.shape[:3]
        return self._nodes.write(
            native_layout(value_type),
            leaves.masks,
            one,
            (
                _NONE if table is None else _plain(table, base),
                _NONE if leaves.rows is None else _plain(leaves.rows, np.int64),
                shape,
            ),
            (_NONE, _NONE) if tiles is None else (_plain(tiles.values, base), _plain(tiles.active, np.bool_)),
            data,
        )

    def _tree_in(self, data: np.ndarray) -> GridTree:
        """The nodes that were written."""
        layout, begins = layout_of(self.value_type), self._begins
        tree, root = _record(data, TREE_OFFSET, TREE), _record(data, ROOT_OFFSET, layout.root)
        first = ROOT_OFFSET + layout.root.itemsize
        tiles = data[first : first + len(self.root) * layout.tile.itemsize].view(layout.tile)
        levels = []
        parts = ((layout.upper, self.upper), (layout.lower, self.lower), (layout.leaf, self.leaves.origins))
        for begin, (record, origins) in zip(begins, parts):
            nodes = data[begin : begin + len(origins) * record.itemsize].view(record)
            numbers = np.arange(len(origins))
            levels.append(Level(nodes, numbers, origins, begin + numbers * record.itemsize))
        header = _record(data, 0, GRID)
        return GridTree(data, header, self.value_type, layout, tree, ROOT_OFFSET, root, tiles, self.root, *levels)


def build_grid(
    leaves: Leaves,
    value_type: ValueType,
    background: Any,
    placement: Placement,
    name: str = "",
    grid_class: int = 0,
    tiles: Tiles | None = None,
) -> np.ndarray:
    """Build a grid buffer: uint8, one dimension. Arguments and errors are those of `GridPlan` and its `write`."""
    plan = GridPlan(leaves, value_type, tiles)
    return plan.write(np.empty(plan.size, np.uint8), background, placement, name, grid_class).data


def with_feature(data: np.ndarray, name: str, number: int, values: np.ndarray) -> np.ndarray:
    """Return a grid buffer that carries along an array.

    Args:
        data: a grid buffer that carries no array along.
        name: of the array; longer ones than 255 bytes are cut.
        number: the type of the elements, as a grid buffer spells it.
        values: the elements, (n,) or (n, components).
    """
    head = np.zeros(1, BLIND)
    head["data_offset"], head["value_count"], head["data_type"] = BLIND.itemsize, len(values), number
    head["value_size"] = values.dtype.itemsize * (values.shape[1] if values.ndim > 1 else 1)
    head["name"] = name.encode()[: NAME_BYTES - 1]
    rest = np.zeros(-values.nbytes % ALIGNMENT, np.uint8)
    whole = np.concatenate([data, head.view(np.uint8), np.ascontiguousarray(values).view(np.uint8).ravel(), rest])
    header = whole[:TREE_OFFSET].view(GRID)[0]
    header["blind_offset"], header["blind_count"], header["grid_size"] = data.size, 1, whole.size
    return whole


def _plain(values: np.ndarray, kind: Any) -> np.ndarray:
    """Values as native code reads them."""
    return np.ascontiguousarray(values, kind)


def _voxels(voxels: np.ndarray) -> np.ndarray:
    return _plain(voxels, np.int32)


def _rows(voxels: bytes) -> np.ndarray:
    return np.frombuffer(voxels, np.int32).reshape(-1, 3)


def _record(data: np.ndarray, offset: int, record: np.dtype) -> Any:
    return data[offset : offset + record.itemsize].view(record)[0]


def _require_room(count: int) -> None:
    if count * LEAF_SIDE**3 > MOST_VOXELS:
        raise ValueError(f"{count} leaves of 512 voxels are more than the limit of {MOST_VOXELS} voxels")


def _write_header(header: Any, value_type: ValueType, name: str, grid_class: int) -> None:
    header["magic"], header["checksum"], header["version"] = MAGICS[0], NO_CHECKSUM, VERSION
    header["flags"] = FLAG_BREADTH_FIRST | FLAG_BBOX
    header["grid_count"] = 1
    write_name(header, name)
    header["grid_class"] = CLASS_INDEX if value_type.is_index else grid_class
    header["grid_type"] = value_type.number


def write_name(header: Any, name: str) -> None:
    """Write the name of a grid into its header; of a longer one, the first 255 bytes."""
    text = name.encode()
    is_long = len(text) >= NAME_BYTES
    header["flags"] = int(header["flags"]) & ~FLAG_LONG_NAME | (FLAG_LONG_NAME if is_long else 0)
    header["name"] = text[: NAME_BYTES - 1]


def write_placement(header: Any, placement: Placement, box: np.ndarray) -> None:
    """Write where a grid is in the world into its header; `box` is that of its active voxels."""
    spot = header["map"]
    spot["mat_f"] = spot["mat_d"] = placement.matrix
    spot["inv_mat_f"] = spot["inv_mat_d"] = np.linalg.inv(placement.matrix)
    spot["vec_f"] = spot["vec_d"] = placement.translation
    spot["taper_f"] = spot["taper_d"] = 1.0
    header["voxel_size"] = placement.voxel_size
    header["world_bbox"] = _world_box(box, placement)


def _world_box(box: np.ndarray, placement: Placement) -> np.ndarray:
    """The box in the world around the voxels of a box."""
    if (box[0] > box[1]).any():
        return np.zeros((2, 3))
    ends = box + _BEHIND
    places = ends[_CORNERS, (0, 1, 2)] @ placement.matrix.T + placement.translation
    return np.stack([places.min(axis=0), places.max(axis=0)])
