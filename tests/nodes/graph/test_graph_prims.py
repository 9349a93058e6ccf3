"""Graphs as prims: compounds, variables, settings, instances. Small scenes as text, values worked out by hand."""

import textwrap

import pytest
from pxr import Sdf, Usd

from omni.warp_core import cli
from omni.warp_core.nodes.graph.node_graph import Host, Log
from omni.warp_core.nodes.graph.schedule import Schedule
from omni.warp_core.nodes.scene.graph_loader import load
from omni.warp_core.nodes.stock import node_registry

TYPES = node_registry.standard()
TICK = 'def OmniGraphNode "tick" {\ntoken node:type = "omni.graph.action.OnTick"\n}\n'


class Scene:
    """A scene from text, ready to play."""

    def __init__(self, text: str):
        self.layer = Sdf.Layer.CreateAnonymous(".usda")
        assert self.layer.ImportFromString("#usda 1.0\n" + textwrap.dedent(text))
        self.stage = Usd.Stage.Open(self.layer)
        self.log = Log(emit=lambda text: None)
        self.host = Host(self.log)
        self.loaded = load(self.stage, TYPES, self.host)
        self.schedule = Schedule(self.loaded.graphs, self.host)

    def play(self, frames: int = 1):
        self.schedule.start()
        for frame in range(frames):
            self.host.timeline.frame = frame
            self.schedule.frame()
        return self

    def value(self, path: str):
        found = self.loaded.attribute(path)
        assert found is not None, path
        return found.value


def node(name, kind, *lines):
    body = "\n".join(lines)
    return f'def OmniGraphNode "{name}" {{\ntoken node:type = "omni.graph.{kind}"\n{body}\n}}\n'


def graph(*nodes, name="G", evaluator="push", settings=""):
    body = "\n".join(nodes)
    return f'def OmniGraph "{name}" {{\ntoken evaluator:type = "{evaluator}"\n{settings}\n{body}\n}}\n'


def compound(name, inside, *lines, evaluator="push", settings=""):
    return node(
        name, "nodes.CompoundSubgraph", *lines, graph(*inside, name="Sub", evaluator=evaluator, settings=settings)
    )


def constant(name, value=None, source="", kind="Double", usd="double"):
    line = f"custom {usd} inputs:value" + (f" = {value}" if value is not None else "")
    more = f"custom {usd} inputs:value.connect = <{source}>" if source else ""
    return node(name, f"nodes.Constant{kind}", line if value is not None else "", more)


def counter(name, after):
    return node(name, "action.Counter", f"custom uint inputs:execIn.connect = <{after}>")


def test_a_compound_passes_data_in_and_out():
    inside = [constant("inner", source="/G/c.inputs:a")]
    ports = [
        "custom token inputs:a.connect = </G/one.inputs:value>",
        "custom token outputs:sum",
        "prepend token outputs:sum.connect = </G/c/Sub/inner.inputs:value>",
    ]
    scene = Scene(
        graph(constant("one", 4.5), compound("c", inside, *ports), constant("out", source="/G/c.outputs:sum"))
    ).play()
    assert scene.value("/G/out.inputs:value") == 4.5
    assert not scene.log.errors and not scene.log.warnings
    assert [g.path for g in scene.loaded.graphs] == ["/G"]
    assert list(scene.loaded.graphs[0].nodes) == ["/G/one", "/G/c", "/G/c/Sub/inner", "/G/out"]


def test_a_compound_input_without_a_source_holds_a_value():
    inside = [constant("inner", source="/G/c.inputs:a")]
    scene = Scene(graph(compound("c", inside, "custom double inputs:a = 2.5"))).play()
    assert scene.value("/G/c/Sub/inner.inputs:value") == 2.5 and not scene.log.errors


def test_compounds_in_compounds():
    innermost = compound(
        "d", [constant("deep", source="/G/c/Sub/d.inputs:b")], "custom token inputs:b.connect = </G/c.inputs:a>"
    )
    outer = compound("c", [innermost], "custom token inputs:a.connect = </G/one.inputs:value>")
    scene = Scene(graph(outer, constant("one", 7.0))).play()
    assert scene.value("/G/c/Sub/d/Sub/deep.inputs:value") == 7.0
    assert not scene.log.errors and not scene.log.warnings


