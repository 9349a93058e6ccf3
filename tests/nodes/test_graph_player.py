"""Graphs built and played from Python: `wp.nodes.GraphBuilder` and `wp.usd.play`."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Sdf, Usd, UsdGeom

import omni.warp_core as wp
from omni.warp_core.nodes.play.player import Player, Settings

LIFT = """
@wp.kernel
def lift(points: wp.array(dtype=wp.vec3), time: float, height: float, lifted: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    lifted[i] = points[i] + wp.vec3(0.0, height * time, 0.0)
"""
REST = np.array([[0, 0, 0], [1, 2, 3], [4, 5, 6]], np.float32)


COPIES = """#usda 1.0
def Xform "P" (prepend apiSchemas = ["OmniGraphAPI"]) {
    rel omniGraphs = </G>
    custom double x = 0
}
def Xform "Q" (prepend apiSchemas = ["OmniGraphAPI"]) {
    rel omniGraphs = </G>
    custom double x = 0
}
def OmniGraph "G" {
    token evaluator:type = "push"
    def OmniGraphNode "target" {
        token node:type = "omni.graph.nodes.GraphTarget"
    }
    def OmniGraphNode "time" {
        token node:type = "omni.graph.nodes.ReadTime"
    }
    def OmniGraphNode "write" {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom bool inputs:usePath = 1
        custom token inputs:primPath.connect = </G/target.outputs:primPath>
        custom token inputs:name = "x"
        custom token inputs:value.connect = </G/time.outputs:frame>
    }
}
"""


@pytest.fixture
def stage():
    """A stage in memory with three points, and a graph that lifts them with time, built in Python."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(4)
    UsdGeom.Points.Define(stage, "/Dots").CreatePointsAttr(REST)
    graph = wp.nodes.GraphBuilder(stage, "/Graph")
    read = graph.node("read", "omni.graph.nodes.ReadPrimAttribute", prim="/Dots", name="points", usdTimecode=1.0)
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    kernel = graph.node("lift", "omni.warp_core.Kernel", codeStr=LIFT, dimSource="points")
    graph.attribute(kernel, "inputs:points", "pointf[3][]")
    graph.attribute(kernel, "inputs:time", "double")
    graph.attribute(kernel, "inputs:height", "float", 2.0)
    graph.attribute(kernel, "outputs:lifted", "point3f[]")
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/Dots", name="points")
    graph.connect(f"{read}.outputs:value", f"{kernel}.inputs:points")
    graph.connect(f"{clock}.outputs:time", f"{kernel}.inputs:time")
    graph.connect(f"{kernel}.outputs:lifted", f"{write}.inputs:value")
    return stage


def lifted(frame, height=2.0):
    return REST + np.array([0, height * frame / 24, 0], np.float32)


def test_frames_one_by_one(stage):
    with wp.usd.play(stage, trust=True) as player:
        assert player.frame is None and player.frames == (1, 4) and player.fps == 24.0
        assert [player.step(), player.step()] == [1, 2]
        np.testing.assert_allclose(player.get("/Graph/lift.outputs:lifted"), lifted(2), rtol=1e-6)
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(2), rtol=1e-6)
        found = player.array("/Dots.points")
        assert found.dtype is wp.vec3 and found.shape == (3,)
        np.testing.assert_allclose(found.numpy(), lifted(2), rtol=1e-6)
        assert not player.errors and not player.warnings
    np.testing.assert_array_equal(stage.GetAttributeAtPath("/Dots.points").Get(2), REST)


def test_values_set_between_frames_stay_over_a_rewind(stage):
    with wp.usd.play(stage, trust=True) as player:
        player.step()
        player.set("/Graph/lift.inputs:height", 10)
        player.step()
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(2, 10.0), rtol=1e-6)
        player.rewind()
        assert player.frame is None
        np.testing.assert_array_equal(player.get("/Dots.points"), REST)
        assert player.step() == 1
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(1, 10.0), rtol=1e-6)


