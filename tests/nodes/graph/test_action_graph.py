"""The evaluator of Action Graphs, judged by the order in which nodes note their names. Expected orders are by hand."""

import random

import pytest

from omni.warp_core.nodes.graph.database import ENABLED, LATENT_FINISH, LATENT_PUSH
from omni.warp_core.nodes.graph.execution import get_interface
from omni.warp_core.nodes.graph.node_graph import GraphError

EXEC_IN, EXEC_OUT, NUMBER = {"go": "execution"}, {"done": "execution"}, {"x": "double"}


def fire(db):
    db.outputs.done = ENABLED
    return True


def test_a_node_on_request_runs_in_the_evaluation_after_its_request(build):
    b = build("execution")
    asked = b.node("asked", fire, {}, EXEC_OUT, kind="OnAsked", scheduling="compute-on-request")
    b.note("after", "asked.outputs:done")
    play = b.start()
    play.evaluate()
    assert b.trace == []
    asked.request_compute()
    play.evaluate()
    play.evaluate()
    assert b.trace == ["after"]


def test_a_request_during_an_evaluation_counts_for_the_next_one(build):
    b = build("execution")
    b.event("OnFirst")

    def ask(db):
        b.trace.append("ask")
        asked.request_compute()
        return True

    b.node("ask", ask, EXEC_IN, {})
    asked = b.node("asked", fire, {}, EXEC_OUT, kind="OnAsked", scheduling="compute-on-request")
    b.note("after", "asked.outputs:done")
    b.connect("OnFirst.outputs:done", "ask.inputs:go")
    play = b.start()
    play.evaluate()
    assert b.trace == ["ask"]
    play.evaluate()
    assert b.trace == ["ask", "ask", "after"]


@pytest.mark.parametrize("evaluator", ["push", "dirty_push"])
def test_a_request_holds_in_other_graphs_too(build, evaluator):
    b = build(evaluator)
    node = b.node("asked", lambda db: b.trace.append(1), {}, NUMBER, scheduling="compute-on-request")
    play = b.start()
    play.evaluate()
    node.request_compute()
    play.evaluate()
    play.evaluate()
    assert b.trace == [1]


def test_events_that_are_first_run_before_others_and_others_in_file_order(build):
    b = build("execution")
    for name, flags in (("OnB", {}), ("OnA", {}), ("OnLoad", {"is_first": True})):
        b.node(name, fire, {}, EXEC_OUT, kind=name, **flags)
        b.note(f"after{name}", f"{name}.outputs:done")
    b.start().evaluate()
    assert b.trace == ["afterOnLoad", "afterOnB", "afterOnA"]


def test_a_node_knows_which_input_fired(build):
    b = build("execution")
    b.event("OnBoth", ("one", "two"))

    def compute(db):
        names = [name for name in ("a", "b") if get_interface().get_execution_enabled(f"inputs:{name}")]
        b.trace.append((names, db.inputs.a, db.inputs.b))
        return True

    b.node("node", compute, {"a": "execution", "b": "execution"}, {})
    b.connect("OnBoth.outputs:one", "node.inputs:b")
    b.connect("OnBoth.outputs:one", "node.inputs:a")
    b.connect("OnBoth.outputs:two", "node.inputs:b")
    b.start().evaluate()
    assert b.trace == [(["a"], 1, 0), (["b"], 0, 1), (["b"], 0, 1)]  # inputs of one output: in the node's order


def test_the_interface_pushes_a_node_and_comes_back_without_an_input(build):
    b = build("execution")
    b.event()
    fired = []

    def loop(db):
        action = get_interface()
        fired.append(action.get_execution_enabled("inputs:go"))
        if len(fired) < 3:
            action.set_execution_enabled_and_pushed("outputs:body")
        else:
            action.set_execution_enabled("outputs:done")
        return True

    b.node("loop", loop, EXEC_IN, {"body": "execution", "done": "execution"})
    b.connect("OnTest.outputs:done", "loop.inputs:go")
    b.note("body", "loop.outputs:body")
    b.note("deep", "body.outputs:done")
    b.note("end", "loop.outputs:done")
    b.start().evaluate()
    assert fired == [True, False, False]
    assert b.trace == ["body", "deep", "body", "deep", "end"]


