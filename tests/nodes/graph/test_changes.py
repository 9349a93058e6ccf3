"""Nodes that change while they play or because the scene is older than they are."""

import pytest

from omni.warp_core.nodes.graph.attribute import GraphError

NUMBER = {"x": "double"}


def versioned(b, saved, update):
    node = b.node(
        "n",
        lambda db: b.trace.append(sorted(db.node.attributes)),
        NUMBER,
        {},
        version=3,
        hooks={"update_node_version": update},
    )
    node.saved_version = saved
    return node


def test_an_older_node_is_brought_to_the_version_of_its_type(build):
    b = build("push")
    seen = []

    def update(context, node, old, new):
        seen.append((old, new))
        node.create_attribute("y", "float")
        node.remove_attribute("inputs:left")
        return True

    node = versioned(b, 1, update)
    node.create_attribute("inputs:left", "int")
    play = b.start()
    play.evaluate()
    assert seen == [(1, 3)] and b.trace == [["inputs:x", "inputs:y"]] and node.saved_version == 3


@pytest.mark.parametrize("saved", [0, 3])
def test_a_node_of_the_same_or_no_version_is_left_alone(build, saved):
    b = build("push")
    versioned(b, saved, lambda *args: b.trace.append("update"))
    b.start()
    assert b.trace == []


def test_a_version_that_cannot_be_updated_is_told(build):
    b = build("push")
    versioned(b, 1, lambda *args: False)
    b.start()
    assert b.host.log.errors == ["/G/n: update_node_version cannot bring version 1 to 3"]


def test_dynamic_attributes_of_a_playing_node(build):
    b = build("execution")
    b.event()

    def grow(db):
        node = db.node
        if not node.get_attribute_exists("outputs:late"):
            node.create_attribute("late", "execution", "outputs")
            late = b.graph.nodes["/G/late"].attributes["inputs:go"]
            late.sources.append(node.get_attribute("outputs:late"))
            with pytest.raises(GraphError, match="has an attribute outputs:late already"):
                node.create_attribute("outputs:late", "int")
        db.set_execution_enabled("outputs:late")
        return True

    b.node("grow", grow, {"go": "execution"}, {})
    b.note("late")
    b.connect("OnTest.outputs:done", "grow.inputs:go")
    play = b.start()
    play.evaluate()
    assert b.trace == [], "connections count from the next evaluation on"
    play.evaluate()
    assert b.trace == ["late"]
    grow_node = b.graph.nodes["/G/grow"]
    assert not grow_node.remove_attribute("inputs:go"), "the type declares it"
    assert grow_node.remove_attribute("outputs:late") and not b.graph.nodes["/G/late"].attributes["inputs:go"].sources


def test_states_stay_from_frame_to_frame(build):
    b = build("push")

    def count(db):
        db.state.n += 1
        return True

    b.node("n", count, {}, {}, state={"n": "int"})
    play = b.start()
    for _ in range(3):
        play.evaluate()
    assert b.value("n.state:n") == 3
