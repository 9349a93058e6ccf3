"""When nodes run, judged by the order in which they note their names."""

import re

import pytest

from omni.warp_core.nodes.graph.database import ENABLED, ENABLED_AND_PUSH, LATENT_FINISH, LATENT_PUSH
from omni.warp_core.nodes.graph.node_graph import GraphError

NUMBER = {"x": "double"}
EXEC_IN, EXEC_OUT = {"go": "execution"}, {"done": "execution"}


@pytest.fixture
def trace():
    return []


def noting(trace, name, change=lambda x: x + 1):
    def compute(db):
        trace.append(name)
        db.outputs.x = change(db.inputs.x)
        return True

    return compute


def stepping(trace, name, state=ENABLED):
    def compute(db):
        trace.append(name)
        db.outputs.done = state
        return True

    return compute


def source(trace, name="source"):
    def compute(db):
        trace.append(name)
        db.outputs.x = 1.0
        return True

    return compute


def test_push_follows_connections_and_runs_all_nodes_every_time(build, trace):
    b = build("push")
    for name in "cba":  # in the file against their order
        b.node(name, noting(trace, name), NUMBER, NUMBER)
    b.node("alone", noting(trace, "alone"), NUMBER, NUMBER)
    b.connect("a.outputs:x", "b.inputs:x")
    b.connect("b.outputs:x", "c.inputs:x")
    play = b.start()
    play.evaluate()
    play.evaluate()
    assert trace == ["a", "b", "c", "alone"] * 2
    assert b.graph.nodes["/G/c"].attributes["outputs:x"].value == 3.0


def test_dirty_push_runs_what_changed_and_what_follows(build, trace):
    b = build("dirty_push")
    for name in "abc":
        b.node(name, noting(trace, name), NUMBER, NUMBER)
    b.node("clock", source(trace, "clock"), {}, NUMBER, uses_time=True)
    b.node("late", noting(trace, "late"), NUMBER, NUMBER)
    b.connect("a.outputs:x", "b.inputs:x")
    b.connect("b.outputs:x", "c.inputs:x")
    b.connect("clock.outputs:x", "late.inputs:x")
    play = b.start()
    play.evaluate()
    assert sorted(trace) == ["a", "b", "c", "clock", "late"]
    trace.clear()
    play.evaluate()
    assert trace == ["clock", "late"], "the clock wrote its output, the others rest"
    trace.clear()
    b.graph.nodes["/G/b"].attributes["inputs:x"].sources = []
    b.graph.nodes["/G/a"].ran = False
    play.evaluate()
    assert trace == ["a", "clock", "late"]


def test_execution_goes_depth_first_in_file_order(build, trace):
    b = build("execution")
    b.node("tick", stepping(trace, "tick"), {}, EXEC_OUT, kind="OnTick")
    for name in ("one", "two", "deep"):
        b.node(name, stepping(trace, name), EXEC_IN, EXEC_OUT)
    b.node("idle", stepping(trace, "idle"), EXEC_IN, EXEC_OUT)
    b.connect("tick.outputs:done", "one.inputs:go")
    b.connect("tick.outputs:done", "two.inputs:go")
    b.connect("one.outputs:done", "deep.inputs:go")
    b.start().evaluate()
    assert trace == ["tick", "one", "deep", "two"]
    assert any("idle" in text and "never runs" in text for text in b.host.log.warnings)


def test_disabled_outputs_are_not_followed(build, trace):
    b = build("execution")
    b.node("tick", stepping(trace, "tick", 0), {}, EXEC_OUT, kind="OnTick")
    b.node("after", stepping(trace, "after"), EXEC_IN, EXEC_OUT)
    b.connect("tick.outputs:done", "after.inputs:go")
    b.start().evaluate()
    assert trace == ["tick"]


def test_data_nodes_run_before_the_node_that_needs_them_and_once(build, trace):
    b = build("execution")
    b.node("unused", source(trace, "unused"), {}, NUMBER)
    b.node("data", source(trace), {}, NUMBER)
    b.node("twice", noting(trace, "twice"), NUMBER, NUMBER)
    b.node("tick", stepping(trace, "tick"), {}, EXEC_OUT, kind="OnTick")
    for name in ("first", "second"):
        b.node(name, stepping(trace, name), {**EXEC_IN, **NUMBER}, EXEC_OUT)
        b.connect("twice.outputs:x", f"{name}.inputs:x")
    b.connect("data.outputs:x", "twice.inputs:x")
    b.connect("tick.outputs:done", "first.inputs:go")
    b.connect("first.outputs:done", "second.inputs:go")
    play = b.start()
    play.evaluate()
    assert trace == ["tick", "source", "twice", "first", "second"]
    assert b.graph.nodes["/G/second"].attributes["inputs:x"].value == 2.0


