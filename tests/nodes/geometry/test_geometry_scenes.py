"""The sample scenes of the geometry nodes, played, and compared with formulas at a few frames."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd

from omni.warp_core.nodes.play.player import Player, Settings

SCENES = Path(__file__).parents[3] / "data" / "scenes"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """played(name, last, ...) -> stage of the result."""
    folder = tmp_path_factory.mktemp("geometry")

    def run(name, last, **values):
        settings = Settings(frames=(1, last), values=[(path, text) for path, text in values.values()])
        player = Player.open(str(SCENES / f"{name}.usda"), settings)
        player.run(str(folder / f"{name}.usdc"))
        assert not player.host.log.errors and not player.host.log.warnings
        return Usd.Stage.Open(str(folder / f"{name}.usdc"))

    return run


def at(stage, path, frame):
    return np.asarray(stage.GetAttributeAtPath(path).Get(frame), np.float64)


def test_a_terrain_moves_up_and_down_only(played):
    stage = played("terrain", 2)
    one, two = at(stage, "/Terrain.points", 1), at(stage, "/Terrain.points", 2)
    x, z = np.meshgrid(np.linspace(-50, 50, 121), np.linspace(-50, 50, 121))
    for points in (one, two):
        assert np.allclose(points[:, [0, 2]], np.stack([x.ravel(), z.ravel()], -1), atol=1e-5)
    assert not np.array_equal(one[:, 1], two[:, 1]) and np.ptp(one[:, 1]) > 5
    assert len(stage.GetAttributeAtPath("/Terrain.faceVertexIndices").GetTimeSamples()) == 1


def test_the_box_leaves_a_wake(played):
    stage = played("ripples", 4)
    x, z = np.meshgrid(np.linspace(-50, 50, 101), np.linspace(-50, 50, 101))
    for frame in (1, 2, 4):
        height = at(stage, "/World/Water.points", frame)[:, 1].reshape(101, 101)
        left, front = -30 + 52 * (frame - 1) / 47, -12 + 30 * (frame - 1) / 47
        inside = (abs(x - left) < 5 - 1e-3) & (abs(z - front) < 5 - 1e-3)
        assert np.allclose(height[inside], -5 if frame > 1 else 0)
        # waves of speed 30 have come that far, and the scheme lets them spread by a cell a step
        reach = 5.1 + 2 * 3 * (frame - 1)
        far = (abs(x - left) > reach + 5) | (abs(z - front) > reach + 5)
        assert not height[far].any() and (frame == 1 or height[~inside].any())
    extent = at(stage, "/World/Water.extent", 4)
    assert extent[0][1] == height.min() and extent[1][1] == height.max()


def test_the_surface_is_closed_and_where_the_field_is_zero(played):
    stage = played("volume_surface", 2)
    points = at(stage, "/Shape.points", 2) * 63 / 100  # in cells
    box = np.abs(points) - (16, 8, 16)
    box = np.linalg.norm(np.maximum(box, 0), axis=1) + np.minimum(box.max(1), 0)
    angle = 2 / 24
    x, y, z = points[:, 0], points[:, 1] - 12, points[:, 2]
    y, z = np.cos(angle) * y - np.sin(angle) * z, np.sin(angle) * y + np.cos(angle) * z
    torus = np.hypot(np.hypot(x, z) - 13, y) - 4
    field = np.minimum(box, torus) - np.maximum(8 - np.abs(box - torus), 0) ** 2 / 32
    assert np.abs(field).max() < 0.15  # of cells: it bends between nodes
    triangles = at(stage, "/Shape.faceVertexIndices", 2).astype(int).reshape(-1, 3)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_the_prism_holds_all_grains(played):
    stage = played("filling", 2)
    points = at(stage, "/Grains.points", 1)
    angles = np.radians([30, 90, 150, 210, 270, 330])
    sides = points[:, [0, 2]] @ np.stack([np.cos(angles), np.sin(angles)])
    assert (sides < 17.33 - 1 + 1e-3).all() and (np.abs(points[:, 1] - 12.5) < 11.5 + 1e-3).all()
    assert 0.8 < len(points) * 2.2**3 / (6 * 0.5 * 18.5**2 * np.sin(np.pi / 3) * 23) < 1.2
    assert len(stage.GetAttributeAtPath("/Grains.points").GetTimeSamples()) == 1
    assert np.allclose(at(stage, "/Grains.widths", 1), 1.6)


def test_older_types_and_links_play(played):
    stage = played("older_types", 3)
    x, z = np.meshgrid(np.linspace(-100, 100, 81), np.linspace(-50, 50, 41))
    for frame in (1, 3):
        wanted = np.stack([x, 10 * np.sin((frame - 1) / 24 + 0.1 * x), z], -1).reshape(-1, 3)
        assert np.abs(at(stage, "/Sheet.points", frame) - wanted).max() < 2e-5
    # the second frame writes points only, and what was written before stays
    assert len(stage.GetAttributeAtPath("/Sheet.primvars:st").Get(3)) == 80 * 40 * 4
    assert stage.GetAttributeAtPath("/Sheet.subdivisionScheme").Get() == "none"


def test_the_sea_lies_before_the_camera_and_rolls(played):
    stage = played("ocean", 3)
    one, three = at(stage, "/Sea.points", 1), at(stage, "/Sea.points", 3)
    x, z = np.meshgrid(np.linspace(-60, 60, 241), np.linspace(-60, 60, 241) + 34)  # around the camera
    sigma = np.sqrt(0.0081 / 2.96) * 9**2 / 9.81  # of the height, from the integral of the spectrum
    for points in (one, three):
        away = points - np.stack([x, np.zeros_like(x), z], -1).reshape(-1, 3)
        assert abs(away[:, 1].std() / sigma - 1) < 0.2 and abs(away[:, 1].mean()) < 0.2 * sigma
        assert np.abs(away).max() < 5 * sigma
    assert 0.01 < np.abs(three - one).max() < 0.5
