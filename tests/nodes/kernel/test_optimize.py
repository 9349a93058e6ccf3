"""Backward and Optimize: gradients against central differences of the played graph, and fits that converge."""

import numpy as np
import pytest
from pxr import Usd

import omni.warp_core as wp

SPREAD = """
@wp.kernel
def spread(x: wp.array(dtype=wp.vec3), time: float, gain: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    j = (i + 1) % x.shape[0]
    p = x[i] + wp.vec3(0.0, time, 0.0)
    y[i] = gain[0] * wp.vec3(wp.sin(p[0]), wp.sin(p[1]), wp.sin(p[2])) + wp.cw_mul(x[i], x[j])
"""
LOSS = """
@wp.kernel
def measure(y: wp.array(dtype=wp.vec3), target: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(y[i] - target[i]))
"""
X = [(0.1, 0.2, 0.3), (-0.4, 0.5, 0.1), (0.7, -0.3, 0.2)]
TARGET = [(0.5, 0.1, 0.2), (0.3, 0.3, 0.3), (-0.2, 0.4, 0.1)]


def chain(x=X, gain=(1.5,), substeps=1, middle=None):
    """A graph of two kernels, `spread` and `measure`, with a builder to add to it."""
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    spread = graph.node("spread", "omni.warp_core.Kernel", codeStr=SPREAD, substeps=substeps, dimSource="x")
    for name, kind, value in (("x", "point3f[]", x), ("time", "double", 0.0), ("gain", "float[]", list(gain))):
        graph.attribute(spread, f"inputs:{name}", kind, value)
    graph.attribute(spread, "outputs:y", "point3f[]")
    measure = graph.node("measure", "omni.warp_core.Kernel", codeStr=LOSS)
    graph.attribute(measure, "inputs:y", "point3f[]")
    graph.attribute(measure, "inputs:target", "point3f[]", TARGET)
    graph.attribute(measure, "outputs:loss", "float")
    graph.connect(f"{clock}.outputs:time", f"{spread}.inputs:time")
    graph.connect(f"{spread}.outputs:y", f"{measure}.inputs:y")
    return stage, graph


def loss_of(x=X, gain=1.5, time=0.0):
    """The loss in NumPy's float64."""
    x = np.asarray(x, np.float64)
    y = gain * np.sin(x + np.array([0, time, 0])) + x * np.roll(x, -1, axis=0)
    return np.sum((y - TARGET) ** 2)


def differences(function, x, h=1e-6):
    x = np.asarray(x, np.float64)
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (function(x + step) - function(x - step)) / (2 * h)
    return found


@pytest.mark.parametrize("name", ["spread.inputs:x", "/G/spread.inputs:gain"])
def test_a_gradient_passes_through_a_chain_of_kernels(name):
    stage, graph = chain()
    node = graph.node("backward", "omni.warp_core.Backward", parameter=name)
    graph.connect("/G/measure.outputs:loss", f"{node}.inputs:loss")
    with wp.usd.play(stage, frames=(0, 9), fps=24, trust=True) as player:
        for frame in range(4):  # the kernels are replayed from the third frame on
            player.step()
            assert not player.errors
            time = frame / 24
            assert player.get(f"{node}.outputs:loss") == pytest.approx(loss_of(time=time), rel=1e-5)
            wanted = (
                differences(lambda x, t=time: loss_of(x=x, time=t), X).ravel()
                if name.endswith("x")
                else differences(lambda g, t=time: loss_of(gain=g[0], time=t), [1.5])
            )
            assert np.allclose(player.get(f"{node}.outputs:gradient"), wanted, rtol=1e-4, atol=1e-5)


def test_a_parameter_may_go_to_several_nodes():
    stage, graph = chain()
    stage.GetPrimAtPath("/G/measure").GetAttribute("inputs:target").Clear()
    graph.connect("/G/spread.inputs:x", "/G/measure.inputs:target")
    node = graph.node("backward", "omni.warp_core.Backward", parameter="spread.inputs:x")
    graph.connect("/G/measure.outputs:loss", f"{node}.inputs:loss")

    def loss(x):
        return np.sum((1.5 * np.sin(x) + x * np.roll(x, -1, axis=0) - x) ** 2)

    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert not player.errors
        assert np.allclose(player.get(f"{node}.outputs:gradient"), differences(loss, X).ravel(), rtol=1e-4, atol=1e-5)


def fit(graph, **settings):
    node = graph.node("fit", "omni.warp_core.Optimize", **settings)
    graph.connect("/G/measure.outputs:loss", f"{node}.inputs:loss")
    return node


@pytest.mark.parametrize(("method", "rate"), [("adam", 0.05), ("gradientDescent", 0.1)])
def test_parameters_converge_to_where_the_loss_is_least(method, rate):
    stage, graph = chain()
    node = fit(graph, parameters=["spread.inputs:gain"], method=method, rate=rate, steps=20)
    stage.GetPrimAtPath("/G/spread").GetAttribute("inputs:time").ClearConnections()
    x = np.asarray(X)
    a, b = np.sin(x).ravel(), (np.asarray(TARGET) - x * np.roll(x, -1, axis=0)).ravel()
    best = a @ b / (a @ a)  # linear least squares
    with wp.usd.play(stage, frames=(0, 19), fps=24, trust=True) as player:
        player.play(20)
        assert not player.errors
        assert player.get("/G/spread.inputs:gain")[0] == pytest.approx(best, abs=1e-3)
        assert player.get(f"{node}.outputs:loss") == pytest.approx(loss_of(gain=best), rel=1e-4)
        assert player.get(f"{node}.outputs:gradientLength") < 1e-2
        assert player.get("/G/measure.outputs:loss") == pytest.approx(loss_of(gain=best), rel=1e-4)
        assert player.get(f"{node}.outputs:steps") == 400 or player.get(f"{node}.outputs:gradientLength") == 0