def waiting(b, plan, activations=1):
    """A node that follows a plan, one word for each compute: wait, rest, go, fail."""

    def wait(db):
        word = next(plan)
        b.trace.append((word, db.get_execution_enabled("inputs:go"), db.get_latent_state()))
        if word == "wait":
            db.start_latent_state()
        elif word == "go":
            db.end_latent_state()
            db.set_execution_enabled("outputs:done")
        elif word == "fail":
            db.start_latent_state()
            raise GraphError("no luck")
        return True

    starts = iter([1] * activations)

    def event(db):
        db.outputs.done = next(starts, 0)
        return True

    b.node("start", event, {}, EXEC_OUT, kind="OnStart")
    b.node("wait", wait, EXEC_IN, EXEC_OUT)
    b.connect("start.outputs:done", "wait.inputs:go")
    b.note("after", "wait.outputs:done")


def test_a_latent_node_blocks_its_chain_until_it_ends_the_state(build):
    b = build("execution")
    waiting(b, iter(["wait", "rest", "go"]))
    play = b.start()
    for _ in range(5):
        play.evaluate()
    assert b.trace == [("wait", True, False), ("rest", False, True), ("go", False, True), "after"]


def test_a_node_that_fails_is_not_latent_afterwards(build):
    b = build("execution")
    waiting(b, iter(["fail", "wait", "rest"]), activations=2)
    play = b.start()
    for _ in range(3):
        play.evaluate()
    assert b.trace == [("fail", True, False), ("wait", True, False), ("rest", False, True)]
    assert b.host.log.errors == ["/G/wait: no luck"]


def test_an_assigned_latent_push_blocks_the_chain_and_the_finish_lets_it_go_on(build):
    b = build("execution")
    states = iter([LATENT_PUSH, 0, LATENT_FINISH])
    starts = iter([1, 0, 0, 0])

    def event(db):
        db.outputs.done = next(starts)
        return True

    def wait(db):
        db.outputs.done = next(states)
        return True

    b.node("start", event, {}, EXEC_OUT, kind="OnStart")
    b.node("wait", wait, EXEC_IN, EXEC_OUT)
    b.connect("start.outputs:done", "wait.inputs:go")
    b.note("after", "wait.outputs:done")
    play = b.start()
    seen = []
    for _ in range(4):
        play.evaluate()
        seen.append(len(b.trace))
    assert seen == [0, 0, 1, 1]


def test_the_latent_state_cannot_begin_or_end_twice(build):
    b = build("push")

    def compute(db):
        with pytest.raises(RuntimeError, match="/G/n is not in the latent state"):
            db.end_latent_state()
        db.start_latent_state()
        with pytest.raises(RuntimeError, match="/G/n is in the latent state already"):
            db.start_latent_state()
        for name in ("outputs:gone", "inputs:x"):
            with pytest.raises(RuntimeError, match="it has inputs:go, outputs:done"):
                db.set_execution_enabled(name)
        b.trace.append("ok")
        return True

    b.node("n", compute, EXEC_IN | NUMBER, EXEC_OUT)
    b.start().evaluate()
    assert b.trace == ["ok"]
    with pytest.raises(RuntimeError, match="no node is being computed"):
        get_interface()


def test_data_of_execution_nodes_is_read_as_last_written(build):
    b = build("execution")
    b.event()

    def count(db):
        db.outputs.x = db.outputs.x + 1.0
        db.outputs.done = ENABLED
        return True

    b.node("count", count, EXEC_IN, {**EXEC_OUT, **NUMBER})
    b.note("early", "OnTest.outputs:done", "count.outputs:x")
    b.connect("OnTest.outputs:done", "count.inputs:go")
    b.note("late", "count.outputs:done", "count.outputs:x")
    play = b.start()
    play.evaluate()
    play.evaluate()
    # count stands before early in the file, so its chain comes first
    assert b.trace == [("late", 1.0), ("early", 1.0), ("late", 2.0), ("early", 2.0)]


