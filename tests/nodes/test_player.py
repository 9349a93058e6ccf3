"""Scenes with the nodes of omni.graph: reading the format, time, reading and writing prims, results."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd

from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.play.player import Player, Settings, SettingsError
from omni.warp_core.usd.stage import StageError

TICK = 'def OmniGraphNode "tick" {\n token node:type = "omni.graph.action.OnTick"\n }\n'


def read(name="read", attribute="points", extra=""):
    return f"""
    def OmniGraphNode "{name}" {{
        token node:type = "omni.graph.nodes.ReadPrimAttribute"
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "{attribute}"
        {extra}
    }}
    """


def write(name, attribute, source, after="", extra=""):
    after = f"custom uint inputs:execIn.connect = <{after}>" if after else ""
    return f"""
    def OmniGraphNode "{name}" {{
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        int node:typeVersion = 2
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "{attribute}"
        custom token inputs:value.connect = <{source}>
        {after}
        {extra}
    }}
    """


TIME = 'def OmniGraphNode "time" {\n token node:type = "omni.graph.nodes.ReadTime"\n }\n'


def values(result, attribute="height", prim="/World/Mesh", frames=range(4)):
    stage = Usd.Stage.Open(str(result.target))
    found = stage.GetAttributeAtPath(f"{prim}.{attribute}")
    return [found.Get(frame) for frame in frames]


def test_time_becomes_samples_over_an_untouched_scene(make_scene, play, tmp_path):
    scene = make_scene(TIME + write("write", "height", "/G/time.outputs:time"))
    before = Path(scene).read_bytes()
    result = play(scene, fps=8, frames=(0, 3))
    assert not result.outcome.failed and result.outcome.written == ["/World/Mesh.height"]
    assert values(result) == [0, 0.125, 0.25, 0.375]
    assert Path(scene).read_bytes() == before
    stage = Usd.Stage.Open(str(result.target))
    assert stage.GetRootLayer().subLayerPaths == ["./scene.usda"]
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0, 3, 8)
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.usda", "scene.usda"], "nothing else is left"


@pytest.mark.parametrize("evaluator", ["execution", "push", "dirty_push"])
def test_evaluators_agree_where_all_is_connected(make_scene, play, evaluator):
    scene = make_scene(TICK + write("write", "height", "/G/tick.outputs:frame", "/G/tick.outputs:tick"), evaluator)
    assert values(play(scene)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("node", "frames"),
    [
        ("omni.graph.action_nodes.OnTick", [0, 1, 2, 3, 4, 5]),
        ("omni.graph.action.OnPlaybackTick", [0, 1, 2, 3, 4, 5]),
        ("omni.graph.action_nodes.OnLoaded", [0]),
    ],
)
def test_event_nodes_under_all_their_names(make_scene, play, node, frames):
    output = "outputs:execOut" if "OnLoaded" in node else "outputs:tick"
    nodes = f'def OmniGraphNode "on" {{\n token node:type = "{node}"\n }}\n'
    nodes += TIME + write("write", "height", "/G/time.outputs:frame", f"/G/on.{output}")
    result = play(make_scene(nodes, "execution", "0:5"))
    stage = Usd.Stage.Open(str(result.target))
    assert stage.GetAttributeAtPath("/World/Mesh.height").GetTimeSamples() == frames


def test_frame_period_skips_frames_and_values_are_held_between(make_scene, play):
    tick = TICK.replace("\n }", "\n custom uint inputs:framePeriod = 2\n }")
    scene = make_scene(
        tick + write("write", "height", "/G/tick.outputs:frame", "/G/tick.outputs:tick"), "execution", "0:7"
    )
    assert values(play(scene), frames=range(8)) == [0, 0, 0, 3, 3, 3, 6, 6]


def test_frames_before_the_first_write_have_what_the_scene_has(make_scene, play):
    nodes = 'def OmniGraphNode "on" {\n token node:type = "omni.graph.action.OnLoaded"\n }\n'
    nodes += 'def OmniGraphNode "wait" {\n token node:type = "omni.graph.action.Delay"\n'
    nodes += (
        " custom double inputs:duration = 0.125\n custom uint inputs:execIn.connect = </G/on.outputs:execOut>\n }\n"
    )
    nodes += 'def OmniGraphNode "five" {\n token node:type = "omni.graph.nodes.ConstantFloat"\n'
    nodes += " custom float inputs:value = 5\n }\n"
    nodes += write("height", "height", "/G/five.inputs:value", "/G/wait.outputs:finished")
    nodes += write("animated", "animated", "/G/five.inputs:value", "/G/height.outputs:execOut")
    result = play(make_scene(nodes, "execution"), fps=24, frames=(0, 5))
    assert values(result, frames=range(6)) == [2, 2, 2, 5, 5, 5]
    assert values(result, "animated", frames=range(6)) == [0, 1, 2, 5, 5, 5]


def test_conversions_on_the_way_to_the_prim(make_scene, play):
    nodes = TIME
    for name, source in (("scale", "time"), ("count", "frame"), ("flag", "isPlaying")):
        nodes += write(f"w_{name}", name, f"/G/time.outputs:{source}")
    result = play(make_scene(nodes), fps=8, frames=(0, 3))
    assert values(result, "scale") == [0, 0.125, 0.25, 0.375]
    assert values(result, "count") == [0, 1, 2, 3] and values(result, "flag") == [True] * 4


def test_written_values_are_read_back_and_timecodes_read_the_scene(make_scene, play):
    nodes = read("now", "height") + read("rest", "height", "custom timecode inputs:usdTimecode = 0")
    nodes += write("back", "scale", "/G/rest.outputs:value")
    nodes += write("first", "height", "/G/time.outputs:frame") + TIME
    nodes += write("second", "count", "/G/now.outputs:value")
    result = play(make_scene(nodes))
    assert values(result, "scale") == [2, 2, 2, 2]
    assert values(result, "count") == [2, 0, 1, 2], "it is read before it is written, as in the file"


def test_animated_prims_and_animated_inputs(make_scene, play):
    nodes = read("read", "animated") + write("write", "height", "/G/read.outputs:value")
    nodes += 'def OmniGraphNode "constant" {\n token node:type = "omni.graph.nodes.ConstantFloat"\n'
    nodes += " custom float inputs:value.timeSamples = { 0: 0, 10: 5 }\n}\n"
    nodes += write("w2", "scale", "/G/constant.inputs:value")
    result = play(make_scene(nodes))
    assert values(result) == [0, 1, 2, 3] and values(result, "scale") == [0, 0.5, 1, 1.5]


def test_points_come_as_views_without_copies(make_scene, play):
    nodes = read() + write("write", "points", "/G/read.outputs:value")
    result = play(make_scene(nodes, frames="0:0"))
    value = result.player.loaded.attribute("/G/read.outputs:value").value
    assert not value.flags.owndata and not value.flags.writeable and value.dtype == np.float32
    stage = Usd.Stage.Open(str(result.target))
    extent = stage.GetAttributeAtPath("/World/Mesh.extent").Get(0)
    assert np.allclose(extent, [(0, 0, 0), (1, 1, 0)])


def test_world_transform_row_vectors(make_scene, play):
    nodes = """
    def OmniGraphNode "m" {
        token node:type = "omni.graph.nodes.GetPrimLocalToWorldTransform"
        custom bool inputs:usePath = 1
        custom token inputs:primPath = "/World/Mesh"
    }
    """
    result = play(make_scene(nodes + TIME + write("w", "height", "/G/time.outputs:time")))
    assert result.player.loaded.attribute("/G/m.outputs:localToWorldTransform").value[3].tolist() == [1, 2, 3, 1]


def test_any_values_kept_in_custom_data(make_scene, play):
    nodes = """
    def OmniGraphNode "w" {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "direction"
        custom token inputs:value (
            customData = { dictionary omni = { dictionary graph = {
                string resolvedType = "vectord[3]"
                double3 attrValue = (1, 2, 3) } } }
        )
    }
    """
    assert values(play(make_scene(nodes, frames="0:0")), "direction", frames=[0]) == [(1, 2, 3)]


PROBLEMS = [
    (read().replace("/World/Mesh", "/World/Mush"), "there is no prim /World/Mush; did you mean /World/Mesh"),
    (read(attribute="pionts"), "has no attribute 'pionts'; did you mean points"),
    (read().replace("custom rel inputs:prim = </World/Mesh>", ""), "inputs:prim must name one prim, it names none"),
    (read(attribute=""), "inputs:name is empty"),
    (TIME + write("w", "points", "/G/time.outputs:time"), "is pointf[3][] and cannot take a value of type double"),
    (TIME + write("w", "label", "/G/time.outputs:time"), "is string and cannot take a value of type double"),
    (
        write("w", "height", "/G/gone.outputs:x"),
        "is connected to /G/gone.outputs:x, which is not there: there is no node /G/gone",
    ),
    (
        TIME + write("w", "height", "/G/tim.outputs:time"),
        "/G/tim.outputs:time, which is not there: there is no node /G/tim; did you mean /G/time?",
    ),
    (
        TIME + write("w", "height", "/G/time.outputs:tyme"),
        "the node /G/time has no attribute 'outputs:tyme'; did you mean outputs:time?",
    ),
    (
        'def OmniGraphNode "n" {\n token node:type = "omni.graph.nodes.ReadTim"\n }',
        "did you mean omni.graph.nodes.ReadTime",
    ),
    ('def OmniGraphNode "n" {\n}', "node:type is not set"),
    (
        TIME + 'def OmniGraphNode "n" {\n token node:type = "omni.graph.action.OnTick"\n'
        "custom uint inputs:framePeriod.connect = </G/time.outputs:x>\n}",
        "/G/time.outputs:x, which is not there: the node /G/time has no attribute 'outputs:x'; it has outputs:",
    ),
]


@pytest.mark.parametrize(("nodes", "words"), PROBLEMS, ids=[words for _, words in PROBLEMS])
def test_a_problem_is_told_once_and_other_nodes_keep_their_results(make_scene, play, nodes, words):
    clock = TIME.replace('"time"', '"clock"') + write("good", "scale", "/G/clock.outputs:frame")
    result = play(make_scene(f"{nodes}\n{clock}"))
    assert result.outcome.failed and len(result.log.errors) == 1
    assert words in result.log.errors[0] and "/G/" in result.log.errors[0]
    assert values(result, "scale") == [0, 1, 2, 3]


def test_a_source_of_an_unknown_type_is_blamed_on_the_type(make_scene, play):
    clock = 'def OmniGraphNode "t" {\n token node:type = "a.b.Clock"\n}'
    errors = play(make_scene(clock + write("w", "height", "/G/t.outputs:x"))).log.errors
    assert errors[1:] == [
        "/G/w: inputs:value is connected to /G/t.outputs:x, which is not there: /G/t is of the unknown type 'a.b.Clock'"
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("/G/tick.outputs:tikc", "the node /G/tick has no attribute 'outputs:tikc'; did you mean outputs:tick?"),
        ("/G/tick.outputs:execOut", "the node /G/tick has no attribute 'outputs:execOut'; it has outputs:tick"),
        ("/G/tik.outputs:tick", "there is no node /G/tik; did you mean /G/tick?"),
    ],
)
def test_a_mistyped_execution_connection_is_one_error(make_scene, play, source, words):
    nodes = TICK + write("w", "height", "/G/tick.outputs:frame", source)
    nodes += write("after", "scale", "/G/tick.outputs:frame", "/G/w.outputs:execOut")
    result = play(make_scene(nodes, "execution"))
    assert result.log.errors == [f"/G/w: inputs:execIn is connected to {source}, which is not there: {words}"]
    assert not result.log.warnings


def test_a_long_list_of_names_is_cut(make_scene, play):
    many = "".join(f"custom float outputs:a{i}\n" for i in range(50))
    nodes = TIME.replace("\n }", f"\n{many} }}") + write("w", "height", "/G/time.outputs:zzzz")
    (error,) = play(make_scene(nodes)).log.errors
    assert error.endswith(", …") and error.count("outputs:") == 12  # the path, the name, and ten that exist


def test_oddities_are_warnings(make_scene, play):
    odd = TICK.replace("\n }", '\n int node:typeVersion = 9\n custom string inputs:framePeriod = "x"\n }')
    nodes = odd + write("w", "height", "/G/tick.outputs:frame", "/G/tick.outputs:tick")
    result = play(make_scene(nodes, "lazily"))
    text = "\n".join(result.log.warnings)
    assert "unknown evaluator 'lazily'" in text and "was saved by version 9" in text and "holds a string" in text
    assert not result.outcome.failed and values(result) == [0, 1, 2, 3]


def test_inputs_connected_in_a_ring_do_not_hang(make_scene, play):
    ring = ""
    for name, other in (("a", "b"), ("b", "a")):
        ring += f'def OmniGraphNode "{name}" {{\n token node:type = "omni.graph.nodes.ConstantFloat"\n'
        ring += f" custom float inputs:value.connect = </G/{other}.inputs:value>\n }}\n"
    result = play(make_scene(ring + TIME + write("w", "height", "/G/time.outputs:frame")))
    assert any("connected to itself" in text for text in result.log.warnings)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("/G/tick.inputs:framePeriod", "x", "uint needs one number"),
        ("/G/tik.inputs:framePeriod", "1", "there is no node /G/tik; did you mean /G/tick"),
        ("/G/tick.inputs:framePeriot", "1", "did you mean inputs:framePeriod"),
        ("/G/w.inputs:value", "x", "double needs"),
        ("/G/w.inputs:execIn", "1", "is an execution attribute; set an input"),
        ("/G/tick.outputs:frame", "1", "is an output, which its node sets; set an input"),
        ("/G/tick.inputs:onlyPlayback", "2", "true or false"),
        ("/G/tick.node:enabled", "perhaps", "--set /G/tick.node:enabled: bool needs true or false"),
        ("/G/tick.graph:enabled", "false", "did you mean node:enabled?"),
        (
            "/G.node:enabled",
            "false",
            "/G is a graph, which has no attribute 'node:enabled' to set; it has graph:enabled",
        ),
        ("/World/Mesh.points", "[]", "/World/Mesh is no node, but a Mesh of the scene"),
        ("/World.node:enabled", "false", "/World is no node, but a Xform of the scene"),
    ],
)
def test_set_mistakes(make_scene, name, text, words):
    nodes = TICK + write("w", "height", "/G/tick.outputs:frame", "/G/tick.outputs:tick")
    scene = make_scene(nodes)
    with pytest.raises(SettingsError) as error:
        Player.open(scene, Settings(values=[(name, text)]))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [("3", "int", 3), ("2.5", "double", 2.5), ("(1.5, 2)", "double[2]", [1.5, 2]), ("[1, 2]", "int[]", [1, 2])],
)
def test_set_gives_an_open_input_its_type(make_scene, text, kind, value):
    scene = make_scene('def OmniGraphNode "n" {\n token node:type = "omni.graph.nodes.Negate"\n }\n')
    player = Player.open(scene, Settings(values=[("/G/n.inputs:input", text)]))
    attribute = player.loaded.attribute("/G/n.inputs:input")
    assert str(attribute.resolved) == kind and np.array_equal(attribute.value, value)


@pytest.mark.parametrize("off", ["false", "0", "False"])
def test_set_switches_nodes_and_graphs(make_scene, play, off):
    nodes = TIME + write("a", "height", "/G/time.outputs:frame") + write("b", "scale", "/G/time.outputs:frame")
    scene = make_scene(nodes)
    assert play(scene, values=[("/G/b.node:enabled", off)]).outcome.written == ["/World/Mesh.height"]
    assert play(scene, values=[("/G.graph:enabled", off)]).outcome.written == []
    scene = make_scene(nodes.replace('"b" {', '"b" {\n custom bool node:enabled = 0\n'), name="off.usda")
    assert play(scene).outcome.written == ["/World/Mesh.height"]
    both = ["/World/Mesh.height", "/World/Mesh.scale"]
    assert play(scene, values=[("/G/b.node:enabled", "true")]).outcome.written == both


def test_set_tells_values_beyond_limits(make_scene):
    scene = make_scene('def OmniGraphNode "n" {\n token node:type = "omni.graph.nodes.Trig"\n }\n')
    log = Log(emit=lambda text: None)
    Player.open(scene, Settings(values=[("/G/n.inputs:operation", "SINE")]), log)
    assert log.warnings and log.warnings[0].startswith("/G/n: inputs:operation: 'SINE' is not among the allowed tokens")


def test_set_goes_before_connections(make_scene, play):
    nodes = 'def OmniGraphNode "c" {\n token node:type = "omni.graph.nodes.ConstantToken"\n'
    nodes += ' custom token inputs:value = "height"\n }\n'
    nodes += TIME + write("w", "x", "/G/time.outputs:frame").replace(
        'inputs:name = "x"', "inputs:name.connect = </G/c.inputs:value>"
    )
    assert play(make_scene(nodes)).outcome.written == ["/World/Mesh.height"]
    assert play(make_scene(nodes), values=[("/G/w.inputs:name", "scale")]).outcome.written == ["/World/Mesh.scale"]


def test_frame_ranges(make_scene, play, tmp_path):
    nodes = TIME + write("w", "height", "/G/time.outputs:frame")
    result = play(make_scene(nodes), frames=(-2, 1))
    assert values(result, frames=range(-2, 2)) == [-2, -1, 0, 1]
    scene = tmp_path / "timeless.usda"
    scene.write_text(
        Path(make_scene(nodes)).read_text().replace("startTimeCode = 0", "").replace("endTimeCode = 3", "")
    )
    with pytest.raises(SettingsError, match="--frames A:B"):
        Player.open(str(scene), Settings())
    for wrong in ({"fps": 0.0}, {"fps": float("nan")}, {"frames": (0, 10**8)}):
        with pytest.raises(SettingsError):
            Player.open(make_scene(nodes), Settings(**wrong))


def test_time_codes_of_the_scene_are_scaled_to_frames(make_scene, play):
    nodes = read("read", "animated") + write("write", "height", "/G/read.outputs:value")
    result = play(make_scene(nodes), frames=(0, 4), fps=48)  # the scene has 24 time codes per second
    assert values(result, frames=range(5)) == [0, 0.5, 1, 1.5, 2]


def test_nothing_to_play(make_scene, tmp_path):
    with pytest.raises(StageError, match="no OmniGraph"):
        Player.open(make_scene(""), Settings())
    with pytest.raises(StageError, match="no such file"):
        Player.open(str(tmp_path / "gone.usda"), Settings())
    (tmp_path / "bad.usda").write_text("#usda 1.0\ndef {")
    with pytest.raises(StageError, match="line 2"):
        Player.open(str(tmp_path / "bad.usda"), Settings())
    (tmp_path / "bad.usdc").write_bytes(b"PXR-USDC" + b"\0" * 50)
    with pytest.raises(StageError, match=r"not a USD stage"):
        Player.open(str(tmp_path / "bad.usdc"), Settings())
    with pytest.raises(StageError, match="not a file"):
        Player.open(str(tmp_path), Settings())


def test_missing_references_are_told_by_path(make_scene, play):
    nodes = TIME + write("w", "height", "/G/time.outputs:frame")
    scene = make_scene(nodes)
    text = (
        Path(scene)
        .read_text()
        .replace('def Xform "World"', 'def "Lost" (references = @./lost.usd@) {}\ndef Xform "World"')
    )
    Path(scene).write_text(text)
    result = play(scene)
    assert any("lost.usd" in text for text in result.log.warnings) and values(result) == [0, 1, 2, 3]


def test_graphs_in_instances_are_told_of(make_scene, play, tmp_path):
    rig = make_scene(TIME + write("w", "height", "/G/time.outputs:frame"), name="rig.usda")
    nested = Path(rig).read_text().replace('def OmniGraph "G"\n{', 'def "Rig"\n{\ndef OmniGraph "G"\n{') + "}\n"
    Path(rig).write_text(nested.replace("/G/", "/Rig/G/"))
    scene = make_scene(TIME + write("w", "height", "/G/time.outputs:frame"))
    copy = 'def "Copy" (\n    references = @./rig.usda@</Rig>\n    instanceable = true\n)\n{\n}\n'
    Path(scene).write_text(Path(scene).read_text() + copy)
    result = play(scene)
    assert result.log.warnings == [
        "/Copy: is instanceable, so the graphs in it are not played; make it not instanceable"
    ]
    assert values(result) == [0, 1, 2, 3]


READ = """
def OmniGraphNode "read" {
    token node:type = "omni.graph.nodes.ReadPrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "animated"
    custom timecode inputs:usdTimecode.connect = </G/read.outputs:value>
}
def OmniGraphNode "write" {
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "height"
    custom token inputs:value.connect = </G/read.outputs:value>
}
"""


def test_a_cycle_into_the_time_code_reads_now_first(make_scene, play):
    """`animated` is its own time: the first read, at frame 3, gives 3; each later one reads at what was read."""
    made = play(make_scene(READ, frames="3:5"))
    stage = Usd.Stage.Open(str(made.target))
    assert [stage.GetAttributeAtPath("/World/Mesh.height").Get(t) for t in (3, 4, 5)] == [3, 3, 3]
    assert not made.outcome.failed
