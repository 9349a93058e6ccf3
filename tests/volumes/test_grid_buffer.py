"""Grid buffers against OpenVDB's tools, the table of offsets that was checked on real files, and broken bytes."""

import gzip
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.volumes.grid_builder import Placement, build_grid, leaves_of_voxels
from omni.warp_core.volumes.grid_tree import GridError, read_grid, voxels_of
from omni.warp_core.volumes.layout import VALUE_TYPES, layout_of, offset_of
from omni.warp_core.volumes.nvdb_file import read_grids

from .expected_vdb import DATA

pytestmark = pytest.mark.cpu
UNIT = Placement(np.eye(3), np.zeros(3))

# root size, background, min, max, average, deviation, tile stride, tile value, upper size, table, lower size, table,
# leaf size, values: offsets of NanoVDB 32
OFFSETS = {
    1: (64, 28, 32, 36, 40, 44, 32, 20, 270400, 8256, 33856, 1088, 2144, 96),
    4: (64, 28, 32, 36, 40, 44, 32, 20, 270400, 8256, 33856, 1088, 2144, 96),
    2: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 4224, 128),
    5: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 4224, 128),
    6: (96, 28, 40, 52, 64, 68, 32, 20, 532544, 8256, 66624, 1088, 6272, 128),
    7: (128, 32, 56, 80, 104, 112, 64, 24, 794720, 8288, 99424, 1120, 12448, 160),
    17: (96, 28, 44, 60, 76, 80, 64, 20, 532576, 8288, 66656, 1120, 8320, 128),
    19: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 96, 80),
    20: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 96, 80),
    8: (64, 28, 29, 30, 31, 32, 32, 20, 270400, 8256, 33856, 1088, 96, 16),
    21: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 160, 80),
    22: (96, 32, 40, 48, 56, 64, 32, 24, 270400, 8256, 33856, 1088, 160, 80),
    9: (64, 28, 30, 32, 36, 40, 32, 20, 270400, 8256, 33856, 1088, 1120, 96),
    11: (64, 28, 29, 30, 31, 32, 32, 20, 270400, 8256, 33856, 1088, 160, 80),
    13: (64, 28, 32, 36, 40, 44, 32, 20, 270400, 8256, 33856, 1088, 352, 96),
    14: (64, 28, 32, 36, 40, 44, 32, 20, 270400, 8256, 33856, 1088, 608, 96),
    15: (64, 28, 32, 36, 40, 44, 32, 20, 270400, 8256, 33856, 1088, 1120, 96),
}


@pytest.mark.parametrize("number", OFFSETS)
def test_offsets(number):
    value_type = VALUE_TYPES[number]
    root, tile, upper, lower, leaf = layout_of(value_type)
    found = [root.itemsize, *(offset_of(root, f) for f in ("background", "min", "max", "average", "deviation"))]
    found += [tile.itemsize, offset_of(tile, "value")]
    found += [upper.itemsize, offset_of(upper, "table"), lower.itemsize, offset_of(lower, "table")]
    found += [leaf.itemsize, offset_of(leaf, "first" if value_type.is_index else "values")]
    assert tuple(found) == OFFSETS[number]


def a_grid(number: int = 1, count: int = 300) -> np.ndarray:
    rng = np.random.default_rng(1)
    value_type = VALUE_TYPES[number]
    voxels = np.unique(rng.integers(-150, 150, (count, 3)), axis=0).astype(np.int32)
    values = None if value_type.is_index else rng.integers(0, 99, (len(voxels), *value_type.dtype.shape))
    background = np.zeros(value_type.dtype.shape)
    leaves = leaves_of_voxels(voxels, values if values is None else values.astype(value_type.base), background)
    return build_grid(leaves, value_type, background, UNIT, name="a grid")


@pytest.mark.parametrize("number", [n for n, t in VALUE_TYPES.items() if not t.is_coded])
def test_a_built_grid_reads_back(number):
    grid = read_grid(a_grid(number))
    assert grid.value_type is VALUE_TYPES[number] and grid.name == "a grid"
    leaves = len(grid.leaf.offsets)
    active = np.unpackbits(grid.leaf.reached["value_mask"]).sum()
    assert len(voxels_of(grid)) == (active if number in (20, 22) else 512 * leaves)
    assert (np.diff(grid.leaf.offsets) == grid.layout.leaf.itemsize).all()
    low = grid.leaf.reached["bbox_min"] & ~7
    assert np.array_equal(low, grid.leaf.origins)


def test_bytes_of_other_things():
    with pytest.raises(GridError, match="GridData should have 672 bytes, but the buffer ends at 3"):
        read_grid(np.zeros(3, np.uint8))
    with pytest.raises(GridError, match="expected a NanoVDB grid"):
        read_grid(np.zeros(5000, np.uint8))


