"""Kernel nodes on a GPU: what they compute, and where their arrays lie."""

import random

import numpy as np
import pytest

from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.play import console
from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.usd.output_layer import SampleLayer
from tests.nodes.conftest import WORLD
from tests.nodes.kernel.kernel_scenes import POINTS, READ, kernel, write
from tests.nodes.kernel.test_kernel_structures import LIFT, LIFT_ATTRIBUTES, MESH, NEAR, RAY, counted
from tests.nodes.kernel.test_replay import CHAIN, TWICE, TWICE_ATTRIBUTES, X
from tests.nodes.test_random_scenes import random_graph

DEVICE = "cuda:0"


class Scene:
    """A scene with a graph of nodes, on a device."""

    def __init__(self, folder, nodes, device=DEVICE, evaluator="push", types=()):
        path = folder / "scene.usda"
        head = "#usda 1.0\n(\n    startTimeCode = 0\n    endTimeCode = 5\n)\n"
        path.write_text(f'{head}{WORLD}def OmniGraph "G"\n{{\n    token evaluator:type = "{evaluator}"\n{nodes}\n}}\n')
        settings = Settings(device=device, nodes=[str(folder) for folder in types])
        self.player = Player.open(str(path), settings, Log(emit=lambda text: None))
        self.player.begin()

    def step(self):
        self.player.step(SampleLayer())
        assert not self.player.host.log.errors

    def value(self, path):
        return self.player.loaded.attribute(path).value

    def copies(self, name):
        timing = next(node for node in self.player.loaded.nodes() if node.path == f"/G/{name}").timing
        return timing.uploads, timing.downloads


def test_arrays_of_nodes_stay_on_the_device(tmp_path):
    scene = Scene(tmp_path, CHAIN)
    for _ in range(4):
        scene.step()
        assert scene.player.loaded.attribute("/G/c.outputs:y").held.array.device.alias == DEVICE
    assert [scene.copies(name) for name in "abc"] == [(1, 0), (0, 0), (0, 0)], "x of the first node, once"
    assert scene.value("/G/c.outputs:y").tolist() == (X + 1.5 * 3).tolist()
    assert scene.value("/G/c.outputs:y").tolist() == (X + 1.5 * 3).tolist() and scene.copies("c") == (0, 1)


def test_a_node_that_writes_to_the_stage_asks_for_a_copy_in_each_frame(tmp_path, capsys):
    nodes = READ + kernel(TWICE, TWICE_ATTRIBUTES.format("read.outputs:value"), "a")
    nodes += kernel(TWICE, TWICE_ATTRIBUTES.format("a.outputs:q"), "b") + write("/G/b.outputs:q")
    scene = Scene(tmp_path, nodes)
    outcome = scene.player.run(str(tmp_path / "out.usda"))
    assert not scene.player.host.log.errors
    assert np.array_equal(scene.value("/G/b.outputs:q"), 4 * POINTS)
    assert [scene.copies(name) for name in "ab"] == [(1, 0), (0, 6)]
    console.summary(outcome)
    told = capsys.readouterr().out
    assert "/G/b: 0 arrays copied to the device, 6 copied from it" in told
    assert "not replayed" not in told


