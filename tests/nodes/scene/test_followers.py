"""Bounds, normals and velocities of prims whose geometry a play writes. USD computes the bounds to compare with."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp

FRAMES = (1, 2, 3, 4, 5, 6)
GROW = """
@wp.kernel
def grow(rest: wp.array[{kind}], frame: float, first: float, grown: wp.array[{kind}]):
    i = wp.tid()
    factor = float(1.0)
    if frame >= first:
        factor = frame
    grown[i] = rest[i] * factor
"""


@pytest.fixture
def stage():
    """A mesh, points, an instancer and a sphere, all with authored bounds, and the mesh with normals and velocities."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(FRAMES[0])
    stage.SetEndTimeCode(FRAMES[-1])
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateNormalsAttr([(0, 0, 1)] * 3)
    mesh.CreateVelocitiesAttr([(0, 1, 0)] * 3)
    points = UsdGeom.Points.Define(stage, "/Points")
    points.CreatePointsAttr([(0, 0, 0), (1, 0, 0)])
    points.CreateWidthsAttr([0.5, 0.5])
    instancer = UsdGeom.PointInstancer.Define(stage, "/Instancer")
    UsdGeom.Cube.Define(stage, "/Instancer/Cube")
    instancer.CreatePrototypesRel().SetTargets(["/Instancer/Cube"])
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(0, 0, 0), (1, 0, 0)])
    UsdGeom.Sphere.Define(stage, "/Sphere").CreateRadiusAttr(1.0)
    for path in ("/Mesh", "/Points", "/Instancer", "/Instancer/Cube", "/Sphere"):
        prim = UsdGeom.Boundable(stage.GetPrimAtPath(path))
        prim.CreateExtentAttr(UsdGeom.Boundable.ComputeExtentFromPlugins(prim, Usd.TimeCode(1)))
    return stage


def write(stage, path, name, kind="point3f[]", first=1.0):
    """Let a graph write an attribute of a prim: the rest times the frame, from a frame on."""
    graph = wp.nodes.GraphBuilder(stage, f"/Graph_{path.strip('/').replace('/', '_')}_{name}")
    clock = graph.node("clock", "omni.graph.nodes.ReadTime")
    to = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim=path, name=name)
    if not kind.endswith("[]"):
        graph.connect(f"{clock}.outputs:frame", f"{to}.inputs:value")
        return
    read = graph.node("read", "omni.graph.nodes.ReadPrimAttribute", prim=path, name=name, usdTimecode=1.0)
    text = GROW.format(kind="float" if kind == "float[]" else "wp.vec3")
    grow = graph.kernel("grow", text, attributes={"inputs:rest": kind, "outputs:grown": kind}, first=first)
    graph.connect(f"{read}.outputs:value", f"{grow}.inputs:rest")
    graph.connect(f"{clock}.outputs:frame", f"{grow}.inputs:frame")
    graph.connect(f"{grow}.outputs:grown", f"{to}.inputs:value")


def play(stage, tmp_path):
    """The stage with the results of a play, and its warnings."""
    with wp.usd.play(stage, trust=True) as player:
        player.play()
        assert not player.errors
        player.save(tmp_path / "out.usda")
        return Usd.Stage.Open(str(tmp_path / "out.usda")), player.warnings


@pytest.mark.parametrize(
    "path, name, kind",
    [
        ("/Mesh", "points", "point3f[]"),
        ("/Points", "points", "point3f[]"),
        ("/Points", "widths", "float[]"),
        ("/Instancer", "positions", "point3f[]"),
        ("/Instancer/Cube", "size", "double"),
        ("/Sphere", "radius", "double"),
    ],
)
def test_bounds_are_those_of_what_a_play_wrote(stage, tmp_path, path, name, kind):
    write(stage, path, name, kind)
    result, _ = play(stage, tmp_path)
    for frame in FRAMES:
        cache = UsdGeom.BBoxCache(frame, ["default"])
        for prim in ("/Mesh", "/Points", "/Instancer", "/Sphere"):
            boundable = UsdGeom.Boundable(result.GetPrimAtPath(prim))
            expected = UsdGeom.Boundable.ComputeExtentFromPlugins(boundable, frame)
            box = cache.ComputeWorldBound(boundable.GetPrim()).ComputeAlignedRange()
            np.testing.assert_allclose([box.GetMin(), box.GetMax()], expected, atol=1e-6)


def test_bounds_stay_while_points_and_widths_stay(stage, tmp_path):
    write(stage, "/Points", "points", first=4.0)
    write(stage, "/Points", "widths", "float[]", first=5.0)
    result, _ = play(stage, tmp_path)
    points = UsdGeom.Boundable(result.GetPrimAtPath("/Points"))
    for frame in FRAMES:
        expected = UsdGeom.Boundable.ComputeExtentFromPlugins(points, frame)
        np.testing.assert_allclose(points.GetExtentAttr().Get(frame), expected, atol=1e-6)


