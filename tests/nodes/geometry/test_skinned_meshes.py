"""Nodes that read skinned meshes. UsdSkel's BakeSkinning is the judge of points and normals."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdSkel

import omni.warp_core as wp
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.scene.kit_stage import KitStore, SessionWriter
from tests.usd.skinned_stage import add_blend_shapes, skinned_stage

TUBE = "/Figure/Tube"
LIFT = """
@wp.kernel
def lift(rest: wp.array[wp.vec3], height: float, points: wp.array[wp.vec3]):
    i = wp.tid()
    points[i] = rest[i] + wp.vec3(0.0, height, 0.0)
"""


@pytest.fixture
def stage(tmp_path):
    """The skinned tube with blend shapes, on disk, in frames 0 to 4, with a graph."""
    stage = skinned_stage()
    add_blend_shapes(stage)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(4)
    stage.SetFramesPerSecond(24)
    stage.SetTimeCodesPerSecond(24)
    stage.Export(str(tmp_path / "tube.usda"))
    return Usd.Stage.Open(str(tmp_path / "tube.usda"))


def baked(stage, name="points"):
    """Values of the mesh in each frame, after UsdSkel has baked a copy of the stage."""
    copy = Usd.Stage.CreateInMemory()
    copy.GetRootLayer().TransferContent(stage.Flatten())
    assert UsdSkel.BakeSkinning(copy.Traverse())
    return [np.array(copy.GetPrimAtPath(TUBE).GetAttribute(name).Get(time)) for time in range(5)]


def graph_of(stage):
    return wp.nodes.GraphBuilder(stage, "/Graph")


def deformed(stage, **options):
    """Give the stage a graph that reads the mesh, lifts it by 2, and writes it to the same prim."""
    graph = graph_of(stage)
    read = graph.node("read", "omni.warp_core.ReadMesh", prim=TUBE, **options)
    lift = graph.kernel("lift", LIFT, height=2.0)
    write = graph.node("write", "omni.warp_core.WriteMesh", prim=TUBE)
    graph.connect(f"{read}.outputs:points", f"{lift}.inputs:rest")
    graph.connect(f"{lift}.outputs:points", f"{write}.inputs:points")
    return graph, read, write


def test_read_mesh_has_the_pose_of_each_frame(stage):
    points, normals = baked(stage), baked(stage, "normals")
    graph_of(stage).node("read", "omni.warp_core.ReadMesh", prim=TUBE)
    with wp.usd.play(stage) as player:
        for frame in range(5):
            assert player.step() == frame and not player.errors
            assert np.allclose(player.get("/Graph/read.outputs:points"), points[frame], atol=1e-5)
            found = player.get("/Graph/read.outputs:normals")
            unit = normals[frame] / np.linalg.norm(normals[frame], axis=1, keepdims=True)
            assert np.allclose(found, unit, atol=1e-5)
    assert not np.allclose(points[0], points[4], atol=0.1)


def test_the_rest_pose_is_there_on_request(stage):
    graph_of(stage).node("read", "omni.warp_core.ReadMesh", prim=TUBE, skinning=False)
    with wp.usd.play(stage) as player:
        player.play()
        assert np.array_equal(player.get("/Graph/read.outputs:points"), points_of(stage))


def test_points_that_are_written_back_are_not_posed_again(stage, tmp_path):
    points = baked(stage)
    graph, read, _ = deformed(stage)
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    graph.connect(f"{clock}.outputs:frame", f"{read}.inputs:usdTimecode")
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        assert not player.errors
        player.save(str(tmp_path / "out.usda"))
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    mesh = UsdGeom.Mesh(result.GetPrimAtPath(TUBE))
    for frame in range(5):
        expected = points[frame] + [0, 2, 0]
        assert np.allclose(mesh.GetPointsAttr().Get(frame), expected, atol=1e-5)
        assert np.allclose(wp.usd.read_mesh(mesh, frame).points.numpy(), expected, atol=1e-5)
    assert not result.GetPrimAtPath(TUBE).HasAPI(UsdSkel.BindingAPI)
    assert UsdSkel.BakeSkinning(result.Traverse())  # which now has nothing to do
    assert np.allclose(mesh.GetPointsAttr().Get(3), points[3] + [0, 2, 0], atol=1e-5)


def test_frames_before_the_first_write_have_the_pose(stage, tmp_path):
    points = baked(stage)
    _, _, write = deformed(stage)
    with wp.usd.play(stage, trust=True) as player:
        player.set(f"{write}.node:enabled", False)
        player.play(2)
        player.set(f"{write}.node:enabled", True)
        player.step()
        player.save(str(tmp_path / "out.usda"))
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    mesh = UsdGeom.Mesh(result.GetPrimAtPath(TUBE))
    for frame, height in ((0, 0), (1, 0), (2, 2)):
        assert np.allclose(mesh.GetPointsAttr().Get(frame), points[frame] + [0, height, 0], atol=1e-5)


def test_a_rest_pose_that_changes_stays_bound(stage, tmp_path):
    deformed(stage, skinning=False, usdTimecode=0.0)
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        player.save(str(tmp_path / "out.usda"))
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    mesh = UsdGeom.Mesh(result.GetPrimAtPath(TUBE))
    lifted = np.add(points_of(stage), [0, 2, 0])
    assert np.allclose(mesh.GetPointsAttr().Get(3), lifted)
    UsdGeom.Mesh(stage.GetPrimAtPath(TUBE)).GetPointsAttr().Set(lifted.tolist())
    assert np.allclose(wp.usd.read_mesh(mesh, 3).points.numpy(), baked(stage)[3], atol=1e-5)


@pytest.mark.parametrize("kind", ["ReadPrimsV2", "ReadPrims"])
def test_apply_skel_binding_keeps_the_rest_pose_too(stage, kind):
    points, normals = baked(stage), baked(stage, "normals")
    graph = graph_of(stage)
    read = graph.node("read", f"omni.graph.nodes.{kind}", prims=[TUBE], applySkelBinding=True, computeBoundingBox=True)
    take = graph.node("take", "omni.graph.nodes.ExtractPrim", primPath=TUBE)
    graph.connect(f"{read}.outputs:primsBundle", f"{take}.inputs:prims")
    names = {"points": points[3], "points:default": points_of(stage), "bboxMaxCorner": points[3].max(0)}
    names["normals:default"] = np.array(stage.GetPrimAtPath(TUBE).GetAttribute("normals").Get())
    names["normals"] = normals[3] / np.linalg.norm(normals[3], axis=1, keepdims=True)
    for number, name in enumerate(names):
        part = graph.node(f"part{number}", "omni.graph.nodes.ExtractAttribute", attrName=name)
        graph.connect(f"{take}.outputs:primBundle", f"{part}.inputs:data")
    with wp.usd.play(stage) as player:
        player.play(4)
        assert not player.errors
        for number, expected in enumerate(names.values()):
            assert np.allclose(player.get(f"/Graph/part{number}.outputs:output"), expected, atol=1e-5)


def points_of(stage):
    return np.array(stage.GetPrimAtPath(TUBE).GetAttribute("points").Get())


def test_a_broken_skeleton_names_the_input_to_change(stage):
    UsdSkel.BindingAPI(stage.GetPrimAtPath(TUBE)).GetSkeletonRel().SetTargets(["/Gone"])
    graph_of(stage).node("read", "omni.warp_core.ReadMesh", prim=TUBE)
    with wp.usd.play(stage) as player:
        player.step()
        assert "Invalid target </Gone>; set inputs:skinning to false to read the rest pose" in str(player.errors)


def test_in_kit_points_that_others_pose_are_read_anew_and_unbound_in_the_session(stage):
    store, points = KitStore(stage, Log(lambda text: None), 1.0), baked(stage)
    store.frame = 3
    assert np.allclose(store.posed.of(TUBE, None).values["points"][1], points[3], atol=1e-5)
    assert np.allclose(store.posed.of(TUBE, 1.0).values["points"][1], points[1], atol=1e-5)
    SessionWriter(stage).unapply(TUBE, "SkelBindingAPI")
    assert not stage.GetPrimAtPath(TUBE).HasAPI(UsdSkel.BindingAPI)
    assert store.posed.of(TUBE, None) is None
    assert np.allclose(store.posed.of(TUBE, 1.0).values["points"][1], points[1], atol=1e-5), "as authored"
