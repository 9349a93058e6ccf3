"""Bundles as inputs and outputs of a Kernel node: their members are parameters. Expected values come from NumPy."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd

from omni.warp_core.nodes.values.bundles import prims_of
from tests.nodes.kernel.kernel_scenes import POINTS, kernel, value

READ_MESH = """
def OmniGraphNode "read" {
    token node:type = "omni.warp_core.ReadMesh"
    custom rel inputs:prim = </World/Mesh>
    custom timecode inputs:usdTimecode = 0
}
def OmniGraphNode "time" {
    token node:type = "omni.graph.nodes.ReadTime"
}
"""
WRITE_PRIMS = """
def OmniGraphNode "write" {
    token node:type = "omni.graph.nodes.WritePrimsV2"
    custom rel inputs:primsBundle = </G/kernel.outputs_mesh>
    custom rel inputs:prims = </World/Mesh>
}
"""
BUNDLE = "custom rel inputs:mesh = </G/read.outputs_bundle>\n"
LIFT = """
@wp.kernel
def lift(mesh_points: wp.array[wp.vec3], time: float):
    i = wp.tid()
    mesh_points[i] = mesh_points[i] + wp.vec3(0.0, 0.0, time)
"""
LIFT_ATTRIBUTES = """
    custom rel outputs_mesh
    custom point3f[] outputs:mesh:points
    custom float inputs:time.connect = </G/time.outputs:frame>
"""
RAY = """
@wp.kernel
def drop(mesh: wp.uint64, at: wp.array[wp.vec3], height: wp.array[float]):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, at[i], wp.vec3(0.0, 0.0, -1.0), 100.0)
    height[i] = -1.0
    if hit.result:
        height[i] = at[i][2] - hit.t
"""
RAY_ATTRIBUTES = """
    custom point3f[] inputs:at = [(0.5, 0.25, 9), (2, 2, 9)]
    custom float[] outputs:height
"""


def test_a_kernel_changes_the_points_of_a_bundle(make_scene, play, device):
    nodes = READ_MESH + kernel(LIFT, BUNDLE + LIFT_ATTRIBUTES)
    drop = kernel(RAY, BUNDLE.replace("read.outputs_bundle", "kernel.outputs_mesh") + RAY_ATTRIBUTES, "drop")
    result = play(make_scene(nodes + drop + WRITE_PRIMS, frames="0:3"), device=str(device))
    assert not result.log.errors
    lifted = POINTS + np.array([0, 0, 3])
    given, made = (prims_of(value(result, f"/G/{path}"))[0] for path in ("read.outputs:bundle", "kernel.outputs:mesh"))
    assert np.array_equal(given.value("points"), POINTS), "the bundle that came in stays"
    assert np.array_equal(made.value("points"), lifted)
    assert made.attributes["faceVertexCounts"] is given.attributes["faceVertexCounts"], "the rest is shared"
    assert "normals" not in made.attributes and "extent" not in made.attributes
    assert np.allclose(value(result, "/G/drop.outputs:height"), [3, -1], atol=1e-6), "the mesh follows the points"
    node = next(n for n in result.outcome.nodes if n.path == "/G/kernel")
    assert node.timing.replays == 0 and "takes a bundle" in node.timing.launched_because
    stage = Usd.Stage.Open(str(result.target))
    assert np.array_equal(stage.GetPrimAtPath("/World/Mesh").GetAttribute("points").Get(3), lifted)


def test_bundles_stay_as_they_are_when_the_next_frame_runs(make_scene, play):
    result = play(make_scene(READ_MESH + kernel(LIFT, BUNDLE + LIFT_ATTRIBUTES), frames="0:1"))
    first = prims_of(value(result, "/G/kernel.outputs:mesh"))[0].value("points")
    result.player.loaded.attribute("/G/kernel.inputs:time").set(7.0)
    result.player.run(str(result.target))
    assert np.array_equal(first, POINTS + np.array([0, 0, 1]))


PAINT = """
@wp.kernel
def paint(mesh_primvars_tone: wp.array[float], mesh_purity: wp.array[float]):
    i = wp.tid()
    mesh_primvars_tone[i] = 0.5 * mesh_primvars_tone[i]
    mesh_purity[i] = 1.0
