"""Grids of double as grids of float: every voxel keeps its rounded value, its state and its place."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.volumes.float_grid import as_float, tiles_of
from omni.warp_core.volumes.grid_builder import Leaves, Placement, Tiles, build_grid
from omni.warp_core.volumes.grid_header import placement_in
from omni.warp_core.volumes.grid_tree import read_grid
from omni.warp_core.volumes.layout import VALUE_TYPES

DOUBLE = VALUE_TYPES[2]


def made(rng):
    """A grid of double with leaves, and tiles of all extents."""
    origins = np.int32([[0, 0, 0], [0, 8, 0], [4096, -128, 8]])
    leaves = Leaves(origins, rng.integers(0, 256, (3, 64), np.uint8), rng.normal(size=(3, 512)))
    places = np.int32([[0, 0, 8], [8, 0, 0], [128, 0, 0], [0, 4096, 0]])
    tiles = Tiles(places, np.int32([8, 8, 128, 4096]), np.array([0.1, 0.2, 1e300, -0.3]), np.array([1, 0, 1, 1], bool))
    placement = Placement(np.diag([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]))
    return build_grid(leaves, DOUBLE, 0.7, placement, "smoke", 2, tiles)


@wp.kernel
def look(id: wp.uint64, places: wp.array(dtype=wp.vec3i), dtype: int, found: wp.array(dtype=wp.float64)):
    i = wp.tid()
    p = places[i]
    if dtype == 2:
        found[i] = wp.volume_lookup(id, p[0], p[1], p[2], dtype=wp.float64)
    else:
        found[i] = wp.float64(wp.volume_lookup_f(id, p[0], p[1], p[2]))


def values_at(volume, places, dtype):
    found = wp.zeros(len(places), dtype=wp.float64, device="cpu")
    given = wp.array(places, dtype=wp.vec3i, device="cpu")
    wp.launch(look, len(places), [volume.id, given, dtype, found], device="cpu")
    return found.numpy()


@pytest.mark.cpu
def test_voxels_and_tiles_keep_their_values():
    rng = np.random.default_rng(3)
    double = read_grid(made(rng))
    single = read_grid(as_float(double))
    near = np.concatenate([rng.integers(-4, 20, (3000, 3)), rng.integers(-300, 9000, (3000, 3))])
    lone, large = (
        np.int32(origin) + rng.integers(0, n, (200, 3)) for origin, n in (((4096, -128, 8), 8), ((128, 0, 0), 128))
    )
    near = np.concatenate([near, lone, large]).astype(np.int32)
    a, b = (wp.Volume(wp.array(grid.data, dtype=wp.uint8, device="cpu")) for grid in (double, single))
    with np.errstate(over="ignore"):
        expected = values_at(a, near, 2).astype(np.float32)
    assert np.array_equal(values_at(b, near, 1).astype(np.float32), expected)
    assert len(np.unique(expected)) > 300 and np.isinf(expected).any() and (expected == np.float32(0.7)).any()
    assert int(single.tree["num_voxels"]) == int(double.tree["num_voxels"]) and single.name == "smoke"
    assert single.header["grid_class"] == 2 and np.array_equal(placement_in(single).matrix, placement_in(double).matrix)
    assert tiles_of(single).active.tolist() == tiles_of(double).active.tolist()
    assert sorted(tiles_of(double).extents.tolist()) == [8, 8, 128, 4096]