def test_a_frame_is_reached_over_all_frames_before_it(stage):
    """The state of a Kernel node tells how often it ran."""
    graph = wp.nodes.GraphBuilder(stage, "/Counting")
    code = "@wp.kernel\ndef count(n: wp.array(dtype=int)):\n    n[0] = n[0] + 1\n"
    count = graph.node("count", "omni.warp_core.Kernel", codeStr=code, dim1=1)
    graph.attribute(count, "state:n", "int[]", [0])
    graph.attribute(count, "outputs:n", "int[]")
    with wp.usd.play(stage, frames=(0, 9), fps=24, trust=True) as player:
        for frame in (3, 3, 7, 2, 0, 9):
            assert player.seek(frame) == player.frame == frame and not player.errors
            assert player.get("/Counting/count.outputs:n").tolist() == [frame + 1]
        with pytest.raises(ValueError, match="there is no frame -1; the first one is 0"):
            player.seek(-1)
        with pytest.raises(ValueError, match=r"there is no frame 2\.5; frames are whole numbers"):
            player.seek(2.5)
        with pytest.raises(ValueError, match="number of frames is below 0"):
            player.play(-1)


def test_a_set_input_is_no_longer_connected(stage):
    with wp.usd.play(stage, trust=True) as player:
        player.set("/Graph/lift.inputs:time", 3.0)
        player.play(2)
        np.testing.assert_allclose(player.get("/Dots.points")[:, 1], REST[:, 1] + 6.0, rtol=1e-6)


def test_changes_are_told_after_each_frame(stage):
    told = []
    with wp.usd.play(stage, trust=True) as player:
        player.on_change("/Graph/clock.outputs:time", lambda path, value: told.append((path, value)))
        player.on_change("/Graph/read.outputs:value", lambda path, value: told.append("points"))
        player.play()
    times = [entry for entry in told if entry != "points"]
    assert times == [("/Graph/clock.outputs:time", frame / 24) for frame in (1, 2, 3, 4)]
    assert told.count("points") == 1  # the scene holds them at one time code


@pytest.mark.parametrize("in_memory", [True, False])
def test_results_are_saved(stage, tmp_path, in_memory):
    scene = stage
    if not in_memory:
        stage.Export(str(tmp_path / "scene.usda"))
        scene = tmp_path / "scene.usda"
    with wp.usd.play(scene, trust=True) as player:
        player.play()
        player.save(tmp_path / "out.usda")
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert (result.GetStartTimeCode(), result.GetEndTimeCode(), result.GetFramesPerSecond()) == (1, 4, 24)
    attribute = result.GetAttributeAtPath("/Dots.points")
    assert attribute.GetTimeSamples() == [1, 2, 3, 4]
    for frame in (1, 4):
        np.testing.assert_allclose(attribute.Get(frame), lifted(frame), rtol=1e-6)
    assert result.GetPrimAtPath("/Graph/lift").GetTypeName() == "OmniGraphNode"


def test_code_needs_consent(stage):
    with pytest.raises(wp.nodes.ConsentError, match=r"/Graph/lift .*trust=True") as error:
        wp.usd.play(stage)
    assert error.value.codes[0].text == LIFT


def test_failures_are_collected(stage):
    stage.GetAttributeAtPath("/Graph/write.inputs:name").Set("pionts")
    with wp.usd.play(stage, trust=True) as player:
        player.step()
        (error,) = player.errors
        assert "/Graph/write" in error and "points" in error
        player.close()
        with pytest.raises(wp.usd.StageError, match="closed"):
            player.step()


def test_mistakes_of_paths_and_values(stage):
    with wp.usd.play(stage, trust=True) as player:
        with pytest.raises(KeyError, match="height"):
            player.set("/Graph/lift.inputs:hieght", 1)
        with pytest.raises(ValueError, match="inputs:height"):
            player.set("/Graph/lift.inputs:height", "tall")
        with pytest.raises(KeyError, match="/Dots"):
            player.get("/Dot.points")
        with pytest.raises(TypeError, match="not an array"):
            player.array("/Graph/lift.inputs:height")


