"""Mistakes of a newcomer who writes a scene with pxr: the player tells each, with the text to write instead."""

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom

import omni.warp_core as wp

KERNEL = """
@wp.kernel
def lift(points: wp.array(dtype=wp.vec3), lifted: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    lifted[i] = points[i] + wp.vec3(0.0, 1.0, 0.0)
"""


@pytest.fixture
def stage():
    """A square of two triangles, a reader, a kernel that lifts the points, and a writer."""
    made = Usd.Stage.CreateInMemory()
    made.SetStartTimeCode(1)
    made.SetEndTimeCode(4)
    made.SetTimeCodesPerSecond(24)
    mesh = UsdGeom.Mesh.Define(made, "/Square")
    mesh.CreatePointsAttr([Gf.Vec3f(0, 0, 0), Gf.Vec3f(1, 0, 0), Gf.Vec3f(1, 0, 1), Gf.Vec3f(0, 0, 1)])
    mesh.CreateFaceVertexCountsAttr([3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 0, 2, 3])
    graph = made.DefinePrim("/G", "OmniGraph")
    graph.CreateAttribute("evaluator:type", Sdf.ValueTypeNames.Token).Set("push")
    for name, kind in (("read", "graph.nodes.ReadPrimAttribute"), ("write", "graph.nodes.WritePrimAttribute")):
        node = add(made, name, f"omni.{kind}")
        node.CreateRelationship("inputs:prim").SetTargets(["/Square"])
        node.CreateAttribute("inputs:name", Sdf.ValueTypeNames.Token).Set("points")
    kernel = add(made, "lift", "omni.warp_core.Kernel")
    kernel.CreateAttribute("inputs:codeStr", Sdf.ValueTypeNames.String).Set(KERNEL)
    points = Sdf.ValueTypeNames.Point3fArray
    kernel.CreateAttribute("inputs:points", points).SetConnections(["/G/read.outputs:value"])
    kernel.CreateAttribute("outputs:lifted", points)
    write = made.GetPrimAtPath("/G/write")
    write.CreateAttribute("inputs:value", Sdf.ValueTypeNames.Token).SetConnections(["/G/lift.outputs:lifted"])
    return made


def add(stage, name, kind):
    """A node with a type."""
    node = stage.DefinePrim(f"/G/{name}", "OmniGraphNode")
    node.CreateAttribute("node:type", Sdf.ValueTypeNames.Token).Set(kind)
    return node


def play(stage):
    """Play all frames; the heights of the points, and the messages."""
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        return player.get("/Square.points")[:, 1], player.errors, player.warnings


def test_a_graph_that_reads_what_it_writes_is_told_once(stage):
    heights, errors, warnings = play(stage)
    assert heights.tolist() == [4, 4, 4, 4] and not errors and len(warnings) == 1
    assert "/Square.points: each frame reads what the frame before has written" in warnings[0]
    assert "inputs:usdTimecode" in warnings[0] and "state:" in warnings[0]


def test_a_time_code_starts_each_frame_from_the_scene(stage):
    stage.GetPrimAtPath("/G/read").CreateAttribute("inputs:usdTimecode", Sdf.ValueTypeNames.TimeCode).Set(1.0)
    assert play(stage)[0].tolist() == [1, 1, 1, 1] and play(stage)[2] == []


def test_values_that_are_read_while_playing_are_no_loop(stage):
    stage.GetPrimAtPath("/G/read").CreateAttribute("inputs:usdTimecode", Sdf.ValueTypeNames.TimeCode).Set(1.0)
    with wp.usd.play(stage, trust=True) as player:
        while player.frame is None or player.frame < 4:
            player.step()
            assert player.get("/Square.points")[0, 1] == 1 and player.inspect("/Square.points").length == 4
        assert not player.warnings


