"""Messages of the player and of the builder of graphs: they name the value, the place, and what to write instead."""

import json

import numpy as np
import pytest
from pxr import Usd

import omni.warp_core as wp
from omni.warp_core.nodes.stock import node_registry
from omni.warp_core.nodes.values.attribute_types import from_sdf, parse

DOUBLE = """
@wp.kernel
def double(x: wp.array[float], factor: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = factor * x[i]
"""


@pytest.fixture
def stage():
    made = Usd.Stage.CreateInMemory()
    made.SetStartTimeCode(1)
    made.SetEndTimeCode(3)
    return made


@pytest.fixture
def graph(stage):
    return wp.nodes.GraphBuilder(stage, "/G", evaluator="push")


def errors(stage):
    """The errors of a play of all frames."""
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        return player.errors


def cycle(graph):
    """Two sums, each of which takes the other one."""
    step = graph.node("step", "omni.graph.nodes.ConstantFloat", value=1.0)
    for name in ("one", "other"):
        graph.connect(f"{step}.inputs:value", f"{graph.node(name, 'omni.graph.nodes.Add')}.inputs:b")
    graph.connect("/G/one.outputs:sum", "/G/other.inputs:a")
    graph.connect("/G/other.outputs:sum", "/G/one.inputs:a")


def test_a_cycle_without_a_start_names_the_source_and_the_remedy(stage, graph):
    cycle(graph)
    first = next(text for text in errors(stage) if "no value" in text)
    assert "inputs:a has no value: it is connected to /G/" in first and "set inputs:a too" in first


def test_an_error_names_its_frame_if_it_is_not_the_first(stage, graph):
    code = "def compute(db):\n    if db.inputs.time > 1.5:\n        raise ValueError('late')\n"
    graph.node("clock", "omni.graph.nodes.ReadTime")
    graph.node("late", node_registry.SCRIPT, script=code)
    graph.attribute("/G/late", "inputs:time", "double")
    graph.connect("/G/clock.outputs:frame", "/G/late.inputs:time")
    (error,) = errors(stage)
    assert error.startswith("/G/late in frame 2: ") and "late" in error


@pytest.mark.parametrize(
    "wrong, meant",
    [("omni.graph.nodes.Kernel", "omni.warp_core.Kernel"), ("omni.warp_core.add", "omni.graph.nodes.Add")],
)
def test_a_type_of_another_extension_is_proposed_first(wrong, meant):
    assert node_registry.standard().nearest(wrong)[0] == meant


def test_a_string_parameter_of_a_kernel_is_told_as_that(stage, graph):
    path = graph.node("k", node_registry.KERNEL, codeStr=DOUBLE.replace("factor: float", "factor: str"))
    graph.attribute(path, "inputs:x", "float[]", [1.0])
    assert any("parameter `factor` is a string, a type or a function" in text for text in errors(stage))


def test_a_kernel_that_cannot_be_made_leaves_no_node(stage, graph):
    with pytest.raises(ValueError, match=r"no attribute 'inputs:facto'; did you mean inputs:factor\?"):
        graph.kernel("k", DOUBLE, facto=2.0)
    with pytest.raises(ValueError, match=r"factor \(float\): float needs one number"):
        graph.kernel("k", DOUBLE, factor="big")
    with pytest.raises(ValueError, match="no attribute 'inputs:nme'"):
        graph.node("read", "omni.graph.nodes.ReadPrimAttribute", nme="points")
    assert not stage.GetPrimAtPath("/G").GetChildren()
    assert graph.kernel("k", DOUBLE, factor=2.0) == "/G/k"


def test_a_number_of_frames_below_zero_is_refused(stage, graph):
    cycle(graph)
    with wp.usd.play(stage, trust=True) as player, pytest.raises(ValueError, match=r"play\(-1\)"):
        player.play(-1)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2, "int"),
        (2**40, "int64"),
        (0.5, "double"),
        (np.float32(0.5), "float"),
        ((1.0, 2.0, 3.0), "double[3]"),
        ([1, 2], "int[]"),
        ([(1.0, 2.0), (3.0, 4.0)], "double[2][]"),
        (np.ones((5, 3), np.float32), "float[3][]"),
    ],
)
def test_a_literal_gives_its_type_to_an_open_input(stage, graph, value, kind):
    path = graph.node("same", "omni.graph.nodes.Add", a=value, b=value)
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        assert not player.errors
        assert np.array_equal(player.get(f"{path}.outputs:sum"), np.add(value, value))
    assert from_sdf(str(stage.GetAttributeAtPath(f"{path}.inputs:a").GetTypeName())) == parse(kind)