def test_a_way_out_of_a_compound_and_in_again_is_no_cycle():
    inside = [constant("first", source="/G/c.inputs:a"), constant("second", source="/G/c.inputs:b")]
    ports = [
        "custom double inputs:a = 3",
        "custom token inputs:b.connect = </G/outside.inputs:value>",
        "custom token outputs:x.connect = </G/c/Sub/first.inputs:value>",
    ]
    scene = Scene(graph(compound("c", inside, *ports), constant("outside", source="/G/c.outputs:x"))).play()
    assert scene.value("/G/c/Sub/second.inputs:value") == 3.0 and not scene.log.warnings


def test_execution_goes_through_compounds():
    inside = [counter("one", "/G/c.inputs:go"), counter("two", "/G/c/Sub/one.outputs:execOut")]
    ports = [
        "custom uint inputs:go (customData = { bool isExecution = 1 })",
        "custom uint inputs:go.connect = </G/tick.outputs:tick>",
        "custom uint outputs:done.connect = </G/c/Sub/two.outputs:execOut>",
    ]
    nodes = [TICK, compound("c", inside, *ports, evaluator="execution"), counter("last", "/G/c.outputs:done")]
    scene = Scene(graph(*nodes, evaluator="execution")).play(3)
    counts = [scene.value(f"/G/{name}.outputs:count") for name in ("c/Sub/one", "c/Sub/two", "last")]
    assert counts == [3, 3, 3] and not scene.log.errors and not scene.log.warnings


def test_hostile_compounds_end():
    ring = ["custom double outputs:x.connect = </G/c.outputs:y>", "custom double outputs:y.connect = </G/c.outputs:x>"]
    flow = [
        f"custom uint {a}:e (customData = {{ bool isExecution = 1 }})\ncustom uint {a}:e.connect = </G/c.{b}:e>"
        for a, b in (("inputs", "outputs"), ("outputs", "inputs"))
    ]
    nodes = [
        TICK,
        compound("c", [], *ring, *flow),
        counter("n", "/G/c.outputs:e"),
        constant("k", source="/G/c.outputs:x"),
    ]
    scene = Scene(graph(*nodes, evaluator="execution")).play()
    (warning,) = scene.log.warnings
    assert warning.startswith("/G/c.outputs:y: is connected to itself through /G/c.outputs:x")
    assert scene.value("/G/k.inputs:value") == 0.0 and scene.value("/G/n.outputs:count") == 0


def test_a_graph_below_an_ordinary_node_stays_a_graph():
    inner = graph(constant("b", 2.0), name="Inner", evaluator="dirty_push")
    scene = Scene(graph(node("a", "nodes.ConstantDouble", inner)))
    assert {g.path: (g.evaluator, list(g.nodes)) for g in scene.loaded.graphs} == {
        "/G": ("push", ["/G/a"]),
        "/G/a/Inner": ("dirty_push", ["/G/a/Inner/b"]),
    }


def read(name, variable="v"):
    return node(name, "core.ReadVariable", f'custom token inputs:variableName = "{variable}"')


def test_variables_are_those_of_the_innermost_graph():
    inside = [
        read("r"),
        read("w", "w"),
        constant("r2", source="/G/c/Sub/r.outputs:value"),
        constant("w2", source="/G/c/Sub/w.outputs:value"),
    ]
    sub = compound("c", inside, settings="custom double graph:variable:v = 5")
    settings = "custom double graph:variable:v = 1\ncustom float graph:variable:w = 2"
    scene = Scene(graph(read("r"), sub, constant("out", source="/G/r.outputs:value"), settings=settings)).play()
    found = [scene.value(f"/G/{name}.inputs:value") for name in ("out", "c/Sub/r2", "c/Sub/w2")]
    assert found == [1.0, 5.0, 2.0] and not scene.log.errors
    assert scene.value("/G.graph:variable:v") == 1.0


def test_animated_variables_and_connections_to_them():
    settings = "custom double graph:variable:v.timeSamples = { 0: 1, 2: 3 }"
    scene = Scene(graph(constant("out", source="/G.graph:variable:v"), settings=settings))
    ((attribute, prop),) = scene.loaded.animated
    assert attribute.path == "/G.graph:variable:v" and prop.Get(1.0) == 2.0
    scene.play()
    assert scene.value("/G/out.inputs:value") == 1.0 and not scene.log.errors


def test_a_missing_variable_is_told_with_those_that_are_there():
    scene = Scene(graph(read("r", "speet"), settings="custom double graph:variable:speed = 1")).play()
    (error,) = scene.log.errors
    assert "the graph /G has no variable 'speet'" in error and "speed" in error