def test_normals_and_velocities_of_the_scene_end_where_points_move(stage, tmp_path):
    write(stage, "/Mesh", "points", first=3.0)
    result, warnings = play(stage, tmp_path)
    mesh = UsdGeom.Mesh(result.GetPrimAtPath("/Mesh"))
    for attribute in (mesh.GetNormalsAttr(), mesh.GetVelocitiesAttr()):
        assert [attribute.Get(frame) is not None for frame in FRAMES] == [True, True, False, False, False, False]
    assert sum("normals, velocities" in warning and "frame 3" in warning for warning in warnings) == 1


def test_normals_that_a_play_writes_too_stay(stage, tmp_path):
    write(stage, "/Mesh", "points")
    write(stage, "/Mesh", "normals", "normal3f[]")
    write(stage, "/Mesh", "velocities", "vector3f[]")
    result, warnings = play(stage, tmp_path)
    mesh = UsdGeom.Mesh(result.GetPrimAtPath("/Mesh"))
    assert mesh.GetNormalsAttr().Get(5)[0] == (0, 0, 5) and mesh.GetVelocitiesAttr().Get(5)[0] == (0, 5, 0)
    assert warnings == []


def test_normals_of_a_subdivision_surface_are_not_touched(stage, tmp_path):
    UsdGeom.Mesh(stage.GetPrimAtPath("/Mesh")).GetSubdivisionSchemeAttr().Set("loop")
    stage.GetPrimAtPath("/Mesh").RemoveProperty("velocities")
    write(stage, "/Mesh", "points")
    result, warnings = play(stage, tmp_path)
    assert result.GetAttributeAtPath("/Mesh.normals").Get(5)[0] == (0, 0, 1) and warnings == []


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        ("/World/Model/Mesh", "points", "point3f[]"),
        ("/World/Model/Part", "xformOp:translate", "double3"),
        ("/World/Cone", "height", "double"),  # a prototype of the instancer in the model
    ],
)
def test_the_bounds_of_a_model_end_where_something_in_it_moves(tmp_path, path, name, kind):
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(FRAMES[0])
    stage.SetEndTimeCode(FRAMES[-1])
    Usd.ModelAPI(UsdGeom.Xform.Define(stage, "/World")).SetKind("group")
    for model in ("/World/Model", "/World/Still"):
        Usd.ModelAPI(UsdGeom.Xform.Define(stage, model)).SetKind("component")
        mesh = UsdGeom.Mesh.Define(stage, f"{model}/Mesh")
        mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
        UsdGeom.Cube.Define(stage, f"{model}/Part").AddTranslateOp().Set((1, 1, 1))
    UsdGeom.Cone.Define(stage, "/World/Cone").CreateHeightAttr(1.0)
    instancer = UsdGeom.PointInstancer.Define(stage, "/World/Model/Instancer")
    instancer.CreatePrototypesRel().SetTargets(["/World/Cone"])
    instancer.CreateProtoIndicesAttr([0])
    instancer.CreatePositionsAttr([(3, 0, 0)])
    for model in ("/World/Model", "/World/Still"):
        bounds = UsdGeom.BBoxCache(Usd.TimeCode(1), ["default"])
        hint = UsdGeom.ModelAPI.Apply(stage.GetPrimAtPath(model))
        hint.SetExtentsHint(hint.ComputeExtentsHint(bounds))
    if kind == "double3":
        graph = wp.nodes.GraphBuilder(stage, "/Graph")
        clock = graph.node("clock", "omni.graph.nodes.ReadTime")
        place = graph.node("place", "omni.graph.nodes.MakeVector3")
        to = graph.node("write", "omni.graph.nodes.WritePrimAttribute", prim=path, name=name)
        for axis in "xyz":
            graph.connect(f"{clock}.outputs:frame", f"{place}.inputs:{axis}")
        graph.connect(f"{place}.outputs:tuple", f"{to}.inputs:value")
    else:
        write(stage, path, name, kind)
    result, _ = play(stage, tmp_path)
    still = UsdGeom.ModelAPI(result.GetPrimAtPath("/World/Still"))
    assert still.GetExtentsHint(Usd.TimeCode(FRAMES[-1])), "nothing moves in it"
    for frame in FRAMES:
        with_hints, true = (UsdGeom.BBoxCache(frame, ["default"], useExtentsHint=use) for use in (True, False))
        model = result.GetPrimAtPath("/World/Model")
        assert with_hints.ComputeWorldBound(model).GetRange() == true.ComputeWorldBound(model).GetRange(), frame
