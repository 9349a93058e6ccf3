"""Chains of Kernel nodes as graphs: the values of every frame, new numbers and arrays, reasons against a replay."""

import json
from pathlib import Path

import numpy as np
import pytest

from omni.warp_core.nodes.graph.evaluate import Evaluator
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.play import console
from omni.warp_core.nodes.play.player import Player, Settings
from tests.nodes.kernel.kernel_scenes import POINTS, READ, kernel, value

ADD = "@wp.kernel\ndef k(x: wp.array(dtype=float), time: float, y: wp.array(dtype=float)):\n    i = wp.tid()\n"
ADD += "    y[i] = y[i] + x[i] + 0.5 * time\n"
TIME = "custom double inputs:time.connect = </G/time.outputs:frame>\ncustom float[] outputs:y\n"
CHAIN = (
    READ
    + kernel(ADD, "custom float[] inputs:x = [1, 2, 3]\n" + TIME, "a")
    + kernel(ADD, "custom float[] inputs:x.connect = </G/a.outputs:y>\n" + TIME, "b")
    + kernel(ADD, "custom float[] inputs:x.connect = </G/b.outputs:y>\n" + TIME, "c")
)
X = np.array([1.0, 2.0, 3.0])


def node(result, name):
    return next(n for n in result.outcome.nodes if n.path == f"/G/{name}")


def costs(result, name):
    timing = node(result, name).timing
    return timing.launches, timing.replays


class Stepper:
    """Plays single frames of a scene."""

    def __init__(self, scene, device="cpu"):
        self.player = Player.open(scene, Settings(device=str(device)), Log(emit=lambda text: None))
        self.player.host.code = {code.node: code.text for code in self.player.codes}
        self.evaluator = Evaluator(self.player.loaded.graphs[0])
        self.evaluator.start()

    def attribute(self, path):
        return self.player.loaded.attribute(path)

    def frame(self, number):
        """Play a frame. Returns whether the last chain was replayed."""
        self.player.host.timeline.frame = number
        before = self.replays()
        self.evaluator.evaluate()
        return self.replays() > before

    def replays(self):
        return sum(chain._replays for _, chain in self.evaluator._groups if chain is not None)


def test_a_chain_is_replayed_with_the_time_of_each_frame(make_scene, play, device):
    result = play(make_scene(CHAIN, frames="0:5"), device=str(device))
    assert not result.log.errors
    for name, steps in (("a", 1), ("b", 2), ("c", 3)):
        assert value(result, f"/G/{name}.outputs:y").tolist() == (X + steps * 0.5 * 5).tolist()
        assert costs(result, name) == (6, 5), "the first frame is evaluated"
        assert json.loads(value(result, f"/G/{name}.state:status"))["replay"] == "replayed"


def test_other_values_sizes_and_texts_are_evaluated_and_then_replayed_again(make_scene, device):
    step = Stepper(make_scene(CHAIN), device)
    x, y = step.attribute("/G/a.inputs:x"), step.attribute("/G/c.outputs:y")
    assert [step.frame(0), step.frame(1)] == [False, True]
    x.set(np.array([4, 5, 6, 7], np.float32))
    assert [step.frame(2), y.value.tolist()] == [False, [7, 8, 9, 10]]
    assert [step.frame(3), y.value.tolist()] == [True, [8.5, 9.5, 10.5, 11.5]]
    assert [step.frame(1), y.value.tolist()] == [False, [5.5, 6.5, 7.5, 8.5]], "the timeline goes back"
    step.player.set_code("/G/b", ADD.replace("0.5 * time", "100.0"))
    step.frame(2)
    assert step.attribute("/G/b.inputs:x").node.shared_state.newest.wait(60)
    assert [step.frame(2), y.value.tolist()] == [False, [106, 107, 108, 109]]
    assert [step.frame(3), y.value.tolist()] == [True, [107, 108, 109, 110]]


