"""Interpolations of what a play writes to primvars: given where the scene has none, told where they are wrong."""

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom

import omni.warp_core as wp

COLORS = "primvars:displayColor"
TEXT = """
@wp.kernel
def paint(colors: wp.array[wp.vec3]):
    colors[wp.tid()] = wp.vec3(1.0, 0.0, 0.0)
"""


def painted(count, interpolation=None, name=COLORS, indices=None):
    """A stage whose graph writes `count` values to a primvar of a mesh of 9 points and 4 quads."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(3)
    mesh = UsdGeom.Mesh.Define(stage, "/M")
    mesh.CreatePointsAttr([(i, 0, j) for i in range(3) for j in range(3)])
    mesh.CreateFaceVertexCountsAttr([4] * 4)
    corners = [c for i in range(2) for j in range(2) for c in (3 * i + j, 3 * i + j + 1, 3 * i + j + 4, 3 * i + j + 3)]
    mesh.CreateFaceVertexIndicesAttr(corners)
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name.removeprefix("primvars:"), Sdf.ValueTypeNames.Color3fArray)
    primvar.Set([(0, 0, 0)])
    if indices:
        primvar.SetIndices(indices)
    if interpolation:
        primvar.SetInterpolation(interpolation)
    graph = wp.nodes.GraphBuilder(stage, "/G")
    kernel = graph.kernel("paint", TEXT, dim1=count, attributes={"outputs:colors": "color3f[]"})
    write = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim="/M", name=name)
    graph.connect(f"{kernel}.outputs:colors", f"{write}.inputs:value")
    return stage


def result(stage, tmp_path, name=COLORS):
    """The interpolation of a primvar in the result, and the warnings of the play."""
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        player.save(tmp_path / "out.usda")
        assert not player.errors
        warnings = player.warnings
    saved = Usd.Stage.Open(str(tmp_path / "out.usda"))
    return saved.GetAttributeAtPath(f"/M.{name}").GetMetadata("interpolation"), warnings


@pytest.mark.parametrize("count, meant", [(1, None), (9, "vertex"), (16, "faceVarying"), (4, "uniform")])
def test_a_primvar_without_interpolation_gets_that_of_its_number_of_values(tmp_path, count, meant):
    assert result(painted(count), tmp_path) == (meant, [])


@pytest.mark.parametrize(
    "count, said", [(9, "vertex"), (9, "varying"), (16, "faceVarying"), (4, "uniform"), (1, "constant")]
)
def test_an_interpolation_that_fits_stays(tmp_path, count, said):
    assert result(painted(count, said), tmp_path) == (said, [])


@pytest.mark.parametrize(
    "count, said, text",
    [
        (9, "constant", 'goes with 1; 9 values are interpolation = "vertex"'),
        (9, "uniform", 'goes with 4; 9 values are interpolation = "vertex"'),
        (5, "vertex", "has 5 values, but its interpolation vertex goes with 9"),
        (5, None, "has 5 values, but its interpolation constant goes with 1"),
    ],
)
def test_an_interpolation_that_does_not_fit_is_told_once(tmp_path, count, said, text):
    interpolation, warnings = result(painted(count, said), tmp_path)
    assert interpolation == said and len(warnings) == 1
    assert warnings[0].startswith(f"/M.{COLORS}: ") and warnings[0].endswith(text)


def test_an_array_for_the_whole_prim_is_left_alone(tmp_path):
    assert result(painted(5, name="primvars:palette"), tmp_path, "primvars:palette") == (None, [])


def test_of_an_indexed_primvar_the_indices_are_counted(tmp_path):
    """The play writes as many values as the scene has, so that the indices stay."""
    assert result(painted(1, "vertex", indices=[0] * 9), tmp_path) == ("vertex", [])


def test_a_play_that_begins_anew_says_it_again(tmp_path):
    with wp.usd.play(painted(9), trust=True) as player:
        player.play()
        player.rewind()
        player.play(2)
        player.save(tmp_path / "out.usda")
    saved = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert saved.GetAttributeAtPath(f"/M.{COLORS}").GetMetadata("interpolation") == "vertex"


GROW = """
@wp.kernel
def grow(frame: float, count: wp.array[int], points: wp.array[wp.vec3]):
    i = wp.tid()
    if i < int(frame) * 4:
        points[wp.atomic_add(count, 0, 1)] = wp.vec3(float(i), 0.0, 0.0)
"""


def growing(**attributes):
    """A stage whose graph writes 4, 8 and 12 points in its frames, to points with these attributes of the scene."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(1)
    stage.SetEndTimeCode(3)
    points = UsdGeom.Points.Define(stage, "/M")
    points.CreatePointsAttr([(0, 0, 0)] * 4)
    for name, values in attributes.items():
        getattr(points, f"Create{name}Attr")(values)
    graph = wp.nodes.GraphBuilder(stage, "/G")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    kernel = graph.kernel("grow", GROW, dim1=50, **{"points:counter": "count"})
    write = graph.node("write", "omni.warp_core.WritePoints", prim="/M")
    graph.connect(f"{clock}.outputs:frame", f"{kernel}.inputs:frame")
    graph.connect(f"{kernel}.outputs:points", f"{write}.inputs:points")
    return stage


def test_what_the_scene_has_for_each_point_is_told_where_the_number_of_points_changes(tmp_path):
    """Once, though the number changes in each frame."""
    stage = growing(Widths=[0.1] * 4, DisplayColor=[(1, 0, 0)])
    interpolation, warnings = result(stage, tmp_path, "widths")
    assert interpolation is None
    assert warnings == ["/M.widths: has 4 values, but its interpolation vertex goes with 8"]


def test_one_width_of_the_scene_is_that_of_all_points_of_the_play(tmp_path):
    assert result(growing(Widths=[0.1]), tmp_path, "widths") == ("constant", [])


def test_points_that_only_move_ask_nothing_of_the_scene(tmp_path):
    stage = painted(9, "vertex")
    UsdGeom.Mesh(stage.GetPrimAtPath("/M")).CreateNormalsAttr([(0, 1, 0)] * 9)
    assert result(stage, tmp_path) == ("vertex", [])


def test_a_member_that_a_kernel_adds_to_a_bundle_goes_with_the_points(tmp_path):
    stage = painted(1)
    graph = wp.nodes.GraphBuilder(stage, "/H")
    read = graph.node("read", "omni.warp_core.ReadMesh", prim="/M")
    heat = graph.kernel(
        "heat",
        """
@wp.kernel
def heat(m_points: wp.array[wp.vec3], m_primvars_heat: wp.array[float]):
    i = wp.tid()
    m_primvars_heat[i] = m_points[i][0]
""",
        attributes={"inputs:m": "bundle", "outputs:m:primvars:heat": "float[]"},
    )
    write = graph.node("write", "omni.graph.nodes.WritePrimsV2", prims="/Out")
    graph.connect(f"{read}.outputs:bundle", f"{heat}.inputs:m")
    graph.connect(f"{heat}.outputs:m", f"{write}.inputs:primsBundle")
    result(stage, tmp_path)
    saved = Usd.Stage.Open(str(tmp_path / "out.usda"))
    added = UsdGeom.PrimvarsAPI(saved.GetPrimAtPath("/Out")).GetPrimvar("heat")
    assert added.GetInterpolation() == "vertex"
    assert np.array_equal(added.Get(1), [0, 0, 0, 1, 1, 1, 2, 2, 2])
