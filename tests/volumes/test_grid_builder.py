"""The native builders of grid buffers and of tables of cells, byte by byte against those of NumPy."""

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import _native
from omni.warp_core.volumes.cells import cells_of, write_cells
from omni.warp_core.volumes.grid_builder import (
    Leaves,
    Placement,
    Tiles,
    build_grid,
    leaf_origins,
    leaves_of_box,
    leaves_of_voxels,
)
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.layout import VALUE_TYPES, native_layout

from .expected_grid import blocks, expected_cells, expected_grid

pytestmark = pytest.mark.cpu
FLOAT, VEC3F, ON_INDEX = VALUE_TYPES[1], VALUE_TYPES[6], VALUE_TYPES[20]
TURNED = Placement(np.array([[0.1, 0.3, 0.0], [-0.2, 0.1, 0.05], [0.0, 0.0, 0.7]]), np.array([1.0, -2.0, 3.0]))
FAR = 2**31 - 1


def scenes() -> dict[str, np.ndarray]:
    """Sets of voxels: clouds of several densities, borders of nodes, the ends of int32, one voxel many times, none."""
    rng = np.random.default_rng(1)
    borders = np.array([-4097, -4096, -129, -128, -9, -8, -1, 0, 7, 8, 127, 128, 4095, 4096])
    cube = np.argwhere(np.ones((23, 21, 19), bool)) - 11
    return {
        "cloud": rng.integers(-40, 60, (5000, 3)),
        "sparse": rng.integers(-9000, 9000, (12, 3)),
        "borders": borders[rng.integers(0, len(borders), (300, 3))],
        "cube": cube,
        "backwards": cube[::-1],
        "ends": np.array([[FAR, -FAR - 1, 0], [-FAR - 1, FAR, FAR], [FAR, FAR, FAR]]),
        "one": np.full((1000, 3), -5),
        "line": np.stack([np.arange(-300, 300), np.zeros(600, int), np.zeros(600, int)], axis=1),
        "none": np.zeros((0, 3)),
    }


SCENES = {name: np.ascontiguousarray(voxels, np.int32) for name, voxels in scenes().items()}


def check_grid(*arguments) -> None:
    """Compare a grid that any number of threads has built with the one of NumPy."""
    expected, before = expected_grid(*arguments), wp.config.num_threads
    try:
        for threads in (1, 2, 7):
            wp.config.num_threads = threads
            assert np.array_equal(build_grid(*arguments), expected), threads
    finally:
        wp.config.num_threads = before


def values_for(rng: np.random.Generator, value_type, count: int) -> np.ndarray:
    values = rng.integers(0, 2 if value_type.base == "?" else 120, (count, 512, *value_type.dtype.shape))
    return values.astype(value_type.base)


def some_tiles(rng: np.random.Generator, value_type) -> Tiles:
    """Tiles of all extents, away from leaves; some are not active."""
    small = np.array([[64, 8 * i, 800] for i in range(20)])
    large = np.array([[128 * i, 1024, -1024] for i in range(-3, 4)])
    roots = np.array([[4096 * i, -8192, 4096] for i in range(-1, 2)])
    origins = np.concatenate([small, large, roots]).astype(np.int32)
    extents = np.repeat([8, 128, 4096], [len(small), len(large), len(roots)]).astype(np.int32)
    order = rng.permutation(len(origins))
    values = rng.integers(0, 2, (len(origins), *value_type.dtype.shape)).astype(value_type.base)
    return Tiles(origins[order], extents[order], values, rng.random(len(origins)) < 0.6)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("width", [8, 128, 4096])
def test_blocks_come_in_the_order_of_the_tree(name, width):
    origins, holders = _native.find_blocks(SCENES[name], width)
    expected, block = blocks(SCENES[name], width)
    assert np.array_equal(np.frombuffer(origins, np.int32).reshape(-1, 3), expected)
    assert np.array_equal(np.frombuffer(holders, np.int32), block)


