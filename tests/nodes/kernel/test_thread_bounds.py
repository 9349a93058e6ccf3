"""Kernel nodes whose threads would use elements behind the end of an array are refused, unless the kernel compares."""

import pytest

from tests.nodes.kernel.kernel_scenes import kernel, value

ARRAYS = """
custom float[] inputs:a = [1, 2, 3]
custom float[] inputs:grid = [1, 2, 3, 4, 5, 6]
custom int2 inputs:grid:dims = (2, 3)
custom float[] outputs:out
custom int inputs:dim1 = 5
"""
HEAD = """
@wp.kernel
def k(a: wp.array(dtype=float), grid: wp.array2d(dtype=float), out: wp.array(dtype=float)):
"""
REFUSED = {
    "read": (HEAD + "    i = wp.tid()\n    out[i] = a[i]\n", "", "5 threads", "`a` has 3"),
    "call as index": (HEAD + "    out[wp.tid()] = a[wp.tid()]\n", "", "5 threads", "`a` has 3"),
    "short output": (
        HEAD + "    i = wp.tid()\n    out[i] = 1.0\n",
        "custom int inputs:out:length = 4\n",
        "5 threads",
        "`out` has 4",
    ),
    "second dimension": (
        HEAD + "    i, j = wp.tid()\n    out[i] = grid[i, j]\n",
        "custom int inputs:dimCount = 2\ncustom int inputs:dim2 = 4\n",
        "4 threads",
        "`grid` has 3",
    ),
    "another array decides": (
        HEAD + "    i = wp.tid()\n    out[i] = a[i]\n",
        'custom float[] inputs:long = [0, 0, 0, 0]\ncustom token inputs:dimSource = "long"\n',
        "4 threads",
        "`a` has 3",
    ),
}
GUARDS = {
    "comparison": "    i = wp.tid()\n    if i >= a.shape[0]:\n        return\n    out[i] = a[i]\n",
    "function": "    i = wp.tid()\n    out[i] = 0.0\n    if inside(i):\n        out[i] = a[i]\n",
    "clamped": "    i = wp.tid()\n    out[i] = a[wp.min(i, 2)]\n",
}
INSIDE = "@wp.func\ndef inside(i: int):\n    return i < 3\n"


def test_threads_behind_the_end_of_an_array_are_refused(make_scene, play):
    nodes = ""
    for number, (text, more, *_) in enumerate(REFUSED.values()):
        attributes = ARRAYS.replace("dim1 = 5", "dim1 = 2") if "dim2" in more else ARRAYS
        nodes += kernel(text, attributes + more, f"k{number}")
    result = play(make_scene(nodes, frames="0:2"))
    assert len(result.log.errors) == len(REFUSED), "each is told once, not once a frame"
    for number, (name, (*_, threads, extent)) in enumerate(REFUSED.items()):
        told = next(text for text in result.log.errors if text.startswith(f"/G/k{number}: "))
        assert threads in told and extent in told and "compare the index" in told, name


@pytest.mark.parametrize("body", GUARDS.values(), ids=GUARDS)
def test_a_kernel_may_keep_its_index_within_arrays(make_scene, play, body):
    result = play(make_scene(kernel(INSIDE + HEAD + body, ARRAYS), frames="0:0"))
    assert not result.log.errors
    assert value(result, "/G/kernel.outputs:out").tolist()[:3] == [1, 2, 3]


def test_struct_style(make_scene, play):
    code = """
@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i = wp.tid()
    outputs.n[i] = inputs.a[i]
"""
    attributes = "custom float[] inputs:a = [7, 8]\ncustom float[] outputs:n\ncustom int inputs:dim1 = 3\n"
    (error,) = play(make_scene(kernel(code, attributes), frames="0:0")).log.errors
    assert "runs 3 threads" in error and "`a` has 2" in error


def test_an_optional_input_without_elements(make_scene, play):
    code = HEAD.replace("grid: wp.array2d(dtype=float), ", "") + (
        "    i = wp.tid()\n    out[i] = 1.0\n    if a.shape[0] > i:\n        out[i] = a[i]\n"
    )
    attributes = "custom float[] inputs:a\ncustom float[] outputs:out\ncustom int inputs:dim1 = 3\n"
    optional = attributes + "custom bool inputs:a:optional = true\n"
    result = play(make_scene(kernel(code, optional) + kernel(code, attributes, "plain"), frames="0:0"))
    assert value(result, "/G/kernel.outputs:out").tolist() == [1, 1, 1]
    (error,) = result.log.errors
    assert error.startswith("/G/plain: ") and "custom bool inputs:a:optional = true" in error


def test_a_device_that_is_not_one_is_refused(make_scene, play):
    code = HEAD + "    out[wp.tid()] = 1.0\n"
    (error,) = play(make_scene(kernel(code, ARRAYS + 'custom token inputs:device = "gpu"\n'), frames="0:0")).log.errors
    assert "inputs:device is 'gpu'; it must be cpu" in error
