"""Kernel nodes write into the same memory in every frame: what reads it later still gets the numbers of its frame."""

import time

import numpy as np
import pytest
from pxr import Usd

import omni.warp_core as wp

CLOCK = 'def OmniGraphNode "clock"\n{\n    token node:type = "omni.graph.nodes.ReadTime"\n}\n'
COUNT = "@wp.kernel\\ndef k(t: float, x: wp.array(dtype=DTYPE)):\\n    x[wp.tid()] = BODY"


def kernel(name, text, attributes):
    return (
        f'def OmniGraphNode "{name}"\n{{\n    token node:type = "omni.warp_core.Kernel"\n'
        f'    custom string inputs:codeStr = "{text}"\n{attributes}\n}}\n'
    )


def ticking(name="a", kind="double", source="/G/clock.outputs:time"):
    """A Kernel node whose two elements are the frame."""
    dtype = {"double": "wp.float64", "float": "float"}[kind]
    text = COUNT.replace("DTYPE", dtype).replace("BODY", f"{dtype}(t * 24.0)")
    attributes = f"    custom double inputs:t.connect = <{source}>\n    custom {kind}[] outputs:x\n"
    attributes += "    custom int inputs:dim1 = 2"
    return kernel(name, text, attributes)


def copying(source, kind="float"):
    text = "@wp.kernel\\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\\n    y[wp.tid()] = x[wp.tid()]"
    return kernel("b", text, f"    custom float[] inputs:x.connect = <{source}>\n    custom {kind}[] outputs:y")


def frames(player, path):
    """The values of an attribute after each of five frames."""
    found = []
    for _ in range(5):
        player.step()
        found.append(np.array(player.get(path)).tolist())
    assert not player.errors, player.errors
    return found


@pytest.fixture
def values(make_scene):
    def run(nodes, path, evaluator="push"):
        with wp.usd.play(make_scene(nodes, evaluator, "0:9"), trust=True) as player:
            return frames(player, path)

    return run


EACH_FRAME = [[frame, frame] for frame in range(5)]


def test_a_chain_that_converts_between_its_nodes(values):
    assert values(CLOCK + ticking() + copying("/G/a.outputs:x"), "/G/b.outputs:y") == EACH_FRAME


def test_an_input_connected_to_an_input_of_an_earlier_node(values):
    nodes = CLOCK + ticking("a") + ticking("b", source="/G/a.inputs:t")
    assert values(nodes, "/G/b.outputs:x") == EACH_FRAME


DATA = {
    "ArrayReverse": ("inputs:array", "outputs:array"),
    "ToFloat": ("inputs:value", "outputs:converted"),
    "SelectIf": ("inputs:ifTrue", "outputs:result"),
}


@pytest.mark.parametrize("evaluator", ["push", "dirty_push"])
@pytest.mark.parametrize("name", DATA)
def test_data_nodes_see_each_frame(values, evaluator, name):
    into, out = DATA[name]
    between = f'def OmniGraphNode "m"\n{{\n    token node:type = "omni.graph.nodes.{name}"\n'
    between += "    custom bool inputs:condition = 1\n" * (name == "SelectIf")
    between += "    custom float[] inputs:ifFalse = [0, 0]\n" * (name == "SelectIf")
    between += f"    custom token {into}.connect = </G/a.outputs:x>\n}}\n"
    nodes = CLOCK + ticking(kind="float") + between + copying(f"/G/m.{out}")
    assert values(nodes, "/G/b.outputs:y", evaluator) == EACH_FRAME


def test_values_in_bundles_stay(values, make_scene):
    nodes = CLOCK + ticking(kind="float") + 'def OmniGraphNode "m"\n{\n'
    nodes += '    token node:type = "omni.graph.nodes.InsertAttribute"\n    custom token inputs:outputAttrName = "q"\n'
    nodes += "    custom token inputs:attrToInsert.connect = </G/a.outputs:x>\n}\n"
    with wp.usd.play(make_scene(nodes, frames="0:9"), trust=True) as player:
        bundles = []
        for _ in range(4):
            player.step()
            bundles.append(player.get("/G/m.outputs:data"))
    assert [bundle.value("q").tolist() for bundle in bundles] == EACH_FRAME[:4]
    with pytest.raises(ValueError, match="read-only"):
        bundles[0].value("q")[:] = 1


