"""Where everything lies in a grid buffer: the bytes of one NanoVDB grid, ABI 32, little-endian.

A grid buffer is GridData, TreeData, the root and its tiles, upper nodes (4096 voxels wide), lower nodes (128) and
leaves (8), then blind data. A node of each level has one table: of the voxels in a leaf, elsewhere of children and of
tiles, which are values of whole blocks. Each part is a NumPy record type here. Offsets follow from the size and the
alignment of a value by the rules in `layout_of`, which docs/volumes.md explains.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import _native

ALIGNMENT = 32  # of every part of a buffer
MAGICS = (0x304244566F6E614E, 0x314244566F6E614E)  # "NanoVDB0", "NanoVDB1"
MAJOR_VERSION = 32
VERSION = MAJOR_VERSION << 21 | 9 << 10  # what we write
NO_CHECKSUM = 2**64 - 1
LEAF_WIDTH, LOWER_WIDTH, UPPER_WIDTH = 8, 128, 4096  # voxels
LEAF_SIDE, LOWER_SIDE, UPPER_SIDE = 8, 16, 32  # entries of a table along an axis
NAME_BYTES = 256
FLAG_LONG_NAME, FLAG_BBOX, FLAG_BREADTH_FIRST = 1, 2, 32


class ValueType(NamedTuple):
    """The type of the values of a grid.

    Attributes:
        number: how a grid buffer spells it.
        name: in messages and in `GridInfo.type_str`.
        base: the NumPy type of a component.
        components: in a value.
        statistics: the NumPy type of averages and standard deviations.
        bits: of a voxel in a leaf. None for a whole value, 0 if the value is whether the voxel is active, 1 for bool
            and for the masks of indices. Others are the bits of a code, which stands for a number.
    """

    number: int
    name: str
    base: str
    components: int
    statistics: str
    bits: int | None = None

    @property
    def dtype(self) -> np.dtype:
        """The NumPy type of a value."""
        return np.dtype((self.base, self.components) if self.components > 1 else self.base)

    @property
    def size(self) -> int:
        """Bytes of a value."""
        return self.dtype.itemsize

    @property
    def is_coded(self) -> bool:
        """True if the values in a leaf are codes or halves, which lookups turn into float."""
        return self.number == HALF or (self.bits is not None and self.bits > 1)

    @property
    def is_index(self) -> bool:
        """True if a voxel holds the place of its value in an array."""
        return self.number in (INDEX, ON_INDEX, INDEX_MASK, ON_INDEX_MASK)

    @property
    def counts_active(self) -> bool:
        """True if only active voxels have a place in an array."""
        return self.number in (ON_INDEX, ON_INDEX_MASK)

    @property
    def is_whole(self) -> bool:
        """True if a leaf has the values of voxels as lookups return them."""
        return self.bits is None and not self.is_index and not self.is_coded


HALF = 9
FP16, FPN = 15, 16  # volumes/variable_bits.py makes the one of the other
INDEX, ON_INDEX, INDEX_MASK, ON_INDEX_MASK = 19, 20, 21, 22
VALUE_TYPES = {
    t.number: t
    for t in (
        ValueType(1, "float", "<f4", 1, "<f4"),
        ValueType(2, "double", "<f8", 1, "<f8"),
        ValueType(3, "int16", "<i2", 1, "<f4"),
        ValueType(4, "int32", "<i4", 1, "<f4"),
        ValueType(5, "int64", "<i8", 1, "<f8"),
        ValueType(6, "vec3f", "<f4", 3, "<f4"),
        ValueType(7, "vec3d", "<f8", 3, "<f8"),
        ValueType(8, "mask", "?", 1, "?", bits=0),
        ValueType(HALF, "half", "<f2", 1, "<f4"),
        ValueType(10, "uint32", "<u4", 1, "<f4"),
        ValueType(11, "bool", "?", 1, "?", bits=1),
        ValueType(12, "rgba8", "<u1", 4, "<f4"),
        ValueType(13, "fp4", "<f4", 1, "<f4", bits=4),
        ValueType(14, "fp8", "<f4", 1, "<f4", bits=8),
        ValueType(FP16, "fp16", "<f4", 1, "<f4", bits=16),
        ValueType(17, "vec4f", "<f4", 4, "<f4"),
        ValueType(18, "vec4d", "<f8", 4, "<f8"),
        ValueType(INDEX, "index", "<u8", 1, "<f8"),
        ValueType(ON_INDEX, "onindex", "<u8", 1, "<f8"),
        ValueType(INDEX_MASK, "indexmask", "<u8", 1, "<f8", bits=1),
        ValueType(ON_INDEX_MASK, "onindexmask", "<u8", 1, "<f8", bits=1),
        ValueType(24, "vec3u8", "<u1", 3, "<f4"),
        ValueType(25, "vec3u16", "<u2", 3, "<f4"),
        ValueType(26, "uint8", "<u1", 1, "<f4"),
    )
}
POINT_INDEX = 23
OTHER_TYPES = {FPN: "fpN", POINT_INDEX: "pointindex"}
GRID_CLASSES = ("unknown", "level set", "fog", "staggered", "point index", "point data", "topology", "voxel", "index")
CLASS_TOPOLOGY, CLASS_INDEX = GRID_CLASSES.index("topology"), GRID_CLASSES.index("index")


def up(offset: int, alignment: int) -> int:
    """Return the first multiple of `alignment` from `offset` on."""
    return -(-offset // alignment) * alignment


def offset_of(record: np.dtype, field: str) -> int:
    """Return the byte of a record where a field begins."""
    fields = record.fields
    assert fields is not None
    return fields[field][1]


def _record(size: int, **fields: tuple[int, Any]) -> np.dtype:
    """A record type of `size` bytes: name -> (offset, NumPy type)."""
    offsets, formats = zip(*fields.values())
    return np.dtype({"names": list(fields), "offsets": list(offsets), "formats": list(formats), "itemsize": size})


MAP = _record(
    264,
    mat_f=(0, ("<f4", (3, 3))),  # index to world
    inv_mat_f=(36, ("<f4", (3, 3))),
    vec_f=(72, ("<f4", 3)),
    taper_f=(84, "<f4"),
    mat_d=(88, ("<f8", (3, 3))),
    inv_mat_d=(160, ("<f8", (3, 3))),
    vec_d=(232, ("<f8", 3)),
    taper_d=(256, "<f8"),
)
GRID = _record(
    672,
    magic=(0, "<u8"),
    checksum=(8, "<u8"),
    version=(16, "<u4"),
    flags=(20, "<u4"),
    grid_index=(24, "<u4"),
    grid_count=(28, "<u4"),
    grid_size=(32, "<u8"),
    name=(40, f"S{NAME_BYTES}"),
    map=(296, MAP),
    world_bbox=(560, ("<f8", (2, 3))),
    voxel_size=(608, ("<f8", 3)),
    grid_class=(632, "<u4"),
    grid_type=(636, "<u4"),
    blind_offset=(640, "<i8"),  # of its first BLIND, from the start of the buffer
    blind_count=(648, "<u4"),
    num_values=(656, "<u8"),  # of an index grid
)
TREE = _record(
    64,
    node_offset=(0, ("<i8", 4)),  # leaves, lower, upper, root; from the start of this record
    node_count=(32, ("<u4", 3)),
    tile_count=(44, ("<u4", 3)),  # active tiles of lower nodes, upper nodes, root
    num_voxels=(56, "<u8"),
)
BLIND = _record(
    288,
    data_offset=(0, "<i8"),  # from the start of this record
    value_count=(8, "<u8"),
    value_size=(16, "<u4"),
    semantic=(20, "<u4"),
    data_class=(24, "<u4"),
    data_type=(28, "<u4"),
    name=(32, f"S{NAME_BYTES}"),
)
TREE_OFFSET = GRID.itemsize
ROOT_OFFSET = TREE_OFFSET + TREE.itemsize  # where we write it; readers follow TREE's node_offset


class Layout(NamedTuple):
    """The record types of the nodes of a grid. An entry of `table` is a value, or the offset of a child from the node.

    Attributes:
        root: background, extreme values, and the number of the tiles that follow.
        tile: one of the root; `child` is an offset from the root, or 0.
        upper: a node of 32x32x32 entries.
        lower: a node of 16x16x16 entries.
        leaf: a node of 8x8x8 voxels, z fastest.
    """

    root: np.dtype
    tile: np.dtype
    upper: np.dtype
    lower: np.dtype
    leaf: np.dtype


@cache
def layout_of(value_type: ValueType) -> Layout:
    """Return the record types of a grid of these values."""
    value, alignment = value_type.dtype, np.dtype(value_type.base).itemsize
    background = up(28, alignment)
    statistics, end = _statistics(background + value_type.size, value_type)
    root = _record(
        up(end, ALIGNMENT),
        bbox=(0, ("<i4", (2, 3))),
        num_tiles=(24, "<u4"),
        background=(background, value),
        **statistics,
    )
    place = up(20, alignment)
    tile = _record(
        up(place + value_type.size, ALIGNMENT),
        key=(0, "<u8"),
        child=(8, "<i8"),
        state=(16, "<u4"),
        value=(place, value),
    )
    upper, lower = (_inner(side**3, value_type) for side in (UPPER_SIDE, LOWER_SIDE))
    return Layout(root, tile, upper, lower, _leaf(value_type))


@cache
def native_layout(value_type: ValueType) -> _native.GridLayout:
    """Return what native code knows of the records of a grid of these values."""
    root, tile, upper, lower, leaf = layout_of(value_type)
    content = "mask"  # and nothing for codes, which are not made of values
    if value_type.is_index:
        content = "active indices" if value_type.counts_active else "indices"
    elif value_type.bits in (None, 1):
        content = "values" if value_type.bits is None else "bits"
    return _native.GridLayout(
        content,
        value=value_type.size,
        entry=lower["table"].base.itemsize,
        root=root.itemsize,
        background=offset_of(root, "background"),
        tile=tile.itemsize,
        tile_value=offset_of(tile, "value"),
        upper=upper.itemsize,
        upper_table=offset_of(upper, "table"),
        lower=lower.itemsize,
        lower_table=offset_of(lower, "table"),
        leaf=leaf.itemsize,
        leaf_values=offset_of(leaf, "values" if "values" in (leaf.names or ()) else "value_mask"),
    )


def _statistics(offset: int, value_type: ValueType) -> tuple[dict[str, tuple[int, Any]], int]:
    """The extreme values, the average and the standard deviation that begin at an offset, and where they end."""
    kind = np.dtype(value_type.statistics)
    average = up(offset + 2 * value_type.size, kind.itemsize)
    end = average + 2 * kind.itemsize
    return {
        "min": (offset, value_type.dtype),
        "max": (offset + value_type.size, value_type.dtype),
        "average": (average, kind),
        "deviation": (average + kind.itemsize, kind),
    }, end


def _inner(entries: int, value_type: ValueType) -> np.dtype:
    """The record type of an upper or a lower node."""
    mask = entries // 8
    statistics, end = _statistics(32 + 2 * mask, value_type)
    entry = _record(up(value_type.size, 8), child=(0, "<i8"), value=(0, value_type.dtype))
    table = up(end, ALIGNMENT)
    return _record(
        table + entries * entry.itemsize,
        bbox=(0, ("<i4", (2, 3))),
        flags=(24, "<u8"),
        value_mask=(32, ("<u1", mask)),
        child_mask=(32 + mask, ("<u1", mask)),
        table=(table, (entry, entries)),
        **statistics,
    )


def _leaf(value_type: ValueType) -> np.dtype:
    head = {
        "bbox_min": (0, ("<i4", 3)),
        "bbox_size": (12, ("<u1", 3)),
        "flags": (15, "<u1"),
        "value_mask": (16, ("<u1", 64)),
    }
    if value_type.is_index:
        head |= {"first": (80, "<u8"), "prefix": (88, "<u8")}
        return _record(160, values=(96, ("<u1", 64)), **head) if value_type.bits else _record(96, **head)
    if value_type.bits is not None:
        return _leaf_of_bits(value_type.bits, head)
    statistics, end = _statistics(80, value_type)
    values = up(end, ALIGNMENT)
    return _record(values + 512 * value_type.size, values=(values, (value_type.dtype, 512)), **head, **statistics)


def _leaf_of_bits(bits: int, head: dict[str, tuple[int, Any]]) -> np.dtype:
    """The record type of a leaf whose voxels have so many bits."""
    if bits == 0:
        return _record(96, values=head["value_mask"], **head)
    if bits == 1:
        return _record(160, values=(80, ("<u1", 64)), **head)
    scale: dict[str, tuple[int, Any]] = {"minimum": (80, "<f4"), "quantum": (84, "<f4"), "statistics": (88, ("<u2", 4))}
    return _record(96 + 64 * bits, values=(96, ("<u1", 64 * bits)), **scale, **head)
