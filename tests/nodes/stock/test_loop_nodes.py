"""Loops: what their bodies see, and how they end. CPython's `range` is the judge of ForLoop."""

import numpy as np
import pytest

from omni.warp_core.nodes.values.attribute_types import parse


@pytest.fixture
def flow(build):
    b = build("execution")
    b.event()
    return b


@pytest.mark.parametrize("bounds", [(0, 3, 1), (1, 4, 2), (5, 0, -2), (0, 0, 1), (3, 1, 1), (-2, 2, 3), (1, 4, -1)])
def test_for_loop_visits_a_range(flow, bounds):
    flow.stock("loop", "action.ForLoop", **dict(zip(("start", "stop", "step"), bounds, strict=True)))
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody", "loop.outputs:value")
    flow.note("index", "body.outputs:done", "loop.outputs:index")
    flow.note("end", "loop.outputs:finished", "loop.outputs:value")
    play = flow.start()
    play.evaluate()
    visited = range(*bounds)
    beyond = bounds[0] + bounds[2] * len(visited)
    expected = [step for i, v in enumerate(visited) for step in (("body", v), ("index", i))] + [("end", beyond)]
    assert flow.trace == expected
    play.evaluate()
    assert flow.trace == expected * 2 and not flow.host.log.errors


def test_loops_in_loops(flow):
    for name, after in (("outer", "OnTest.outputs:done"), ("inner", "outer.outputs:loopBody")):
        flow.stock(name, "action.ForLoop", stop=2)
        flow.connect(after, f"{name}.inputs:execIn")
    flow.note("o", "inner.outputs:loopBody", "outer.outputs:value")
    flow.note("i", "o.outputs:done", "inner.outputs:value")
    flow.start().evaluate()
    assert flow.trace == [pair for o in range(2) for i in range(2) for pair in (("o", o), ("i", i))]


def counting(flow, limit):
    """A while loop whose body adds 1 to a variable, as long as that is below `limit`."""
    flow.variable("v", "int", 0)
    flow.stock("read", "core.ReadVariable", variableName="v")
    for name, value in (("one", 1), ("limit", limit)):
        flow.stock(name, "nodes.ConstantInt", value=value)
    flow.stock("below", "nodes.Compare", operation="<")
    flow.stock("next", "nodes.Add")
    flow.stock("loop", "action.WhileLoop")
    flow.stock("write", "core.WriteVariable", variableName="v")
    for source, target in (
        ("read.outputs:value", "below.inputs:a"),
        ("limit.inputs:value", "below.inputs:b"),
        ("below.outputs:result", "loop.inputs:condition"),
        ("read.outputs:value", "next.inputs:a"),
        ("one.inputs:value", "next.inputs:b"),
        ("next.outputs:sum", "write.inputs:value"),
        ("OnTest.outputs:done", "loop.inputs:execIn"),
    ):
        flow.connect(source, target)
    flow.note("body", "loop.outputs:loopBody", "read.outputs:value")
    flow.connect("body.outputs:done", "write.inputs:execIn")
    flow.note("end", "loop.outputs:finished", "read.outputs:value")


@pytest.mark.parametrize("limit", [3, 0])
def test_while_loop_looks_at_its_condition_before_each_run(flow, limit):
    counting(flow, limit)
    play = flow.start()
    play.evaluate()
    assert flow.trace == [("body", i) for i in range(limit)] + [("end", limit)]
    flow.trace.clear()
    play.evaluate()
    assert flow.trace == [("end", limit)] and not flow.host.log.errors


def test_while_loop_that_is_broken_finishes(flow):
    counting(flow, 100)
    flow.node("stop", lambda db: setattr(db.outputs, "done", int(db.inputs.x == 2)) or True,
              {"go": "execution", "x": "int"}, {"done": "execution"})  # fmt: skip
    flow.connect("write.outputs:execOut", "stop.inputs:go")
    flow.connect("read.outputs:value", "stop.inputs:x")
    flow.connect("stop.outputs:done", "loop.inputs:breakLoop")
    flow.start().evaluate()
    assert [name for name, _ in flow.trace] == ["body", "body", "end"]


