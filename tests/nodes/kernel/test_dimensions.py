"""The number of threads of a Kernel node: what follows from the kernel, what an attribute says, what is refused."""

import numpy as np
import pytest

from omni.warp_core.nodes.kernel.kernel_source import chosen, inspect
from tests.nodes.kernel.kernel_scenes import kernel, value

COUNT = "    wp.atomic_add(n, 0, 1)\n"
# The body of a kernel with the parameters of HEAD, its attributes, and the threads that run.
HEAD = "@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float), n: wp.array(dtype=int)):\n"
ARRAYS = "custom float[] inputs:a = [1, 2, 3]\ncustom float[] inputs:b = [1, 2, 3, 4, 5]\ncustom int outputs:n\n"
FOLLOWS = {
    "indexed": ("    i = wp.tid()\n    x = a[i]\n", "", 3),
    "call as index": ("    x = b[wp.tid()]\n", "", 5),
    "indexed in a loop": ("    i = wp.tid()\n    for j in range(a.shape[0]):\n        x = b[i] + a[j]\n", "", 5),
    "two indices": ("    i, j = wp.tid()\n    x = a[i] + b[j]\n", "", 15),
    "no index": ("    x = a[0]\n", "", 1),
    "one array": ("    i = wp.tid()\n    x = b[i % 2] + float(i)\n", "", 5),
    "number": ("    i = wp.tid()\n    x = a[i]\n", "custom int inputs:dim1 = 2\n", 2),
    "no threads": ("    i = wp.tid()\n    x = a[i]\n", "custom int inputs:dim1 = 0\n", 0),
    "array by name": ("    i = wp.tid()\n    x = b[i]\n", 'custom token inputs:dimSource = "b"\n', 5),
    "product in two": ("    i, j = wp.tid()\n    x = a[i]\n", 'custom token inputs:dimSource = "a * b"\n', 15),
    "product in one": ("    i = wp.tid()\n    x = float(i)\n", 'custom token inputs:dimSource = "a*b*a"\n', 45),
    "shape": (
        "    i, j = wp.tid()\n    x = float(i)\n",
        'custom int2 inputs:size = (4, 6)\ncustom token inputs:dimSource = "size"\n',
        24,
    ),
    "shape of an array": (
        "    i, j = wp.tid()\n    x = float(i)\n",
        'custom int2 inputs:b:dims = (1, 5)\ncustom token inputs:dimSource = "b"\n',
        5,
    ),
    "length of an input": ("    i = wp.tid()\n    x = a[i]\n", "custom int inputs:a:length = 2\n", 3),
    "state with the length of an input": (
        "    i = wp.tid()\n    m[i] = 1.0\n",
        'custom float[] state:m\ncustom token inputs:m:length = "b"\n',
        5,
    ),
    "output with a length beside an input": (
        "    i = wp.tid()\n    x = b[i]\n    if i < m.shape[0]:\n        m[i] = x\n",
        "custom float[] outputs:m\ncustom int inputs:m:length = 2\n",
        5,
    ),
    "length of an output": ("    i = wp.tid()\n    x = n[i]\n", "", 1),
}


def test_dimensions(make_scene, play):
    nodes = ""
    for i, (body, attributes, _) in enumerate(FOLLOWS.values()):
        head = HEAD.replace("n: wp", "m: wp.array(dtype=float), n: wp") if ":m\n" in attributes else HEAD
        nodes += kernel(head + body + COUNT, ARRAYS + attributes, f"k{i}")
    result = play(make_scene(nodes, frames="0:0"))
    assert not result.log.errors
    (warning,) = result.log.warnings
    assert "inputs:a:length has no effect: it is for outputs and persistent arrays, and `a` is an input" in warning
    got = [value(result, f"/G/k{i}.outputs:n") for i in range(len(FOLLOWS))]
    assert dict(zip(FOLLOWS, got, strict=True)) == {name: wanted for name, (_, _, wanted) in FOLLOWS.items()}