def test_a_prim_that_is_no_node_is_told_with_what_to_write(stage):
    with wp.usd.play(stage, trust=True) as player:
        with pytest.raises(KeyError, match="/Dots is no node, but a Points of the scene") as told:
            player.set("/Dots.points", REST)
        assert 'stage.GetAttributeAtPath("/Dots.points").Set(VALUE)' in str(told.value)
        assert "WritePrimAttribute with inputs:prim = </Dots>" in str(told.value)
        with pytest.raises(KeyError, match="/Graph is a graph"):
            player.set("/Graph.height", 1)
        with pytest.raises(KeyError, match="there is no node /Dats"):
            player.set("/Dats.points", REST)
        with pytest.raises(KeyError, match="/Graph/lift has no attribute 'points'"):
            player.set("/Graph/lift.points", REST)


def test_a_program_switches_nodes_and_graphs(stage):
    with wp.usd.play(stage, trust=True) as player:
        player.step()
        player.set("/Graph/lift.node:enabled", False)
        player.step()
        assert player.get("/Graph/lift.node:enabled") is False and player.get("/Graph.graph:enabled") is True
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(1), rtol=1e-6)  # it rests
        player.set("/Graph/lift.node:enabled", True)
        player.set("/Graph.graph:enabled", False)
        player.step()
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(1), rtol=1e-6)
        player.rewind()
        player.step()
        np.testing.assert_array_equal(player.get("/Dots.points"), REST)  # what was set stays
        player.set("/Graph.graph:enabled", True)
        player.step()
        np.testing.assert_allclose(player.get("/Dots.points"), lifted(2), rtol=1e-6)
        with pytest.raises(ValueError, match=r"/Graph/lift\.node:enabled: bool needs true or false"):
            player.set("/Graph/lift.node:enabled", "off")
        assert not player.errors


def test_a_switch_reaches_all_copies_of_a_graph(tmp_path):
    scene = tmp_path / "copies.usda"
    scene.write_text(COPIES)
    with wp.usd.play(scene, frames=(1, 2)) as player:
        player.set("/G/write.node:enabled", False)
        player.step()
        assert (player.get("/P.x"), player.get("/Q.x")) == (0.0, 0.0)
        player.set("/G/write.node:enabled", True)
        player.step()
        assert (player.get("/P.x"), player.get("/Q.x")) == (2.0, 2.0)


def test_a_range_is_needed(stage):
    stage.ClearMetadata("startTimeCode")
    with pytest.raises(wp.nodes.SettingsError, match="frames"):
        wp.usd.play(stage, trust=True)
    with wp.usd.play(stage, frames=(5, 5), trust=True) as player:
        assert player.step() == 5


@pytest.mark.parametrize("frames", [(2, 3), [2, 3], np.array([2, 3]), range(2, 4)], ids=str)
def test_frames_are_a_pair_or_a_range(stage, frames):
    with wp.usd.play(stage, frames=frames, trust=True) as player:
        player.play()
        assert player.frames == (2, 3) and player.frame == 3


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (3, r"frames=3 is not a first and a last frame; write frames=\(1, 48\), or frames=\(5, 5\) for frame 5"),
        ("1:4", "frames='1:4' is not a first and a last frame"),
        ((1.5, 3), "is not a first and a last frame"),
        ((1, 2, 3), "is not a first and a last frame"),
        (range(1, 9, 2), "is not a first and a last frame"),
        (range(0), "is not a first and a last frame"),
        ((4, 1), r"the last frame comes before the first; write frames=\(1, 4\)"),
    ],
    ids=str,
)
def test_other_frames_are_told_with_what_to_write(stage, tmp_path, frames, words):
    with pytest.raises(wp.nodes.SettingsError, match=words):
        wp.usd.play(stage, frames=frames, trust=True)
    with pytest.raises(ValueError, match=words):
        wp.usd.preview(stage, tmp_path / "out.gif", frames=frames)


