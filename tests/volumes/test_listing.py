"""The command that lists the grids of a volume file."""

import re

import pytest

from omni.warp_core import cli

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
    assert f"error: {path}: byte 0: this is no .nvdb file" in capsys.readouterr().err


def test_names_of_grids_cannot_move_the_cursor(tmp_path, capsys):
    path = unpacked("stream_none.nvdb", tmp_path)
    path.write_bytes(path.read_bytes().replace(b"density", b"\x1b[2Jity"))
    assert cli.main(["volume", str(path)]) == cli.OK
    assert "\\x1b[2Jity" in capsys.readouterr().out
