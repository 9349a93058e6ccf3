"""The Kernel node in scenes: both styles, sizes, errors in the lines of the node's text."""

import json

import numpy as np
import pytest
from pxr import Sdf, Usd

import omni.warp_core as wp
from omni.warp_core import config
from omni.warp_core.nodes.kernel.kernel_source import inspect, normalized
from tests.nodes.kernel.kernel_scenes import POINTS, READ, kernel, value, write

PLAIN = """
@wp.kernel
def lift(points: wp.array(dtype=wp.vec3), time: float, up: wp.vec3, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = points[i] + up * time
"""
PLAIN_ATTRIBUTES = """
    custom token inputs:dimSource = "points"
    custom point3f[] inputs:points.connect = </G/read.outputs:value>
    custom double inputs:time.connect = </G/time.outputs:frame>
    custom vector3f inputs:up = (0, 0, 0.5)
    custom point3f[] outputs:out
"""


def test_plain_style(make_scene, play):
    result = play(make_scene(READ + kernel(PLAIN, PLAIN_ATTRIBUTES) + write("/G/kernel.outputs:out")))
    assert not result.log.errors
    stage = Usd.Stage.Open(str(result.target))
    for frame in range(4):
        got = np.asarray(stage.GetAttributeAtPath("/World/Mesh.points").Get(frame), np.float64)
        assert np.array_equal(got, POINTS + np.array([0, 0, 0.5 * frame]))
    timing = {node.path: node.timing for node in result.outcome.nodes}["/G/kernel"]
    assert (timing.launches, timing.replays) == (4, 3) and timing.compile_ms > 0 and timing.kernel_ms > 0


def test_points_reach_the_kernel_without_a_copy(make_scene, play, monkeypatch):
    seen = []
    launch = wp.launch

    def watch(kernel, dim, inputs, device):
        seen.append(inputs[0].ptr)
        launch(kernel, dim=dim, inputs=inputs, device=device)

    monkeypatch.setattr(wp, "launch", watch)
    result = play(make_scene(READ + kernel(PLAIN, PLAIN_ATTRIBUTES)))
    memory = value(result, "/G/read.outputs:value")
    assert not memory.flags.owndata and seen == [memory.ctypes.data] * 4


def test_an_input_and_output_of_one_name_is_worked_on_in_place(make_scene, play):
    code = "@wp.kernel\ndef k(points: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n    points[i] = points[i] * 2.0\n"
    attributes = """
    custom token inputs:dimSource = "points"
    custom point3f[] inputs:points.connect = </G/read.outputs:value>
    custom point3f[] outputs:points
    """
    result = play(make_scene(READ + kernel(code, attributes)))
    assert np.array_equal(value(result, "/G/kernel.outputs:points"), POINTS * 2)
    assert np.array_equal(value(result, "/G/read.outputs:value"), POINTS), "the input is not touched"


def test_inputs_that_a_kernel_writes_to_are_copied(make_scene, play):
    code = "@wp.kernel\ndef k(points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):\n"
    code += "    i = wp.tid()\n    points[i] = points[i] * 2.0\n    out[i] = points[i]\n"
    attributes = """
    custom token inputs:dimSource = "points"
    custom point3f[] inputs:points.connect = </G/read.outputs:value>
    custom point3f[] outputs:out
    """
    result = play(make_scene(READ + kernel(code, attributes)))
    assert not result.log.errors
    assert np.array_equal(value(result, "/G/kernel.outputs:out"), POINTS * 2)
    assert np.array_equal(value(result, "/G/read.outputs:value"), POINTS)


