"""Replay in lazy graphs and Action Graphs, of nodes in struct style, and of what the host makes beside the kernels."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.nodes.kernel.kernel_scenes import POINTS, READ, kernel, value
from tests.nodes.kernel.test_replay import ADD, CHAIN, TWICE, TWICE_ATTRIBUTES, Stepper, X, costs

OLD = "def compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n"
OLD = f"@wp.kernel\n{OLD}    outputs.q[i] = inputs.p[i] * inputs.scale + wp.vec3(inputs.time, 0.0, 0.0)\n"
OLD_ATTRIBUTES = """
custom token inputs:dimSource = "p"
custom float inputs:scale = 2
custom float inputs:time.connect = </G/time.outputs:frame>
"""


def old(source, name, more=""):
    attributes = OLD_ATTRIBUTES + TWICE_ATTRIBUTES.format(source) + more
    return kernel(OLD, attributes, name, "omni.warp.WarpKernel", 2)


def test_the_style_of_omni_warp_is_replayed(make_scene, play, device):
    scene = make_scene(READ + old("read.outputs:value", "a") + old("a.outputs:q", "b"), frames="0:5")
    result = play(scene, device=str(device))
    assert not result.log.errors
    expected = 2 * (2 * POINTS + [5, 0, 0]) + [5, 0, 0]
    assert np.array_equal(value(result, "/G/b.outputs:q"), expected)
    assert [costs(result, name) for name in "ab"] == [(6, 5), (6, 5)]


EVENT = """
def OmniGraphNode "tick" {
    token node:type = "omni.graph.action.OnPlaybackTick"
}
"""


def after(source):
    return f"custom uint inputs:execIn.connect = </G/{source}>\n"


def action(*nodes):
    return READ + EVENT + "".join(nodes)


def added(name, source, runs_after):
    x = f".connect = </G/{source}.outputs:y>" if source else " = [1, 2, 3]"
    return kernel(ADD, f"custom float[] inputs:x{x}\n{TIME}{after(runs_after)}", name)


TIME = "custom double inputs:time.connect = </G/time.outputs:frame>\ncustom float[] outputs:y\n"


def test_nodes_of_an_action_graph_that_run_one_after_the_other_are_one_chain(make_scene, play):
    nodes = (
        added("a", "", "tick.outputs:tick"),
        added("b", "a", "a.outputs:execOut"),
        added("c", "b", "b.outputs:execOut"),
    )
    result = play(make_scene(action(*nodes), evaluator="execution", frames="0:5"))
    assert not result.log.errors
    for name, steps in (("a", 1), ("b", 2), ("c", 3)):
        assert value(result, f"/G/{name}.outputs:y").tolist() == (X + steps * 0.5 * 5).tolist()
        assert costs(result, name) == (6, 5)


def test_a_data_node_between_two_nodes_divides_their_chain(make_scene, play):
    """`length` reads an array of a, so it has to run after a and before b."""
    length = """
    def OmniGraphNode "length" {
        token node:type = "omni.graph.nodes.ArrayGetSize"
        custom token inputs:array.connect = </G/a.outputs:y>
    }
    """
    code = ADD.replace("time: float", "time: float, n: int").replace("0.5 * time", "float(n)")
    counted = kernel(
        code,
        f"custom float[] inputs:x = [1, 2, 3]\ncustom int inputs:n.connect = </G/length.outputs:size>\n"
        f"{TIME}{after('a.outputs:execOut')}",
        "b",
    )
    scene = make_scene(action(added("a", "", "tick.outputs:tick"), length, counted), "execution", "0:5")
    result = play(scene)
    assert not result.log.errors
    assert value(result, "/G/b.outputs:y").tolist() == [4, 5, 6]
    assert [costs(result, name) for name in "ab"] == [(6, 5), (6, 5)]


def test_a_loop_replays_its_node_in_every_turn(make_scene, play):
    loop = f"""
    def OmniGraphNode "loop" {{
        token node:type = "omni.graph.action.ForLoop"
        custom int inputs:stop = 4
        {after("tick.outputs:tick")}
    }}
    """
    code = (
        "@wp.kernel\ndef k(turn: int, x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] + float(turn * i)\n"
    )
    attributes = "custom int inputs:turn.connect = </G/loop.outputs:index>\ncustom float[] state:x = [0, 0, 0]\n"
    attributes += "custom float[] outputs:x\n" + after("loop.outputs:loopBody")
    result = play(make_scene(action(loop, kernel(code, attributes, "k")), evaluator="execution", frames="0:2"))
    assert not result.log.errors
    assert value(result, "/G/k.outputs:x").tolist() == [0, 3 * 6, 3 * 12]
    assert costs(result, "k") == (12, 11)


def test_a_lazy_graph_replays_only_what_changed(make_scene):
    still = kernel(
        ADD.replace("0.5 * time", "0.5"),
        "custom float[] inputs:x = [1, 2, 3]\ncustom float inputs:time\ncustom float[] outputs:y\n",
        "still",
    )
    moving = CHAIN[len(READ) :].replace("inputs:x = [1, 2, 3]", "inputs:x.connect = </G/still.outputs:y>")
    step = Stepper(make_scene(READ + still + moving, evaluator="dirty_push"))
    first, last = step.attribute("/G/still.outputs:y"), step.attribute("/G/c.outputs:y")
    seen = []
    for frame in range(6):
        step.frame(frame)
        seen.append(first.version)
        assert last.value.tolist() == (X + 0.5 + 1.5 * frame).tolist()
    assert len(set(seen)) == 1 and first.node.timing.launches == 1, "nothing changed for the first node"
    step.evaluator.stop()
    assert last.node.timing.replays >= 3
    x = step.attribute("/G/still.inputs:x")
    x.set(np.array([2, 3, 4], np.float32))
    step.frame(6)
    assert last.value.tolist() == (X + 1.5 + 9).tolist()


def test_a_lazy_chain_rests_when_its_sources_do(make_scene):
    step = Stepper(make_scene(CHAIN, evaluator="dirty_push"))
    clock, last = step.attribute("/G/time.outputs:frame").node, step.attribute("/G/c.outputs:y")
    for frame in range(3):
        step.frame(frame)
    version = last.version
    clock.enabled = False
    step.frame(3)
    assert last.version == version and last.value.tolist() == (X + 3.0).tolist()


HASH = """
@wp.kernel
def near(grid: wp.uint64, p: wp.array(dtype=wp.vec3), n: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, p[i], 1.5)
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        if wp.length(p[i] - p[j]) <= 1.5:
            n[i] = n[i] + 1