"""


def test_members_that_are_replaced_added_and_left(make_scene, play):
    attributes = BUNDLE + "custom rel outputs_mesh\ncustom float[] outputs:mesh:primvars:tone\n"
    attributes += "custom float[] outputs:mesh:purity\ncustom int[] outputs:mesh:faceVertexCounts\n"
    scene = make_scene(READ_MESH + kernel(PAINT, attributes), frames="0:1")
    text = Path(scene).read_text()
    tone = 'float[] primvars:tone = [2, 4, 6, 8] (interpolation = "vertex")\n'
    Path(scene).write_text(text.replace("custom double height", f"{tone}custom double height", 1))
    result = play(scene)
    assert not result.log.errors and "no parameter of `paint` writes outputs:mesh_face" in result.log.warnings[0]
    made = prims_of(value(result, "/G/kernel.outputs:mesh"))[0]
    assert made.value("primvars:tone").tolist() == [1, 2, 3, 4] and made.value("purity").tolist() == [1, 1, 1, 1]
    assert made.attributes["primvars:tone"].metadata["interpolation"].value == "vertex"
    assert made.value("faceVertexCounts").tolist() == [4], "an output that no kernel writes replaces nothing"


MEMBERS = """
@wp.kernel
def use(mesh_points: wp.array[wp.vec3], mesh_faceVertexIndices: wp.array[int], mesh_worldMatrix: wp.mat44d,
        corner: wp.array[wp.vec3], x: wp.array[wp.float64]):
    i = wp.tid()
    corner[i] = mesh_points[mesh_faceVertexIndices[i]]
    x[0] = mesh_worldMatrix[3, 0]
"""


def test_members_of_any_kind_and_an_attribute_in_place_of_one(make_scene, play, device):
    outputs = "custom point3f[] outputs:corner\ncustom double outputs:x\n"
    outputs += 'custom token inputs:dimSource = "mesh:faceVertexIndices"\n'
    own = "custom int[] inputs:mesh:faceVertexIndices = [3, 1]\n"
    nodes = READ_MESH + kernel(MEMBERS, BUNDLE + outputs) + kernel(MEMBERS, BUNDLE + outputs + own, "own")
    result = play(make_scene(nodes, frames="0:1"), device=str(device))
    assert not result.log.errors
    assert np.array_equal(value(result, "/G/kernel.outputs:corner"), POINTS)
    assert np.array_equal(value(result, "/G/own.outputs:corner"), POINTS[[3, 1]])
    assert value(result, "/G/kernel.outputs:x") == 1, "the mesh lies at (1, 2, 3)"


STRUCT = """
@wp.kernel
def compute(inputs: Inputs, outputs: Outputs):
    i = wp.tid()
    outputs.q[i] = 2.0 * inputs.mesh_points[i]