STRUCT = """\
import warp as wp

@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i = wp.tid()
    p = inputs.points[i]
    outputs.points[i] = p * inputs.scale
    outputs.lengths[i] = wp.length(p)
    if inputs.flag:
        outputs.lengths[i] = wp.length(p) + 1.0
"""
STRUCT_ATTRIBUTES = """
    custom token inputs:device = "cuda:0"
    custom token inputs:dimSource = "points"
    custom int inputs:dim = 7
    custom point3f[] inputs:points.connect = </G/read.outputs:value>
    custom float inputs:scale.connect = </G/time.outputs:frame>
    custom bool inputs:flag = 1
    custom string inputs:leftover = "of no kernel type"
    custom point3f[] outputs:points
    custom float[] outputs:lengths
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_struct_style_of_omni_warp(make_scene, play, line_end):
    code = STRUCT.replace("\n", line_end)
    nodes = READ + kernel(code, STRUCT_ATTRIBUTES, kind="omni.warp.WarpKernel", version=2)
    result = play(make_scene(nodes))
    assert not result.log.errors and not result.log.warnings
    assert np.array_equal(value(result, "/G/kernel.outputs:points"), POINTS * 3)
    wanted = np.linalg.norm(POINTS, axis=1) + 1
    assert np.allclose(value(result, "/G/kernel.outputs:lengths"), wanted, rtol=1e-6)


# USD type, authored value, what the kernel computes from `inputs.x` (or one element of it), the result
TYPE_MAP = [
    ("bool", "1", "float(inputs.x)", 1),
    ("uchar", "200", "float(inputs.x)", 200),
    ("int", "-3", "float(inputs.x)", -3),
    ("uint", "3", "float(inputs.x)", 3),
    ("int64", "-4", "float(inputs.x)", -4),
    ("uint64", "5", "float(inputs.x)", 5),
    ("float", "1.5", "inputs.x", 1.5),
    ("double", "2.5", "float(inputs.x)", 2.5),
    ("timecode", "3", "float(inputs.x)", 3),
    ("float2", "(1, 2)", "inputs.x[1]", 2),
    ("texCoord2f", "(1, 2)", "inputs.x[1]", 2),
    ("point3f", "(1, 2, 3)", "inputs.x[2]", 3),
    ("color4f", "(1, 2, 3, 4)", "inputs.x[3]", 4),
    ("quatf", "(4, 1, 2, 3)", "inputs.x[3]", 4),
    ("matrix2d", "((1, 2), (3, 4))", "float(inputs.x[1, 0])", 3),
    ("matrix4d", "((1,0,0,0),(0,1,0,0),(0,0,1,0),(7,8,9,1))", "float(inputs.x[3, 1])", 8),
    ("half", "0.5", "float(inputs.x)", 0.5),
    ("int3", "(1, 2, 3)", "float(inputs.x[2])", 3),
    ("double3", "(1, 2, 3)", "float(inputs.x[1])", 2),
    ("float[]", "[1, 2]", "inputs.x[1]", 2),
    ("int[]", "[1, 2]", "float(inputs.x[1])", 2),
    ("bool[]", "[0, 1]", "float(inputs.x[1])", 1),
    ("point3f[]", "[(1, 2, 3)]", "inputs.x[0][1]", 2),
    ("quatf[]", "[(4, 1, 2, 3)]", "inputs.x[0][0]", 1),
    ("matrix3d[]", "[((1,2,3),(4,5,6),(7,8,9))]", "float(inputs.x[0][2, 0])", 7),
    ("color3f[]", "[(1, 2, 3)]", "inputs.x[0][2]", 3),
    ("uint64[]", "[7]", "float(inputs.x[0])", 7),
    ("half3[]", "[(1, 2, 3)]", "float(inputs.x[0][0])", 1),
]


def test_type_map(make_scene, play):
    """All types in one kernel each, in one scene, so that the play is opened once."""
    nodes = ""
    for i, (kind, authored, expression, _) in enumerate(TYPE_MAP):
        code = f"@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    outputs.y[wp.tid()] = {expression}\n"
        nodes += kernel(
            code,
            f"custom int inputs:dim1 = 1\n custom {kind} inputs:x = {authored}\n custom float[] outputs:y",
            f"k{i}",
        )
    result = play(make_scene(nodes, frames="0:0"))
    assert not result.log.errors
    for i, (kind, _, _, wanted) in enumerate(TYPE_MAP):
        assert value(result, f"/G/k{i}.outputs:y").tolist() == [wanted], kind


def test_explicit_dimensions_and_output_shapes(make_scene, play):
    code = """
@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i, j = wp.tid()
    outputs.grid[i, j] = float(10 * i + j)