TWICE = "@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n"
TWICE += "    q[i] = 2.0 * p[i]\n"
TWICE_ATTRIBUTES = "custom point3f[] inputs:p.connect = </G/{}>\ncustom point3f[] outputs:q\n"


def test_arrays_that_come_anew_in_each_frame_need_no_other_graph(make_scene, device):
    """The points of the mesh are in other memory whenever they are read at a new time."""
    nodes = READ.replace("custom timecode inputs:usdTimecode = 0", "")
    scene = make_scene(nodes + kernel(TWICE, TWICE_ATTRIBUTES.format("read.outputs:value")), frames="0:4")
    text = Path(scene).read_text()
    still = "points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]"
    assert still in text
    moving = "points.timeSamples = { 0: [(0, 0, 0), (1, 0, 0)], 4: [(4, 0, 0), (1, 8, 0)] }"
    Path(scene).write_text(text.replace(still, moving))
    step = Stepper(scene, device)
    seen = set()
    for frame in range(4):
        step.player.host.store.frame = frame
        assert step.frame(frame) == (frame > 0)
        assert step.attribute("/G/kernel.outputs:q").value.tolist() == [[2 * frame, 0, 0], [2, 4 * frame, 0]]
        seen.add(id(step.attribute("/G/read.outputs:value").value))
    assert len(seen) > 1


def test_a_value_that_the_host_reads_divides_a_chain(make_scene, play, device):
    """A single value leaves its node as a number, so the node that takes it is in another chain."""
    code = TWICE.replace("):\n", ", n: wp.array(dtype=int)):\n", 1) + "    wp.atomic_add(n, 0, 1)\n"
    takes = TWICE.replace("):\n", ", n: int):\n", 1).replace("2.0", "float(n)")
    nodes = READ + kernel(TWICE, TWICE_ATTRIBUTES.format("read.outputs:value"), "a")
    nodes += kernel(code, TWICE_ATTRIBUTES.format("a.outputs:q") + "custom int outputs:n\n", "b")
    counted = "custom int inputs:n.connect = </G/b.outputs:n>\n"
    nodes += kernel(takes, TWICE_ATTRIBUTES.format("b.outputs:q") + counted, "c")
    result = play(make_scene(nodes, frames="0:5"), device=str(device))
    assert not result.log.errors
    assert np.array_equal(value(result, "/G/c.outputs:q"), 4 * 4 * POINTS) and value(result, "/G/b.outputs:n") == 4
    assert [costs(result, name)[0] for name in "abc"] == [6, 6, 6]
    assert all(costs(result, name)[1] >= 3 for name in "abc")


def test_states_and_substeps_are_replayed(make_scene, play, device):
    code = "@wp.kernel\ndef k(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float):\n    i = wp.tid()\n"
    code += "    v[i] = v[i] - dt * x[i]\n    x[i] = x[i] + dt * v[i]\n"
    attributes = """
    custom point3f[] inputs:x.connect = </G/read.outputs:value>
    custom point3f[] state:x
    custom point3f[] outputs:x
    custom vector3f[] state:v
    custom float inputs:dt = 0.125
    custom int inputs:substeps = 3
    """
    result = play(make_scene(READ + kernel(code, attributes), frames="0:7"), device=str(device))
    x, v = POINTS.copy(), np.zeros_like(POINTS)
    for _ in range(8 * 3):
        v -= 0.125 * x
        x += 0.125 * v
    assert not result.log.errors and costs(result, "kernel") == (24, 7)
    assert np.allclose(value(result, "/G/kernel.outputs:x"), x, atol=1e-5)


def test_a_node_that_fails_before_a_chain_stops_it(make_scene):
    step = Stepper(make_scene(CHAIN))
    assert [step.frame(0), step.frame(1)] == [False, True]
    clock = step.attribute("/G/time.outputs:frame").node
    compute, clock.type.cls.compute = clock.type.cls.compute, staticmethod(lambda db: False)
    try:
        assert not step.frame(2)
        assert "waits for /G/time" in step.attribute("/G/a.inputs:x").node.failed
    finally:
        clock.type.cls.compute = staticmethod(compute)
    assert [step.frame(3), step.frame(4)] == [False, True]


