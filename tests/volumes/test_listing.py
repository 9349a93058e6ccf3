"""The command that lists the grids of a volume file."""

import os
import re
import struct

import pytest

from omni.warp_core import cli
from omni.warp_core.volumes.listing import list_volume_file, size_text
from omni.warp_core.volumes.vdb import vdb_file

from .expected_vdb import unpacked

pytestmark = pytest.mark.cpu


def columns(text):
    return [re.split(r"  +", line) for line in text.splitlines()]


def test_lists_the_grids_of_a_vdb_file(tmp_path, capsys):
    assert cli.main(["volume", str(unpacked("several.vdb", tmp_path))]) == cli.OK
    head, *rows = columns(capsys.readouterr().out)
    assert head == ["name", "type", "class", "voxels", "first voxel", "last voxel", "voxel size", "memory", "in file"]
    assert rows[0][:7] == ["density", "float", "unknown", "68721575605", "-16 0 -8", "8191 4095 4095", "1 1 1"]
    assert [row[0] for row in rows] == ["density", "density", "shared", "empty", "frustum", ""]
    assert rows[2][3] == "those of density"
    assert rows[3][1:4] == ["int32", "unknown", "0"]


def test_lists_the_grids_of_an_nvdb_file(tmp_path, capsys):
    path = unpacked("stream_zip.nvdb", tmp_path)
    path = path.rename(tmp_path / "misnamed.vdb")  # the content counts
    assert cli.main(["volume", str(path)]) == cli.OK
    rows = columns(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows] == ["density", "shared", "density"]
    assert rows[1][6:] == ["0.5 0.5 0.5", "1.23 MB", "3.98 kB (zip)"]


def test_says_which_file_cannot_be_listed(tmp_path, capsys):
    path = tmp_path / "a.nvdb"
    assert cli.main(["volume", str(path)]) == cli.INPUT
    assert capsys.readouterr().err == f"error: {path}: cannot be read: No such file or directory\n"
    path.write_text("no volume")
    assert cli.main(["volume", str(path)]) == cli.INPUT
    assert f"error: {path}: byte 0: this is no .nvdb or .vdb file" in capsys.readouterr().err


def test_a_pipe_is_refused_and_not_waited_for(tmp_path, capsys):
    path = tmp_path / "pipe.vdb"
    os.mkfifo(path)
    assert cli.main(["volume", str(path)]) == cli.INPUT
    assert capsys.readouterr().err == f"error: {path}: cannot be read: it is not a regular file\n"


def test_names_of_grids_cannot_move_the_cursor(tmp_path, capsys):
    path = unpacked("stream_none.nvdb", tmp_path)
    path.write_bytes(path.read_bytes().replace(b"density", b"\x1b[2Jity"))
    assert cli.main(["volume", str(path)]) == cli.OK
    assert "\\x1b[2Jity" in capsys.readouterr().out


def sized(text):
    return struct.pack("<I", len(text)) + text


def vdb_of(metadata, count=1):
    """A file of OpenVDB with `count` grids without trees, whose metadata has names, types and bytes."""
    facts = b"".join(map(sized, (part for row in metadata for part in row)))
    body = struct.pack("<2I", 0, len(metadata)) + facts + sized(b"ScaleMap") + struct.pack("<15d", *[1.0] * 15)
    file = b" BDV\0\0\0\0" + struct.pack("<3I?", 224, 10, 0, True) + b"0" * 36 + struct.pack("<2I", 0, count)
    for number in range(count):
        file += sized(b"g%d" % number) + sized(b"Tree_float_5_4_3") + sized(b"")
        begin = len(file) + 24
        file += struct.pack("<3q", begin, begin, begin + len(body)) + body
    return file


def test_each_grid_is_looked_up_once(tmp_path, monkeypatch):
    path, read, entries = tmp_path / "many.vdb", [], vdb_file.read_entry
    path.write_bytes(vdb_of([], 50))
    monkeypatch.setattr(vdb_file, "read_entry", lambda *args: (read.append(1), entries(*args))[1])
    assert [row[0] for row in list_volume_file(path)] == [f"g{number}" for number in range(50)]
    assert len(read) == 50


@pytest.mark.parametrize(
    "fact",
    [
        (b"file_bbox_min", b"int32", b"1234"),
        (b"file_bbox_max", b"string", b"far"),
        (b"file_mem_bytes", b"bool", b"\1"),
    ],
)
def test_metadata_of_another_type_is_not_shown(tmp_path, fact):
    path = tmp_path / "odd.vdb"
    path.write_bytes(vdb_of([fact]))
    assert list_volume_file(path)[0][3:8] == ("?", "", "", "1 1 1", "?")


@pytest.mark.parametrize(
    "size, text",
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (999_499, "999 kB"), (999_999, "1 MB"), (10**18, "1000000 TB")],
)
def test_sizes_have_three_digits(size, text):
    assert size_text(size) == text
