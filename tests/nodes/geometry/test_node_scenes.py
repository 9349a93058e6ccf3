"""The sample scenes of simulations, volumes, copies, curves and fits, played for some frames."""

import re
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.nodes.stock import node_registry

SCENES = Path(__file__).parents[3] / "data" / "scenes"


@pytest.fixture
def played(tmp_path):
    """played(name, last) -> stage of the result of the frames from 1 on."""

    def run(name, last):
        player = Player.open(str(SCENES / f"{name}.usda"), Settings(frames=(1, last)))
        player.run(str(tmp_path / f"{name}.usdc"))
        assert not player.host.log.errors and not player.host.log.warnings
        return Usd.Stage.Open(str(tmp_path / f"{name}.usdc"))

    return run


def at(stage, path, frame):
    return np.asarray(stage.GetAttributeAtPath(path).Get(frame), np.float64)


def test_the_sheet_falls_towards_the_ball(played):
    stage = played("cloth", 4)
    points = at(stage, "/World/Cloth.points", 4)
    fallen = 0.5 * 980 * (3 / 24) ** 2
    assert len(points) == 45 * 45 and 0.8 * fallen < -points[:, 1].mean() < 1.05 * fallen  # the air holds it a little
    assert len(at(stage, "/World/Cloth.faceVertexCounts", 4)) == 44 * 44


def test_grains_fall_inside_of_the_scene(played):
    stage = played("grains", 4)
    points = at(stage, "/World/Grains.points", 4)
    assert len(points) > 1500 and points[:, 1].min() > 1.1
    assert at(stage, "/World/Grains.points", 1)[:, 1].mean() - points[:, 1].mean() > 5


def test_all_boids_fly(played):
    stage = played("flock", 3)
    for i in (0, 100, 239):
        matrices = [UsdGeom.Xformable(stage.GetPrimAtPath(f"/World/Birds/boid_{i}")).ComputeLocalToWorldTransform(f)
                    for f in (1, 3)]  # fmt: skip
        way = np.array(matrices[1])[3, :3] - np.array(matrices[0])[3, :3]
        assert 0.4 * 20 * 2 / 24 < np.linalg.norm(way) < 1.01 * 20 * 2 / 24


def test_the_texture_has_the_escape_times(played):
    stage = played("texture", 2)
    colors = at(stage, "/World/Board.primvars:displayColor", 2)
    n = 192
    i = np.arange(n * n)
    z = 2.6 * ((i % n) / n - 0.5) + 2.6j * (i // n / n - 0.5)
    c = 0.7885 * np.exp(1j * (2.5 + 0.35 * 2 / 24))
    count = np.zeros(n * n)
    for _ in range(64):
        inside = np.abs(z) < 4
        z[inside] = z[inside] ** 2 + c
        count += inside
    close = np.abs(colors[:, 2] - (0.10 + 0.70 * count / 64)) < 1e-5
    assert close.mean() > 0.995  # float32 escapes a step earlier or later at some points


def test_the_shape_lies_where_the_field_of_distances_is_zero(played):
    stage = played("melting", 2)
    points = at(stage, "/World/Shape.points", 2)
    half = np.array([30, 18, 30.0])
    q = np.abs(points) - half
    d = np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0) - 2
    for m in range(5):
        a = 1.2566 * m + 1.3 * 2 / 24
        e = 13 - np.linalg.norm(points - [26 * np.cos(a), 14 * np.sin(2 * a), 26 * np.sin(a)], axis=1)
        d = 0.5 * (d + e + np.sqrt((d - e) ** 2 + 6))
    assert len(points) > 5000 and np.quantile(np.abs(d), 0.99) < 0.1  # of a voxel


def test_stones_lie_on_a_spiral(played):
    stage = played("spiral", 2)
    copies = UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/Copies"))
    i = np.arange(700)
    r, a = 0.42 * np.sqrt(i), 2.39996 * i
    wanted = np.stack([r * np.cos(a), 0.7 * np.sin(0.9 * r - 2.5 * 2 / 24), r * np.sin(a)], -1)
    assert np.abs(np.array(copies.GetPositionsAttr().Get(2)) - wanted).max() < 2e-3  # of angles up to 1700
    assert list(copies.GetProtoIndicesAttr().Get(2)[:4]) == [0, 1, 2, 0]


def test_blades_bend_and_their_roots_stay(played):
    stage = played("meadow", 3)
    rest, bent = at(stage, "/World/Grass.points", 0), at(stage, "/World/Grass.points", 3)
    assert np.array_equal(bent[::4], at(Usd.Stage.Open(str(SCENES / "meadow.usda")), "/World/Grass.points", 1)[::4])
    assert np.abs(bent - rest)[3::4].max() > 0.1 or np.abs(bent[3::4, 0]).max() > 0