def test_settings_of_graphs():
    settings = 'token pipelineStage = "pipelineStagePreRender"\ntoken evaluationMode = "Standalone"'
    scene = Scene(graph(constant("a", 1.0), settings=settings))
    (found,) = scene.loaded.graphs
    assert (found.stage, found.mode, found.enabled) == ("pipelineStagePreRender", "Standalone", True)
    odd = 'token pipelineStage = "later"\ntoken evaluationMode = "Often"'
    log = Scene(graph(constant("a", 1.0), settings=odd)).log
    assert [text.partition(",")[0] for text in log.warnings] == [
        "/G: unknown pipelineStage 'later'",
        "/G: unknown evaluationMode 'Often'",
    ]


def test_a_play_without_anything_that_is_on_says_so(make_scene, tmp_path, capsys):
    scene, out = make_scene(VARIABLE_TO_MESH), tmp_path / "out.usda"
    assert cli.main(["play", scene, "-o", str(out), "--set", "/G.graph:enabled=false"]) == cli.INPUT
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines() if "/G/" in line] == ["off"] * 3
    assert shown.err.startswith(f"error: all nodes are switched off, so {out} was not written; --set PATH.graph:en")
    assert not out.exists()


@pytest.mark.parametrize("off", ["node", "graph", "compound", "prim"])
def test_nodes_and_graphs_that_the_scene_switches_off(off):
    line = {"node": "custom bool node:enabled = 0"}.get(off, "")
    inside = [node("r", "nodes.ConstantDouble", line, "custom double inputs:value.connect = </G/src.inputs:value>")]
    sub = compound("c", inside, settings="custom bool graph:enabled = 0" if off == "compound" else "")
    settings = "custom bool graph:enabled = 0" if off == "graph" else ""
    text = graph(constant("src", 3.0), sub, settings=settings)
    if off == "prim":
        text = text.replace('def OmniGraphNode "r" {', 'def OmniGraphNode "r" (active = false) {')
    scene = Scene(text).play()
    assert not scene.log.errors
    if off == "prim":
        assert scene.loaded.attribute("/G/c/Sub/r.inputs:value") is None
    else:
        assert scene.value("/G/c/Sub/r.inputs:value") == 0.0


def test_prims_that_name_a_graph_get_evaluations_of_their_own():
    target = node("t", "nodes.GraphTarget")
    out = node("out", "nodes.ConstantToken", "custom token inputs:value.connect = </G/t.outputs:primPath>")
    keep = [read("r"), constant("v", source="/G/r.outputs:value")]
    prims = """
    def Xform "P" (prepend apiSchemas = ["OmniGraphAPI"]) {
        rel omniGraphs = </G>
        custom double graph:variable:v = 8
    }
    def Xform "Q" {
        rel omniGraphs = [</G>, </Gone>]
    }
    """
    scene = Scene(graph(target, out, *keep, settings="custom double graph:variable:v = 1") + prims).play()
    found = {}
    for each in scene.schedule.nodes():
        found.setdefault(each.path, []).append(each.attributes.get("inputs:value"))
    assert [a.value for a in found["/G/out"]] == ["/P", "/Q"]
    assert [a.value for a in found["/G/v"]] == [8.0, 1.0]
    assert scene.log.warnings == ["/Q: names the graph /Gone in omniGraphs, which is not there"]


def test_dynamic_execution_outputs_without_custom_data():
    gate = node(
        "gate",
        "action.Multigate",
        "custom uint outputs:output1",
        "custom uint inputs:execIn.connect = </G/tick.outputs:tick>",
    )
    scene = Scene(
        graph(
            TICK,
            gate,
            counter("a", "/G/gate.outputs:output0"),
            counter("b", "/G/gate.outputs:output1"),
            evaluator="execution",
        )
    ).play(3)
    assert (scene.value("/G/a.outputs:count"), scene.value("/G/b.outputs:count")) == (2, 1)
    assert not scene.log.errors


def test_a_missing_type_is_told_by_path_and_the_rest_plays():
    gone = node("gone", "action.DanceLoop", "custom uint inputs:execIn.connect = </G/tick.outputs:tick>")
    scene = Scene(graph(TICK, gone, counter("n", "/G/tick.outputs:tick"), evaluator="execution")).play(2)
    (error,) = scene.log.errors
    assert error.startswith("/G/gone: there is no node type 'omni.graph.action.DanceLoop' in this host")
    assert scene.value("/G/n.outputs:count") == 2