def test_an_input_of_an_execution_node_passes_its_value_on(build):
    b = build("execution")
    b.event()
    b.stock("constant", "nodes.ConstantDouble", value=7.0)
    b.node("never", fire, EXEC_IN | NUMBER, EXEC_OUT)
    b.connect("constant.inputs:value", "never.inputs:x")
    b.note("reader", "OnTest.outputs:done", "never.inputs:x")
    b.start().evaluate()
    assert b.trace == [("reader", 7.0)]


def test_data_nodes_run_again_when_a_loop_changes_their_inputs(build):
    b = build("execution")
    b.event()
    runs = []

    def double(db):
        runs.append(db.inputs.x)
        db.outputs.x = 2.0 * db.inputs.x
        return True

    b.stock("loop", "action.ForLoop", stop=3)
    b.node("double", double, NUMBER, NUMBER)
    b.connect("OnTest.outputs:done", "loop.inputs:execIn")
    b.connect("loop.outputs:value", "double.inputs:x")
    b.note("body", "loop.outputs:loopBody", "double.outputs:x")
    b.note("again", "body.outputs:done", "double.outputs:x")
    b.start().evaluate()
    assert b.trace == [(name, 2.0 * i) for i in range(3) for name in ("body", "again")]
    assert runs == [0.0, 1.0, 2.0]


def test_a_storm_of_connections_in_a_cycle_is_stopped(build, monkeypatch):
    monkeypatch.setattr("omni.warp_core.nodes.graph.action_graph.STEP_LIMIT", 2000)
    b = build("execution")
    b.event()
    count = 60
    for i in range(count):
        b.note(f"n{i}", "OnTest.outputs:done")
    for i in range(count):
        for j in range(count):
            b.connect(f"n{i}.outputs:done", f"n{j}.inputs:go")
    play = b.start()
    play.evaluate()
    play.evaluate()
    # one step for each node beyond the limit; the event takes a step and is no note
    assert len(b.trace) == 2 * (2000 + count + 1 - 1)
    assert len(b.host.log.errors) == 1 and "stopped after 2061 steps in one frame" in b.host.log.errors[0]


def test_looks_at_data_nodes_are_bounded(build, monkeypatch):
    monkeypatch.setattr("omni.warp_core.nodes.graph.action_graph.VISIT_LIMIT", 500)
    b = build("execution")
    b.event()
    for i in range(100):
        b.node(f"d{i}", lambda db: True, NUMBER, NUMBER)
        if i:
            b.connect(f"d{i - 1}.outputs:x", f"d{i}.inputs:x")
    b.stock("loop", "action.ForLoop", stop=1000)
    b.connect("OnTest.outputs:done", "loop.inputs:execIn")
    b.note("body", "loop.outputs:loopBody", "d99.outputs:x")
    b.start().evaluate()
    assert len(b.trace) == 5 and "stopped after 500 looks at data nodes" in b.host.log.errors[0]


def test_long_chains_take_no_recursion(build):
    b = build("execution")
    b.event()
    for i in range(1100):
        b.note(f"n{i}", f"n{i - 1}.outputs:done" if i else "OnTest.outputs:done")
    b.start().evaluate()
    assert b.trace == [f"n{i}" for i in range(1100)]


def test_a_node_that_is_off_rests_and_its_values_stay(build):
    b = build("execution")
    b.event()
    first = b.note("first", "OnTest.outputs:done")
    b.note("second", "first.outputs:done")
    data = b.node("data", lambda db: setattr(db.outputs, "x", db.outputs.x + 1.0), {}, NUMBER)
    b.note("reader", "OnTest.outputs:done", "data.outputs:x")
    play = b.start()
    play.evaluate()
    first.set_disabled(True)
    data.set_disabled(True)
    assert first.is_disabled()
    play.evaluate()
    first.set_disabled(False)
    play.evaluate()
    assert b.trace == ["first", "second", ("reader", 1.0), ("reader", 1.0), "first", "second", ("reader", 1.0)]
    play.graph.set_disabled(True)
    play.evaluate()
    assert play.graph.is_disabled() and len(b.trace) == 7


