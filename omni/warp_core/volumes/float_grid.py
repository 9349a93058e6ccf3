"""A grid of double as one of float, for programs that sample floats alone. Start with `as_float`."""

from __future__ import annotations

import numpy as np

from .grid_builder import Leaves, Tiles, build_grid, leaf_origins
from .grid_header import placement_in
from .grid_tree import GridTree, places_in_node, unpack_mask
from .layout import LEAF_WIDTH, LOWER_SIDE, LOWER_WIDTH, UPPER_SIDE, UPPER_WIDTH, VALUE_TYPES

_FLOAT = VALUE_TYPES[1]


def as_float(grid: GridTree) -> np.ndarray:
    """Return a grid buffer of float with the leaves and tiles of a grid of double, each value rounded."""
    origins, place = leaf_origins(grid.leaf.origins)
    order = np.empty(len(place), np.int64)
    order[place] = np.arange(len(place))
    nodes, tiles = grid.leaf.reached[order], tiles_of(grid)
    with np.errstate(over="ignore"):  # to infinity
        values, in_tiles = nodes["values"].astype(np.float32), tiles.values.astype(np.float32)
        background = np.float32(grid.root["background"])
    leaves = Leaves(origins, np.ascontiguousarray(nodes["value_mask"]), values)
    number = int(grid.header["grid_class"])
    tiles = tiles._replace(values=in_tiles)
    return build_grid(leaves, _FLOAT, background, placement_in(grid), grid.name, number, tiles)


def tiles_of(grid: GridTree) -> Tiles:
    """Return the tiles of a grid with values that are active or not the background."""
    is_tile = grid.tiles["child"] == 0
    records = grid.tiles[is_tile]
    found = [(grid.tile_origins[is_tile], UPPER_WIDTH, records["value"], records["state"] != 0)]
    for level, side, width in ((grid.upper, UPPER_SIDE, LOWER_WIDTH), (grid.lower, LOWER_SIDE, LEAF_WIDTH)):
        nodes = level.reached
        values, active = nodes["table"]["value"], unpack_mask(nodes["value_mask"])
        node, entry = np.nonzero(~unpack_mask(nodes["child_mask"]) & (active | (values != grid.root["background"])))
        places = level.origins[node] + places_in_node(entry, side, width)
        found.append((places, width, values[node, entry], active[node, entry]))
    extents = [np.full(len(places), width, np.int32) for places, width, _, _ in found]
    places, values, active = (np.concatenate([part[k] for part in found]) for k in (0, 2, 3))
    return Tiles(places.astype(np.int32), np.concatenate(extents), values, active)
