"""GeomSubsets of meshes, read and written. The judges are USD's own API and sets of faces written by hand."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdShade

import omni.warp_core as wp


@pytest.fixture
def mesh():
    """A quad, a hole, a triangle and a pentagon."""
    stage = Usd.Stage.CreateInMemory()
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([Gf.Vec3f(x, x * x, 0) for x in range(12)])
    mesh.CreateFaceVertexCountsAttr([4, 3, 3, 5])
    mesh.CreateFaceVertexIndicesAttr([3, 2, 1, 0, 5, 4, 3, 6, 5, 4, 11, 10, 9, 8, 7])
    mesh.CreateHoleIndicesAttr([1])
    yield mesh
    del stage


def subset(mesh, name, elements, indices, family=""):
    return UsdGeom.Subset.CreateGeomSubset(mesh, name, elements, indices, family)


def test_faces_become_the_triangles_that_they_have(mesh):
    subset(mesh, "red", "face", [3, 0], "materialBind")
    subset(mesh, "rest", "face", [1, 2])
    subset(mesh, "none", "face", [])
    read = wp.usd.read_mesh(mesh)
    triangles = np.array(read.faces.list())
    assert list(read.subsets) == ["red", "rest", "none"]
    for name, faces in {"red": {0, 3}, "rest": {1, 2}, "none": set()}.items():
        chosen = read.subsets[name].indices.list()
        assert chosen == sorted(chosen) and set(chosen) == {t for t, face in enumerate(triangles) if face in faces}
    assert (read.subsets["red"].elements, read.subsets["red"].family) == ("face", "materialBind")
    assert read.subsets["rest"].family == "" and read.subsets["rest"].material == ""
    assert len(read.subsets["red"].indices) == 2 + 3


def test_points_and_edges_are_as_in_the_stage(mesh):
    subset(mesh, "tips", "point", [7, 0, 11])
    subset(mesh, "seam", "edge", [0, 1, 1, 2])
    found = wp.usd.read_mesh(mesh).subsets
    assert found["tips"].indices.list() == [7, 0, 11] and found["seam"].indices.list() == [0, 1, 1, 2]
    assert found["tips"].indices.dtype is wp.int32


def test_the_material_of_a_subset_is_named(mesh):
    part = subset(mesh, "red", "face", [0])
    material = UsdShade.Material.Define(mesh.GetPrim().GetStage(), "/Looks/Red")
    UsdShade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(material)
    assert wp.usd.read_mesh(mesh).subsets["red"].material == "/Looks/Red"


def test_subsets_over_time_and_of_instances(mesh):
    stage = mesh.GetPrim().GetStage()
    part = subset(mesh, "red", "face", [])
    part.GetIndicesAttr().Set([0], 1)
    part.GetIndicesAttr().Set([2], 2)
    copy = stage.DefinePrim("/Copies")
    copy.GetReferences().AddInternalReference("/Mesh")
    outer = UsdGeom.Xform.Define(stage, "/Outer").GetPrim()
    UsdGeom.Xform.Define(stage, "/Proto")
    stage.DefinePrim("/Proto/Mesh").GetReferences().AddInternalReference("/Mesh")
    outer.GetReferences().AddInternalReference("/Proto")
    outer.SetInstanceable(True)
    for path in ("/Mesh", "/Copies", "/Outer/Mesh"):
        prim = stage.GetPrimAtPath(path)
        assert wp.usd.read_mesh(prim, 1).subsets["red"].indices.list() == [0, 1]
        assert wp.usd.read_mesh(prim, 2).subsets["red"].indices.list() == [2]


@pytest.mark.parametrize(
    ("elements", "indices", "words"),
    [
        ("face", [0, 4], r"/Mesh/part\.indices\[1\] is 4, and the mesh has 4 faces"),
        ("face", [-1], r"is -1, and the mesh has 4 faces"),
        ("point", [12], r"is 12, and the mesh has 12 points"),
        ("edge", [0, 1, 2], r"has 3 points, and edges have two each"),
        ("tetrahedron", [0], r"/Mesh/part is a subset of elements 'tetrahedron'"),
    ],
)
def test_a_mesh_is_read_without_subsets_that_do_not_fit(mesh, elements, indices, words):
    subset(mesh, "part", elements, indices)
    subset(mesh, "whole", "face", [0])
    with pytest.warns(UserWarning, match=f"{words}.*; the mesh is read without this subset") as told:
        read = wp.usd.read_mesh(mesh)
    assert told[0].filename == __file__ and len(told) == 1
    assert list(read.subsets) == ["whole"] and len(read.points) == 12


def test_what_was_read_is_written(mesh, tmp_path):
    part = subset(mesh, "red", "face", [3, 0], "materialBind")
    UsdShade.MaterialBindingAPI.Apply(part.GetPrim()).Bind(
        UsdShade.Material.Define(mesh.GetPrim().GetStage(), "/Looks/Red")
    )
    subset(mesh, "tips", "point", [7, 0])
    read = wp.usd.read_mesh(mesh)
    stage = Usd.Stage.CreateInMemory()
    wp.usd.write_mesh(stage, "/Out", read.points, read.indices, subsets={**read.subsets, "blue": [1]})
    out = UsdGeom.Mesh(stage.GetPrimAtPath("/Out"))
    parts = {each.GetPrim().GetName(): each for each in UsdGeom.Subset.GetAllGeomSubsets(out)}
    faces = np.array(read.faces.list())
    assert set(parts["red"].GetIndicesAttr().Get()) == set(np.flatnonzero(np.isin(faces, [0, 3])))
    assert list(parts["tips"].GetIndicesAttr().Get()) == [7, 0] and parts["tips"].GetElementTypeAttr().Get() == "point"
    assert list(parts["blue"].GetIndicesAttr().Get()) == [1]
    assert parts["blue"].GetFamilyNameAttr().Get() == parts["red"].GetFamilyNameAttr().Get() == "materialBind"
    bound = UsdShade.MaterialBindingAPI(parts["red"].GetPrim()).GetDirectBinding().GetMaterialPath()
    assert bound == "/Looks/Red"


def test_subsets_are_written_at_the_times_at_which_they_change():
    stage = Usd.Stage.CreateInMemory()
    points, indices = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [0, 1, 2, 2, 1, 3]
    for frame, faces in ((1, [0]), (2, [0]), (3, [1])):
        wp.usd.write_mesh(stage, "/M", points, indices, time=frame, subsets={"part": faces})
    written = stage.GetAttributeAtPath("/M/part.indices")
    assert written.GetTimeSamples() == [1, 3]
    assert [list(written.Get(frame)) for frame in (1, 2, 3)] == [[0], [0], [1]]


@pytest.mark.parametrize(
    ("subsets", "words"),
    [
        ({"a b": [0]}, "'a b' is not a name for a prim"),
        ({"part": [0, 2]}, r"subsets\['part'\]\[1\] is 2, and there are 2 faces"),
        ({"part": [0.5]}, "cannot hold"),
    ],
)
def test_subsets_that_cannot_be_written_leave_nothing_behind(subsets, words):
    stage = Usd.Stage.CreateInMemory()
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    with pytest.raises(ValueError, match=words):
        wp.usd.write_mesh(stage, "/M", points, [0, 1, 2, 2, 1, 3], subsets=subsets)
    assert not stage.GetPrimAtPath("/M")
