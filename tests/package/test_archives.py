"""The archives that pip installs from carry the page of the studio, which is built and not under version control."""

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BUILT = "omni/warp_core/studio/page"
PAGE = (f"{_BUILT}/index.html", f"{_BUILT}/assets/index-1a2b.js", f"{_BUILT}/.vite/license.md")
OTHERS = ("omni/warp_core/__init__.py", "ogn/OgnKernel.ogn", "data/scenes/wave.usda", "studio/src/main.tsx")
IGNORED = ("studio/node_modules/x/index.js", ".venv/bin/python", "omni/warp_core/_native.so")


@pytest.fixture
def backend(tmp_path, monkeypatch):
    """The build backend in a small tree with the settings of this project."""
    module = pytest.importorskip("scikit_build_core.build", reason="make build installs the build backend")
    for name in ("pyproject.toml", ".gitignore", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in (*PAGE, *OTHERS, *IGNORED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return module


def test_the_source_archive_carries_the_page(backend):
    with tarfile.open(os.path.join("dist", backend.build_sdist("dist"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*PAGE, *OTHERS} <= names and not names & {*IGNORED}


def test_the_wheel_carries_the_page(backend):
    name = backend.build_wheel("dist", {"wheel.cmake": "false"})  # all but what a compiler makes
    with zipfile.ZipFile(os.path.join("dist", name)) as archive:
        names = set(archive.namelist())
    assert {*PAGE, "omni/warp_core/data/scenes/wave.usda"} <= names
    assert not [each for each in names if each.startswith("studio/")]
