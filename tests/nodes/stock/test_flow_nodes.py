"""Nodes that steer the flow. Each expected order is worked out from the description of the node."""

import pytest

from omni.warp_core.nodes.values.attribute_types import EXECUTION, TOKEN


def run(b, frames=1):
    play = b.start()
    for frame in range(frames):
        b.host.timeline.frame = frame
        play.evaluate()
    assert not b.host.log.errors
    return b.trace


@pytest.fixture
def flow(build):
    b = build("execution")
    b.event()
    return b


def pulses(b, plan, target):
    """An event node `OnPlan` that enables the outputs of one line of the plan in each evaluation."""
    lines = iter(plan)

    def compute(db):
        for letter in next(lines):
            setattr(db.outputs, letter, 1)
        return True

    letters = sorted(set("".join(plan)))
    b.node("OnPlan", compute, {}, dict.fromkeys(letters, "execution"), kind="OnPlan")
    for letter, name in zip(letters, target, strict=True):
        b.connect(f"OnPlan.outputs:{letter}", f"node.inputs:{name}")


@pytest.mark.parametrize(("condition", "expected"), [(True, ["yes"]), (False, ["no"])])
def test_branch(flow, condition, expected):
    flow.stock("node", "action.Branch", condition=condition)
    flow.connect("OnTest.outputs:done", "node.inputs:execIn")
    flow.note("yes", "node.outputs:execTrue")
    flow.note("no", "node.outputs:execFalse")
    assert run(flow) == expected


@pytest.mark.parametrize(("closed", "expected"), [(False, 3), (True, 2)])
def test_gate(build, closed, expected):
    b = build("execution")
    b.stock("node", "action.Gate", startClosed=closed)
    pulses(b, ["a", "a", "b", "a", "a", "b", "a"], ["enter", "toggle"])
    b.note("after", "node.outputs:exit")
    assert len(run(b, 7)) == expected


def test_once(build):
    b = build("execution")
    b.stock("node", "action.Once")
    pulses(b, ["a", "a", "a", "b", "a", "a"], ["execIn", "reset"])
    b.note("once", "node.outputs:once")
    b.note("after", "node.outputs:after")
    assert run(b, 6) == ["once", "after", "after", "once", "after"]


def test_flip_flop(flow):
    flow.stock("node", "action.FlipFlop")
    flow.connect("OnTest.outputs:done", "node.inputs:execIn")
    flow.note("a", "node.outputs:a", "node.outputs:isA")
    flow.note("b", "node.outputs:b", "node.outputs:isA")
    assert run(flow, 3) == [("a", True), ("b", False), ("a", True)]


def test_counter(build):
    b = build("execution")
    b.stock("node", "action.Counter")
    pulses(b, ["a", "a", "b", "a"], ["execIn", "reset"])
    b.note("after", "node.outputs:execOut", "node.outputs:count")
    assert run(b, 4) == [("after", 1), ("after", 2), ("after", 1)]
    assert b.value("node.state:count") == 1


def numbered(b, kind, count):
    node = b.stock("node", kind)
    for i in reversed(range(1, count)):  # the numbers count, not the order in the file
        node.create_attribute(f"output{i}", EXECUTION, "outputs")
    node.create_attribute("output0x", EXECUTION, "outputs")
    for i in range(count):
        b.note(f"n{i}", f"node.outputs:output{i}")
        b.note(f"deep{i}", f"n{i}.outputs:done")


def test_multigate(build):
    b = build("execution")
    numbered(b, "action.Multigate", 11)
    pulses(b, ["a", "a", "b", *["a"] * 12], ["execIn", "reset"])
    expected = [0, 1, *range(11), 0]
    assert [name for name in run(b, 15) if name[0] == "n"] == [f"n{i}" for i in expected]


@pytest.mark.parametrize("frames", [1, 2])
def test_multisequence(flow, frames):
    numbered(flow, "action.Multisequence", 3)
    flow.connect("OnTest.outputs:done", "node.inputs:execIn")
    assert run(flow, frames) == ["n0", "deep0", "n1", "deep1", "n2", "deep2"] * frames


def test_sequence_ends_one_chain_before_the_next(flow):
    flow.stock("node", "action.Sequence")
    flow.connect("OnTest.outputs:done", "node.inputs:execIn")
    flow.note("b", "node.outputs:b")
    flow.note("a", "node.outputs:a")
    flow.note("deep", "a.outputs:done")
    assert run(flow, 2) == ["a", "deep", "b"] * 2