def test_a_fit_begins_anew_when_the_timeline_goes_back_and_plays_the_same_twice():
    stage, graph = chain()
    node = fit(graph, parameters=["spread.inputs:x", "spread.inputs:gain"], rate=0.02, steps=3)

    def losses(player, count=5):
        found = []
        for _ in range(count):
            player.step()
            found.append(player.get(f"{node}.outputs:loss"))
        assert not player.errors
        return found

    with wp.usd.play(stage, frames=(0, 9), fps=24, trust=True) as player:
        first = losses(player)
        player.rewind()
        again = losses(player)
    with wp.usd.play(stage, frames=(0, 9), fps=24, trust=True) as player:
        assert first == again == losses(player)
    assert first[-1] < 0.9 * first[0]


def with_multiply(graph):
    times = graph.node("times", "omni.graph.nodes.Multiply")
    graph.connect("/G/spread.outputs:y", f"{times}.inputs:a")
    graph.connect("/G/spread.outputs:y", f"{times}.inputs:b")
    graph.connect(f"{times}.outputs:product", "/G/measure.inputs:y")


@pytest.mark.parametrize(
    ("parameters", "change", "error"),
    [
        ([], None, "inputs:parameters is empty"),
        (["nobody.inputs:x"], None, "the graph has no node /G/nobody"),
        (
            ["spread.inputs:y"],
            None,
            "/G/spread has no attribute 'inputs:y'; its parameters are inputs:gain, inputs:time, inputs:x",
        ),
        (["spread.inputs:time"], None, "/G/spread.inputs:time is double, and a parameter is an array"),
        (["measure.inputs:y"], None, "/G/measure.inputs:y is connected to /G/spread.outputs:y"),
        (["clock.outputs:time"], None, "a parameter is an array that a kernel reads"),
        (["spread.inputs:x"], with_multiply, "/G/times lies between a parameter and the loss"),
    ],
)
def test_what_has_no_gradient_is_refused(parameters, change, error):
    stage, graph = chain()
    fit(graph, parameters=parameters)
    if change:
        stage.GetPrimAtPath("/G/measure").GetAttribute("inputs:y").ClearConnections()
        change(graph)
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert any("/G/fit" in text and error in text for text in player.errors), player.errors


def test_a_method_that_does_not_exist_and_a_loss_that_is_not_connected_are_told():
    for change, error in (
        (lambda node: node.GetAttribute("inputs:method").Set("sgd"), "it must be adam or gradientDescent"),
        (lambda node: node.GetAttribute("inputs:loss").ClearConnections(), "inputs:loss is not connected"),
    ):
        stage, graph = chain()
        fit(graph, parameters=["spread.inputs:gain"], method="adam")
        change(stage.GetPrimAtPath("/G/fit"))
        with wp.usd.play(stage, frames=(0, 0), fps=24, trust=True) as player:
            player.step()
            assert any("/G/fit" in text and error in text for text in player.errors), player.errors


def test_nodes_beside_the_way_may_be_of_any_type():
    stage, graph = chain()
    fit(graph, parameters=["spread.inputs:gain"], steps=2)
    stage.GetPrimAtPath("/G/spread").GetAttribute("inputs:time").ClearConnections()
    twice = graph.node("twice", "omni.graph.nodes.Add")
    graph.connect("/G/clock.outputs:time", f"{twice}.inputs:a")
    graph.connect("/G/clock.outputs:time", f"{twice}.inputs:b")
    graph.connect(f"{twice}.outputs:sum", "/G/spread.inputs:time")
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.play(2)
        assert not player.errors


STATE = SPREAD.replace("y: wp.array", "old: wp.array(dtype=wp.vec3), y: wp.array")
STATE = STATE.replace("    j =", "    old[i] = x[i]\n    j =")


def test_state_between_frames_and_gradients_through_cycles_are_refused():
    stage, graph = chain()
    fit(graph, parameters=["spread.inputs:x"])
    graph.attribute("/G/spread", "state:old", "point3f[]")
    stage.GetPrimAtPath("/G/spread").GetAttribute("inputs:codeStr").Set(STATE)
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert "keeps the array state:old between frames" in player.errors[0]


def test_substeps_are_part_of_the_gradient():
    code = """
@wp.kernel
def grow(rate: wp.array(dtype=float), size: wp.array(dtype=float)):
    size[0] = size[0] * (1.0 + rate[0])
"""
    stage = Usd.Stage.CreateInMemory()
    graph = wp.nodes.GraphBuilder(stage, "/G")
    grow = graph.node("grow", "omni.warp_core.Kernel", codeStr=code, substeps=5, dim1=1)
    graph.attribute(grow, "inputs:rate", "float[]", [0.1])
    graph.attribute(grow, "inputs:size", "float[]", [2.0])
    graph.attribute(grow, "outputs:size", "float[]")
    node = graph.node("backward", "omni.warp_core.Backward", parameter="grow.inputs:rate")
    graph.connect(f"{grow}.outputs:size", f"{node}.inputs:loss")
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.step()
        assert not player.errors
        assert player.get(f"{node}.outputs:loss") == pytest.approx(2 * 1.1**5, rel=1e-6)
        assert player.get(f"{node}.outputs:gradient")[0] == pytest.approx(2 * 5 * 1.1**4, rel=1e-5)