def test_readers_of_the_stage_run_for_every_consumer(build, trace):
    b = build("execution")
    b.node("read", source(trace, "read"), {}, NUMBER, reads_stage=True)
    b.node("tick", stepping(trace, "tick"), {}, EXEC_OUT, kind="OnTick")
    for name in ("first", "second"):
        b.node(name, stepping(trace, name), {**EXEC_IN, **NUMBER}, EXEC_OUT)
        b.connect("read.outputs:x", f"{name}.inputs:x")
    b.connect("tick.outputs:done", "first.inputs:go")
    b.connect("first.outputs:done", "second.inputs:go")
    b.start().evaluate()
    assert trace == ["tick", "read", "first", "read", "second"]


def test_fan_in_runs_once_per_activation(build, trace):
    b = build("execution")
    for name in ("OnA", "OnB"):
        b.node(name, stepping(trace, name), {}, EXEC_OUT, kind=name)
    b.node("sink", stepping(trace, "sink"), EXEC_IN, EXEC_OUT)
    b.connect("OnA.outputs:done", "sink.inputs:go")
    b.connect("OnB.outputs:done", "sink.inputs:go")
    b.start().evaluate()
    assert trace == ["OnA", "sink", "OnB", "sink"]


def test_enabled_and_push_comes_back_to_the_node(build, trace):
    rounds = iter([ENABLED_AND_PUSH, ENABLED_AND_PUSH, ENABLED])

    def loop(db):
        trace.append("loop")
        db.outputs.done = next(rounds)
        return True

    b = build("execution")
    b.node("tick", stepping(trace, "tick"), {}, EXEC_OUT, kind="OnTick")
    b.node("loop", loop, EXEC_IN, EXEC_OUT)
    b.node("body", stepping(trace, "body"), EXEC_IN, EXEC_OUT)
    b.connect("tick.outputs:done", "loop.inputs:go")
    b.connect("loop.outputs:done", "body.inputs:go")
    b.start().evaluate()
    assert trace == ["tick"] + ["loop", "body"] * 3


def test_latent_nodes_are_entered_again_in_the_next_frame(build, trace):
    states = iter([LATENT_PUSH, LATENT_PUSH, LATENT_FINISH])
    fired = []

    def once(db):
        if not fired:
            fired.append(1)
            db.outputs.done = ENABLED
        return True

    def wait(db):
        trace.append("wait")
        db.outputs.done = next(states)
        return True

    b = build("execution")
    b.node("tick", once, {}, EXEC_OUT, kind="OnTick")
    b.node("wait", wait, EXEC_IN, EXEC_OUT)
    b.connect("tick.outputs:done", "wait.inputs:go")
    play = b.start()
    for _ in range(5):
        play.evaluate()
    assert trace == ["wait"] * 3


def test_endless_execution_is_stopped_and_told_once(build, trace, monkeypatch):
    monkeypatch.setattr("omni.warp_core.nodes.graph.action_graph.STEP_LIMIT", 50)
    b = build("execution")
    b.node("tick", stepping(trace, "tick"), {}, EXEC_OUT, kind="OnTick")
    b.node("a", stepping(trace, "a"), EXEC_IN, EXEC_OUT)
    b.connect("tick.outputs:done", "a.inputs:go")
    b.connect("a.outputs:done", "a.inputs:go")
    play = b.start()
    play.evaluate()
    play.evaluate()
    assert [text for text in b.host.log.errors if "does not end" in text] == b.host.log.errors
    assert len(b.host.log.errors) == 1


def test_a_data_cycle_is_told_and_reads_the_frame_before(build, trace):
    b = build("push")
    b.node("a", noting(trace, "a"), NUMBER, NUMBER)
    b.node("b", noting(trace, "b"), NUMBER, NUMBER)
    b.connect("a.outputs:x", "b.inputs:x")
    b.connect("b.outputs:x", "a.inputs:x")
    play = b.start()
    values = []
    for _ in range(3):
        play.evaluate()
        values.append(b.graph.nodes["/G/b"].attributes["outputs:x"].value)
    (told,) = [w for w in b.host.log.warnings if "data cycle" in w]
    assert re.search(r"in the first frame the value that inputs:\w+ has beside the connection", told)
    assert values == [1.0, 3.0, 5.0]