REFUSED = [
    (
        "    x = a[0] + device\n",
        "",
        ["parameter `device` is called as a setting of the node, inputs:device; rename the parameter"],
    ),
    (
        "    i = wp.tid()\n    x = a[i] + b[i]\n",
        "",
        ["differ in length: a has 3, b has 5", 'inputs:dimSource to "a" or "b"'],
    ),
    ("    i, j = wp.tid()\n    x = a[i]\n", "", ["set inputs:dimCount = 2 with inputs:dim1 and inputs:dim2"]),
    ("    i = wp.tid()\n    x = float(i)\n", "", ["indexes no input array", "set inputs:dim1"]),
    (
        "    i, j = wp.tid()\n",
        "custom int inputs:dimCount = 2\ncustom int inputs:dim1 = 4\n",
        ["inputs:dim2 is not set"],
    ),
    ("    x = a[0]\n", 'custom token inputs:dimSource = "c"\n', ["'c', which is not an input array", "one of: a, b"]),
    ("    x = a[0]\n", 'custom token inputs:dimSource = "a*a*a*a*a"\n', ["names 5 arrays", "1 to 4 dimensions"]),
    ("    x = a[0]\n", 'custom token inputs:dimSource = "explicit"\n', ["inputs:dim1 is not set"]),
    (
        "    x = a[0]\n",
        'custom int2 inputs:size = (4, -6)\ncustom token inputs:dimSource = "size"\n',
        ["inputs:size is (4, -6)", "at least 0"],
    ),
    (
        "    x = a[0]\n",
        'custom int inputs:count = -3\ncustom token inputs:dimSource = "count"\n',
        ["inputs:count is -3", "at least 0"],
    ),
    (
        "    x = a[0]\n",
        'custom int2 inputs:b:dims = (-1, 5)\ncustom token inputs:dimSource = "b"\n',
        ["inputs:b:dims is (-1, 5)", "at least 0"],
    ),
]


def test_dimensions_that_are_not_known_are_refused(make_scene, play):
    nodes = ""
    for i, (body, attributes, _) in enumerate(REFUSED):
        head = HEAD.replace("n: wp", "device: float, n: wp") if "device" in body else HEAD
        nodes += kernel(head + body + COUNT, ARRAYS + attributes, f"k{i}")
    result = play(make_scene(nodes))
    assert len(result.log.errors) == len(REFUSED), "each is told once, not once a frame"
    for i, (_, _, words) in enumerate(REFUSED):
        told = next(text for text in result.log.errors if text.startswith(f"/G/k{i}: "))
        assert not [word for word in words if word not in told], told


def test_an_array_of_two_dimensions_has_the_shape_that_its_attribute_says(make_scene, play):
    code = """
@wp.kernel
def blur(height: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    rows = height.shape[0]
    out[i, j] = 10.0 * height[i, j] + height[(i + 1) % rows, j]
"""
    attributes = """
    custom float[] inputs:height = [1, 2, 3, 4, 5, 6]
    custom int2 inputs:height:dims = (2, 3)
    custom float[] outputs:out
    """
    wrong = attributes.replace("(2, 3)", "(2, 2)")
    result = play(make_scene(kernel(code, attributes) + kernel(code, wrong, "wrong"), frames="0:0"))
    height = np.arange(1, 7).reshape(2, 3)
    wanted = 10 * height + np.roll(height, -1, axis=0)
    assert value(result, "/G/kernel.outputs:out").tolist() == wanted.ravel().tolist()
    assert result.log.errors == [
        "/G/wrong: `height` has 2 dimensions in the kernel; its 6 elements do not fill inputs:height:dims = (2, 2)"
    ]


