"""The length of outputs, counters with overflow, arrays that live between frames, substeps and several kernels."""

import numpy as np
import pytest
from pxr import Usd

from omni.warp_core.nodes.graph.evaluate import Evaluator
from tests.nodes.kernel.kernel_scenes import POINTS, READ, kernel, value, write

FILL = """
@wp.kernel
def k(a: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i < y.shape[0]:
        y[i + 0] = a[i]
"""
ARRAYS = "custom float[] inputs:a = [1, 2, 3]\ncustom float[] inputs:b = [1, 2]\ncustom float[] outputs:y\n"
LENGTHS = {
    "": [1, 2, 3],
    'custom token inputs:y:length = "b"\n': [1, 2],
    'custom token inputs:y:length = "kernel"\n': [1, 2, 3],
    "custom int inputs:y:length = 5\n": [1, 2, 3, 0, 0],
    "custom int2 inputs:y:dims = (2, 2)\n": [1, 2, 3, 0],
    "custom float[] inputs:y = [9, 9, 9, 9]\n": [1, 2, 3, 9],
}


def test_the_length_of_an_output(make_scene, play):
    nodes = "".join(kernel(FILL, ARRAYS + text, f"k{i}") for i, text in enumerate(LENGTHS))
    nodes += kernel(FILL, ARRAYS + 'custom token inputs:y:length = "c"\n', "unknown")
    nodes += kernel(FILL, ARRAYS + "custom float[] inputs:y = [9]\ncustom int inputs:y:length = 2\n", "unlike")
    result = play(make_scene(nodes, frames="0:1"))
    for i, wanted in enumerate(LENGTHS.values()):
        assert value(result, f"/G/k{i}.outputs:y").tolist() == wanted, list(LENGTHS)[i]
    assert result.log.errors == [
        "/G/unknown: inputs:y:length is 'c'; it must be a number, \"kernel\" or one of: a, b",
        "/G/unlike: outputs:y has 2 elements, but inputs:y, from which it starts, has 1; make the lengths the same",
    ]


KEEP = """
@wp.kernel
def keep(x: wp.array(dtype=float), limit: float, kept: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] < limit:
        k = wp.atomic_add(count, 0, 1)
        if k < kept.shape[0]:
            kept[k] = x[i]
"""


def test_a_counter_decides_the_length_and_tells_of_overflow_once(make_scene, play):
    numbers = np.random.default_rng(3).random(40).astype(np.float32)
    attributes = f"""
    custom float[] inputs:x = {numbers.tolist()}
    custom float inputs:limit = LIMIT
    custom int inputs:kept:length = ROOM
    custom token inputs:kept:counter = "count"
    custom float[] outputs:kept
    custom int outputs:count
    """
    few = np.sort(numbers[numbers < 0.25])
    nodes = kernel(KEEP, attributes.replace("LIMIT", "0.25").replace("ROOM", "40"))
    nodes += kernel(KEEP, attributes.replace("LIMIT", "2").replace("ROOM", "30"), "full")
    nodes += kernel(KEEP, attributes.replace("LIMIT", "-1").replace("ROOM", "30"), "nothing")
    nodes += kernel(KEEP, attributes.replace('"count"', '"number"').replace("LIMIT", "1").replace("ROOM", "3"), "wrong")
    result = play(make_scene(nodes))
    assert np.array_equal(np.sort(value(result, "/G/kernel.outputs:kept")), few) and 0 < len(few) < 40
    assert value(result, "/G/kernel.outputs:count") == len(few)
    assert len(value(result, "/G/full.outputs:kept")) == 30 and value(result, "/G/full.outputs:count") == 40
    assert value(result, "/G/nothing.outputs:kept").shape == (0,)
    assert result.log.warnings == [
        "/G/full: the kernel counted 40 elements, but outputs:kept has room for 30, so 10 are lost; "
        "set inputs:kept:length to at least 40"
    ]
    assert len(result.log.errors) == 1 and "add custom int outputs:number" in result.log.errors[0]


DECAY = """
@wp.kernel
def decay(x: wp.array(dtype=float), rate: float):
    i = wp.tid()
    x[i] = x[i] * rate
"""
FIRST = (8.0, 16.0, 24.0)


@pytest.mark.parametrize(
    ("attributes", "substeps", "first"),
    [
        ("custom float[] inputs:x = [8, 16, 24]\ncustom float[] state:x\n", 1, FIRST),
        ("custom float[] state:x = [8, 16, 24]\n", 3, FIRST),
        ("custom float[] state:x\ncustom int inputs:x:length = 4\n", 2, (0,) * 4),
        ("custom float[] state:x = [8, 16, 24]\n", 0, FIRST),
    ],
)
def test_persistent_arrays_and_substeps(make_scene, play, attributes, substeps, first):
    attributes += f"custom float inputs:rate = 0.5\ncustom float[] outputs:x\ncustom int inputs:substeps = {substeps}\n"
    attributes += "custom int inputs:dim1 = 3\n"
    result = play(make_scene(kernel(DECAY, attributes), frames="0:3"))
    assert not result.log.errors
    assert value(result, "/G/kernel.outputs:x").tolist() == [x * 0.5 ** (4 * substeps) for x in first]


