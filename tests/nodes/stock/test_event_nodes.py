"""Event nodes and the clock, frame by frame."""

import numpy as np
import pytest

from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.graph.schedule import Schedule


def run(b, frames, output):
    """Return the frames in which an output of the node `event` fired, with what happened to the graph."""
    b.node("after", lambda db: b.trace.append(db.host.timeline.frame), {"go": "execution"}, {})
    b.connect(f"event.outputs:{output}", "after.inputs:go")
    play = b.start()
    for frame in range(frames):
        b.host.timeline.frame = frame
        yield frame
        play.evaluate()


@pytest.mark.parametrize(("period", "expected"), [(0, [0, 1, 2, 3, 4]), (1, [0, 2, 4]), (3, [0, 4])])
def test_on_tick_skips_frames_and_adds_up_their_time(build, period, expected):
    b = build("execution")
    b.host.timeline.fps = 10
    b.stock("event", "action.OnTick", framePeriod=period)
    deltas = []
    b.node("clock", lambda db: deltas.append(db.inputs.x), {"go": "execution", "x": "double"}, {})
    b.connect("event.outputs:tick", "clock.inputs:go")
    b.connect("event.outputs:deltaSeconds", "clock.inputs:x")
    list(run(b, 5, "tick"))
    assert b.trace == expected
    assert deltas == pytest.approx([0.1] + [0.1 * (period + 1)] * (len(expected) - 1))
    assert b.value("event.outputs:frame") == expected[-1] and b.value("event.outputs:time") == expected[-1] / 10
    assert b.value("event.state:frameCount") == 4 - expected[-1]
    assert b.value("event.state:accumulatedSeconds") == pytest.approx(0.1 * (4 - expected[-1]))


@pytest.mark.parametrize(("only", "expected"), [(True, [0, 2]), (False, [0, 1, 2])])
def test_on_tick_while_the_timeline_stands(build, only, expected):
    b = build("execution")
    b.stock("event", "action.OnTick", onlyPlayback=only)
    for frame in run(b, 3, "tick"):
        b.host.timeline.is_playing = frame != 1
    assert b.trace == expected


def test_on_playback_tick_and_on_loaded(build):
    for kind, output, expected in (("OnPlaybackTick", "tick", [0, 2]), ("OnLoaded", "execOut", [0])):
        b = build("execution")
        b.stock("event", f"action.{kind}")
        for frame in run(b, 3, output):
            b.host.timeline.is_playing = frame != 1
        assert b.trace == expected


def test_on_impulse_event_fires_once_when_its_state_is_set(build):
    b = build("execution")
    node = b.stock("event", "action.OnImpulseEvent")
    for frame in run(b, 6, "execOut"):
        if frame in (1, 4):
            node.attributes["state:enableImpulse"].set(True)
        b.host.timeline.is_playing = frame != 4
    assert b.trace == [1, 5] and b.value("event.state:enableImpulse") is False


@pytest.mark.parametrize(
    ("name", "expected"), [("Animation Start Play", [0]), ("OmniGraph Start Play", [0]), ("Saved", [])]
)
def test_on_stage_event(build, name, expected):
    b = build("execution")
    b.stock("event", "action.OnStageEvent", eventName=name)
    list(run(b, 3, "execOut"))
    assert b.trace == expected
    assert len([w for w in b.host.log.warnings if "'Saved' does not happen in a play" in w]) == (not expected)


def test_custom_events_arrive_in_the_next_frame_in_every_graph(build):
    sender = build("execution", "/A")
    listeners = [build("execution", path, sender.host) for path in ("/B", "/C")]
    sender.event()
    sender.stock("send", "action.SendCustomEvent", eventName="go", path="/some/prim")
    sender.connect("OnTest.outputs:done", "send.inputs:execIn")
    for b, name in zip(listeners, ("go", "other"), strict=True):
        b.stock("event", "action.OnCustomEvent", eventName=name)
        b.note("after", "event.outputs:execOut", "event.outputs:path")
    play = Schedule([sender.graph, *(b.graph for b in listeners)], sender.host)
    play.start()
    play.frame()
    assert listeners[0].trace == []
    play.frame()
    sender.graph.set_disabled(True)
    play.frame()
    play.frame()
    assert listeners[0].trace == [("after", "/some/prim")] * 2 and listeners[1].trace == []


class Store:
    """Values of attributes, by hand."""

    def __init__(self, *values):
        self.values = iter(values)

    def look(self, path, name):
        assert (path, name) == ("/World/Mesh", "points")
        return None, next(self.values)


@pytest.mark.parametrize("given", [{"prim": ["/World/Mesh"], "name": "points"}, {"path": "/World/Mesh.points"}])
def test_on_object_change(build, given):
    b = build("execution")
    b.host.store = Store(np.zeros(2), np.zeros(2), np.ones(2), np.ones(2), np.ones(3))
    b.stock("event", "action.OnObjectChange", **given)
    list(run(b, 5, "changed"))
    assert b.trace == [2, 4] and b.value("event.outputs:propertyName") == "points" and not b.host.log.errors


def test_on_object_change_needs_an_attribute(build):
    b = build("execution")
    b.host.log = Log(emit=lambda text: None)
    b.stock("event", "action.OnObjectChange", path="/World/Mesh")
    b.start().evaluate()
    assert "must name the attribute of a prim" in b.host.log.errors[0]