def test_texts_and_named_types_of_open_inputs(stage, graph):
    path = graph.node("path", "omni.graph.nodes.AppendPath", path="/World", suffix="a")
    both = graph.node("both", "omni.graph.nodes.BooleanAnd", a=True, b=[True, False])
    texts = graph.node("texts", "omni.graph.nodes.ArrayReverse", array=["x", "y"])
    points = graph.node("points", "omni.graph.nodes.Add", a=1.0)
    graph.attribute(points, "inputs:b", "point3f[]", [(1, 2, 3)])
    graph.set(f"{points}.inputs:b", [(4, 5, 6)])  # keeps the type
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        assert not player.errors
        assert player.get(f"{path}.outputs:path") == "/World/a"
        assert player.get(f"{both}.outputs:result").tolist() == [True, False]
        assert player.get(f"{texts}.outputs:array") == ("y", "x")
        assert player.get(f"{points}.outputs:sum").tolist() == [[5, 6, 7]]


@pytest.mark.parametrize("value", [[[1, 2], [3]], [], {"a": 1}, (1,) * 5])
def test_a_literal_without_a_type_is_refused_with_what_to_write(graph, value):
    with pytest.raises(ValueError, match=r"the type of .* is not clear; name its type: graph.attribute\(\"/G/n\""):
        graph.node("n", "omni.graph.nodes.Add", a=value)


def test_a_literal_that_a_union_cannot_hold_is_refused(stage, tmp_path):
    given = {"x": {"type": ["float", "float[3]"], "description": "x"}}
    body = {"version": 1, "description": "x", "language": "Python", "inputs": given}
    (tmp_path / "OgnUnion.ogn").write_text(json.dumps({"union.Node": body}))
    (tmp_path / "OgnUnion.py").write_text(
        "class OgnUnion:\n    @staticmethod\n    def compute(db):\n        return True\n"
    )
    graph = wp.nodes.GraphBuilder(stage, "/G", nodes=[str(tmp_path)])
    assert graph.node("fits", "union.Node", x=2.5) == "/G/fits"
    with pytest.raises(ValueError, match=r"/G/n.inputs:x \(.*float\[3\].*'x' is of type token; name its type"):
        graph.node("n", "union.Node", x="x")


def test_values_of_companions_make_their_attributes():
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    text = """
@wp.kernel
def pick(rows: wp.array2d[float], spare: wp.array[float], count: wp.array[int], found: wp.array[float],
         sums: wp.array[float]):
    i, j = wp.tid()
    if rows[i, j] > 0.5:
        found[wp.atomic_add(count, 0, 1)] = rows[i, j] + float(spare.shape[0])
    wp.atomic_add(sums, i, rows[i, j])
"""
    values = {"found:counter": "count", "rows:dims": (2, 3), "spare:optional": True, "sums:length": 2}
    kernel = graph.kernel("pick", text, rows=[0.1, 0.9, 0.2, 0.7, 0.6, 0.0], dimCount=2, dim1=2, dim2=3, **values)
    prim = stage.GetPrimAtPath(kernel)
    kinds = {name: str(prim.GetAttribute(f"inputs:{name}").GetTypeName()) for name in values}
    assert kinds == {
        "found:counter": "token", "rows:dims": "int2", "spare:optional": "bool", "sums:length": "int",
    }  # fmt: skip
    with wp.usd.play(stage, frames=(1, 1), trust=True) as player:
        player.step()
        assert not player.errors
        assert player.get(f"{kernel}.outputs:count") == 3
        assert sorted(player.get(f"{kernel}.outputs:found")) == pytest.approx([0.6, 0.7, 0.9])
        assert player.get(f"{kernel}.outputs:sums") == pytest.approx([1.2, 1.3])
    with pytest.raises(ValueError, match='"inputs:rows:points", "double"\\) adds one that the node type does not'):
        graph.set(f"{kernel}.inputs:rows:points", [0.0])
    named = graph.kernel("named", text, **{"sums:length": "rows"})
    assert str(stage.GetPrimAtPath(named).GetAttribute("inputs:sums:length").GetTypeName()) == "token"
