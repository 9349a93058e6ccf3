"""`.nvdb` files that nanovdb_convert wrote, files that NanoVDB's tools read back, and damaged files."""

import os
import re
import shutil
import struct
import subprocess
import zlib

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.volumes.file_cursor import VolumeFileError
from omni.warp_core.volumes.nvdb_file import read_grids, write_grids

from .expected_vdb import leaf, unpacked

pytestmark = pytest.mark.cpu
CODECS = ("none", "zip", "blosc")
LEAF_SIZE, LEAF_VALUES = 2144, 96  # of float


@pytest.fixture
def golden(tmp_path):
    """The buffers of three grids, from the file that is not compressed."""
    return [grid.read() for grid in read_grids(unpacked("stream_none.nvdb", tmp_path))]


@pytest.mark.parametrize("codec", CODECS)
def test_reads_names_types_and_sizes(codec, tmp_path):
    path = unpacked(f"stream_{codec}.nvdb", tmp_path)
    grids = read_grids(path)
    assert [grid.name for grid in grids] == ["density", "shared", "density"]
    assert {(grid.type, grid.grid_class, grid.codec) for grid in grids} == {("float", "unknown", codec)}
    assert [grid.size for grid in grids] == [1233024, 1233024, 918016]
    assert [grid.voxel_size for grid in grids] == [(1, 1, 1), (0.5, 0.5, 0.5), (1, 1, 1)]
    assert grids[0].index_bbox == ((-16, 0, -8), (8191, 4095, 4095))
    assert grids[-1].offset + grids[-1].stored == os.path.getsize(path)


@pytest.mark.parametrize("codec", CODECS)
def test_reads_the_bytes_of_grids(codec, tmp_path, golden):
    for grid, expected in zip(read_grids(unpacked(f"stream_{codec}.nvdb", tmp_path)), golden):
        data = grid.read()
        assert data.ctypes.data % 32 == 0
        np.testing.assert_array_equal(data, expected)


def test_reads_the_bytes_of_a_file_as_well(tmp_path, golden):
    data = unpacked("stream_zip.nvdb", tmp_path).read_bytes()
    np.testing.assert_array_equal(read_grids(data)[2].read(), golden[2])
    with pytest.raises(
        VolumeFileError, match="the buffer: grid 'density', byte 208: the payload: 3966 bytes are needed, but 92"
    ):
        read_grids(data[:300])


def test_leaves_of_a_grid_have_the_values_of_its_voxels(golden):
    data = golden[0]
    offset, count = data[672:680].view("<i8")[0] + 672, data[704:708].view("<u4")[0]
    assert count == 7
    leaves = data[offset : offset + count * LEAF_SIZE].reshape(count, LEAF_SIZE)
    rows = {tuple(row[:12].view("<i4") & ~7): row for row in leaves}
    for number in range(7):
        origin, _, values = leaf("float", number, 0)
        np.testing.assert_array_equal(rows[tuple(origin)][LEAF_VALUES:].view("<f4"), values)


@pytest.mark.parametrize("codec", CODECS)
def test_writes_what_it_read(codec, tmp_path, golden):
    path = tmp_path / "again.nvdb"
    write_grids(path, golden, codec)
    grids = read_grids(path)
    assert [grid.name for grid in grids] == ["density", "shared", "density"] and grids[1].codec == codec
    for grid, expected in zip(grids, golden, strict=True):
        expected[8:16], expected[28] = 255, len(golden)  # no checksum, and the number of grids
        np.testing.assert_array_equal(grid.read(), expected)


def test_writes_the_bytes_that_nanovdb_writes(tmp_path, golden):
    """nanovdb_convert puts each grid into a segment of its own."""
    segments = b""
    for data in golden:
        write_grids(tmp_path / "one.nvdb", [data])
        segments += (tmp_path / "one.nvdb").read_bytes()
    assert segments == unpacked("stream_none.nvdb", tmp_path).read_bytes()