@pytest.mark.parametrize("name", SCENES)
def test_voxels_come_in_the_order_of_leaves_and_places(name):
    voxels = np.unique(SCENES[name], axis=0)
    origins, holders = blocks(voxels, 8)
    places = voxels[np.lexsort([*voxels.T[::-1], holders])]
    leaves, masks = (np.frombuffer(part, np.int32) for part in _native.masked_leaves(SCENES[name]))
    found = np.empty_like(places)
    _native.list_voxels(leaves, masks, found)
    assert np.array_equal(found, places)
    everything = np.empty((512 * len(origins), 3), np.int32)
    _native.list_voxels(leaves, b"", everything)
    steps = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3)
    assert np.array_equal(everything, (origins[:, None] + steps).reshape(-1, 3))


def test_leaves_of_a_box():
    low, high = [-17, 4080, -130], [30, 4111, 5]
    box = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(low, high)), indexing="ij"), -1).reshape(-1, 3)
    assert np.array_equal(leaves_of_box(low, high), blocks(box.astype(np.int32), 8)[0])
    with pytest.raises(ValueError, match="leaves of 512 voxels are more than the limit"):
        leaves_of_box([0, 0, 0], [2**20] * 3)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("number", [20, 19, 22, 8])
def test_grids_of_voxels(name, number):
    leaves = leaves_of_voxels(SCENES[name])
    check_grid(leaves, VALUE_TYPES[number], 0, TURNED, "voxels", 7)


@pytest.mark.parametrize("number", [n for n, t in VALUE_TYPES.items() if t.bits in (None, 1) and not t.is_index])
@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize("form", ["table", "rows", "dense", "background"])
def test_grids_of_values(number, background, form):
    rng, value_type = np.random.default_rng(number), VALUE_TYPES[number]
    origins = leaf_origins(np.abs(SCENES["cloud"]))[0]
    masks = rng.integers(0, 256, (len(origins), 64), np.uint8)
    masks[3] = 0
    leaves = Leaves(origins, masks)
    if form == "table":
        leaves = leaves._replace(values=values_for(rng, value_type, len(origins)))
    elif form == "rows":
        given = values_for(rng, value_type, len(origins) + 2)
        leaves = leaves._replace(values=given, rows=rng.permutation(len(given))[: len(origins)])
    elif form == "dense":
        given = values_for(rng, value_type, 120).reshape(32, 40, 48, *value_type.dtype.shape)
        leaves = leaves._replace(dense=np.ascontiguousarray(given[:31, :37, :45]))
    tiles = some_tiles(rng, value_type)
    check_grid(leaves, value_type, background, TURNED, "values", 2, tiles)


def test_a_name_that_is_too_long():
    check_grid(leaves_of_voxels(SCENES["line"]), ON_INDEX, 0, TURNED, "long " * 60)


@pytest.mark.parametrize("value_type", [FLOAT, VEC3F])
@pytest.mark.parametrize("name", ["cloud", "borders", "cube", "one"])
def test_cells(name, value_type):
    """Of a table that leaves, tiles of all extents and the background meet."""
    voxels = np.concatenate([np.clip(SCENES[name], -60, 60), [[-150, -150, -150], [150, 150, 150]]])
    leaves = leaves_of_voxels(voxels.astype(np.int32))
    origins = np.int32([[80, 8 * i, -8 * i] for i in range(-9, 9)] + [[0, 0, 128], [-128, -256, 0], [-4096, 0, 0]])
    extents = np.repeat([8, 128, 4096], [len(origins) - 3, 2, 1]).astype(np.int32)
    are_apart = np.array([not ((leaves.origins >= o) & (leaves.origins < o + e)).all(axis=1).any()
                       for o, e in zip(origins, extents)])  # fmt: skip
    values = np.ones((len(origins), *value_type.dtype.shape), value_type.base)
    tiles = Tiles(*(part[are_apart] for part in (origins, extents, values, extents > 0)))
    grid = read_grid(build_grid(leaves, value_type, 1.0, TURNED, tiles=tiles))
    cells = cells_of(grid.leaf.origins)
    found = np.zeros(cells.size, np.int32)
    write_cells(grid, cells, found)
    assert np.array_equal(found.reshape(cells.shape), expected_cells(grid)) and len(np.unique(found)) > 20