def test_old_kernel_nodes_run_one_thread_unless_they_say_more(make_scene, play):
    code = (
        "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n    outputs.n[0] = inputs.a[i]\n"
    )
    attributes = "custom float[] inputs:a = [7, 8, 9]\ncustom float[] outputs:n\n"
    result = play(make_scene(kernel(code, attributes, kind="omni.warp.WarpKernel", version=2), frames="0:0"))
    assert not result.log.errors and value(result, "/G/kernel.outputs:n").tolist() == [7]


def test_version_1_of_old_kernel_nodes_has_one_number_of_threads(make_scene, play):
    code = "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n    outputs.n[i] = 2 * i\n"
    attributes = "custom int inputs:dim = 4\ncustom int[] outputs:n\n"
    old = {version: kernel(code, attributes, f"v{version}", "omni.warp.WarpKernel", version) for version in (1, 2)}
    result = play(make_scene("".join(old.values()), frames="0:0"))
    assert not result.log.errors and value(result, "/G/v1.outputs:n").tolist() == [0, 2, 4, 6]
    assert value(result, "/G/v2.outputs:n").tolist() == [0], "a leftover of version 1 counts no longer"


def test_points_follow_the_mesh_without_a_word_about_threads(make_scene, play):
    """What a node without dimSource is for: it used to move one point of a mesh."""
    code = "@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):\n"
    code += "    i = wp.tid()\n    q[i] = 2.0 * p[i]\n"
    points = [(i, i, i) for i in range(50)]
    attributes = f"custom point3f[] inputs:p = {points}\ncustom point3f[] outputs:q\n"
    result = play(make_scene(kernel(code, attributes), frames="0:0"))
    assert np.array_equal(value(result, "/G/kernel.outputs:q"), 2 * np.array(points))


def test_thread_indices_in_a_text():
    def indexed(body, head="def k(a, b)"):
        (use,) = inspect(f"@wp.kernel\n{head}:\n    {body}\n")
        return use.threads, {(name[1], position, index) for name, position, index in use.indexed}

    assert indexed("i, j = wp.tid(); b[j, i] = a[i]") == (2, {("b", 0, 1), ("b", 1, 0), ("a", 0, 0)})
    assert indexed("i = wp.tid(); i = i + 1; b[i] = a[0]") == (1, set()), "a name that is assigned twice does not count"
    assert indexed("a[0] = b[1]") == (0, set())
    text = "@wp.func\ndef f():\n    return wp.tid()\n@wp.kernel\ndef k(a):\n    a[f()] = 1.0\n"
    assert inspect(text)[0].threads is None, "a function may ask for the index"


@pytest.mark.parametrize(
    ("text", "listed", "wanted"),
    [("ab", (), "ab"), ("ab", ("b", "a", "b"), "bab"), ("a compute b", (), "compute")],
)
def test_kernels_run_in_the_order_of_the_text_or_of_the_list(text, listed, wanted):
    names = text.split() if " " in text else list(text)
    uses = inspect("".join(f"@wp.kernel\ndef {name}():\n    pass\n" for name in names))
    assert [use.name for use in chosen(uses, listed)] == (list(wanted) if wanted != "compute" else ["compute"])


@pytest.mark.parametrize(
    ("dims", "why"),
    [
        ("(2, -3)", "inputs:x:dims is (2, -3); the extent of a dimension is at least 0"),
        ("(0, 6)", "inputs:x:dims = (0, 6) leaves nothing of the 6 elements; its sizes must have that product"),
    ],
)
def test_sizes_that_leave_nothing_of_an_array_are_told_as_that(make_scene, play, dims, why):
    code = (
        "@wp.kernel\ndef k(x: wp.array2d[float], y: wp.array2d[float]):\n    i, j = wp.tid()\n    y[i, j] = x[i, j]\n"
    )
    attributes = f"custom float[] inputs:x = [1, 2, 3, 4, 5, 6]\ncustom int2 inputs:x:dims = {dims}\n"
    result = play(make_scene(kernel(code, attributes + "custom float[] outputs:y\n"), frames="0:0"))
    assert result.log.errors == [f"/G/kernel: {why}"]
