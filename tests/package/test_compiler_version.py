"""The compiler's version, a part of every key of the kernel cache: an edit of any of its sources must change it."""

import os

import pytest

from omni.warp_core import compiler


@pytest.fixture
def version_of(tmp_path, monkeypatch):
    """The version of a compiler whose sources are in `tmp_path`."""
    room = os.path.relpath(tmp_path, os.path.dirname(compiler.__file__))
    monkeypatch.setattr(compiler, "_COMPILER", (room,))
    return compiler.compiler_version.__wrapped__


def test_the_version_depends_on_files_in_subfolders(tmp_path, version_of):
    nested = tmp_path / "cuda" / "kernel.py"
    nested.parent.mkdir()
    nested.write_text("a = 1\n")
    before = version_of()
    nested.write_text("a = 10\n")
    assert version_of() != before


def test_the_version_ignores_bytecode(tmp_path, version_of):
    before = version_of()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kernel.pyc").write_text("x")
    assert version_of() == before