def test_a_built_volume_is_the_one_that_its_bytes_make():
    """Volumes that are built are not read: their descriptors and tables are those of a volume that was."""
    dense = np.random.default_rng(5).normal(size=(20, 9, 33)).astype(np.float32)
    voxels = wp.array(SCENES["cloud"], dtype=wp.vec3i, device="cpu")
    for built in (
        wp.Volume.load_from_numpy(dense, device="cpu"),
        wp.Volume.allocate_by_voxels(voxels, voxel_size=0.5, device="cpu"),
        wp.Volume.allocate_by_tiles(voxels, voxel_size=0.5, bg_value=wp.vec3(1.0, 2.0, 3.0), device="cpu"),
    ):
        read = wp.Volume(built.array())
        (ours,), (theirs,) = built._place.list(), read._place.list()
        for name in ("num_words", "num_voxels", "cell_min", "cell_dims", "first_leaf", "tiles", "num_tiles", "root"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert np.array_equal(built._cells.numpy(), read._cells.numpy())
        assert built.get_active_stats() == read.get_active_stats()
        assert np.array_equal(built.get_voxels().numpy(), read.get_voxels().numpy())
        assert np.array_equal(built.get_tiles().numpy(), read.get_tiles().numpy())


def test_native_code_refuses_arrays_that_do_not_fit():
    leaves = leaves_of_voxels(SCENES["cloud"])
    nodes, layout = _native.NodeTree(leaves.origins, b"", b""), native_layout(FLOAT)
    room, one, none = np.empty(nodes.offsets(layout)[3], np.uint8), np.zeros(1, np.float32), b""
    count = len(leaves.origins)

    def write(**changes):
        given = {"masks": leaves.masks, "background": one, "table": none, "rows": none, "shape": (0, 0, 0)}
        place = np.eye(3), np.eye(3), np.zeros(3)
        given |= {"tile_values": none, "header": bytes(672), "place": place, "out": room} | changes
        values = given["table"], given["rows"], given["shape"]
        tiles, rest = (given["tile_values"], none), (given["header"], given["place"], given["out"])
        return nodes.write(layout, given["masks"], given["background"], values, tiles, *rest)

    assert write() == np.unpackbits(leaves.masks).sum()
    table = np.zeros((count, 512), np.float32)
    for changes in (
        {"masks": leaves.masks[1:]},
        {"background": np.zeros(2, np.float32)},
        {"table": table[1:]},
        {"table": table, "rows": np.zeros(count - 1, np.int64)},
        {"table": table, "rows": np.full(count, count, np.int64)},
        {"table": table, "shape": (8, 8, 8)},
        {"table": table, "shape": (count, 512, 1)},  # there are leaves at negative voxels
        {"table": table, "shape": (2**40, 2**40, 2**40)},
        {"tile_values": one},
        {"header": bytes(671)},
        {"place": (np.eye(3), np.eye(2), np.zeros(3))},
        {"out": room[:-32].copy()},
    ):
        with pytest.raises(ValueError, match=r"fit|shape|size"):
            write(**changes)
    with pytest.raises(ValueError, match="no node"):
        _native.find_blocks(SCENES["cloud"], 16)
    for masks, voxels in ((bytes(63), 0), (b"\1" + bytes(63), 2), (b"", 511)):
        with pytest.raises(ValueError, match=r"masks are not those|another number of voxels"):
            _native.list_voxels(np.zeros(3, np.int32), masks, np.empty((voxels, 3), np.int32))
    with pytest.raises(ValueError, match="nodes do not fit"):
        nodes = [(none, none), (none, none), (np.int64([room.size]), np.int32([0, 0, 0]))]
        _native.write_cells(layout, room, 736, nodes, (0, 0, 0), (1, 1, 1), np.zeros(1, np.int32))