def test_a_loop_that_is_broken_finishes_with_its_last_value(flow):
    flow.stock("loop", "action.ForLoop", stop=10)
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody", "loop.outputs:value")

    def stop(db):
        db.outputs.done = int(db.inputs.x == 2)
        return True

    flow.node("stop", stop, {"go": "execution", "x": "int"}, {"done": "execution"})
    flow.connect("body.outputs:done", "stop.inputs:go")
    flow.connect("loop.outputs:value", "stop.inputs:x")
    flow.connect("stop.outputs:done", "loop.inputs:breakLoop")
    flow.note("end", "loop.outputs:finished", "loop.outputs:value")
    flow.start().evaluate()
    assert flow.trace == [("body", 0), ("body", 1), ("body", 2), ("end", 2)]


def test_a_step_of_zero_is_an_error(flow):
    flow.stock("loop", "action.ForLoop", stop=3, step=0)
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody")
    flow.start().evaluate()
    assert flow.trace == [] and "inputs:step is 0" in flow.host.log.errors[0]


def test_a_range_to_the_end_of_the_integers(flow):
    flow.stock("loop", "action.ForLoop", start=2**31 - 3, stop=2**31 - 1, step=2)
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody", "loop.outputs:value")
    flow.stock("down", "action.ForLoop", start=-(2**31) + 5, stop=-(2**31), step=-4)
    flow.connect("OnTest.outputs:done", "down.inputs:execIn")
    flow.note("deep", "down.outputs:loopBody", "down.outputs:value")
    flow.start().evaluate()
    assert flow.trace == [("body", 2**31 - 3), ("deep", -(2**31) + 5), ("deep", -(2**31) + 1)]
    assert not flow.host.log.errors


@pytest.mark.parametrize(
    ("kind", "array", "expected"),
    [
        ("double[]", np.array([0.5, 1.5]), [0.5, 1.5]),
        ("token[]", ("a", "b"), ["a", "b"]),
        ("pointf[3][]", np.array([[1, 2, 3], [4, 5, 6]], np.float32), [[1, 2, 3], [4, 5, 6]]),
        ("int[]", np.zeros(0, np.int32), []),
    ],
)
def test_for_each_visits_the_elements(flow, kind, array, expected):
    def give(db):
        db.outputs.x = array
        return True

    flow.node("give", give, {}, {"x": kind})
    flow.stock("loop", "action.ForEach")
    flow.connect("give.outputs:x", "loop.inputs:arrayIn")
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody", "loop.outputs:element")
    flow.note("index", "body.outputs:done", "loop.outputs:arrayIndex")
    flow.note("end", "loop.outputs:finished")
    play = flow.start()
    element = flow.graph.nodes["/G/loop"].attributes["outputs:element"]
    assert element.resolved == parse(kind).element
    play.evaluate()
    assert flow.trace[-1] == "end"
    assert [np.asarray(v).tolist() for name, v in flow.trace[:-1:2]] == expected
    assert [v for name, v in flow.trace[1:-1:2]] == list(range(len(expected)))
    assert element.resolved == parse(kind).element and not flow.host.log.errors


def test_for_each_takes_its_type_from_the_reader_of_its_element(flow):
    flow.stock("loop", "action.ForEach")
    flow.node("reader", lambda db: True, {"x": "float[2]"}, {})
    flow.connect("loop.outputs:element", "reader.inputs:x")
    flow.start()
    assert str(flow.graph.nodes["/G/loop"].attributes["inputs:arrayIn"].resolved) == "float[2][]"


@pytest.mark.parametrize("connected", [False, True])
def test_for_each_needs_an_array(flow, connected):
    flow.stock("loop", "action.ForEach")
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    if connected:
        flow.stock("one", "nodes.ConstantDouble", value=1.0)
        flow.connect("one.inputs:value", "loop.inputs:arrayIn")
    flow.start().evaluate()
    (error,) = flow.host.log.errors
    words = "cannot take /G/one.inputs:value (double)" if connected else "inputs:arrayIn has no array"
    assert error.startswith("/G/loop: inputs:arrayIn") and words in error


def test_for_each_target(flow):
    flow.stock("loop", "action.ForEachTarget", targets=["/A", "/B"])
    flow.connect("OnTest.outputs:done", "loop.inputs:execIn")
    flow.note("body", "loop.outputs:loopBody", "loop.outputs:target", kind="target")
    flow.note("end", "loop.outputs:finished", "loop.outputs:arrayIndex")
    flow.start().evaluate()
    assert flow.trace == [("body", ("/A",)), ("body", ("/B",)), ("end", 1)]