@pytest.mark.parametrize("codec", CODECS)
def test_tools_of_nanovdb_read_what_was_written(codec, tmp_path, golden):
    path = tmp_path / "again.nvdb"
    write_grids(path, golden, codec)
    for tool in ("nanovdb_validate", "nanovdb_print"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed; on Debian: apt-get install libnanovdb-tools")
    subprocess.run(["nanovdb_validate", path], check=True, capture_output=True)
    shown = subprocess.run(["nanovdb_print", "-v", path], check=True, capture_output=True, text=True).stdout
    assert re.findall(r"density|shared", shown.split("Name", 1)[1])[:3] == ["density", "shared", "density"]


def test_grids_are_counted(tmp_path, golden):
    """NanoVDB 32.4 reads grids with the index 0, Warp as many as there are by the count. Volumes have both."""
    path = tmp_path / "several.nvdb"
    write_grids(path, golden)
    assert [grid.read()[24:32].view("<u4").tolist() for grid in read_grids(path)] == [[0, 3]] * 3
    volume = wp.Volume.load_from_nvdb(path, device="cpu").load_next_grid()
    info = volume.get_grid_info()
    assert (info.name, info.grid_index, info.grid_count) == ("shared", 1, 3)
    assert volume.load_next_grid().load_next_grid() is None
    volume.save_to_nvdb(path)
    (alone,) = read_grids(path)
    assert alone.read()[24:32].view("<u4").tolist() == [0, 1]


def test_compressed_files_are_small(tmp_path, golden):
    sizes = {}
    for codec in CODECS:
        write_grids(tmp_path / codec, golden, codec)
        sizes[codec] = os.path.getsize(tmp_path / codec)
    assert sizes["none"] > 100 * sizes["blosc"] and sizes["none"] > 100 * sizes["zip"]


def test_reads_segments_of_different_codecs_in_one_file(tmp_path, golden):
    parts = b""
    for codec, data in zip(CODECS, golden):
        write_grids(tmp_path / "part", [data], codec)
        parts += (tmp_path / "part").read_bytes()
    path = tmp_path / "segments.nvdb"
    path.write_bytes(parts)
    grids = read_grids(path)
    assert [grid.codec for grid in grids] == list(CODECS)
    for grid, expected in zip(grids, golden):
        np.testing.assert_array_equal(grid.read(), expected)


@pytest.mark.parametrize("magic", [b"NanoVDB0", b"NanoVDB1"])
def test_reads_grid_buffers_without_a_file_header(magic, tmp_path, golden):
    path = tmp_path / "raw.nvdb"
    for data in golden:
        data[:8] = np.frombuffer(magic, np.uint8)
    path.write_bytes(b"".join(data.tobytes() for data in golden))
    grids = read_grids(path)
    assert [grid.name for grid in grids] == ["density", "shared", "density"]
    assert grids[0].index_bbox == ((-16, 0, -8), (8191, 4095, 4095)) and grids[0].voxel_count == 68721575605
    for grid, expected in zip(grids, golden, strict=True):
        np.testing.assert_array_equal(grid.read(), expected)


def test_reads_the_newer_magic_number_of_files(tmp_path, golden):
    path = unpacked("stream_none.nvdb", tmp_path)
    data = path.read_bytes()
    path.write_bytes(b"NanoVDB2" + data[8:])
    assert len(read_grids(path)) == 3


def test_does_not_need_the_size_of_payloads(tmp_path, golden):
    """Some programs leave the 8 bytes of the size of a compressed payload out of it."""
    path = unpacked("stream_zip.nvdb", tmp_path)
    data = bytearray(path.read_bytes())
    data[24:32] = struct.pack("<Q", struct.unpack_from("<Q", data, 24)[0] - 8)
    path.write_bytes(data)
    np.testing.assert_array_equal(read_grids(path)[2].read(), golden[2])


def test_writes_more_grids_than_a_segment_holds(tmp_path, golden):
    small = np.zeros(800, np.uint8)
    small[:672] = golden[0][:672]
    small[32:40] = np.array([800], "<u8").view(np.uint8)
    small[696:704] = np.array([64], "<i8").view(np.uint8)
    path = tmp_path / "many.nvdb"
    write_grids(path, [small] * 65537)
    assert len(read_grids(path)) == 65537


def test_a_failed_write_leaves_the_old_file(tmp_path, golden):
    path = tmp_path / "old.nvdb"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=r"buffers\[1\] is no grid buffer"):
        write_grids(path, [golden[0], golden[1][:-1]])
    with pytest.raises(ValueError, match="codec 'lz4' is unknown; choose one of 'none', 'zip', 'blosc'"):
        write_grids(path, golden, "lz4")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["old.nvdb", "stream_none.nvdb"]


# -- damaged files --------------------------------------------------------------------------------------------------

SIZE, NAME_SIZE, FIRST_PAYLOAD = 16, 16 + 136, 16 + 176 + 8


def patched(tmp_path, codec, at, form, *numbers):
    path = unpacked(f"stream_{codec}.nvdb", tmp_path)
    data = bytearray(path.read_bytes())
    struct.pack_into(f"<{form}", data, at, *numbers)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("codec", CODECS)