FAILING = """
    def OmniGraphNode "s"
    {
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = "@wp.kernel\\ndef k(n: wp.array(dtype=float)):\\n    n[wp.tid()] += 1.0"
        custom float[] state:n = [0]
        custom float[] outputs:n
    }
    def OmniGraphNode "b"
    {
        token node:type = "omni.warp_core.Kernel"
        custom string inputs:codeStr = "@wp.kernel\\ndef k(n: wp.array(dtype=float), t: float, y: wp.array(dtype=float)):\\n    k = int(0)\\n    if t > 0.08 and t < 0.09:\\n        k = 2000000000\\n    y[k] = n[0]"
        custom float[] inputs:n.connect = </G/s.outputs:n>
        custom double inputs:t.connect = </G/clock.outputs:time>
        custom int inputs:dim1 = 1
        custom float[] outputs:y
    }
"""  # noqa: E501


def test_a_failure_does_not_advance_states_twice(make_scene):
    with wp.usd.play(make_scene(CLOCK + FAILING, frames="0:9"), trust=True) as player:
        found = []
        for _ in range(5):
            player.step()
            found.append(player.get("/G/s.outputs:n").tolist())
    assert found == [[1], [2], [3], [4], [5]]
    assert len(player.errors) == 1 and "/G/b" in player.errors[0]


def test_told_and_given_arrays_are_copies(make_scene):
    told, given = [], np.array([[1, 2, 3]] * 4, np.float32)
    text = "@wp.kernel\\ndef k(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):\\n    q[wp.tid()] = p[wp.tid()]"
    nodes = CLOCK + ticking() + kernel("c", text, "    custom point3f[] inputs:p\n    custom point3f[] outputs:q")
    with wp.usd.play(make_scene(nodes, frames="0:9"), trust=True) as player:
        player.on_change("/G/a.outputs:x", lambda path, value: told.append(value))
        player.set("/G/c.inputs:p", given)
        given[:] = 50
        for _ in range(3):
            player.step()
            player.get("/G/a.outputs:x")[:] = 99
        assert player.get("/G/c.outputs:q").tolist() == [[1, 2, 3]] * 4
    assert [value.tolist() for value in told] == EACH_FRAME[:3]


def test_a_new_text_by_set_runs():
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    text = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = 1.0"
    node = graph.node("k", "omni.warp_core.Kernel", codeStr=text, dim1=2)
    graph.attribute(node, "outputs:x", "float[]")
    with wp.usd.play(stage, frames=(0, 50), trust=True) as player:
        player.play(3)
        assert player.get("/G/k.outputs:x").tolist() == [1, 1]
        player.set("/G/k.inputs:codeStr", text.replace("1.0", "2.0"))
        while player.get("/G/k.outputs:x").tolist() != [2, 2]:  # it compiles in the background
            time.sleep(0.01)
            player.step()
        with pytest.raises(ValueError, match="not an input"):
            player.set("/G/k.outputs:x", [1.0])


def test_a_negative_length_is_refused(make_scene, play):
    attributes = "    custom double inputs:t = 1\n    custom float[] outputs:x\n    custom int inputs:x:length = -2\n"
    text = COUNT.replace("DTYPE", "float").replace("BODY", "1.0")
    result = play(make_scene(kernel("a", text, attributes + "    custom int inputs:dim1 = 3"), frames="0:0"))
    assert any("inputs:x:length is -2" in error for error in result.log.errors)


def test_negative_substeps_are_refused(make_scene, play):
    attributes = "    custom double inputs:t = 1\n    custom float[] outputs:x\n    custom int inputs:substeps = -3\n"
    text = COUNT.replace("DTYPE", "float").replace("BODY", "1.0")
    result = play(make_scene(kernel("a", text, attributes + "    custom int inputs:dim1 = 3"), frames="0:0"))
    assert any("inputs:substeps is -3" in error for error in result.log.errors)


def test_builders_connect_bundles_and_make_variables():
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    grid = graph.node("grid", "omni.warp_core.GridCreate", dims=(2, 3))
    out = graph.node("out", "omni.graph.nodes.WritePrimsV2", prims="/Grid")
    graph.connect(f"{grid}.outputs:mesh", f"{out}.inputs:primsBundle")
    graph.variable("speed", "float", 2.5)
    read = graph.node("read", "omni.graph.core.ReadVariable", variableName="speed")
    with wp.usd.play(stage, frames=(0, 0)) as player:
        player.step()
        assert not player.errors
        assert player.get(f"{read}.outputs:value") == 2.5
        assert len(player.get("/Grid.points")) == 12
    assert not stage.GetPrimAtPath("/Grid"), "the stage is never changed"


def test_a_path_without_an_attribute_is_told(make_scene):
    with wp.usd.play(make_scene(CLOCK)) as player, pytest.raises(KeyError, match="names no attribute"):
        player.get("/World/Mesh")