EDITS = {
    "version": (16, "<u4", 33 << 21, "version 33 of NanoVDB; only 32"),
    "size": (32, "<u8", 2**60, "should have 1152921504606846976 bytes"),
    "type": (636, "<u4", 16, "values of type fpN; only float"),
    "points": (636, "<u4", 23, "values of type pointindex: voxels have ranges of points there, and no values"),
    "unknown type": (636, "<u4", 99, "values of type 99"),
    "root": (672 + 24, "<i8", -(2**40), "byte -1099511627104: the root should have"),
    "odd root": (672 + 24, "<i8", 65, "no multiple of 32"),
    "leaves": (672, "<i8", 2**50, "leaf nodes should have"),
    "leaf count": (672 + 32, "<u4", 2**32 - 1, "leaf nodes should have"),
    "no leaves": (672 + 32, "<u4", 0, "no leaf node begins here"),
    "tiles": (736 + 24, "<u4", 2**31, "root tiles should have"),
    "child": (736 + 64 + 8, "<i8", 12345, "no upper node begins here"),
    "blind data": (648, "<u4", 5, "blind metadata should have"),
}


@pytest.mark.parametrize("name", EDITS)
def test_headers_are_not_believed(name):
    at, kind, value, text = EDITS[name]
    data = a_grid()
    if name == "blind data":
        data[640:648].view("<i8")[0] = data.size - 100
    data[at : at + np.dtype(kind).itemsize].view(kind)[0] = value
    with pytest.raises(GridError, match=text):
        read_grid(data)


def test_two_parents_of_one_node():
    data = a_grid()
    grid = read_grid(data)
    lower = data[grid.lower.offsets[0] :][: grid.layout.lower.itemsize].view(grid.layout.lower)[0]
    entries = np.flatnonzero(np.unpackbits(lower["child_mask"], bitorder="little"))
    lower["table"]["child"][entries[0]] = lower["table"]["child"][entries[1]]
    with pytest.raises(GridError, match="two parents have this leaf node as a child"):
        read_grid(data)


def test_a_leaf_without_a_parent():
    data = a_grid()
    grid = read_grid(data)
    lower = data[grid.lower.offsets[0] :][: grid.layout.lower.itemsize].view(grid.layout.lower)[0]
    children = np.unpackbits(lower["child_mask"], bitorder="little")
    children[np.flatnonzero(children)[1]] = 0
    lower["child_mask"] = np.packbits(children, bitorder="little")
    text = f"byte {grid.leaf.offsets[1]}: no parent has this leaf node as a child"
    with pytest.raises(GridError, match=text):
        read_grid(data)


def test_indices_beyond_the_values():
    data = a_grid(20)
    data[656:664].view("<u8")[0] -= 1
    with pytest.raises(GridError, match="an index is beyond the"):
        read_grid(data)


@wp.kernel(module_options={"mode": "debug"})
def look_up(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), found: wp.array(dtype=float)):
    i = wp.tid()
    found[i] = wp.volume_lookup_f(volume, voxels[i][0], voxels[i][1], voxels[i][2])


@wp.kernel(module_options={"mode": "debug"})
def look_up_bool(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), found: wp.array(dtype=wp.bool)):
    i = wp.tid()
    found[i] = wp.volume_lookup(volume, voxels[i][0], voxels[i][1], voxels[i][2], dtype=wp.bool)


@wp.kernel(module_options={"mode": "debug"})
def look_up_bytes(volume: wp.uint64, voxels: wp.array(dtype=wp.vec3i), found: wp.array(dtype=wp.vec3ub)):
    i = wp.tid()
    found[i] = wp.volume_lookup(volume, voxels[i][0], voxels[i][1], voxels[i][2], dtype=wp.vec3ub)


def golden(name: str) -> np.ndarray:
    """The bytes of the first grid of a file of tests/volumes/data."""
    return read_grids(gzip.decompress((DATA / f"{name}.nvdb.gz").read_bytes()))[0].read()


