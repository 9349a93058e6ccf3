"""Push and lazy graphs: what runs when something was set, and how much work a long chain is."""

import pytest

from omni.warp_core.nodes.graph.attribute import Attribute
from omni.warp_core.nodes.graph.node_graph import GraphError

NUMBER = {"x": "double"}


def counting(b, name):
    def compute(db):
        b.trace.append(name)
        db.outputs.x = db.inputs.x + 1.0
        return True

    return b.node(name, compute, NUMBER, NUMBER)


def test_a_lazy_node_runs_when_its_input_was_set(build):
    b = build("dirty_push")
    for name in "abc":
        counting(b, name)
    b.connect("a.outputs:x", "b.inputs:x")
    play = b.start()
    play.evaluate()
    b.trace.clear()
    play.evaluate()
    assert b.trace == []
    b.graph.nodes["/G/a"].attributes["inputs:x"].set(5.0)
    play.evaluate()
    assert b.trace == ["a", "b"] and b.value("b.outputs:x") == 7.0


def test_a_lazy_node_that_failed_runs_again_and_nothing_uses_its_old_value(build):
    b = build("dirty_push")
    fails = iter([True, True, False, False])

    def compute(db):
        b.trace.append("source")
        if next(fails):
            raise GraphError("not yet")
        db.outputs.x = 1.0
        return True

    b.node("source", compute, {}, NUMBER)
    counting(b, "after")
    b.connect("source.outputs:x", "after.inputs:x")
    play = b.start()
    for _ in range(4):
        play.evaluate()
    assert b.trace == ["source", "source", "source", "after"]


@pytest.mark.parametrize("evaluator", ["push", "dirty_push"])
def test_a_chain_of_inputs_takes_one_pull_for_each_node(build, monkeypatch, evaluator):
    b = build(evaluator)
    count = 200
    for i in range(count):
        b.stock(f"n{i}", "nodes.ConstantDouble", value=float(i))
        if i:
            b.connect(f"n{i - 1}.inputs:value", f"n{i}.inputs:value")
    play = b.start()
    pulls = []
    original = Attribute.pull_one
    monkeypatch.setattr(Attribute, "pull_one", lambda self: (pulls.append(self), original(self)))
    play.evaluate()
    assert b.value(f"n{count - 1}.inputs:value") == 0.0
    assert len(pulls) == count - 1
    b.graph.nodes["/G/n0"].attributes["inputs:value"].set(3.0)
    play.evaluate()
    assert b.value(f"n{count - 1}.inputs:value") == 3.0


def test_values_of_another_graph_are_read_as_last_written(build):
    first = build("push")
    second = build("push", "/H", first.host)
    counting(first, "a")
    counting(second, "b")
    second.graph.nodes["/H/b"].attributes["inputs:x"].sources.append(first.graph.nodes["/G/a"].attributes["outputs:x"])
    plays = [second.start(), first.start()]
    values = []
    for _ in range(2):
        for play in plays:
            play.evaluate()
        values.append(second.value("b.outputs:x"))
    assert values == [1.0, 2.0] and first.trace == ["a", "a"] and second.trace == ["b", "b"]