def test_the_reason_against_a_replay_is_told(make_scene, play, capsys):
    attributes = "custom float[] inputs:x.connect = </G/k.outputs:y>\ncustom int inputs:dim1 = 2\n"
    attributes, reason = attributes + "custom float[] outputs:y\n", "cycle"
    code = "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n"
    code += "    y[i] = 2.0\n    if x.shape[0] > i:\n        y[i] = x[i] + 1.0\n"
    result = play(make_scene(kernel(code, attributes, "k"), frames="0:3"))
    assert not result.log.errors and costs(result, "k") == (4, 0)
    assert reason in json.loads(value(result, "/G/k.state:status"))["replay"]
    console.summary(result.outcome)
    told = capsys.readouterr().out
    assert "/G/k: not replayed, because" in told and reason in told and "replays" in told


def test_inputs_that_change_in_size_in_every_frame_end_the_attempts(make_scene):
    step = Stepper(make_scene(CHAIN))
    x, y = step.attribute("/G/a.inputs:x"), step.attribute("/G/c.outputs:y")
    for frame in range(8):
        x.set(np.arange(frame + 1, dtype=np.float32))
        assert not step.frame(frame) and np.array_equal(y.value, np.arange(frame + 1) + 1.5 * frame)
    assert step.evaluator._groups[-1][1].why == "a value of /G/a is set in every frame"


# Kernels after whose frames an array that was not cleared would differ, and the values that an array of zeros gives.
OF_ZEROS = {
    "every thread writes its own element": ("y[i] = time", lambda f, i: f),
    "it adds": ("y[i] += time", lambda f, i: f),
    "only some write": ("if i == int(time):\n        y[i] = 1.0", lambda f, i: i == f),
    "only some go on": ("if i != int(time):\n        return\n    y[i] = 1.0", lambda f, i: i == f),
    "they write their neighbors": ("y[i // 2] = time", lambda f, i: f * (i < 2)),
    "a function writes": ("put(y, i, time)", lambda f, i: f),
    "a function may read": ("put(y, i, time + 0.0 * y[0])", lambda f, i: f),
    "an element follows from another one": ("z = y[i]\n    y[i] = z + time", lambda f, i: f),
}


@pytest.mark.parametrize("name", OF_ZEROS)
def test_replays_begin_with_zeros_wherever_these_can_be_seen(make_scene, device, name):
    body, wanted = OF_ZEROS[name]
    code = "@wp.func\ndef put(y: wp.array(dtype=float), i: int, t: float):\n    y[i] = t\n\n"
    code += f"@wp.kernel\ndef k(time: float, y: wp.array(dtype=float)):\n    i = wp.tid()\n    {body}\n"
    step = Stepper(make_scene(READ + kernel(code, "custom int inputs:dim1 = 4\n" + TIME)), device)
    for frame in range(5):
        assert step.frame(frame) == (frame > 0)
        assert step.attribute("/G/kernel.outputs:y").value.tolist() == [wanted(frame, i) for i in range(4)]


def test_a_launch_over_a_part_of_an_array_leaves_the_rest_zero(make_scene, device):
    """The second kernel sees what the first one wrote and zeros beyond; the array is longer than both launches."""
    code = "@wp.kernel\ndef k(time: float, y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = time\n\n"
    code += "@wp.kernel\ndef m(y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i + 1] = y[i + 1] + y[0]\n"
    attributes = (
        "custom int inputs:dim1 = 3\ncustom int inputs:y:length = 5\ncustom token[] inputs:kernels = ['k', 'm']\n"
    )
    step = Stepper(make_scene(READ + kernel(code, attributes + TIME)), device)
    for frame in range(4):
        assert step.frame(frame) == (frame > 0)
        assert step.attribute("/G/kernel.outputs:y").value.tolist() == [frame, 2 * frame, 2 * frame, frame, 0]