def test_a_node_may_keep_its_state_in_a_connection_to_itself(build, trace):
    b = build("push")
    b.node("count", noting(trace, "count"), NUMBER, NUMBER)
    b.connect("count.outputs:x", "count.inputs:x")
    play = b.start()
    for _ in range(4):
        play.evaluate()
    assert b.graph.nodes["/G/count"].attributes["outputs:x"].value == 4.0
    assert not b.host.log.warnings


@pytest.mark.parametrize("evaluator", ["push", "dirty_push"])
def test_failures_stop_what_depends_on_them_and_nothing_else(build, trace, evaluator):
    def fail(db):
        trace.append("fail")
        raise GraphError("no such luck")

    b = build(evaluator)
    b.node("bad", fail, {}, NUMBER)
    b.node("after", noting(trace, "after"), NUMBER, NUMBER)
    b.node("beyond", noting(trace, "beyond"), NUMBER, NUMBER)
    b.node("other", noting(trace, "other"), NUMBER, NUMBER)
    b.connect("bad.outputs:x", "after.inputs:x")
    b.connect("after.outputs:x", "beyond.inputs:x")
    play = b.start()
    play.evaluate()
    assert trace == ["fail", "other"]
    assert b.host.log.errors == ["/G/bad: no such luck"]


def test_failures_are_told_once_until_they_change(build):
    words = iter(["first", "first", "second", "second", None, "second"])

    def fail(db):
        word = next(words)
        if word:
            raise GraphError(word)
        return True

    b = build("push")
    b.node("bad", fail, {}, {})
    play = b.start()
    for _ in range(6):
        play.evaluate()
    assert b.host.log.errors == ["/G/bad: first", "/G/bad: second", "/G/bad: second"]


def test_failures_that_differ_in_numbers_only_are_told_once(build):
    graph = build("push")
    reasons = iter(["thread 2: index 4 of 3", "thread 17: index 40 of 3", "thread 0: value -1.5e-3", "nothing", "fine"])

    def compute(db):
        raise GraphError(next(reasons))

    graph.node("a", compute)
    evaluator = graph.start()
    for _ in range(5):
        evaluator.evaluate()
    told = ["thread 2: index 4 of 3", "thread 0: value -1.5e-3", "nothing", "fine"]
    assert graph.host.log.errors == [f"/G/a: {text}" for text in told]


def test_other_exceptions_name_their_line(build):
    def broken(db):
        return 1 / 0

    b = build("push")
    b.node("bad", broken, {}, {})
    b.node("refuses", lambda db: False, {}, {})
    b.start().evaluate()
    assert "ZeroDivisionError" in b.host.log.errors[0] and "test_evaluate.py:" in b.host.log.errors[0]
    assert "/G/refuses" in b.host.log.errors[1]


def test_connections_convert_and_resolve_any(build):
    seen = {}

    def give(db):
        db.outputs.x = 2.75
        return True

    def take(db):
        seen.update(i=db.inputs.i, f=db.inputs.f, a=db.inputs.a.value, t=str(db.inputs.a.type))
        return True

    b = build("push")
    b.node("give", give, {}, NUMBER)
    b.node("take", take, {"i": "int", "f": "float", "a": "any"}, {})
    for name in "ifa":
        b.connect("give.outputs:x", f"take.inputs:{name}")
    b.start().evaluate()
    assert seen == {"i": 2, "f": 2.75, "a": 2.75, "t": "double"}


def test_database_surface(build):
    seen = {}

    def compute(db):
        db.outputs.points_size = 2
        db.outputs.points[:] = 7
        seen["size"] = db.outputs.points_size
        seen["points"] = db.outputs.points.tolist()
        for wrong, port in (("nothing", db.inputs), ("pointz", db.outputs)):
            with pytest.raises(AttributeError, match="has no"):
                getattr(port, wrong)
        with pytest.raises(AttributeError, match="read only"):
            db.inputs.x = 3
        with pytest.raises(GraphError, match="points"):
            db.outputs.points = "text"
        db.log_warning("careful")
        return True

    b = build("push")
    b.node("n", compute, NUMBER, {"points": "pointf[3][]"})
    b.start().evaluate()
    assert not b.host.log.errors
    assert seen == {"size": 2, "points": [[7, 7, 7], [7, 7, 7]]} and b.host.log.warnings == ["/G/n: careful"]