def test_a_value_whose_type_the_scene_notes():
    literal = """custom token inputs:value (
        customData = {
            dictionary omni = {
                dictionary graph = {
                    double attrValue = 3.5
                    string resolvedType = "double"
                }
            }
        }
    )"""
    write = node("w", "core.WriteVariable", 'custom token inputs:variableName = "v"', literal)
    scene = Scene(graph(write, settings="custom float graph:variable:v")).play()
    assert scene.value("/G.graph:variable:v") == 3.5 and not scene.log.errors


VARIABLE_TO_MESH = """
    custom double graph:variable:speed = 2
    def OmniGraphNode "read" {
        token node:type = "omni.graph.core.ReadVariable"
        custom token inputs:variableName = "speed"
    }
    def OmniGraphNode "write" {
        token node:type = "omni.graph.nodes.WritePrimAttribute"
        custom rel inputs:prim = </World/Mesh>
        custom token inputs:name = "height"
        custom token inputs:value.connect = </G/read.outputs:value>
    }
    def OmniGraphNode "rests" {
        token node:type = "omni.graph.nodes.ReadTime"
        custom bool node:enabled = 0
    }
"""


def test_a_variable_is_set_on_the_command_line(make_scene, tmp_path, capsys):
    out = tmp_path / "out.usda"
    arguments = ["play", make_scene(VARIABLE_TO_MESH), "-o", str(out), "--set"]
    assert cli.main([*arguments, "/G.graph:variable:speed=7"]) == cli.OK
    assert Usd.Stage.Open(str(out)).GetAttributeAtPath("/World/Mesh.height").Get(2) == 7.0
    states = {line.split()[-2]: line.split()[0] for line in capsys.readouterr().out.splitlines() if "/G/" in line}
    assert states == {"/G/read": "ok", "/G/write": "ok", "/G/rests": "off"}
    assert cli.main([*arguments, "/G.graph:variable:speet=7"]) == cli.USAGE
    assert "graph:variable:speed" in capsys.readouterr().err


def test_a_play_of_loops_in_compounds_for_two_prims(tmp_path, play):
    inside = [counter("count", "/G/c.inputs:go")]
    ports = [
        "custom uint inputs:go (customData = { bool isExecution = 1 })",
        "custom uint inputs:go.connect = </G/loop.outputs:loopBody>",
        "custom uint outputs:done.connect = </G/c/Sub/count.outputs:execOut>",
        "custom token outputs:count.connect = </G/c/Sub/count.outputs:count>",
    ]
    nodes = [
        TICK,
        node("target", "nodes.GraphTarget"),
        read("times", "times"),
        node(
            "loop",
            "action.ForLoop",
            "custom int inputs:stop.connect = </G/times.outputs:value>",
            "custom uint inputs:execIn.connect = </G/tick.outputs:tick>",
        ),
        compound("c", inside, *ports, evaluator="execution"),
        node(
            "write",
            "nodes.WritePrimAttribute",
            "custom token inputs:primPath.connect = </G/target.outputs:primPath>",
            "custom bool inputs:usePath = 1",
            'custom token inputs:name = "height"',
            "custom token inputs:value.connect = </G/c.outputs:count>",
            "custom uint inputs:execIn.connect = </G/c.outputs:done>",
        ),
    ]
    prims = "".join(
        f'def Xform "{name}" {{\nrel omniGraphs = </G>\ncustom double height = 0\n{more}\n}}\n'
        for name, more in (("P", ""), ("Q", "custom int graph:variable:times = 3"))
    )
    text = graph(*nodes, evaluator="execution", settings="custom int graph:variable:times = 2")
    scene = tmp_path / "scene.usda"
    scene.write_text("#usda 1.0\n(\nstartTimeCode = 0\nendTimeCode = 3\n)\n" + prims + text)
    result = play(str(scene))
    assert not result.log.errors and not result.log.warnings
    stage = Usd.Stage.Open(str(result.target))
    for path, each in (("/P", 2), ("/Q", 3)):
        heights = stage.GetAttributeAtPath(f"{path}.height")
        assert [heights.Get(frame) for frame in range(4)] == [each * (frame + 1) for frame in range(4)]
    assert all(node.ran for node in result.outcome.nodes)
