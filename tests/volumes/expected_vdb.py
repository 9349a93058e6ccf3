"""Values in the files of tests/volumes/data, computed from the coordinates of voxels as write_vdb.cpp does."""

import gzip
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
BACKGROUNDS = {
    "float": 3.5, "double": 3.5, "int32": 1000, "int64": 1000, "bool": True, "mask": False,
    "vec3s": (1, 2, 3), "vec3d": (1, 2, 3), "vec3i": (1, 2, 3),
}  # fmt: skip
DTYPES = {
    "float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64, "bool": np.bool_,
    "mask": np.bool_, "vec3s": np.float32, "vec3d": np.float64, "vec3i": np.int32,
}  # fmt: skip
TILES = [  # origin, extent, number, whether active
    ((4096, 0, 0), 4096, 53, True),
    ((0, 4096, -4096), 4096, 54, False),
    ((64, 0, 0), 8, 50, True),
    ((72, 0, 0), 8, 51, False),
    ((128, 128, 0), 128, 52, True),
]


def unpacked(name, folder):
    """The path of a file of tests/volumes/data, unpacked into a folder."""
    path = folder / name
    path.write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return path


def value(kind, n):
    n = np.asarray(n)
    if kind in ("float", "double"):
        return (n * 0.5 + 0.25).astype(DTYPES[kind])
    if kind == "bool":
        return n % 2 == 1
    if kind.startswith("vec3"):
        second = n + 1 if kind == "vec3i" else n * 0.5
        return np.stack([n, second, -n], axis=-1).astype(DTYPES[kind])
    return n.astype(DTYPES[kind])


def leaf(kind, number, background):
    """Origin, mask and values of a leaf of `make` in write_vdb.cpp."""
    origin = np.array([8 * number - 16, 0, -8 * (number % 2)])
    x, y, z = (np.indices((8, 8, 8)).reshape(3, -1) + origin[:, None]).astype(np.int64)
    n = (7 * x + 13 * y + 29 * z) % 101
    active = n % 3 == 0
    plus = np.broadcast_to(np.array(background, DTYPES[kind]), value(kind, n).shape)
    minus = ~plus if kind == "bool" else -plus
    odd = (n % 2 == 1).reshape(-1, *[1] * (plus.ndim - 1))
    other = np.broadcast_to(value(kind, 200), plus.shape)
    inactive = [
        plus, minus, other, np.where(odd, plus, minus), np.where(odd, plus, other),
        np.where(odd, value(kind, 202), other), value(kind, 200 + n),
    ][number]  # fmt: skip
    chosen = active.reshape(odd.shape)
    return origin, active, np.where(chosen, value(kind, n), inactive)


def check_grid(grid, kind, background, leaves):
    """The grid is the one that `make` makes."""
    assert grid.type == kind
    assert grid.leaf_values.dtype == grid.tile_values.dtype == grid.background.dtype == DTYPES[kind]
    np.testing.assert_array_equal(grid.background, background)
    assert len(grid.leaf_origins) == len(grid.leaf_masks) == len(grid.leaf_values) == leaves
    at = {tuple(origin): row for row, origin in enumerate(grid.leaf_origins.tolist())}
    for number in range(leaves):
        origin, active, values = leaf(kind, number, background)
        row = at[tuple(origin.tolist())]
        np.testing.assert_array_equal(np.unpackbits(grid.leaf_masks[row], bitorder="little") == 1, active)
        np.testing.assert_array_equal(grid.leaf_values[row], values)
    check_tiles(grid, kind, background)


def check_tiles(grid, kind, background):
    tiles = [t for t in TILES if t[3] or not np.array_equal(value(kind, t[2]), background)]
    rows = {tuple(origin): row for row, origin in enumerate(grid.tile_origins.tolist())}
    assert len(rows) == len(grid.tile_origins) == len(tiles)
    for origin, extent, number, active in tiles:
        row = rows[origin]
        assert (grid.tile_extents[row], grid.tile_active[row]) == (extent, active)
        np.testing.assert_array_equal(grid.tile_values[row], value(kind, number))


def number_mask(number):
    """The active voxels of a leaf, which are the same for each type."""
    return leaf("int32", number, 0)[1]
