"""Variables of graphs: reading, writing, and noticing a change."""

import numpy as np
import pytest


@pytest.fixture
def flow(build):
    b = build("execution")
    b.event()
    return b


def test_a_variable_is_read_anew_by_every_reader_after_a_write(flow):
    flow.variable("v", "double", 1.0)
    flow.stock("read", "core.ReadVariable", variableName="v")
    flow.stock("seven", "nodes.ConstantInt", value=7)
    flow.note("before", "OnTest.outputs:done", "read.outputs:value")
    flow.stock("write", "core.WriteVariable", variableName="v")
    flow.connect("before.outputs:done", "write.inputs:execIn")
    flow.connect("seven.inputs:value", "write.inputs:value")
    flow.note("after", "write.outputs:execOut", "read.outputs:value")
    flow.note("written", "after.outputs:done", "write.outputs:value")
    play = flow.start()
    assert str(flow.graph.nodes["/G/read"].attributes["outputs:value"].resolved) == "double"
    play.evaluate()
    play.evaluate()
    assert flow.trace == [("before", 1.0), ("after", 7.0), ("written", 7.0)] + [
        (name, 7.0) for name in ("before", "after", "written")
    ]
    assert flow.graph.find_variable("v").value == 7.0 and not flow.host.log.errors


def test_a_written_array_does_not_follow_its_node(flow):
    buffer = np.zeros(2)

    def give(db):
        buffer[:] += 1.0
        db.node.get_attribute("outputs:x").set(buffer)
        return True

    flow.variable("v", "double[]", np.zeros(0))
    flow.node("give", give, {}, {"x": "double[]"})
    flow.stock("write", "core.WriteVariable", variableName="v")
    flow.connect("give.outputs:x", "write.inputs:value")
    flow.connect("OnTest.outputs:done", "write.inputs:execIn")
    flow.start().evaluate()
    buffer[:] = 9.0
    np.testing.assert_array_equal(flow.graph.variables["v"].value, [1.0, 1.0])


@pytest.mark.parametrize(
    ("kind", "words"),
    [("double[]", "is double[]; it cannot take double"), ("token", "is token; it cannot take double")],
)
def test_a_variable_refuses_what_does_not_fit(flow, kind, words):
    flow.variable("v", kind, ())
    flow.stock("one", "nodes.ConstantDouble")
    flow.stock("write", "core.WriteVariable", variableName="v")
    flow.connect("one.inputs:value", "write.inputs:value")
    flow.connect("OnTest.outputs:done", "write.inputs:execIn")
    flow.note("after", "write.outputs:execOut")
    flow.start().evaluate()
    assert flow.trace == [] and words in flow.host.log.errors[0]


def test_on_variable_change_fires_when_the_value_differs(build):
    b = build("execution")
    variable = b.variable("v", "int", 1)
    b.stock("event", "action.OnVariableChange", variableName="v")
    b.note("after", "event.outputs:changed")
    play = b.start()
    seen = []
    for value in (1, 1, 2, 2, 3):
        variable.set_if_changed(value)
        play.evaluate()
        seen.append(len(b.trace))
    assert seen == [0, 0, 1, 1, 2]


def test_a_lazy_graph_notices_a_variable(build):
    b = build("dirty_push")
    variable = b.variable("v", "double", 1.0)
    b.stock("read", "core.ReadVariable", variableName="v")
    b.node("use", lambda db: b.trace.append(db.inputs.x), {"x": "double"}, {})
    b.connect("read.outputs:value", "use.inputs:x")
    play = b.start()
    play.evaluate()
    play.evaluate()
    variable.set(2.0)
    play.evaluate()
    assert b.trace == [1.0, 2.0]
