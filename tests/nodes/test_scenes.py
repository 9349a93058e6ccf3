"""The sample scenes, played and compared with their formulas in NumPy's float64."""

import filecmp
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd

from omni.warp_core.nodes.play.player import Player, Settings

ROOT = Path(__file__).parents[2]
SCENES = ROOT / "data" / "scenes"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """played(name, frames) -> (stage of the result, log)."""
    folder = tmp_path_factory.mktemp("scenes")

    def run(name, first, last):
        player = Player.open(str(SCENES / f"{name}.usda"), Settings(frames=(first, last)))
        player.run(str(folder / f"{name}.usdc"))
        return Usd.Stage.Open(str(folder / f"{name}.usdc")), player.host.log

    return run


def at(stage, path, frame):
    return np.asarray(stage.GetAttributeAtPath(path).Get(frame), np.float64)


def rest_of(name, prim):
    stage = Usd.Stage.Open(str(SCENES / name))
    return np.asarray(stage.GetDefaultPrim().GetAttribute("points").Get(), np.float64)


def swell(x, z, angle, length, t):
    k = 2 * np.pi / length
    return np.sin(k * (x * np.cos(angle) + z * np.sin(angle)) - np.sqrt(9.81 * k) * t)


def test_wave(played):
    stage, log = played("wave", 1, 24)
    assert not log.errors and not log.warnings
    x, _, z = rest_of("wave_grid.usdc", "/Mesh").T
    assert len(x) == 256 * 256
    r = np.hypot(x, z)
    for frame in (1, 13, 24):
        t = frame / 24
        y = 0.40 * swell(x, z, 0.35, 4.3, t) + 0.24 * swell(x, z, 1.45, 2.6, t) + 0.13 * swell(x, z, -0.70, 1.5, t)
        y += 0.05 * swell(x, z, 2.20, 0.8, t) + 0.02 * swell(x, z, 0.90, 0.45, t)
        y += 0.85 * np.cos(4.6 * r - 6.5 * t) * np.exp(-0.22 * r * r)
        # phases reach 110 radians, of which float32 leaves out up to 4e-6, times the slopes of the six terms
        got = at(stage, "/World/Water.points", frame)
        assert np.array_equal(got[:, [0, 2]], np.stack([x, z], -1))
        assert np.abs(got[:, 1] - 0.62 * y).max() < 2e-5
        colors = at(stage, "/World/Water.primvars:displayColor", frame)
        assert colors.shape == got.shape and colors.min() >= 0 and colors.max() <= 1
        extent = at(stage, "/World/Water.extent", frame)
        assert np.array_equal(extent, np.stack([got.min(0), got.max(0)]))


def test_chain(played):
    stage, log = played("chain", 1, 12)
    assert not log.errors and not log.warnings
    x, y, z = rest_of("chain_column.usdc", "/Mesh").T
    for frame in (1, 12):
        t = frame / 24
        a = 0.9 * y * np.sin(t)
        g = 1 + 0.28 * np.sin(2.4 * y - 3.0 * t)
        wanted = np.stack([(np.cos(a) * x + np.sin(a) * z) * g, y, (np.cos(a) * z - np.sin(a) * x) * g], -1)
        assert np.abs(at(stage, "/World/Column.points", frame) - wanted).max() < 3e-6


def test_galaxy_in_the_style_of_omni_warp(played):
    stage, log = played("galaxy", 1, 12)
    assert not log.errors and not log.warnings
    x, y, z = rest_of("galaxy_stars.usdc", "/Stars").T
    for frame in (1, 12):
        r = np.hypot(x, z) + 0.05
        a = 0.55 * (frame / 24) / r**1.5
        wanted = np.stack([np.cos(a) * x - np.sin(a) * z, y, np.sin(a) * x + np.cos(a) * z], -1)
        assert np.abs(at(stage, "/World/Stars.points", frame) - wanted).max() < 5e-6


def test_committed_scenes_are_what_the_script_makes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "data"))
    script, nodes = (importlib.import_module(name) for name in ("make_scenes", "make_node_scenes"))
    for make in (script.wave, script.chain, script.galaxy, *nodes.SCENES):
        make(tmp_path)
        assert (tmp_path / f"{make.__name__}.usda").read_text() == (SCENES / f"{make.__name__}.usda").read_text()
    assert {p.name for p in tmp_path.iterdir()} <= {p.name for p in SCENES.iterdir()}  # others are written by hand


def test_the_manifests_are_equal_and_name_what_is_there():
    assert filecmp.cmp(ROOT / "extension.toml", ROOT / "config" / "extension.toml", shallow=False)
    text = (ROOT / "extension.toml").read_text()
    assert '"omni.graph" = {}' in text and 'name = "omni.warp_core.extension"' in text and 'name = "ogn"' in text
    version = importlib.import_module("omni.warp_core.config").version
    assert f'version = "{version}"' in text
    described = json.loads((ROOT / "ogn" / "CategoryDefinition.json").read_text())["categoryDefinitions"]
    used = json.loads((ROOT / "ogn" / "OgnKernel.ogn").read_text())["omni.warp_core.Kernel"]["categories"]
    assert set(used) <= set(described)


def test_the_extension_imports_outside_of_kit():
    module = importlib.import_module("omni.warp_core.extension")
    extension = module.WarpCoreExtension()
    extension.on_startup("omni.warp_core-0.1.0")
    extension.on_shutdown()
