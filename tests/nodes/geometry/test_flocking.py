"""Sample Prim Flocking: the transforms that it writes in a scene, and what a flock is."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

import omni.warp_core as wp

COUNT = 40


@pytest.fixture
def birds():
    """A stage of cones below /Birds, and a graph that lets them fly."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(stage, "/Birds").AddTranslateOp().Set((0, 10, 0))
    random = np.random.default_rng(3)
    for i in range(COUNT):
        cone = UsdGeom.Cone.Define(stage, f"/Birds/b{i}")
        cone.AddTranslateOp().Set(Gf.Vec3d(*random.uniform(-15, 15, 3)))
        cone.AddScaleOp().Set(Gf.Vec3f(1, 2, 3))
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    fly = graph.node("fly", "omni.warp_core.SamplePrimFlocking", prims="/Birds")
    graph.connect(f"{clock}.outputs:time", f"{fly}.inputs:time")
    return stage


def flight(stage, frames):
    """The world matrices of all birds in each frame (frames, n, 4, 4)."""
    with wp.usd.play(stage, frames=(0, frames - 1), fps=24) as player:
        found = []
        for _ in range(frames):
            player.step()
            local = [player.get(f"/Birds/b{i}.xformOp:transform") for i in range(COUNT)]
            found.append(np.array(local))
        assert not player.errors and not player.warnings
    return np.array(found)


def test_a_flock_flies_together_and_apart(birds):
    matrices = flight(birds, 120)
    assert np.array_equal(matrices, flight(birds, 120))
    places = matrices[:, :, 3, :3]
    steps = np.diff(places, axis=0) * 24
    speed = np.linalg.norm(steps, axis=-1)
    assert speed.max() < 20.01 and speed[-1].min() > 5
    # the z axis lies along the flight, and the axes keep the scale of the prim
    front = matrices[1:, :, 2, :3] / 3
    assert np.allclose(np.linalg.norm(matrices[:, :, :3, :3], axis=-1), [1, 2, 3], rtol=1e-5)
    assert np.median(np.sum(front * steps, -1) / speed) > 0.99
    aligned = np.linalg.norm((steps / speed[..., None]).mean(1), axis=-1)
    assert aligned[0] < 0.4 and aligned[-1] > 0.7
    assert np.linalg.norm(places[-1] - places[0].mean(0), axis=-1).max() < 60 + 40
    away = np.linalg.norm(places[-1][:, None] - places[-1], axis=-1) + 100 * np.identity(COUNT)
    assert away.min() > 1.0


def test_it_begins_anew_when_the_timeline_goes_back(birds):
    with wp.usd.play(birds, frames=(0, 20), fps=24) as player:
        for _ in range(5):
            player.step()
        there = player.get("/Birds/b3.xformOp:transform")
        player.rewind()
        for _ in range(5):
            player.step()
        assert np.array_equal(player.get("/Birds/b3.xformOp:transform"), there)


def test_it_names_what_is_missing(birds):
    birds.GetPrimAtPath("/Graph/fly").GetRelationship("inputs:prims").ClearTargets(True)
    with wp.usd.play(birds, frames=(0, 1), fps=24) as player:
        player.step()
        assert "no prim flies: name some in inputs:prims" in player.errors[0]


def test_the_old_type_moves_shapes_called_boids(birds):
    fly = birds.GetPrimAtPath("/Graph/fly")
    fly.GetAttribute("node:type").Set("omni.warp.WarpSamplePrimFlocking")
    fly.GetRelationship("inputs:prims").ClearTargets(True)
    for name in ("boid_0", "boid_1"):
        UsdGeom.Cube.Define(birds, f"/{name}")
    with wp.usd.play(birds, frames=(0, 3), fps=24) as player:
        player.play(4)
        assert not player.errors
        assert np.linalg.norm(player.get("/boid_1.xformOp:transform")[3, :3]) > 0.5
        with pytest.raises(KeyError):
            player.get("/Birds/b0.xformOp:transform")