def test_an_open_input_takes_the_type_of_what_is_set_also_after_a_rewind(stage):
    graph = wp.nodes.GraphBuilder(stage, "/Sum")
    graph.node("sum", "omni.graph.nodes.Add", a=1)
    with wp.usd.play(stage, trust=True) as player:
        player.set("/Sum/sum.inputs:b", (2.0, 3.5))
        player.step()
        assert player.get("/Sum/sum.outputs:sum").tolist() == [3.0, 4.5]
        player.rewind()
        player.step()
        assert player.get("/Sum/sum.outputs:sum").tolist() == [3.0, 4.5] and not player.errors
        graph.node("other", "omni.graph.nodes.Add", a=1)
    with wp.usd.play(stage, trust=True) as player, pytest.raises(ValueError, match="no value for an attribute of type"):
        player.set("/Sum/other.inputs:b", [[1], [2, 3]])


BUILDS = {
    "type": (lambda g: g.node("a", "omni.graph.nodes.ReadTim"), "ReadTime"),
    "taken": (lambda g: g.node("time", "omni.graph.nodes.ReadTime"), "/G/time already"),
    "name": (lambda g: g.node("a b", "omni.graph.nodes.ReadTime"), "not a name"),
    "further": (lambda g: g.node("a", "omni.graph.nodes.Add", input2=1), "graph.attribute.* adds one"),
    "input": (lambda g: g.node("a", "omni.graph.action.OnTick", framePeriodd=1), "framePeriod"),
    "value": (lambda g: g.node("a", "omni.graph.action.OnTick", framePeriod="x"), "framePeriod"),
    "port": (lambda g: g.attribute("/G/time", "x", "float"), "must start with"),
    "node": (lambda g: g.attribute("/G/tim", "inputs:x", "float"), "/G/time"),
    "output": (lambda g: g.connect("/G/time.outputs:tme", "/G/tick.inputs:framePeriod"), "time"),
    "types": (lambda g: g.connect("/G/time.outputs:time", "/G/name.inputs:value"), "cannot take"),
    "direction": (lambda g: g.connect("/G/time.outputs:time", "/G/time.outputs:frame"), "not an input"),
}


@pytest.mark.parametrize(("build", "words"), BUILDS.values(), ids=BUILDS)
def test_mistakes_of_builders(build, words):
    graph = wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), "/G")
    graph.node("time", "omni.graph.nodes.ReadTime")
    graph.node("tick", "omni.graph.action.OnTick")
    graph.node("name", "omni.graph.nodes.ConstantString")
    with pytest.raises(ValueError, match=words):
        build(graph)


@pytest.mark.parametrize(("path", "evaluator"), [("Graph", "push"), ("/a.b", "push"), ("/G", "pull"), ("", "push")])
def test_graphs_that_cannot_be(path, evaluator):
    with pytest.raises(ValueError, match="not"):
        wp.nodes.GraphBuilder(Usd.Stage.CreateInMemory(), path, evaluator)


def test_execution_inputs_take_several_sources():
    stage = Usd.Stage.CreateInMemory()
    stage.DefinePrim("/Prim").CreateAttribute("x", Sdf.ValueTypeNames.Int).Set(0)
    graph = wp.nodes.GraphBuilder(stage, "/G", "execution")
    ticks = [graph.node(name, "omni.graph.action.OnTick") for name in ("a", "b")]
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/Prim", name="x")
    value = graph.node("value", "omni.graph.nodes.ConstantInt", value=7)
    graph.connect(f"{value}.inputs:value", f"{write}.inputs:value")
    for tick in ticks:
        graph.connect(f"{tick}.outputs:tick", f"{write}.inputs:execIn")
    assert len(stage.GetAttributeAtPath(f"{write}.inputs:execIn").GetConnections()) == 2
    with wp.usd.play(stage, frames=(0, 1)) as player:
        player.step()
        assert player.get("/Prim.x") == 7 and not player.errors