"""


def test_members_in_the_style_of_omni_warp(make_scene, play):
    attributes = BUNDLE + 'custom token inputs:dimSource = "mesh_points"\ncustom point3f[] outputs:q\n'
    result = play(make_scene(READ_MESH + kernel(STRUCT, attributes, kind="omni.warp.WarpKernel", version=2)))
    assert not result.log.errors
    assert np.array_equal(value(result, "/G/kernel.outputs:q"), 2 * POINTS)


UNCONNECTED = """
custom rel inputs:mesh (
    customData = { dictionary omni = { dictionary graph = { string relType = "bundle" } } }
)
"""
TWO = """
def OmniGraphNode "two" {
    token node:type = "omni.graph.nodes.ReadPrimsV2"
    custom rel inputs:prims = [</World>, </World/Mesh>]
}
"""


@pytest.mark.parametrize(
    ("bundle", "code", "attributes", "words"),
    [
        ("read.outputs_bundle", LIFT.replace("mesh_points", "mesh_normal"), LIFT_ATTRIBUTES,
         "`mesh_normal` is the member 'normal' of the bundle inputs:mesh, which has no such member; it has "),
        ("read.outputs_bundle", LIFT.replace("vec3", "vec2").replace("0.0, 0.0, t", "0.0, t"), LIFT_ATTRIBUTES,
         "`mesh_points` is a 1-d array of vec2f but the member 'points' of the bundle inputs:mesh is pointf[3][]"),
        ("two.outputs_primsBundle", LIFT, LIFT_ATTRIBUTES, "inputs:mesh has 2 prims, and a kernel takes the members"),
        ("", LIFT, LIFT_ATTRIBUTES, "inputs:mesh has no bundle with a prim; connect it"),
        ("read.outputs_bundle", LIFT, LIFT_ATTRIBUTES + "custom rel outputs_other\n",
         "outputs:other is a copy of the bundle inputs:other, which the node lacks"),
    ],
)  # fmt: skip
def test_bundles_that_do_not_fit(make_scene, play, bundle, code, attributes, words):
    given = BUNDLE.replace("read.outputs_bundle", bundle) if bundle else UNCONNECTED
    result = play(make_scene(READ_MESH + TWO + kernel(code, given + attributes), frames="0:1"))
    assert [text for text in result.log.errors if words in text], result.log.errors
    assert len(result.log.errors) == 1


def test_a_bundle_has_no_gradient(make_scene, play):
    code = LIFT.replace("time: float", "time: wp.array[float], loss: wp.array[float]").replace(", time)", ", time[0])")
    attributes = BUNDLE + "custom float[] inputs:time = [1]\ncustom float[] outputs:loss\n"
    attributes += "custom point3f[] outputs:mesh:points\n"
    fit = """
    def OmniGraphNode "fit" {
        token node:type = "omni.warp_core.Optimize"
        custom token inputs:loss.connect = </G/kernel.outputs:loss>
        custom token[] inputs:parameters = ["kernel.inputs:time"]
    }
    """
    result = play(make_scene(READ_MESH + kernel(code, attributes) + fit, frames="0:0"))
    assert len(result.log.errors) == 1 and "takes a bundle, which has no gradient" in result.log.errors[0]


VOLUME = """
@wp.kernel
def volume(mesh: wp.uint64, inside: wp.array[float]):
    shape = wp.mesh_get(mesh)
    for t in range(shape.indices.shape[0] // 3):
        a, b, c = shape.indices[3 * t], shape.indices[3 * t + 1], shape.indices[3 * t + 2]
        inside[0] += wp.dot(shape.points[a], wp.cross(shape.points[b], shape.points[c])) / 6.0
"""
BRICK = """
def Mesh "Brick" {{
    point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (0, 3, 0), (0, 0, 4), (2, 0, 4), (2, 3, 4), (0, 3, 4)]
    int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
    int[] faceVertexIndices = [0, 1, 2, 3, 4, 7, 6, 5, 0, 4, 5, 1, 1, 5, 6, 2, 2, 6, 7, 3, 3, 7, 4, 0]
    uniform token orientation = "leftHanded"
    int[] holeIndices = {holes}
}}
"""


@pytest.mark.parametrize(("holes", "expected"), [([], 24), ([3, 4], 8)])  # faces through the origin add nothing
def test_the_mesh_of_a_bundle_turns_left_handed_faces_and_leaves_holes_out(make_scene, play, tmp_path, holes, expected):
    attributes = "custom rel inputs:mesh = </G/read.outputs_bundle>\ncustom int inputs:inside:length = 1\n"
    nodes = READ_MESH.replace("/World/Mesh", "/Brick") + kernel(VOLUME, attributes + "custom float[] outputs:inside")
    scene = Path(make_scene(nodes, frames="0:0"))
    scene.write_text(scene.read_text() + BRICK.format(holes=holes))
    result = play(str(scene))
    assert not result.log.errors
    assert np.allclose(value(result, "/G/kernel.outputs:inside"), [expected])
    corners = value(result, "/G/read.outputs:triangles").reshape(-1, 3)
    points = np.array([(x, y, z) for z in (0, 4) for x, y in ((0, 0), (2, 0), (2, 3), (0, 3))], float)
    a, b, c = (points[corners[:, k]] for k in range(3))
    assert np.isclose((a * np.cross(b, c)).sum() / 6, expected)