"""


def neighbours(points):
    return (np.linalg.norm(points[:, None] - points[None], axis=2) <= 1.5).sum(1).tolist()


def test_a_hash_grid_follows_points_of_the_chain_and_of_others(make_scene, device):
    """Half of the chain moves the points apart, so the number of neighbours falls."""
    spread = TWICE.replace("2.0 * p[i]", "(1.0 + 0.2 * time) * p[i]").replace("q: wp", "time: float, q: wp")
    nodes = READ + kernel(
        spread,
        TWICE_ATTRIBUTES.format("read.outputs:value") + "custom double inputs:time.connect = </G/time.outputs:frame>\n",
        "a",
    )
    grid = "custom point3f[] inputs:grid:points.connect = </G/a.outputs:q>\ncustom float inputs:grid:radius = 1.5\n"
    grid += "custom point3f[] inputs:p.connect = </G/a.outputs:q>\ncustom int[] outputs:n\n"
    step = Stepper(make_scene(nodes + kernel(HASH, grid, "near")), device)
    for frame in range(9):
        assert step.frame(frame) == (frame > 0)
        assert step.attribute("/G/near.outputs:n").value.tolist() == neighbours((1 + 0.2 * frame) * POINTS)


def test_a_mesh_of_moving_points_is_refitted_in_a_replay(make_scene, device):
    """The points come from outside of the chain, in other memory in each frame."""
    code = """