def test_arrays_are_inspected(stage):
    with wp.usd.play(stage, trust=True) as player:
        player.set("/Graph/lift.inputs:points", [(1, np.nan, 3), (-4, 5, np.inf), (0, 2, 0)])
        player.set("/Graph/lift.inputs:height", 0.0)
        player.step()
        found = player.inspect("/Graph/lift.outputs:lifted", first=1)
        assert (found.type, found.length, found.not_finite) == ("pointf[3][]", 3, 2)
        assert found.minimum == [-4, 2, 0] and found.maximum == [1, 5, 3]
        assert found.first[0][0] == 1 and len(found.first) == 1
        player.set("/Graph/lift.inputs:points", np.zeros((0, 3)))
        assert player.inspect("/Graph/lift.inputs:points")[:5] == ("pointf[3][]", 0, None, None, 0)
        with pytest.raises(TypeError, match="not an array"):
            player.inspect("/Graph/lift.inputs:height")


SCENES = Path(__file__).parents[2] / "data" / "scenes"
APPEARS = """#usda 1.0
(
    startTimeCode = 1
    endTimeCode = 6
)
def OmniGraph "G"
{
    token evaluator:type = "push"
    def OmniGraphNode "grid"
    {
        token node:type = "omni.warp_core.GridCreate"
        custom int2 inputs:dims.timeSamples = { 1: (1, 1), 3: (2, 1), 5: (1, 1) }
    }
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrimsV2"
        custom rel inputs:primsBundle = </G/grid.outputs_mesh>
        custom rel inputs:prims = </Made>
        custom string inputs:attrNamesToExport.timeSamples = { 1: "*", 2: "points face*", 4: "*" }
    }
}
"""


@pytest.mark.parametrize("name", ["appears", "texture", "puff", "spiral", "meadow"])
def test_a_saved_player_has_what_a_play_writes(tmp_path, name):
    """Prims, types, uniform values, samples, blocks, relationships, interpolations and files."""
    scene = str(SCENES / f"{name}.usda")
    if name == "appears":
        scene = str(tmp_path / "appears.usda")
        Path(scene).write_text(APPEARS)
    last = 6 if name == "appears" else 3
    for folder in ("play", "save"):
        (tmp_path / folder).mkdir()
    Player.open(scene, Settings(frames=(1, last))).run(str(tmp_path / "play" / "out.usda"))
    with wp.usd.play(scene, frames=(1, last), trust=True) as player:
        player.play()
        assert not player.errors
        player.save(str(tmp_path / "save" / "out.usda"))
    layers = [Sdf.Layer.FindOrOpen(str(tmp_path / folder / "out.usda")) for folder in ("play", "save")]
    assert _contents(layers[0]) == _contents(layers[1])
    files = [{p.name: p.read_bytes() for p in (tmp_path / folder).glob("out.*.*")} for folder in ("play", "save")]
    assert files[0] == files[1] and bool(files[0]) == (name in ("texture", "puff"))


def _contents(layer):
    """Everything that a layer says, by path, so that the order of specs does not count."""
    found, no_value = {}, ("primOrder", "subLayerOffsets")

    def visit(path):
        spec = layer.GetObjectAtPath(path)
        if spec is not None:
            found[str(path)] = {key: str(spec.GetInfo(key)) for key in spec.ListInfoKeys() if key not in no_value}

    layer.Traverse("/", visit)
    return found


def test_saving_is_quiet(stage, tmp_path, capfd):
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        player.save(str(tmp_path / "out.usdc"))
    assert capfd.readouterr() == ("", "")


def test_a_stage_in_memory_is_drawn(tmp_path):
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Sphere.Define(stage, "/Ball").CreateDisplayColorAttr([(1, 0, 0)])
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(2)
    with pytest.warns(UserWarning, match="frame"):
        text = wp.usd.preview(stage, tmp_path / "ball.png", frame=9, size=(64, 48))
    assert text.startswith("frame 9") and "64x48" in text
    pixels = np.asarray(Image.open(tmp_path / "ball.png").convert("RGB"), np.int32)
    assert pixels.shape == (48, 64, 3)
    red, green, blue = pixels[24, 32]
    assert red > 2 * green and red > 2 * blue
    with pytest.raises(ValueError, match="must end in"):
        wp.usd.preview(stage, tmp_path / "ball.xyz")