def test_the_puff_has_a_file_a_frame(played, tmp_path):
    stage = played("puff", 3)
    assert len(list(tmp_path.glob("puff.World_Smoke_density.*.nvdb"))) == 3
    (one,), (three,) = (wp.usd.read_volume(stage.GetPrimAtPath("/World/Smoke"), f).values() for f in (1, 3))
    assert one.file != three.file and one.grid_class in ("", "fogVolume")
    volume = three.load(device="cpu", world=True)
    samples = [wp.volume_sample_f(volume.id, wp.volume_world_to_index(volume.id, wp.vec3(*p)), wp.Volume.LINEAR)
               for p in ((0, 1.5, 0), (0, 5, 0))]  # fmt: skip
    assert samples[0] > 0.5 and samples[1] == 0


def test_balls_come_to_land_on_the_heart(played):
    stage = played("aim", 40)
    targets = at(stage, "/World/Targets.points", 1)
    miss = [np.linalg.norm(at(stage, "/World/Ways.points", f).reshape(60, 24, 3)[:, -1] - targets, axis=1)
            for f in (1, 20, 40)]  # fmt: skip
    assert miss[0].mean() > 1 > 3 * miss[1].mean() and miss[2].max() < 0.05


def test_arrays_go_from_prims_through_kernels_and_back(played):
    stage = played("lagoon", 3)
    rest = at(stage, "/World/Sheet.points", 1)[:, [0, 2]]
    x, z, t = rest[:, 0], rest[:, 1], 3 / 24
    u = np.clip((x + 4) / 5, 0, 1)
    height = 0.22 * (np.sin(1.7 * x - 2.6 * t) + 0.6 * np.sin(1.1 * x + 1.9 * z - 2 * t)) * (3 * u**2 - 2 * u**3)
    np.testing.assert_allclose(at(stage, "/World/Sheet.points", 3)[:, 1], height, atol=1e-6)
    colors = at(stage, "/World/Sheet.primvars:displayColor", 3)
    s = np.clip((height + 0.3) / 0.65, 0, 1)[:, None]
    np.testing.assert_allclose(colors, (1 - s) * [0, 0.03, 0.1] + s * [0.1, 0.4, 0.45], atol=1e-5)
    scene = Usd.Stage.Open(str(SCENES / "lagoon.usda"))
    fallen = 9.81 / 96**2 * sum(range(13))  # twelve substeps; no ball has met the ground yet
    start = np.asarray(scene.GetAttributeAtPath("/World/Balls.points").Get(), np.float64)
    np.testing.assert_allclose(at(stage, "/World/Balls.points", 3), start - [0, fallen, 0], atol=1e-5)


def test_the_surface_of_a_file_lies_where_its_field_is_zero(played):
    stage = played("pebble", 2)
    world = np.array(UsdGeom.Xformable(stage.GetPrimAtPath("/World/Shape")).ComputeLocalToWorldTransform(2))
    points = at(stage, "/World/Shape.points", 2) @ world[:3, :3] + world[3, :3]
    x, y, z = points.T
    cells = np.sin(7 * x) * np.cos(7 * y) + np.sin(7 * y) * np.cos(7 * z) + np.sin(7 * z) * np.cos(7 * x)
    field = np.maximum(np.linalg.norm(points, axis=1) - 0.85, np.abs(cells) / 7 - 0.06)
    found = field + 0.04 * np.sin(3.1416 * 2 / 24) - 0.02
    assert len(points) > 5000 and np.quantile(np.abs(found), 0.9) < 0.2 * 2 / 31  # a part of a voxel, but at edges


def test_curves_show_the_gradient(played):
    points = at(played("slope", 2), "/World/Hairs.points", 2).reshape(-1, 2, 3)
    (x, _, z), shift = points[:, 0].T, 2 * np.sin(0.5 * 2 / 24)
    dx = 1.3 * np.cos(1.3 * x + shift) * np.cos(1.1 * z) - 0.28 * np.cos(2.3 * z - 0.7 * x)
    dz = -1.1 * np.sin(1.3 * x + shift) * np.sin(1.1 * z) + 0.92 * np.cos(2.3 * z - 0.7 * x)
    way = 0.16 * np.stack([dx, 0.3125 * np.hypot(dx, dz), dz], -1)
    np.testing.assert_allclose(points[:, 1] - points[:, 0], way, atol=2e-6)


def test_every_node_of_ours_has_a_sample_scene():
    found = set(re.findall(r'node:type = "([\w.]+)"', "".join(p.read_text("utf-8") for p in SCENES.glob("*.usda"))))
    types = {node_registry.ALIASES.get(name, name) for name in found}
    ours = {f"omni.warp_core.{p.stem.removeprefix('Ogn')}" for p in node_registry.folder().glob("*.ogn")}
    assert ours <= types, ours - types