@wp.kernel
def height(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    y[i] = -1.0
    if hit.result:
        y[i] = hit.t
"""
    attributes = """
    custom point3f[] inputs:mesh:points.connect = </G/read.outputs:value>
    custom int[] inputs:mesh:faceVertexIndices = [0, 1, 2, 0, 2, 3]
    custom point3f[] inputs:x = [(0.5, 0.25, 9), (5, 5, 9)]
    custom float[] outputs:y
    """
    nodes = READ.replace("custom timecode inputs:usdTimecode = 0", "")
    scene = make_scene(nodes + kernel(code, attributes))
    text = Path(scene).read_text()
    flat = "points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]"
    high = flat.removeprefix("points = ").replace(", 0)", ", 4)")
    Path(scene).write_text(text.replace(flat, f"points.timeSamples = {{ 0: {flat[9:]}, 4: {high} }}"))
    step = Stepper(scene, device)
    for frame in range(5):
        step.player.host.store.frame = frame
        assert step.frame(frame) == (frame > 0)
        assert step.attribute("/G/kernel.outputs:y").value.tolist() == [9 - frame, -1]


def test_counted_arrays_bools_and_private_arrays_are_replayed(make_scene, device):
    code = """
@wp.kernel
def pick(x: wp.array(dtype=float), time: float, count: wp.array(dtype=int), found: wp.array(dtype=float),
         big: wp.array(dtype=bool), sum: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + time
    big[i] = x[i] > 3.5
    sum[i] = sum[i] + x[i]
    if x[i] > 3.5:
        found[wp.atomic_add(count, 0, 1)] = x[i]
"""
    attributes = """
    custom float[] inputs:x.connect = </G/give.outputs:x>
    custom double inputs:time.connect = </G/time.outputs:frame>
    custom int outputs:count
    custom float[] outputs:found
    custom token inputs:found:counter = "count"
    custom bool[] outputs:big
    custom float[] inputs:sum.connect = </G/give.outputs:x>
    custom float[] outputs:sum
    """
    give = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i]\n"
    nodes = READ + kernel(give, "custom float[] inputs:x = [1, 2, 3]\ncustom float[] outputs:x\n", "give")
    step = Stepper(make_scene(nodes + kernel(code, attributes, "pick")), device)
    outputs = {name: step.attribute(f"/G/pick.outputs:{name}") for name in ("count", "found", "big", "sum")}
    for frame in range(5):
        assert step.frame(frame) == (frame > 0)
        x = X + frame
        assert outputs["sum"].value.tolist() == (X + x).tolist()
        assert outputs["big"].value.tolist() == (x > 3.5).tolist()
        assert outputs["count"].value == (x > 3.5).sum()
        assert sorted(outputs["found"].value.tolist()) == sorted(x[x > 3.5].tolist())


def test_arrays_that_live_between_frames_begin_anew_after_replays(make_scene, device):
    code = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] + 1.0\n"
    scene = make_scene(kernel(code, "custom float[] state:x = [0, 0]\ncustom float[] outputs:x\n", "k"))
    step = Stepper(scene, device)
    x = step.attribute("/G/k.outputs:x")
    assert [(step.frame(frame), x.value.tolist()) for frame in range(5)][-1] == (True, [5, 5])
    step.frame(3)
    assert x.value.tolist() == [1, 1], "the timeline went back"


@pytest.mark.parametrize("evaluator", ["push", "execution"])
def test_a_compound_that_is_switched_off_rests_while_its_nodes_could_be_replayed(make_scene, evaluator):
    inner = added("a", "", "box.inputs:go")
    box = f"""
    def OmniGraphNode "box" {{
        token node:type = "omni.graph.nodes.CompoundSubgraph"
        custom uint inputs:go.connect = </G/tick.outputs:tick>
        def OmniGraph "Subgraph" {{
            token evaluator:type = "{evaluator}"
            {inner}
        }}
    }}
    """
    step = Stepper(make_scene(action(box), evaluator=evaluator))
    y = step.attribute("/G/box/Subgraph/a.outputs:y")
    for frame in range(3):
        step.frame(frame)
    assert y.value.tolist() == (X + 1.0).tolist()
    node = step.player.loaded.attribute("/G/box.inputs:go").node
    node.set_disabled(True)
    step.frame(3)
    assert y.value.tolist() == (X + 1.0).tolist(), "it rests"
    node.set_disabled(False)
    step.frame(4)
    assert y.value.tolist() == (X + 2.0).tolist()
    assert json.loads(y.node.attributes["state:status"].value)["replay"] == "replayed"
