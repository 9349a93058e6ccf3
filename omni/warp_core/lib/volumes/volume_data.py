"""Finding voxels of sparse volumes in memory, with `VolumeData` for the parts of a volume.

A volume is a grid buffer, as volumes/layout.py describes it. Beside the buffer lies a table of cells. For each block of
8x8x8 voxels in the box of all leaves, it has the leaf, or the value of all these voxels. A lookup in the box reads
the table. Elsewhere, and for grids too sparse to have one, it walks down the tree. A *place* is a word of the buffer:
that of a leaf, or TILE + w if all voxels there have the value at the word w.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.registry import builtin
from ...lang.values.scalars import int32, int64, uint32, uint64
from ...lang.values.structs import struct
from ...lang.values.value_classes import mat33f, vec3f, vec3i
from ..geometry.structure_ids import ADDRESS, VOLUME
from ..geometry.structure_lookup import structure_at, unknown

TILE, WORD = -(2**31), 2**31 - 1  # the bit of a place that is no leaf, and the bits of its word
_CHILD_MASK = 8  # the word of an upper or lower node where its child mask begins, less that of its value mask
_UNKNOWN = unknown("volume", "volume")


@struct
class VolumeData:
    """A volume in memory, at the address that the lower 48 bits of its id are. Words have 4 bytes.

    Attributes:
        id: the volume's id; zero once it is freed.
        words: address of the grid buffer.
        cells: address of an int32 for each cell of the table: its place. z is fastest.
        num_words: the words of the grid buffer.
        num_voxels: the voxels that are counted.
        value_type: the type of values, as a grid buffer spells it.
        cell_min: the first cell of the table; a cell is 8 voxels wide.
        cell_dims: the cells of the table along each axis; zero without a table.
        first_leaf: the word of the first.
        leaf_words: the words of a leaf.
        leaf_values: the word of a leaf where its values begin.
        lower_table: the word of a lower node where its table begins, and likewise of an upper one.
        entry_words: the words of an entry of these tables.
        root: the word of the root.
        tiles: the word of the first tile of the root.
        num_tiles: the tiles of the root.
        tile_words: the words of a tile.
        tile_value: the word of a tile where its value is.
        background: the word of the background.
        to_world: the matrix from index to world.
        to_index: the matrix from world to index.
        translation: the place of index 0 in the world.
    """

    id: uint64
    words: uint64
    cells: uint64
    num_words: int32
    num_voxels: int32
    value_type: int32
    cell_min: vec3i
    cell_dims: vec3i
    first_leaf: int32
    leaf_words: int32
    leaf_values: int32
    lower_table: int32
    upper_table: int32
    entry_words: int32
    root: int32
    tiles: int32
    num_tiles: int32
    tile_words: int32
    tile_value: int32
    background: int32
    to_world: mat33f
    to_index: mat33f
    translation: vec3f


@builtin(name="_volume_at")
def volume_at(id: uint64) -> VolumeData:
    """The volume of an id."""
    return structure_at(id, VOLUME, VolumeData, _UNKNOWN)


@builtin(name="_volume_known")
def known(id: uint64) -> VolumeData:
    """The volume of an id that `volume_at` found, or of nothing for 0.

    Functions that are not inlined take the id: in place of the volume, whose many members a call would copy.
    """
    data = VolumeData()
    if id != uint64(0):
        data = prim.array_at(prim.bit_and(id, uint64(ADDRESS)), int32(1), VolumeData)[0]
    return data


@builtin(name="_volume_child")
def _child(data: VolumeData, node: int32, entries: int32, table: int32, entry: int32) -> int32:
    """The place that an entry of an upper or lower node leads to: its child, or the value of a tile."""
    words = prim.array_at(data.words, data.num_words, int32)
    at = node + table + entry * data.entry_words
    is_child = (words[node + _CHILD_MASK + ((entries + entry) >> 5)] >> (entry & 31)) & 1
    place = TILE | at
    if is_child != 0:
        place = node + _offset(data, at)
    return place


@builtin(name="_volume_offset")
def _offset(data: VolumeData, at: int32) -> int32:
    """The offset of a child, in words, which stands at a word of the buffer."""
    longs = prim.array_at(data.words, data.num_words >> 1, int64)
    return int32(longs[at >> 1] >> int64(2))


@builtin(name="_volume_walk", cold=True)
def _walk(id: uint64, i: int32, j: int32, k: int32) -> int32:
    """The place of a voxel, found from the root of the tree."""
    data = known(id)
    longs = prim.array_at(data.words, data.num_words >> 1, uint64)
    key = (uint64(uint32(i) >> uint32(12)) << uint64(42)) | (uint64(uint32(j) >> uint32(12)) << uint64(21))
    key = key | uint64(uint32(k) >> uint32(12))
    place = TILE | data.background
    for t in range(data.num_tiles):
        tile = data.tiles + t * data.tile_words
        if longs[tile >> 1] == key:
            place = TILE | (tile + data.tile_value)
            if longs[(tile >> 1) + 1] != uint64(0):
                place = data.root + _offset(data, tile + 2)
                entry = ((i >> 7) & 31) << 10 | ((j >> 7) & 31) << 5 | (k >> 7) & 31
                place = _child(data, place, 32768, data.upper_table, entry)
                if place >= 0:
                    entry = ((i >> 3) & 15) << 8 | ((j >> 3) & 15) << 4 | (k >> 3) & 15
                    place = _child(data, place, 4096, data.lower_table, entry)
            break
    return place


@builtin(name="_volume_place")
def place_of(data: VolumeData, i: int32, j: int32, k: int32) -> int32:
    """The place of a voxel: its leaf, or where the value of all voxels around it is."""
    x, y, z = (i >> 3) - data.cell_min[0], (j >> 3) - data.cell_min[1], (k >> 3) - data.cell_min[2]
    is_inside = uint32(x) < uint32(data.cell_dims[0]) and uint32(y) < uint32(data.cell_dims[1])
    place = 0
    if is_inside and uint32(z) < uint32(data.cell_dims[2]):
        row = x * data.cell_dims[1] + y
        cells = prim.array_at(data.cells, data.cell_dims[0] * data.cell_dims[1] * data.cell_dims[2], int32)
        place = cells[row * data.cell_dims[2] + z]
    else:
        place = _walk(data.id, i, j, k)
    return place


@builtin(name="_volume_entry_of")
def entry_of(i: int32, j: int32, k: int32) -> int32:
    """The entry of a voxel in the table of its leaf."""
    return (i & 7) << 6 | (j & 7) << 3 | k & 7


@builtin(name="_volume_word")
def word_of(data: VolumeData, place: int32, entry: int32, words: int32) -> int32:
    """The word where the value of a voxel is. A value has so many `words`."""
    return word_at(place, data.leaf_values + entry * words)


@builtin(name="_volume_word_at")
def word_at(place: int32, offset: int32) -> int32:
    """The word where the value of a voxel is, at an `offset` in its leaf."""
    return (place & WORD) + prim.select(place >= 0, offset & WORD, 0)
