"""Read Mesh, Read Points, Write Mesh and Write Points in scenes."""

import itertools

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp

READ = """
def OmniGraphNode "read"
{
    token node:type = "omni.warp_core.Read%s"
    custom rel inputs:prim = <%s>
    custom timecode inputs:usdTimecode = 0
}
"""
DOTS = """
def Points "Dots"
{
    point3f[] points = [(0, 0, 0), (4, 0, 0)]
    float[] widths = [1, 2]
    vector3f[] velocities = [(0, 1, 0), (0, 2, 0)]
}
"""
LIFT = '''
def OmniGraphNode "time"
{
    token node:type = "omni.graph.nodes.ReadTime"
}
def OmniGraphNode "lift"
{
    token node:type = "omni.warp_core.Kernel"
    custom string inputs:codeStr = """
@wp.kernel
def lift(points: wp.array[wp.vec3], time: float, lifted: wp.array[wp.vec3], colors: wp.array[wp.vec3]):
    i = wp.tid()
    lifted[i] = points[i] + wp.vec3(0.0, time, 0.0)
    colors[i] = wp.vec3(1.0, float(i), 0.0)
"""
    custom token inputs:dimSource = "points"
    custom point3f[] inputs:points.connect = </G/read.outputs:points>
    custom double inputs:time.connect = </G/time.outputs:time>
    custom point3f[] outputs:lifted
    custom color3f[] outputs:colors
}
'''
WRITE = """
def OmniGraphNode "write"
{
    token node:type = "omni.warp_core.Write%s"
    custom rel inputs:prim = <%s>
    custom point3f[] inputs:points.connect = </G/lift.outputs:lifted>
    custom color3f[] inputs:colors.connect = </G/lift.outputs:colors>
    %s
}
"""
FACES = """
    custom int[] inputs:faceVertexCounts.connect = </G/read.outputs:faceVertexCounts>
    custom int[] inputs:faceVertexIndices.connect = </G/read.outputs:faceVertexIndices>
"""


@pytest.fixture
def result(make_scene, play):
    number = itertools.count()

    def run(nodes):
        played = play(make_scene(nodes, name=f"scene{next(number)}.usda"))
        played.stage = Usd.Stage.Open(str(played.target)) if played.outcome.written else None
        played.value = {a.path: a.value for n in played.outcome.nodes for a in n.attributes.values()}
        return played

    return run


def test_a_mesh_is_read_as_arrays(result):
    played = result(READ % ("Mesh", "/World/Mesh"))
    assert not played.log.errors
    value = {path.removeprefix("/G/read.outputs:"): value for path, value in played.value.items()}
    assert list(value["triangles"]) == [0, 1, 2, 0, 2, 3] and list(value["faceVertexCounts"]) == [4]
    assert value["points"].shape == (4, 3) and not len(value["normals"])
    assert np.array_equal(value["worldMatrix"][3], (1, 2, 3, 1))
    assert value["bundle"].children["prim0"].value("height") == 2.0


def test_an_array_that_did_not_change_is_not_given_again(result):
    played = result(READ % ("Mesh", "/World/Mesh"))
    versions = {a.base_name: a.version for n in played.outcome.nodes for a in n.on("outputs")}
    assert versions["points"] == versions["faceVertexCounts"] == versions["worldMatrix"] == 1


def test_a_kernel_between_reading_and_writing_a_mesh(result):
    played = result(READ % ("Mesh", "/World/Mesh") + LIFT + WRITE % ("Mesh", "/Out/Mesh", FACES))
    assert not played.log.errors and not played.log.warnings
    mesh = UsdGeom.Mesh(played.stage.GetPrimAtPath("/Out/Mesh"))
    for frame in (0, 3):
        points = np.asarray(mesh.GetPointsAttr().Get(frame))
        assert np.allclose(points[:, 1], np.array([0, 0, 1, 1]) + frame / 24, atol=1e-6)
    assert list(mesh.GetFaceVertexIndicesAttr().Get(3)) == [0, 1, 2, 3]
    assert len(mesh.GetFaceVertexIndicesAttr().GetTimeSamples()) == 1
    assert mesh.GetDisplayColorPrimvar().GetInterpolation() == "vertex"
    assert tuple(mesh.GetDisplayColorAttr().Get(3)[2]) == (1, 2, 0)


