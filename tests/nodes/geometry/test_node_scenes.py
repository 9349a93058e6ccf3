"""The sample scenes of simulations, volumes, copies, curves and fits, played for some frames."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.nodes.play.player import Player, Settings

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