def test_does_not_believe_in_promised_memory(codec, tmp_path):
    path = patched(tmp_path, codec, SIZE, "Q", 1 << 60)
    with pytest.raises(VolumeFileError, match=rf"stream_{codec}.nvdb: grid 'density', byte \d+: "):
        read_grids(path)


@pytest.mark.parametrize(
    ("codec", "at", "form", "number", "why"),
    [
        ("none", 0, "Q", 7, "byte 0: this is no .nvdb or .vdb file"),
        ("none", 8, "I", 31 << 21, "byte 0: version 31.0.0 or codec 0 of NanoVDB cannot be read"),
        ("none", 14, "H", 3, "byte 0: version 32.4.2 or codec 3 of NanoVDB cannot be read"),
        ("none", 12, "H", 60000, "byte .*: the (meta|name).* of a grid: .* bytes are needed, but .* are left"),
        ("none", NAME_SIZE, "I", 2**32 - 1, "the name of a grid: 4294967295 bytes are needed, but 3384.* are left"),
        ("none", SIZE, "Q", 700, "the metadata promises 700 bytes, less than the header of a grid"),
        ("none", FIRST_PAYLOAD, "Q", 7, "the payload is no grid of NanoVDB"),
        ("none", FIRST_PAYLOAD + 32, "Q", 1, "the grid says it has 1 bytes, and the file's metadata 1233024"),
        ("zip", FIRST_PAYLOAD, "Q", 1 << 50, "the payload: 1125899906842624 bytes are needed, but"),
        ("zip", FIRST_PAYLOAD + 12, "Q", 0, "the zlib data"),
        ("zip", SIZE, "Q", 1233025, "the zlib data does not hold the 1233025 bytes that the metadata promises"),
        ("zip", SIZE, "Q", 1233023, "the zlib data does not hold the 1233023 bytes that the metadata promises"),
        ("blosc", FIRST_PAYLOAD, "Q", 1 << 63, "the payload: 9223372036854775808 bytes are needed"),
        ("blosc", FIRST_PAYLOAD + 12, "I", 1 << 31, "promises 2147483648 bytes"),
        ("blosc", FIRST_PAYLOAD + 12, "I", 0, "promises 0 bytes"),
        ("blosc", FIRST_PAYLOAD + 8, "B", 5, "blosc chunks of format 5 cannot be read"),
        ("blosc", FIRST_PAYLOAD + 10, "B", 0x41, "compressed by Snappy; only LZ4 and BloscLZ can be read"),
        ("blosc", FIRST_PAYLOAD + 16, "I", 0, "the header of the blosc chunk is damaged"),
        ("blosc", FIRST_PAYLOAD + 24, "I", 1 << 31, "a block of the blosc chunk lies outside of it"),
        ("blosc", SIZE, "Q", 1233023, "the blosc chunks hold"),
    ],
)
def test_says_what_is_wrong_with_a_file(codec, at, form, number, why, tmp_path):
    path = patched(tmp_path, codec, at, form, number)
    with pytest.raises(VolumeFileError, match=why):
        read_grids(path)[0].read()


@pytest.mark.parametrize("codec", CODECS)
def test_refuses_a_file_that_is_cut_off_anywhere(codec, tmp_path):
    path = unpacked(f"stream_{codec}.nvdb", tmp_path)
    data = path.read_bytes()
    for size in [*range(0, 700, 7), *range(700, len(data), 50021), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(VolumeFileError):
            for grid in read_grids(path):
                grid.read()


def test_a_file_that_shrinks_after_it_was_listed_is_an_error(tmp_path):
    path = unpacked("stream_none.nvdb", tmp_path)
    grid = read_grids(path)[1]
    os.truncate(path, 2_000_000)
    with pytest.raises(VolumeFileError, match="the payload: 1233024 bytes are needed, but"):
        grid.read()


def test_a_small_zip_bomb_stays_small(tmp_path, golden):
    """The payload holds more than its grid; no more than that is decompressed."""
    path = unpacked("stream_zip.nvdb", tmp_path)
    bomb = zlib.compress(golden[0].tobytes() + bytes(1 << 26))
    head = bytearray(path.read_bytes()[: 16 + 176 + 8])
    head[12:14] = struct.pack("<H", 1)
    path.write_bytes(head + struct.pack("<Q", len(bomb)) + bomb)
    with pytest.raises(VolumeFileError, match="does not hold the 1233024 bytes"):
        read_grids(path)[0].read()