def test_points_are_read_and_written(result):
    read = (READ % ("Points", "/G/Dots")) + DOTS
    velocities = "custom vector3f[] inputs:velocities.connect = </G/read.outputs:velocities>"
    bundle = "custom rel inputs:bundle = </G/read.outputs_bundle>"
    played = result(read + LIFT + WRITE % ("Points", "/Out", velocities + "\n" + bundle))
    assert not played.log.errors and not played.log.warnings
    points = UsdGeom.Points(played.stage.GetPrimAtPath("/Out"))
    assert np.allclose(points.GetPointsAttr().Get(3), [(0, 0.125, 0), (4, 0.125, 0)])
    assert list(points.GetWidthsAttr().Get(3)) == [1, 2]  # from the bundle
    assert points.GetVelocitiesAttr().Get(3)[1] == (0, 2, 0)
    assert np.allclose(points.GetExtentAttr().Get(3), [(-1, -0.875, -1), (5, 1.125, 1)])


@pytest.mark.parametrize(
    ("nodes", "error"),
    [
        (READ % ("Mesh", "/World"), "/World is Xform, and a Mesh is needed"),
        (READ % ("Points", "/World/Mesh"), "/World/Mesh is Mesh, and a Points is needed"),
        (READ % ("Mesh", "/Nowhere"), "there is no prim /Nowhere"),
    ],
)
def test_reading_the_wrong_prim(result, nodes, error):
    assert error in result(nodes).log.errors[0]


def write(**inputs):
    lines = "\n".join(f"custom {kind} inputs:{name} = {value}" for name, (kind, value) in inputs.items())
    node = 'token node:type = "omni.warp_core.WriteMesh"\ncustom rel inputs:prim = </Out>\n'
    return f'def OmniGraphNode "w"\n{{\n{node}{lines}\n}}\n'


TRIANGLE = {
    "points": ("point3f[]", "[(0, 0, 0), (1, 0, 0), (0, 1, 0)]"),
    "faceVertexCounts": ("int[]", "[3]"),
    "faceVertexIndices": ("int[]", "[0, 1, 2]"),
}


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"faceVertexIndices": ("int[]", "[0, 1, 3]")}, "faceVertexIndices goes from 0 to 3 for 3 points"),
        ({"faceVertexIndices": ("int[]", "[0, 1, -2]")}, "faceVertexIndices goes from -2 to 1 for 3 points"),
        ({"faceVertexCounts": ("int[]", "[4]")}, "faceVertexCounts is for 4 corners, and faceVertexIndices has 3"),
        ({"faceVertexCounts": ("int[]", "[4, -1]")}, "corners"),
        ({"faceVertexCounts": ("int[]", "[2147483647, 2147483647]")}, "faceVertexIndices has 3"),
        (
            {"colors": ("color3f[]", "[(1, 0, 0), (1, 0, 0)]")},
            "displayColor has 2 values; it may have 1 (constant), 3 (v",
        ),
    ],
)
def test_a_mesh_that_does_not_fit_together_is_refused(result, inputs, error):
    played = result(write(**{**TRIANGLE, **inputs}))
    assert error in played.log.errors[0] and not played.outcome.written


@pytest.mark.parametrize(
    ("colors", "interpolation"), [("[(1, 0, 0)]", "constant"), ("[(1, 0, 0), (1, 0, 0), (0, 0, 0)]", "vertex")]
)
def test_the_number_of_colors_says_what_has_one(result, colors, interpolation):
    played = result(write(**TRIANGLE, colors=("color3f[]", colors)))
    mesh = UsdGeom.Mesh(played.stage.GetPrimAtPath("/Out"))
    assert mesh.GetDisplayColorPrimvar().GetInterpolation() == interpolation


PAINT = """
@wp.kernel
def paint(mesh_primvars_displayColor: wp.array[wp.vec3], given: wp.array[wp.vec3], colors: wp.array[wp.vec3]):
    i = wp.tid()
    given[i] = mesh_primvars_displayColor[i]
    colors[i] = wp.vec3(float(i), 0.0, 0.0)
"""


