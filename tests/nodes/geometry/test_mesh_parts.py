"""GeomSubsets that ReadMesh reads. The judges are sets of faces written by hand, and wp.usd.read_mesh."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import omni.warp_core as wp


@pytest.fixture
def stage():
    """A quad, a hole, a triangle and a pentagon, with subsets of faces, points and edges."""
    stage = Usd.Stage.CreateInMemory()
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(2)
    mesh = UsdGeom.Mesh.Define(stage, "/Mesh")
    mesh.CreatePointsAttr([(x, x * x, 0) for x in range(12)])
    mesh.CreateFaceVertexCountsAttr([4, 3, 3, 5])
    mesh.CreateFaceVertexIndicesAttr([3, 2, 1, 0, 5, 4, 3, 6, 5, 4, 11, 10, 9, 8, 7])
    mesh.CreateHoleIndicesAttr([1])
    UsdGeom.Subset.CreateGeomSubset(mesh, "red", "face", [3, 0, 1])
    UsdGeom.Subset.CreateGeomSubset(mesh, "tips", "point", [7, 0, 7])
    UsdGeom.Subset.CreateGeomSubset(mesh, "seam", "edge", [2, 1, 1, 0])
    UsdGeom.Subset.CreateGeomSubset(mesh, "moving", "face", []).GetIndicesAttr().Set([0], 0)
    stage.GetAttributeAtPath("/Mesh/moving.indices").Set([2], 1)
    return stage


def played(stage, frames=1, **inputs):
    """The faces, the points and the triangles of a subset, and the errors of the play."""
    stage.RemovePrim("/Graph")
    wp.nodes.GraphBuilder(stage, "/Graph").node("read", "omni.warp_core.ReadMesh", prim="/Mesh", **inputs)
    with wp.usd.play(stage) as player:
        player.play(frames)
        names = ("subsetFaces", "subsetPoints", "subsetTriangles")
        return [player.get(f"/Graph/read.outputs:{name}").tolist() for name in names], str(player.errors)


def test_faces_with_their_points_and_triangles(stage):
    (faces, points, triangles), _ = played(stage, subset="red")
    assert faces == [0, 1, 3] and points == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
    read = wp.usd.read_mesh(stage.GetPrimAtPath("/Mesh"))
    whole = read.indices.numpy().reshape(-1, 3)
    assert np.array_equal(np.reshape(triangles, (-1, 3)), whole[read.subsets["red"].indices.numpy()])
    assert len(triangles) == 3 * (2 + 3), "a hole has no triangles"


@pytest.mark.parametrize(("subset", "points"), [("tips", [0, 7]), ("seam", [0, 1, 2])])
def test_points_and_edges_have_points_alone(stage, subset, points):
    assert played(stage, subset=subset)[0] == [[], points, []]


def test_a_subset_over_time_and_none(stage):
    assert played(stage, frames=1, subset="moving")[0][0] == [0]
    assert played(stage, frames=2, subset="moving")[0][0] == [2]
    assert played(stage, frames=2, subset="moving", usdTimecode=0.0)[0][0] == [0]
    assert played(stage)[0] == [[], [], []]


@pytest.mark.parametrize(
    ("subset", "attribute", "value", "words"),
    [
        ("tip", "indices", [0], "/Mesh has no GeomSubset 'tip' below it; did you mean tips?"),
        ("red", "indices", [0, 4], "/Mesh/red.indices has 4, and the mesh has 4 faces"),
        ("red", "elementType", "tetrahedron", "/Mesh/red is a subset of elements 'tetrahedron'"),
    ],
)
def test_subsets_that_do_not_fit_are_told(stage, subset, attribute, value, words):
    stage.GetPrimAtPath("/Mesh/red").GetAttribute(attribute).Set(value)
    assert words in played(stage, subset=subset)[1]