def test_a_reader_of_the_last_frame_without_a_writer_is_no_loop(stage):
    """The graph writes once, when it is loaded, and reads in each frame."""
    stage.GetPrimAtPath("/G").GetAttribute("evaluator:type").Set("execution")
    loaded = add(stage, "loaded", "omni.graph.action.OnLoaded")
    for name in ("lift", "write"):
        source = "/G/loaded.outputs:execOut" if name == "lift" else "/G/lift.outputs:execOut"
        stage.GetPrimAtPath(f"/G/{name}").CreateAttribute("inputs:execIn", Sdf.ValueTypeNames.UInt).SetConnections(
            [source]
        )
    assert loaded and play(stage)[0].tolist() == [1, 1, 1, 1] and play(stage)[2] == []


def test_a_connection_to_a_prim_says_what_it_is_and_what_to_write(stage):
    stage.GetAttributeAtPath("/G/lift.inputs:points").SetConnections(["/Square.points"])
    _, errors, _ = play(stage)
    assert "inputs:points is connected to /Square.points, an attribute of a Mesh" in errors[0]
    assert 'ReadPrimAttribute with inputs:prim = </Square> and inputs:name = "points"' in errors[0]


def test_a_connection_to_nothing_is_not_there(stage):
    stage.GetAttributeAtPath("/G/lift.inputs:points").SetConnections(["/Square.pionts"])
    assert "/Square.pionts, which is not there" in play(stage)[1][0]


def test_threads_that_nothing_tells_are_an_error(stage):
    text = KERNEL.replace("points[i] +", "")
    stage.GetAttributeAtPath("/G/lift.inputs:codeStr").Set(text)
    heights, errors, _ = play(stage)
    assert heights.tolist() == [0, 0, 0, 0] and 'set inputs:dim1, or inputs:dimSource to "points"' in errors[0]


def test_points_that_do_not_fit_the_faces_are_told(stage):
    kernel = stage.GetPrimAtPath("/G/lift")
    kernel.CreateAttribute("inputs:dim1", Sdf.ValueTypeNames.Int).Set(1)
    kernel.CreateAttribute("inputs:lifted:length", Sdf.ValueTypeNames.Int).Set(1)
    _, errors, warnings = play(stage)
    assert not errors and any("has 1 points, but its faces (faceVertexIndices) use 4" in text for text in warnings)


def test_a_state_carries_a_simulation(stage):
    text = "@wp.kernel\ndef fall(points: wp.array(dtype=wp.vec3), lifted: wp.array(dtype=wp.vec3)):\n"
    text += "    i = wp.tid()\n    lifted[i] += wp.vec3(points[i][0], 0.5, 0.0)\n"
    kernel = stage.GetPrimAtPath("/G/lift")
    kernel.GetAttribute("inputs:codeStr").Set(text)
    kernel.CreateAttribute("state:lifted", Sdf.ValueTypeNames.Point3fArray)
    stage.GetPrimAtPath("/G/read").CreateAttribute("inputs:usdTimecode", Sdf.ValueTypeNames.TimeCode).Set(1.0)
    heights, errors, warnings = play(stage)
    np.testing.assert_allclose(heights, 2.0)
    assert not errors and not warnings


def test_a_callback_for_the_attribute_of_a_prim(stage):
    stage.GetPrimAtPath("/G/read").CreateAttribute("inputs:usdTimecode", Sdf.ValueTypeNames.TimeCode).Set(1.0)
    told = []
    with wp.usd.play(stage, trust=True) as player:
        player.on_change("/Square.points", lambda path, value: told.append((player.frame, path, value[0, 1])))
        player.on_change("/Square.faceVertexCounts", lambda path, value: told.append("counts"))
        player.play(2)
        with pytest.raises(KeyError, match="no attribute 'pionts'"):
            player.on_change("/Square.pionts", print)
        player.rewind()
        player.step()
    assert told == [(1, "/Square.points", 1), (2, "/Square.points", 1), (1, "/Square.points", 1)]
