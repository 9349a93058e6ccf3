"""Grids of random voxels that OpenVDB writes in another process, and what it says about them."""

import shutil
import subprocess

import numpy as np
import pytest

from omni.warp_core.volumes.vdb.vdb_file import read_vdb

pytestmark = pytest.mark.cpu
PYTHON = "/usr/bin/python3"  # Debian's; the module is of no use to other Pythons

WRITE = """
import sys, numpy as np, pyopenvdb as vdb
arrays = np.load(sys.argv[1])
grids = []
for name, Grid in (("float", vdb.FloatGrid), ("vec3s", vdb.Vec3SGrid), ("bool", vdb.BoolGrid)):
    grid = Grid()
    grid.copyFromArray(arrays[name], ijk=tuple(int(i) for i in arrays["origin"]))
    grid.prune((0.0, 0.0, 0.0)) if name == "vec3s" else grid.prune()
    grid.name = name
    grids.append(grid)
sphere = vdb.createLevelSetSphere(radius=20, center=(1, 2, 3), voxelSize=0.5)
sphere.name = "sphere"
vdb.write(sys.argv[2], grids + [sphere])
print(*[grid.activeVoxelCount() for grid in grids + [sphere]])
"""


@pytest.fixture(scope="module")
def openvdb():
    found = (
        shutil.which(PYTHON)
        and not subprocess.run([PYTHON, "-E", "-c", "import pyopenvdb, numpy"], capture_output=True).returncode
    )
    if not found:
        pytest.skip("OpenVDB is not installed; on Debian: apt-get install python3-openvdb python3-numpy")


def dense(grid, origin, shape):
    """The values of a box."""
    out = np.empty((*shape, *grid.leaf_values.shape[2:]), grid.leaf_values.dtype)
    out[:] = grid.background
    boxes = [
        *zip(grid.tile_origins, grid.tile_extents, grid.tile_values),
        *((o, 8, v.reshape(8, 8, 8, *v.shape[1:])) for o, v in zip(grid.leaf_origins, grid.leaf_values)),
    ]
    for first, extent, values in sorted(boxes, key=lambda box: -box[1]):
        low, high = np.maximum(first - origin, 0), np.minimum(first - origin + extent, shape)
        if (low < high).all():
            inside = tuple(slice(a, b) for a, b in zip(low - (first - origin), high - (first - origin)))
            out[tuple(slice(a, b) for a, b in zip(low, high))] = (
                values[inside] if extent == 8 and values.ndim > 1 else values
            )
    return out


@pytest.mark.parametrize("seed", range(3))
def test_reads_what_openvdb_writes(openvdb, seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape, origin = tuple(rng.integers(1, 60, 3)), rng.integers(-5000, 5000, 3)
    sparse = rng.random(shape) < (0.02, 0.5, 0.9)[seed]
    blocks = np.repeat(sparse[::8], 8, axis=0)[: shape[0]]
    arrays = {
        "float": (rng.standard_normal(shape) * sparse).astype(np.float32),
        "vec3s": (rng.standard_normal((*shape, 3)) * sparse[..., None]).astype(np.float32),
        "bool": blocks,
    }
    np.savez(tmp_path / "arrays.npz", origin=origin, **arrays)
    command = [PYTHON, "-E", "-c", WRITE, str(tmp_path / "arrays.npz"), str(tmp_path / "made.vdb")]
    counts = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    for name, count in zip([*arrays, "sphere"], counts):
        grid = read_vdb(tmp_path / "made.vdb", name)
        assert grid.voxel_count == int(count), name
        if name in arrays:
            np.testing.assert_array_equal(dense(grid, origin, shape), arrays[name], err_msg=name)
    assert grid.grid_class == "level set"
    i, j, k = (grid.leaf_origins[:, None] + np.stack(np.indices((8, 8, 8)), axis=-1).reshape(512, 3)).transpose(2, 0, 1)
    x, y, z, _ = np.einsum("ab,bnm->anm", grid.transform, np.stack([i, j, k, np.ones_like(i)]))
    active = np.unpackbits(grid.leaf_masks, axis=1, bitorder="little") == 1
    distance = np.sqrt((x - 1) ** 2 + (y - 2) ** 2 + (z - 3) ** 2) - 20
    np.testing.assert_allclose(grid.leaf_values[active], distance[active], atol=1e-4)