"""
    attributes = """
    custom int inputs:dimCount = 2
    custom int inputs:dim1 = 3
    custom int inputs:dim2 = 4
    custom float[] outputs:grid
    """
    result = play(make_scene(kernel(code, attributes), frames="0:0"))
    assert not result.log.errors
    wanted = (10 * np.arange(3)[:, None] + np.arange(4)).ravel()
    assert value(result, "/G/kernel.outputs:grid").tolist() == wanted.tolist()


def test_output_sizes_follow_the_like_named_input_or_the_kernel(make_scene, play):
    code = "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n"
    code += "    outputs.a[0] = 1.0\n    outputs.b[i] = 2.0\n"
    records = [
        {"port_type": 1, "base_name": "a", "array_shape_source": 0},
        {"port_type": 1, "base_name": "b", "array_shape_source": 1},
    ]
    attributes = f"""
    custom int inputs:dim1 = 5
    custom float[] inputs:a = [0, 0]
    custom float[] inputs:b = [0, 0]
    custom float[] outputs:a
    custom float[] outputs:b
    custom string state:userAttrDescs = {json.dumps(json.dumps(records))}
    """
    result = play(make_scene(kernel(code, attributes), frames="0:0"))
    assert not result.log.errors
    assert len(value(result, "/G/kernel.outputs:a")) == 2 and len(value(result, "/G/kernel.outputs:b")) == 5


def test_single_values_as_results(make_scene, play):
    code = "@wp.kernel\ndef k(x: wp.array(dtype=float), total: wp.array(dtype=float)):\n"
    code += "    wp.atomic_add(total, 0, x[wp.tid()])\n"
    attributes = (
        'custom token inputs:dimSource = "x"\ncustom float[] inputs:x = [1, 2, 3.5]\ncustom float outputs:total'
    )
    result = play(make_scene(kernel(code, attributes)))
    assert not result.log.errors and value(result, "/G/kernel.outputs:total") == 6.5, "results start at zero each frame"


def test_a_connection_to_itself_carries_a_state(make_scene, play):
    code = "@wp.kernel\ndef k(old: wp.array(dtype=float), new: wp.array(dtype=float)):\n"
    code += "    i = wp.tid()\n    n = new.shape[0]\n    before = 1.0\n"
    code += "    if old.shape[0] > 0:\n        before = old[(i + 1) % n]\n    new[i] = before + float(i)\n"
    attributes = """
    custom int inputs:dim1 = 8
    custom float[] inputs:old.connect = </G/kernel.outputs:new>
    custom float[] outputs:new
    """
    result = play(make_scene(kernel(code, attributes), frames="0:4"))
    state = np.ones(8)
    for frame in range(5):
        state = (np.roll(state, -1) if frame else state) + np.arange(8)
    assert not result.log.errors
    assert value(result, "/G/kernel.outputs:new").tolist() == state.tolist()


def test_code_from_a_file_beside_the_layer_that_names_it(make_scene, play, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "lift.py").write_text(PLAIN)
    body = READ + kernel(
        "",
        PLAIN_ATTRIBUTES + 'custom token inputs:codeProvider = "file"\n    custom token inputs:codeFile = "./lift.py"',
    )
    inner = make_scene(body, name="sub/inner.usda")
    layer = Sdf.Layer.CreateNew(str(tmp_path / "outer.usda"))
    layer.subLayerPaths = ["./sub/inner.usda"]
    layer.startTimeCode, layer.endTimeCode = 0, 3
    layer.Save()
    result = play(str(tmp_path / "outer.usda"))
    assert inner and not result.log.errors
    assert np.array_equal(value(result, "/G/kernel.outputs:out"), POINTS + np.array([0, 0, 1.5]))


def test_only_the_agreed_text_runs(make_scene, play, tmp_path):
    """A text computed by another node could change after the user agreed to it."""
    maker = (
        'def OmniGraphNode "c" {\n token node:type = "omni.graph.nodes.ConstantString"\n custom string inputs:value = '
    )
    nodes = READ + maker + json.dumps(PLAIN) + "\n}\n" + kernel("", PLAIN_ATTRIBUTES)
    connected = nodes.replace('custom string inputs:codeStr = ""', "custom string inputs:codeStr.connect = </G/{}>")
    result = play(make_scene(connected.replace("{}", "c.inputs:value")))
    assert not result.log.errors and [code.text for code in result.player.codes] == [PLAIN]
    computed = connected.replace("{}", "kernel.outputs:out").replace("point3f[] outputs:out", "string outputs:out")
    result = play(make_scene(computed, name="computed.usda"))
    assert "the player runs only code that is written in the scene" in result.log.errors[0]


REST = "custom float inputs:time\ncustom float3 inputs:up\ncustom point3f[] outputs:out"
MISTAKES = [
    ("@wp.kernel\ndef k(:\n    pass\n", "", ["/G/kernel.inputs:codeStr:2", "syntax"]),
    ("x = 1\n", "", ["defines 0 kernels", "@wp.kernel"]),
    ("\n\nraise ValueError('boo')\n", "", ["ValueError: boo", "/G/kernel.inputs:codeStr:3"]),
    ("import sys\nsys.exit(3)\n", "", ["SystemExit: 3", "codeStr:2"]),
    ("import nothing_of_that_name\n", "", ["ModuleNotFoundError", "codeStr:1"]),
    (
        "@wp.kernel\ndef k(x: float):\n    i = wp.tid()\n    y = x + nothing\n",
        "custom float inputs:x",
        ["codeStr:4", "nothing"],
    ),
    (
        "@wp.kernel\ndef k(speed: float):\n    pass\n",
        "custom float inputs:sped",
        [
            "parameter `speed` (float32) has no attribute inputs:speed or outputs:speed; did you mean sped?\n"
            "    to add it, write into the node in the .usda: custom float inputs:speed",
        ],
    ),
    (
        "@wp.kernel\ndef k(p: wp.array(dtype=wp.vec3), m: wp.mat44d, q: wp.transform):\n    p[0] = wp.vec3(m[0, 0])\n",
        "",
        [
            "custom float3[] outputs:p\n",
            "custom matrix4d inputs:m\n",
            "parameter `q` (transformf) has no attribute inputs:q or outputs:q",
        ],
    ),
    (
        "from typing import Any\n@wp.kernel\ndef k(y: wp.array(dtype=Any)):\n    pass\n",
        "custom float[] inputs:y",
        ["parameter `y` leaves its type open: array[Any]"],
    ),
    ("@wp.kernel\ndef k(y):\n    pass\n", "custom float inputs:y", ["`y` has no type annotation"]),
    (
        PLAIN,
        "custom point3d[] inputs:points = [(0,0,0)]\n" + REST,
        ["parameter `points`", "vec3d", "pointd[3][]"],
    ),
    (
        PLAIN,
        "custom point3f[] inputs:points\n" + REST,
        ["inputs:points is empty and nothing is connected"],
    ),
    (
        PLAIN,
        'custom token inputs:dimSource = "point"\ncustom point3f[] inputs:points',
        ["inputs:dimSource is 'point'", "points"],
    ),
    (PLAIN, "custom int inputs:dimCount = 9", ["1 to 4 dimensions"]),
    (
        "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[wp.tid()] = 1.0\n",
        "custom int inputs:dimCount = 2\ncustom int inputs:dim1 = 2000000000\ncustom int inputs:dim2 = 2000000000\n"
        "custom float[] outputs:y",
        ["outputs:y would take 16000000000.0 GB"],
    ),
    ("@wp.kernel\ndef k(x: float):\n    pass\n", "custom float outputs:x", ["must be an array"]),
    ("@wp.kernel\ndef k(x: float):\n    pass\n", "custom string inputs:x", ["string, which kernels cannot take"]),
    (
        "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    outputs.x[0] = 1.0\n",
        "custom float outputs:x",
        ["must be arrays"],
    ),
    (
        "@wp.kernel\ndef compute(inputs: Inputs, outputs: Outputs):\n    i = wp.tid()\n    a = inputs.gone\n",
        "custom float inputs:x",
        ["codeStr:4", "gone"],
    ),
    (
        PLAIN,
        'custom token inputs:codeProvider = "file"\n    custom token inputs:codeFile = "gone.py"',
        ["gone.py", "No such file"],
    ),
    (PLAIN, 'custom token inputs:codeProvider = "web"', ["'web'", "'embedded' or 'file'"]),
    ("wp = 3\n\n@wp.kernel\ndef k():\n    pass\n", "", ["codeStr:3", "AttributeError"]),
]


@pytest.mark.parametrize(
    ("code", "attributes", "words"), MISTAKES, ids=[" ".join(words)[:40] for _, _, words in MISTAKES]
)
def test_mistakes_are_told_once_with_the_line_in_the_node(make_scene, play, code, attributes, words):
    good = kernel(
        "@wp.kernel\ndef k(y: wp.array(dtype=float)):\n    y[wp.tid()] = 4.0\n",
        "custom int inputs:dim1 = 1\ncustom float[] outputs:y",
        "good",
    )
    result = play(make_scene(kernel(code, attributes) + good))
    assert len(result.log.errors) == 1, "once, not once a frame"
    told = result.log.errors[0]
    assert told.startswith("/G/kernel: ") and not [word for word in words if word not in told], told
    assert result.outcome.failed and value(result, "/G/good.outputs:y").tolist() == [4.0]


def test_a_mistake_of_the_compiler_is_told_once(make_scene, play, monkeypatch):
    """Its message names another dump file each time."""
    dumps = iter(range(100))

    def fail(device, modules):
        raise wp.InternalError(f"details in dump {next(dumps)}", "kernel `k`")

    monkeypatch.setattr(wp, "force_load", fail)
    result = play(make_scene(READ + kernel(PLAIN, PLAIN_ATTRIBUTES)))
    assert len(result.log.errors) == 1 and "dump 0" in result.log.errors[0]


def test_every_missing_parameter_is_listed(make_scene, play):
    result = play(make_scene(kernel(PLAIN)))
    assert all(f"`{name}`" in result.log.errors[0] for name in ("points", "time", "up", "out"))


def test_outputs_no_parameter_writes_are_warned_of(make_scene, play):
    attributes = PLAIN_ATTRIBUTES + "\n    custom float[] outputs:ou"
    result = play(make_scene(READ + kernel(PLAIN, attributes)))
    assert result.log.warnings == ["/G/kernel: no parameter of `lift` writes outputs:ou"]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            kernel(
                "@wp.kernel\ndef lift(points: wp.array(dtype=wp.vec3)):\n    points[wp.tid()] *= 2.0", PLAIN_ATTRIBUTES
            ),
            "no parameter of `lift` writes outputs:out, so nothing would leave the node",
        ),
        (
            kernel(PLAIN, PLAIN_ATTRIBUTES).replace("inputs:codeStr", "inputs:code"),
            "no parameter of `compute` writes outputs:out, so nothing would leave the node; is inputs:codeStr set?",
        ),
        (
            kernel(PLAIN, PLAIN_ATTRIBUTES.replace('token inputs:dimSource = "points"', "int inputs:dim1 = -5")),
            "inputs:dim1 is -5; set the number of threads, or leave it out (-1)",
        ),
        (
            kernel(PLAIN, PLAIN_ATTRIBUTES.replace("/G/read.outputs:value", "/World/Mesh.points")),
            "/World/Mesh.points, an attribute of a Mesh; connect it to outputs:value of a node",
        ),
    ],
)
def test_a_node_that_would_empty_a_mesh_is_refused(make_scene, play, node, message):
    result = play(make_scene(READ + node + write("/G/kernel.outputs:out")))
    assert message in result.log.errors[0]
    assert not result.target.exists(), "nothing is written"


@pytest.mark.parametrize(
    ("companions", "message"),
    [
        ("", "wp.Mesh add inputs:at:points and inputs:at:faceVertexIndices, for a wp.HashGrid add inputs:at:points "),
        ("custom point3f[] inputs:at:points\n    custom int[] inputs:at:faceVertexCounts",
         "; for a wp.Mesh add inputs:at:faceVertexIndices, for a wp.HashGrid add inputs:at:radius"),
        ('custom token inputs:at:file = "gone.nvdb"', "inputs:at:file: "),
    ],
)  # fmt: skip
def test_structures_name_the_inputs_that_lack(make_scene, play, companions, message):
    text = "@wp.kernel\ndef lift(at: wp.uint64, out: wp.array(dtype=wp.vec3)):\n    out[wp.tid()] = wp.vec3(float(at))"
    attributes = f"    custom int inputs:dim1 = 2\n    {companions}\n    custom point3f[] outputs:out\n"
    assert message in play(make_scene(kernel(text, attributes))).log.errors[0]


def test_debug_mode_names_the_thread(make_scene, play):
    code = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i + 1] = 1.0\n"
    attributes = "custom int inputs:dim1 = 4\ncustom float[] outputs:x"
    config.mode = "debug"
    try:
        result = play(make_scene(kernel(code, attributes)))
    finally:
        config.mode = "release"
    assert len(result.log.errors) == 1 and "/G/kernel.inputs:codeStr" in result.log.errors[0]


def test_numbers_that_are_not_finite_are_warned_of_once(make_scene, play):
    code = PLAIN.replace("points[i] + up * time", "points[i] / time * 0.0")
    result = play(make_scene(READ + kernel(code, PLAIN_ATTRIBUTES) + write("/G/kernel.outputs:out")))
    assert not result.log.errors
    assert [w for w in result.log.warnings if "NaN" in w] == [
        "/World/Mesh.points: 12 of 12 numbers are infinite or NaN at frame 0"
    ]


def test_text_inspection():
    (use,) = inspect(STRUCT)
    assert use.name == "compute" and use.is_struct and use.threads == 1
    assert use.ranks == {("inputs", "points"): 1, ("outputs", "points"): 1, ("outputs", "lengths"): 1}
    assert ("inputs", "points") not in use.touched and ("outputs", "points") in use.touched
    assert ("inputs", "scale") in use.mentioned
    text = "@wp.kernel\ndef k(a: X, b: X, c: X):\n    a[0, 1] = b.shape[0] + len(b) + b[0][1]\n    f(c)\n"
    (use,) = inspect(text)
    assert use.ranks == {("", "a"): 2, ("", "b"): 1} and use.touched == {("", "a"), ("", "c")} and use.threads == 0
    assert inspect("def (") == () and inspect("\0") == ()
    assert normalized("a\r\nb\rc\n") == "a\nb\nc\n"