@pytest.mark.parametrize("writer", ["omni.warp_core.WriteMesh", "omni.graph.nodes.WritePrimAttribute"])
def test_indexed_colors_are_read_by_point_and_written_without_the_old_indices(writer, tmp_path):
    stage = Usd.Stage.CreateInMemory()
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    primvar = mesh.CreateDisplayColorPrimvar("vertex")
    primvar.Set([(1, 0, 0), (0, 0, 1)])
    primvar.SetIndices([1, 0, 0, 1])
    graph = wp.nodes.GraphBuilder(stage, "/G")
    read = graph.node("read", "omni.warp_core.ReadMesh", prim="/Mesh", usdTimecode=0.0)
    paint = graph.node("paint", "omni.warp_core.Kernel", codeStr=PAINT)
    stage.GetPrimAtPath(paint).CreateRelationship("inputs:mesh").SetTargets([f"{read}.outputs_bundle"])
    for name in ("given", "colors"):
        graph.attribute(paint, f"outputs:{name}", "color3f[]")
    if writer.endswith("Mesh"):
        graph.connect(f"{paint}.outputs:colors", graph.node("write", writer, prim="/Mesh") + ".inputs:colors")
    else:
        write = graph.node("write", writer, prim="/Mesh", name="primvars:displayColor")
        graph.connect(f"{paint}.outputs:colors", f"{write}.inputs:value")
    with wp.usd.play(stage, frames=(0, 1), fps=24, trust=True) as player:
        player.play()
        assert not player.errors
        expected = np.array(primvar.ComputeFlattened())
        assert np.array_equal(player.get(f"{read}.outputs:colors"), expected)
        assert np.array_equal(player.get(f"{paint}.outputs:given"), expected)
        player.save(tmp_path / "out.usda")
    result = Usd.Stage.Open(str(tmp_path / "out.usda"))
    colors = UsdGeom.Mesh(result.GetPrimAtPath("/Mesh")).GetDisplayColorPrimvar()
    for frame in (0, 1):
        assert np.array_equal(colors.ComputeFlattened(frame), [(i, 0, 0) for i in range(4)])


def test_indices_that_name_no_value_are_told():
    stage = Usd.Stage.CreateInMemory()
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(0, 0, 0)])
    primvar = mesh.CreateDisplayColorPrimvar("vertex")
    primvar.Set([(1, 0, 0)])
    primvar.SetIndices([1])
    wp.nodes.GraphBuilder(stage, "/G").node("read", "omni.warp_core.ReadMesh", prim="/Mesh")
    with wp.usd.play(stage, frames=(0, 0), fps=24) as player:
        player.step()
        assert "/Mesh.primvars:displayColor:indices names the value 1 of 1 values" in player.errors[0]


def test_a_play_whose_results_equal_the_scene_has_a_result(make_scene, play):
    write = """
    def OmniGraphNode "write"
    {
        token node:type = "omni.warp_core.WriteMesh"
        custom rel inputs:prim = </World/Mesh>
        custom point3f[] inputs:points.connect = </G/read.outputs:points>
    }
    """
    result = play(make_scene(READ % ("Mesh", "/World/Mesh") + write, frames="0:1"))
    assert not result.outcome.failed and result.outcome.is_written and not result.outcome.samples
    stage = Usd.Stage.Open(str(result.target))
    assert stage.GetRootLayer().subLayerPaths == ["./scene.usda"]
    assert len(stage.GetAttributeAtPath("/World/Mesh.points").Get(1)) == 4


def test_write_prim_tells_inputs_that_it_does_not_write(make_scene, play):
    write = """
    def OmniGraphNode "write"
    {
        token node:type = "omni.graph.nodes.WritePrim"
        custom rel inputs:prim = </World/Mesh>
        custom double inputs:height = 3
    }
    """
    (told,) = play(make_scene(write, frames="0:1")).log.warnings
    assert told.startswith("/G/write: inputs:height is not connected, so it is not written")