BROKEN = {  # a grid, and the kernel that looks its voxels up
    "float": (lambda: a_grid(count=5), look_up),
    "half": (lambda: a_grid(9, count=5), look_up),
    "onindexmask": (lambda: a_grid(22, count=5), look_up_bool),
    "fp4": (lambda: golden("shared_fp4"), look_up),
    "fp16": (lambda: golden("shared_fp16"), look_up),
    "fpN": (lambda: golden("shared_fpN"), look_up),
    "bool": (lambda: golden("bool"), look_up_bool),
    "mask": (lambda: golden("mask"), look_up_bool),
    "vec3u8": (lambda: a_grid(24, count=5), look_up_bytes),
}
FOUND = {look_up: float, look_up_bool: wp.bool, look_up_bytes: wp.vec3ub}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_grids_are_errors_and_others_are_safe(name):
    """Whatever a byte is changed to, a grid is refused or all lookups in it stay in its memory."""
    make, kernel = BROKEN[name]
    whole, rng = make(), np.random.default_rng(2)
    filled = np.flatnonzero(whole)
    voxels = wp.array(rng.integers(-200, 200, (64, 3)), dtype=wp.vec3i)
    found = wp.zeros(64, dtype=FOUND[kernel])
    refused, cases = 0, 300 if name == "float" else 60
    for _ in range(cases):
        data = whole.copy()
        data[[rng.choice(filled), rng.choice(filled[filled < 2000])]] = rng.integers(0, 256, 2)
        try:
            volume = wp.Volume(wp.array(data, dtype=wp.uint8))
        except ValueError:
            refused += 1
            continue
        wp.launch(kernel, 64, [volume.id, voxels, found])
    assert cases // 6 < refused < cases


# -- OpenVDB's own tools ------------------------------------------------------------------------------------------

CONVERT, VALIDATE, PYTHON = shutil.which("nanovdb_convert"), shutil.which("nanovdb_validate"), Path("/usr/bin/python3")
SPHERE = """
import pyopenvdb as vdb, numpy as np, sys
grid = vdb.createLevelSetSphere(radius=1.0, center=(0.3, -0.2, 0.1), voxelSize=0.1, halfWidth=3.0)
grid.fill((200, 200, 200), (455, 327, 327), 7.5)
grid.name = "sphere"
vdb.write(sys.argv[1], grids=[grid])
reach = grid.getAccessor()
asked = np.load(sys.argv[2])
np.save(sys.argv[3], np.array([reach.getValue(tuple(map(int, v))) for v in asked]))
"""


def has_openvdb() -> bool:
    return PYTHON.exists() and not subprocess.run([PYTHON, "-c", "import pyopenvdb"], capture_output=True).returncode


def as_file(data: np.ndarray) -> bytes:
    """A file of one segment, not compressed."""
    grid = read_grid(data)
    metadata = np.zeros(176, np.uint8)
    metadata[:16].view("<u8")[:] = data.size
    metadata[32:40].view("<u4")[:] = grid.value_type.number, int(grid.header["grid_class"])
    metadata[136:140].view("<u4")[0] = 1
    metadata[140:156].view("<u4")[:] = len(grid.leaf.offsets), len(grid.lower.offsets), len(grid.upper.offsets), 1
    metadata[172:176].view("<u4")[0] = grid.header["version"]
    header = b"NanoVDB0" + grid.header["version"].tobytes() + b"\1\0\0\0"
    return header + metadata.tobytes() + b"\0" + data.tobytes()


@pytest.mark.skipif(not CONVERT or not has_openvdb(), reason="needs nanovdb_convert and python3-openvdb of Debian")
def test_openvdb_has_the_same_values(tmp_path):
    rng = np.random.default_rng(3)
    asked = rng.integers(-25, 25, (3000, 3)).astype(np.int32)
    asked = np.concatenate([asked, rng.integers(150, 500, (1000, 3)), [[5000, 0, 0], [-5000, 9, 9]]]).astype(np.int32)
    np.save(tmp_path / "asked.npy", asked)
    files = [str(tmp_path / name) for name in ("sphere.vdb", "asked.npy", "values.npy", "sphere.nvdb")]
    subprocess.run([PYTHON, "-c", SPHERE, *files[:3]], check=True)
    subprocess.run([CONVERT, "-f", files[0], files[3]], check=True, capture_output=True)
    volume, found = wp.Volume.load_from_nvdb(files[3]), wp.zeros(len(asked), dtype=float)
    wp.launch(look_up, len(asked), [volume.id, wp.array(asked, dtype=wp.vec3i), found])
    assert np.array_equal(found.numpy(), np.load(files[2]).astype(np.float32))
    assert volume.get_grid_info().name == "sphere" and np.allclose(volume.get_voxel_size(), 0.1)


@pytest.mark.skipif(not VALIDATE, reason="needs nanovdb_validate of Debian's libnanovdb-tools")
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12])  # those that the tool of 10.0 knows
def test_nanovdb_accepts_what_we_build(number, tmp_path):
    path = tmp_path / "built.nvdb"
    path.write_bytes(as_file(a_grid(number)))
    checked = subprocess.run([VALIDATE, "-v", path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