@pytest.mark.parametrize(("value", "expected"), [("x", ["first"]), ("y", ["second"]), ("z", []), ("w", [])])
def test_switch_token(flow, value, expected):
    node = flow.stock("node", "action.SwitchToken", value=value)
    for number, token in (("0", "x"), ("B", "y"), ("2", "x"), ("lost", "w")):
        node.create_attribute(f"branch{number}", TOKEN).set(token)
    for number in ("0", "B", "2"):
        node.create_attribute(f"output{number}", EXECUTION, "outputs")
    flow.connect("OnTest.outputs:done", "node.inputs:execIn")
    for number, name in (("0", "first"), ("B", "second"), ("2", "third")):
        flow.note(name, f"node.outputs:output{number}")
    assert run(flow) == expected


@pytest.mark.parametrize(
    ("kind", "name", "values", "expected"),
    [
        ("SyncGate", "syncValue", [5, 5, 5, 5, 6, 7, 7], [1, 3, 6]),
        ("RationalTimeSyncGate", "rationalTimeNumerator", [(1, 2), (2, 4), (1, 0), (2, 0), (-3, 6), (-1, 2)], [1, 5]),
    ],
)
def test_sync_gates_wait_for_all_connections_with_one_value(build, kind, name, values, expected):
    b = build("execution")
    node = b.stock("node", f"action.{kind}")
    pulses(b, ["a"] * len(values), ["execIn"])
    b.event("OnOther", ())
    b.node("other", lambda db: True, {}, {"never": "execution"})
    b.connect("other.outputs:never", "node.inputs:execIn")
    b.note("after", "node.outputs:execOut")
    play = b.start()
    passed = []
    for frame, value in enumerate(values):
        above, below = value if isinstance(value, tuple) else (value, None)
        node.attributes[f"inputs:{name}"].set(above)
        if below is not None:
            node.attributes["inputs:rationalTimeDenominator"].set(below)
        before = len(b.trace)
        play.evaluate()
        passed += [frame] * (len(b.trace) - before)
        assert b.value(f"node.outputs:{name}") == above
    assert passed == expected


@pytest.mark.parametrize(
    ("seconds", "fps", "expected"),
    [
        (0.0, 10, [1]),
        (0.1, 10, [1]),
        (0.3, 10, [3]),
        (0.1 + 0.2, 10, [3]),
        (0.25, 10, [3]),
        (1.0, 30, [30]),
        (99.0, 10, []),
    ],
)
def test_delay(build, seconds, fps, expected):
    b = build("execution")
    b.host.timeline.fps = fps
    b.stock("node", "action.Delay", duration=seconds)
    pulses(b, ["a", *[""] * 40], ["execIn"])
    b.node("after", lambda db: b.trace.append(db.host.timeline.frame), {"go": "execution"}, {})
    b.connect("node.outputs:finished", "after.inputs:go")
    assert run(b, 40) == expected


def test_a_delay_that_is_activated_again_starts_anew(build):
    b = build("execution")
    b.host.timeline.fps = 10
    b.stock("node", "action.Delay", duration=0.3)
    pulses(b, ["a", "", "a", *[""] * 10], ["execIn"])
    b.node("after", lambda db: b.trace.append(db.host.timeline.frame), {"go": "execution"}, {})
    b.connect("node.outputs:finished", "after.inputs:go")
    assert run(b, 12) == [5]


def test_countdown_ticks_after_3_6_9_and_finishes_after_10(build):
    b = build("execution")
    b.stock("node", "action.Countdown", duration=10, period=3)
    pulses(b, ["a", *[""] * 20], ["execIn"])
    for name in ("tick", "finished"):
        b.note(name, f"node.outputs:{name}", "node.outputs:tickValue")
    alphas = []
    play = b.start()
    for _ in range(14):
        play.evaluate()
        alphas.append(b.value("node.outputs:alpha"))
    assert b.trace == [("tick", 3), ("tick", 6), ("tick", 9), ("finished", 10)]
    assert alphas == pytest.approx([i / 10 for i in range(11)] + [1.0] * 3, abs=1e-6)
    assert b.value("node.state:count") == -1 and not b.host.log.errors


def test_a_countdown_that_is_activated_again_starts_anew(build):
    b = build("execution")
    b.stock("node", "action.Countdown", duration=3, period=5)
    pulses(b, ["a", "", "a", "", "", "", ""], ["execIn"])
    b.note("finished", "node.outputs:finished")
    play = b.start()
    counts = []
    for _ in range(7):
        play.evaluate()
        counts.append(len(b.trace))
    assert counts == [0, 0, 0, 0, 0, 1, 1]