def test_persistent_arrays_begin_anew_where_the_timeline_goes_back(make_scene, play):
    attributes = "custom float[] inputs:x = [8, 16, 24]\ncustom float[] state:x\ncustom float[] outputs:x\n"
    attributes += "custom float inputs:rate = 0.5\n"
    always = attributes + "custom bool inputs:reset = 1\n"
    scene = make_scene(kernel(DECAY, attributes) + kernel(DECAY, always, "always"), frames="0:3")
    result = play(scene)
    first = np.array(FIRST)
    assert value(result, "/G/kernel.outputs:x").tolist() == (first / 16).tolist()
    assert value(result, "/G/always.outputs:x").tolist() == (first / 2).tolist()
    host, evaluator = result.player.host, Evaluator(result.player.loaded.graphs[0])
    evaluator.start()
    for frame, power in ((4, 1), (5, 2), (2, 1), (3, 2), (0, 1)):
        host.timeline.frame = frame
        evaluator.evaluate()
        assert value(result, "/G/kernel.outputs:x").tolist() == (first / 2**power).tolist()


SPRING = """
@wp.kernel
def pull(ends: wp.array(dtype=wp.vec2i), x: wp.array(dtype=float), force: wp.array(dtype=float)):
    s = wp.tid()
    a = ends[s][0]
    b = ends[s][1]
    f = x[b] - x[a] - 1.0
    wp.atomic_add(force, a, f)
    wp.atomic_add(force, b, -f)

@wp.kernel
def move(x: wp.array(dtype=float), v: wp.array(dtype=float), force: wp.array(dtype=float), dt: float):
    i = wp.tid()
    v[i] = v[i] + dt * force[i]
    x[i] = x[i] + dt * v[i]
    force[i] = 0.0
"""


def test_kernels_of_one_text_share_arrays_and_have_threads_of_their_own(make_scene, play):
    """A chain of springs, with the explicit Euler steps of NumPy as its judge."""
    ends = [(i, i + 1) for i in range(4)]
    start = [0.0, 1.5, 2.0, 3.25, 4.0]
    attributes = f"""
    custom int2[] inputs:ends = {ends}
    custom float[] inputs:x = {start}
    custom float[] state:x
    custom float[] state:v
    custom token inputs:v:length = "x"
    custom float[] state:force
    custom token inputs:force:length = "x"
    custom float inputs:dt = 0.125
    custom int inputs:substeps = 4
    custom float[] outputs:x
    """
    listed = attributes + 'custom token[] inputs:kernels = ["pull", "pull", "move"]\n'
    unknown = attributes + 'custom token[] inputs:kernels = ["pul"]\n'
    nodes = kernel(SPRING, attributes) + kernel(SPRING, listed, "listed") + kernel(SPRING, unknown, "unknown")
    result = play(make_scene(nodes, frames="0:2"))
    for node, pulls in (("kernel", 1), ("listed", 2)):
        x, v = np.array(start), np.zeros(5)
        for _ in range(3 * 4):
            f = pulls * (np.diff(x) - 1)
            v += 0.125 * (np.append(f, 0) - np.append(0, f))
            x += 0.125 * v
        assert np.allclose(value(result, f"/G/{node}.outputs:x"), x, rtol=1e-5, atol=1e-5)
    assert result.log.errors == [
        "/G/unknown: inputs:kernels lists 'pul', but the text has no such kernel; it has pull, move"
    ]


@pytest.mark.parametrize(("count", "told"), [(4, ""), (3, "faceVertexIndices) use 4;"), (6, "use the first 4 only")])
def test_points_that_do_not_fit_the_faces_are_told_of_by_name(make_scene, play, count, told):
    code = "@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n"
    code += "    if i < y.shape[0]:\n        y[i + 0] = p[i]\n"
    attributes = f"""
    custom point3f[] inputs:p.connect = </G/read.outputs:value>
    custom point3f[] outputs:y
    custom int inputs:y:length = {count}
    """
    result = play(make_scene(READ + kernel(code, attributes) + write("/G/kernel.outputs:y")))
    if told:
        assert len(result.log.warnings) == 1 and told in result.log.warnings[0]
        assert result.log.warnings[0].startswith(f"/World/Mesh.points: has {count} points")
    else:
        stage = Usd.Stage.Open(str(result.target))
        assert not result.log.warnings
        assert np.array_equal(np.asarray(stage.GetAttributeAtPath("/World/Mesh.points").Get(1)), POINTS)