@pytest.mark.parametrize("evaluator", ["push", "execution"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_give_what_they_give_on_the_cpu(tmp_path, seed, evaluator):
    text, names = random_graph(random.Random(seed), evaluator)
    on_cpu, on_gpu = (Scene(tmp_path, text, device, evaluator) for device in ("cpu", DEVICE))
    for _ in range(4):
        on_cpu.step(), on_gpu.step()
        for name in names:
            path = f"/G/{name}.outputs:y"
            assert np.allclose(on_gpu.value(path), on_cpu.value(path), rtol=1e-6, atol=1e-6)


def test_a_replay_copies_arrays_of_the_cpu_when_they_change(tmp_path):
    """`a` writes to its input, so it starts from a copy in each frame; the value on the CPU comes twice."""
    code = "@wp.kernel\ndef k(x: wp.array(dtype=float), z: wp.array(dtype=float)):\n    i = wp.tid()\n"
    code += "    x[i] = 2.0 * x[i] + z[i]\n"
    attributes = "custom float[] inputs:x.connect = </G/give.outputs:x>\ncustom float[] outputs:x\n"
    attributes += "custom float[] inputs:z.connect = </G/give.outputs:x>\n"
    give = "def compute(db):\n    db.outputs.x = [1, 2, 3 if db.host.timeline.frame < 4 else 7]\n"
    nodes = f'''def OmniGraphNode "give" {{
        token node:type = "omni.warp_core.Script"
        custom string inputs:script = """{give}"""
        custom float[] outputs:x
    }}'''
    scene = Scene(tmp_path, nodes + kernel(code, attributes, "a"))
    for frame in range(8):
        scene.step()
        assert scene.value("/G/a.outputs:x").tolist() == [3, 6, 9 if frame < 4 else 21]
    assert scene.copies("a")[1] == 8, "this test asks for the numbers in each frame"
    scene.player.close()
    timing = next(node for node in scene.player.loaded.nodes() if node.path == "/G/a").timing
    assert timing.replays == 7 and not timing.launched_because


def test_structures_follow_points_on_the_device_in_a_replay(tmp_path):
    nodes = READ + kernel(LIFT, LIFT_ATTRIBUTES, "lift") + kernel(RAY, MESH.replace("COUNTS", "[4]"), "drop")
    nodes += kernel(NEAR, """
        custom point3f[] inputs:x.connect = </G/lift.outputs:q>
        custom float inputs:radius = 1.2
        custom point3f[] inputs:grid:points.connect = </G/lift.outputs:q>
        custom float inputs:grid:radius = 1.2
        custom int[] outputs:near""", "near")  # fmt: skip
    scene = Scene(tmp_path, nodes)
    for frame in range(5):
        scene.step()
        points = POINTS + np.array([0, 0, frame]) * POINTS[:, :1]
        assert np.allclose(scene.value("/G/drop.outputs:height"), [frame * 0.5, frame * 0.25, -1], atol=1e-6)
        assert scene.value("/G/near.outputs:near").tolist() == counted(points, 1.2)
    scene.player.close()
    timings = {node.path: node.timing for node in scene.player.loaded.nodes()}
    assert [timings[f"/G/{name}"].replays for name in ("lift", "drop", "near")] == [4, 4, 4]
    assert scene.copies("lift") == (1, 0)
    assert scene.copies("drop") == (2, 1 + 5), "points for the triangles of the quad, once, and heights for this test"


def test_outputs_of_all_kinds(tmp_path):
    code = """
@wp.kernel
def k(x: wp.array(dtype=float), low: float, n: wp.array(dtype=int), found: wp.array(dtype=float),
      big: wp.array(dtype=bool), table: wp.array2d(dtype=wp.vec2), sum: wp.array(dtype=float)):
    i = wp.tid()
    big[i] = x[i] > low
    sum[i] = sum[i] + x[i]
    table[i, 0] = wp.vec2(x[i], low)
    if x[i] > low:
        found[wp.atomic_add(n, 0, 1)] = x[i]
"""
    attributes = """
    custom float[] inputs:x = [1, 5, 2, 7]
    custom float inputs:low = 1.5
    custom int outputs:n
    custom float[] outputs:found
    custom token inputs:found:counter = "n"
    custom bool[] outputs:big
    custom float2[] outputs:table
    custom int2 inputs:table:dims = (4, 2)
    custom float[] inputs:sum = [10, 10, 10, 10]
    custom float[] outputs:sum
    """
    scene = Scene(tmp_path, kernel(code, attributes, "k"))
    for _ in range(3):
        scene.step()
    assert scene.value("/G/k.outputs:n") == 3 and sorted(scene.value("/G/k.outputs:found").tolist()) == [2, 5, 7]
    assert scene.value("/G/k.outputs:big").tolist() == [False, True, True, True]
    assert scene.value("/G/k.outputs:big").dtype == bool
    assert scene.value("/G/k.outputs:sum").tolist() == [11, 15, 12, 17]
    assert scene.value("/G/k.outputs:table")[:3].tolist() == [[1, 1.5], [0, 0], [5, 1.5]]


def test_structures_take_points_from_the_device(tmp_path):
    code = """
@wp.kernel
def near(grid: wp.uint64, p: wp.array(dtype=wp.vec3), n: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, p[i], 1.2)
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        if wp.length(p[i] - p[j]) <= 1.2:
            n[i] = n[i] + 1
"""
    grid = "custom point3f[] inputs:grid:points.connect = </G/a.outputs:q>\ncustom float inputs:grid:radius = 1.2\n"
    grid += "custom point3f[] inputs:p.connect = </G/a.outputs:q>\ncustom int[] outputs:n\n"
    half = TWICE.replace("2.0", "0.5")
    nodes = READ + kernel(half, TWICE_ATTRIBUTES.format("read.outputs:value"), "a") + kernel(code, grid, "near")
    scene = Scene(tmp_path, nodes)
    scene.step()
    p = 0.5 * POINTS
    wanted = (np.linalg.norm(p[:, None] - p[None], axis=2) <= 1.2).sum(1)
    assert scene.value("/G/near.outputs:n").tolist() == wanted.tolist()