@pytest.mark.parametrize("evaluator", ["push", "dirty_push", "execution"])
def test_what_reads_a_node_that_is_off_and_never_ran_waits_and_says_why(build, evaluator):
    b = build(evaluator)
    b.event()
    data = b.node("data", lambda db: setattr(db.outputs, "x", 7.0), {}, NUMBER)
    b.node("between", lambda db: setattr(db.outputs, "x", db.inputs.x + 1.0), NUMBER, NUMBER)
    b.connect("data.outputs:x", "between.inputs:x")
    reader = b.note("reader", "OnTest.outputs:done", "between.outputs:x")
    data.set_disabled(True)
    play = b.start()
    play.evaluate()
    assert b.trace == [] and reader.failed == "waits for /G/between"
    why = "waits for /G/data.outputs:x, which inputs:x reads: that node is switched off and has not run yet"
    assert b.host.log.warnings == [f"/G/between: {why}"] and not b.host.log.errors
    data.set_disabled(False)
    play.evaluate()
    data.set_disabled(True)
    play.evaluate()  # now it rests
    assert b.trace == [("reader", 8.0)] * len(b.trace) and b.trace


def test_an_output_that_the_scene_sets_is_a_value_of_a_node_that_is_off(build):
    b = build("push")
    data = b.node("data", lambda db: setattr(db.outputs, "x", 7.0), {}, NUMBER)
    data.attributes["outputs:x"].set(3.0)
    reader = b.node("reader", lambda db: setattr(db.outputs, "x", db.inputs.x + 1.0), NUMBER, NUMBER)
    b.connect("data.outputs:x", "reader.inputs:x")
    data.set_disabled(True)
    b.start().evaluate()
    assert reader.attributes["outputs:x"].value == 4.0 and not b.host.log.warnings


class Reference:
    """An Action Graph as a recursive program: each node enables all of its outputs, `rounds` times in a row."""

    def __init__(self, rng, count):
        self.names = [f"n{i}" for i in range(count)]
        self.outputs = {name: rng.randint(1, 3) for name in self.names}
        self.rounds = {name: rng.choice([1, 1, 2, 3]) for name in self.names}
        self.targets = {(name, o): [] for name in self.names for o in range(self.outputs[name])}
        for i, name in enumerate(self.names):  # earlier nodes lead to later ones, so that it ends
            for o in range(self.outputs[name]):
                later = self.names[i + 1 :]
                self.targets[name, o] = sorted(rng.sample(later, min(len(later), rng.randint(0, 2))), key=later.index)
        self.order = rng.sample(self.names, count)  # of the file
        self.trace = []

    def activate(self, name):
        for number in range(self.rounds[name]):
            self.trace.append((name, number))
            for o in range(self.outputs[name]):
                for target in sorted(self.targets[name, o], key=self.order.index):
                    self.activate(target)

    def build(self, b):
        b.event()
        state = {}

        def node(name):
            def compute(db):
                number = 0 if db.get_execution_enabled("inputs:go") else state[name]
                state[name] = number + 1
                b.trace.append((name, number))
                for o in range(self.outputs[name]):
                    db.set_execution_enabled(f"outputs:o{o}")
                if number + 1 < self.rounds[name]:
                    db.set_execution_enabled_and_pushed(f"outputs:o{self.outputs[name] - 1}")
                return True

            b.node(name, compute, EXEC_IN, {f"o{o}": "execution" for o in range(self.outputs[name])})

        for name in self.order:
            node(name)
        b.connect("OnTest.outputs:done", "n0.inputs:go")
        for (name, o), targets in self.targets.items():
            for target in targets:
                b.connect(f"{name}.outputs:o{o}", f"{target}.inputs:go")


@pytest.mark.parametrize("seed", range(25))
def test_random_graphs_run_in_the_order_of_a_recursive_program(build, seed):
    reference = Reference(random.Random(seed), 7)
    reference.activate("n0")
    b = build("execution")
    reference.build(b)
    b.start().evaluate()
    assert b.trace == reference.trace and len(b.trace) >= 1
