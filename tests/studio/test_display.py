"""The geometry that the page draws: instances, volumes, and parts of large clouds. Its judge is NumPy."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.spatial
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

import omni.warp_core as wp
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.live_session import Session, Settings
from omni.warp_core.studio import display as module
from omni.warp_core.studio.display import Display
from omni.warp_core.usd.output_layer import FrameFile

SCENES = Path(__file__).parents[2] / "data" / "scenes"
NOW = Usd.TimeCode(1)
TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], np.float32)


@pytest.fixture
def stage():
    return Usd.Stage.CreateInMemory()


def add_triangle(stage, path):
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(TRIANGLE)
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    return mesh


def test_instances_are_drawn_at_their_places_and_prototypes_alone_are_not(stage):
    instancer = UsdGeom.PointInstancer.Define(stage, "/Copies")
    add_triangle(stage, "/Copies/Kind")
    instancer.CreatePrototypesRel().AddTarget("/Copies/Kind")
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(5, 0, 0), (0, 0, 7)])
    instancer.CreateScalesAttr([(1, 1, 1), (2, 2, 2)])
    display = Display(stage)
    update = display.update(NOW)
    assert update.prims == ("/Copies",)
    wanted = np.concatenate([TRIANGLE + np.float32([5, 0, 0]), 2 * TRIANGLE + np.float32([0, 0, 7])])
    np.testing.assert_array_equal(update.arrays["/Copies"]["vertices"], wanted)
    np.testing.assert_array_equal(update.arrays["/Copies"]["triangles"], [[0, 1, 2], [3, 4, 5]])
    assert not display.update(NOW).arrays
    display.set("/Copies/Kind", "points", "point3f[]", Vt.Vec3fArray.FromNumpy(3 * TRIANGLE), 0.0)
    np.testing.assert_array_equal(display.update(NOW).arrays["/Copies"]["vertices"][:3], 3 * TRIANGLE + [5, 0, 0])


def test_prims_in_instances_are_drawn_and_follow_what_they_are_made_of(stage):
    add_triangle(stage, "/Kind/Mesh")
    for number in range(2):
        copy = UsdGeom.Xform.Define(stage, f"/Copy{number}")
        copy.GetPrim().GetReferences().AddInternalReference("/Kind")
        copy.GetPrim().SetInstanceable(True)
        UsdGeom.XformCommonAPI(copy).SetTranslate((0, 0, 5 * number))
    display = Display(stage)
    update = display.update(NOW)
    copies = ["/Copy0/Mesh", "/Copy1/Mesh"]
    assert set(update.prims) == {"/Kind/Mesh", *copies}
    for path in copies:
        np.testing.assert_array_equal(update.arrays[path]["vertices"], TRIANGLE)
    assert update.matrices["/Copy1/Mesh"][14] == 5
    assert not display.update(NOW).arrays
    display.set("/Kind/Mesh", "points", "point3f[]", Vt.Vec3fArray.FromNumpy(3 * TRIANGLE), 0.0)
    arrays = display.update(NOW).arrays
    for path in ("/Kind/Mesh", *copies):
        np.testing.assert_array_equal(arrays[path]["vertices"], 3 * TRIANGLE)


def test_points_that_are_nan_are_left_out_and_the_others_keep_their_numbers(stage):
    places = np.random.default_rng(1).random((50, 3), np.float32)
    cloud = UsdGeom.Points.Define(stage, "/Cloud")
    cloud.CreateWidthsAttr(np.linspace(1, 2, 50, dtype=np.float32))
    cloud.CreatePointsAttr(np.where(np.arange(50)[:, None] % 10 == 3, np.float32("nan"), places))
    display = Display(stage)
    arrays = display.update(NOW).arrays["/Cloud"]
    numbers = arrays["point_numbers"]
    assert sorted(numbers) == [i for i in range(50) if i % 10 != 3]
    np.testing.assert_array_equal(arrays["points"], places[numbers])
    np.testing.assert_allclose(arrays["radii"], np.linspace(0.5, 1, 50)[numbers], rtol=1e-6)
    assert display.warnings == ["/Cloud has places that are infinite or NaN, and is drawn without them"]
    display.set("/Cloud", "points", "point3f[]", Vt.Vec3fArray.FromNumpy(places), 0.0)
    arrays = display.update(NOW).arrays["/Cloud"]
    np.testing.assert_array_equal(arrays["points"], places)
    assert not len(arrays["point_numbers"]), "the page has all points again"


def test_large_clouds_are_given_in_part_with_the_numbers_of_the_points(stage, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 100)
    places = np.random.default_rng(1).random((250, 3), np.float32)
    cloud = UsdGeom.Points.Define(stage, "/Cloud")
    cloud.CreatePointsAttr(places)
    cloud.CreateWidthsAttr(np.linspace(1, 2, 250, dtype=np.float32))
    arrays = Display(stage).update(NOW).arrays["/Cloud"]
    numbers = arrays["point_numbers"]
    assert len(np.unique(numbers)) == 100 and numbers.min() >= 0 and numbers.max() < 250
    np.testing.assert_array_equal(arrays["points"], places[numbers])
    widths = np.linspace(1, 2, 250, dtype=np.float32)
    np.testing.assert_allclose(arrays["radii"], widths[numbers] / 2 * 2.5**0.5, rtol=1e-6)
    assert arrays["point_colors"].shape == (1, 3)


def test_smoke_of_a_node_comes_as_bytes_in_its_place():
    """The judge is the output of the kernel, which the volume was made of."""
    session = Session.open(str(SCENES / "puff.usda"), Settings(), Log(lambda text: None))
    display = Display(session.stage)
    session.begin()
    session.seek(3, display)
    arrays = display.update(session.host.store.now).arrays["/World/Smoke"]
    attribute = session.loaded.attribute("/World/Graph/puff.outputs:density")
    density = np.asarray(attribute.value, np.float32).reshape(64, 64, 64)
    session.close()
    place = arrays["fog_place"].reshape(4, 4).T.astype(np.float64)
    counts = np.array(arrays["fog"].shape)[::-1]
    cell = 3.0 / 63  # the node that writes the volume gives the cube a size of 3 around the origin of the prim
    low = np.rint((place[:3, 3] + 1.5) / cell).astype(int)
    np.testing.assert_allclose(np.diag(place)[:3], (counts - 1) * cell, rtol=1e-4)
    i, j, k = (np.arange(low[axis], low[axis] + counts[axis]) for axis in range(3))
    inside = [(a >= 0) & (a < 64) for a in (i, j, k)]
    wanted = np.zeros(counts)
    wanted[np.ix_(*inside)] = density[np.ix_(i[inside[0]], j[inside[1]], k[inside[2]])]
    np.testing.assert_allclose(arrays["fog"], 255.0 * wanted.T / wanted.max(), atol=1.5)
    assert wanted.sum() == pytest.approx(density.sum(), rel=1e-4)


def test_a_level_set_comes_as_triangles(stage, tmp_path):
    path = str(tmp_path / "ball.nvdb")
    places = np.stack(np.meshgrid(*[np.arange(-12.0, 13.0)] * 3, indexing="ij"), -1)
    field = np.clip(np.linalg.norm(places, axis=-1) - 8.0, -3, 3).astype(np.float32)
    volume = wp.Volume.load_from_numpy(field, [-3, -3, -3], 0.25, 3.0, device="cpu")
    volume.save_to_nvdb(path)
    smoke = stage.DefinePrim("/Ball", "Volume")
    asset = stage.DefinePrim("/Ball/surface", "OpenVDBAsset")
    asset.CreateAttribute("filePath", Sdf.ValueTypeNames.Asset).Set(path)
    asset.CreateAttribute("fieldClass", Sdf.ValueTypeNames.Token).Set("levelSet")
    smoke.CreateRelationship("field:surface").SetTargets(["/Ball/surface"])
    UsdGeom.Xformable(smoke).AddTranslateOp().Set(Gf.Vec3d(9, 0, 0))
    display = Display(stage)
    arrays = display.update(NOW).arrays["/Ball"]
    assert display.warnings == [] and "fog" not in arrays and len(arrays["triangles"]) > 1000
    np.testing.assert_allclose(np.linalg.norm(arrays["vertices"], axis=1), 2.0, atol=0.02)


def test_files_of_frames_replace_one_another(stage, tmp_path, monkeypatch):
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    display = Display(stage)
    for frame in (1, 2, 3):
        display.attach(FrameFile("A", (("/A", "filePath"),), frame, ".nvdb", lambda path: open(path, "w").close()))
        assert len(os.listdir(tmp_path)) == 1


def test_large_meshes_are_given_coarser_and_move_as_a_whole(stage, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRIANGLES", 500)
    x, z = np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-1, 1, 60))
    points = np.stack([x, 0.2 * np.sin(5 * x), z], axis=-1).reshape(-1, 3).astype(np.float32)
    corner = (np.arange(59)[:, None] * 60 + np.arange(59)).reshape(-1)
    quads = np.stack([corner, corner + 60, corner + 61, corner + 1], axis=-1)
    mesh = UsdGeom.Mesh.Define(stage, "/Sheet")
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    mesh.CreateFaceVertexCountsAttr([4] * len(quads))
    mesh.CreateFaceVertexIndicesAttr(quads.reshape(-1).tolist())
    mesh.CreateSubdivisionSchemeAttr("none")
    display = Display(stage)
    arrays = display.update(NOW).arrays["/Sheet"]
    numbers, triangles = arrays["vertex_numbers"], arrays["triangles"]
    assert 250 < len(triangles) <= 500 and triangles.max() < len(numbers)
    np.testing.assert_array_equal(arrays["vertices"], points[numbers])
    gaps, _ = scipy.spatial.cKDTree(points[numbers]).query(points)
    assert gaps.max() < 0.3  # every part of the surface has a vertex near it
    assert all(len({*corners}) == 3 for corners in triangles.tolist())
    moved = points + np.float32([0, 3, 0])
    display.set("/Sheet", "points", "point3f[]", Vt.Vec3fArray.FromNumpy(moved), 0.0)
    changed = display.update(NOW).arrays["/Sheet"]
    np.testing.assert_array_equal(changed["vertices"], moved[numbers])
    assert "triangles" not in changed
    assert display.warnings == [f"/Sheet has 6,962 triangles; the viewport draws it with {len(triangles):,}"]


def test_prims_are_told_when_others_are_there_and_one_that_appears_goes_on_to_change(stage):
    add_triangle(stage, "/Still")
    late = add_triangle(stage, "/Late")
    for time in (1, 2, 3, 4):
        late.GetVisibilityAttr().Set("inherited" if time > 2 else "invisible", time)
        late.GetPointsAttr().Set(time * TRIANGLE, time)
    display = Display(stage)
    assert display.update(NOW).prims == ("/Still",)
    assert display.update(Usd.TimeCode(2)).prims is None
    for time in (3, 4):
        update = display.update(Usd.TimeCode(time))
        assert update.prims == (("/Still", "/Late") if time == 3 else None)
        assert update.arrays.keys() == {"/Late"}
        np.testing.assert_array_equal(update.arrays["/Late"]["vertices"], time * TRIANGLE)
    assert display.update(Usd.TimeCode(1)).prims == ("/Still",)
