"""Geometry that `wp.usd` writes: as USD reads it back, as `wp.usd` does, and files that are whole."""

import os
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdVol

import omni.warp_core as wp
from tests.usd.validation import require_valid

TETRA = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
SIDES = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]


@pytest.fixture
def stage():
    made = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(made, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(made, 1.0)
    made.SetDefaultPrim(UsdGeom.Xform.Define(made, "/World").GetPrim())
    return made


def save_and_check(stage, folder):
    wp.usd.save(stage, folder / "checked.usdc")
    require_valid(folder / "checked.usdc")


def test_a_mesh_as_usd_reads_it(stage, tmp_path):
    points = wp.array(TETRA, dtype=wp.vec3)
    prim = wp.usd.write_mesh(
        stage, "/World/Tetra", points, wp.array(SIDES, dtype=int),
        normals=np.tile([0.0, 0.0, 1.0], (12, 1)), uvs=np.arange(8.0).reshape(4, 2), colors=[(1, 0, 0)],
        velocities=points, primvars={"mass": wp.array([0.5] * 4, dtype=float), "part": ("a", "b", "c", "d")},
    )  # fmt: skip
    mesh = UsdGeom.Mesh(prim)
    assert [tuple(p) for p in mesh.GetPointsAttr().Get()] == TETRA and list(mesh.GetFaceVertexCountsAttr().Get()) == [
        3
    ] * 4
    assert list(mesh.GetFaceVertexIndicesAttr().Get()) == SIDES
    assert mesh.GetSubdivisionSchemeAttr().Get() == "none" and mesh.GetExtentAttr().Get()[1] == Gf.Vec3f(1, 1, 1)
    wanted = {
        "normals": ("normal3f[]", "faceVarying", 12), "st": ("texCoord2f[]", "vertex", 4),
        "displayColor": ("color3f[]", "constant", 1), "mass": ("float[]", "vertex", 4),
        "part": ("string[]", "vertex", 4),
    }  # fmt: skip
    found = {p.GetPrimvarName(): p for p in UsdGeom.PrimvarsAPI(mesh).GetPrimvarsWithAuthoredValues()}
    assert {n: (str(p.GetTypeName()), p.GetInterpolation(), len(p.Get())) for n, p in found.items()} == wanted
    assert mesh.GetVelocitiesAttr().Get() == mesh.GetPointsAttr().Get()
    save_and_check(stage, tmp_path)


def test_polygons_and_faces(stage):
    points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0)]
    prim = wp.usd.write_mesh(stage, "/World/M", points, [0, 1, 2, 3, 1, 4, 2], [4, 3], colors=[(1, 0, 0), (0, 1, 0)])
    assert UsdGeom.Mesh(prim).GetDisplayColorPrimvar().GetInterpolation() == "uniform"
    assert wp.usd.read_mesh(prim).primvars["displayColor"].values.numpy()[:, 0].tolist() == [1, 1, 0]


def test_topology_is_written_where_it_changes(stage, tmp_path):
    prim = None
    for frame in range(6):
        count = 3 if frame < 3 else 4
        points = np.array(TETRA[:count]) + np.array([0, 0, frame])
        indices = [0, 1, 2] if frame < 3 else SIDES
        prim = wp.usd.write_mesh(stage, "/World/M", points, indices, time=frame)
    mesh = UsdGeom.Mesh(prim)
    assert mesh.GetPointsAttr().GetTimeSamples() == [0, 1, 2, 3, 4, 5]
    assert mesh.GetFaceVertexIndicesAttr().GetTimeSamples() == [0, 3]
    assert mesh.GetFaceVertexCountsAttr().GetTimeSamples() == [0, 3]
    save_and_check(stage, tmp_path)


@settings(max_examples=80, deadline=None)
@given(st.permutations(range(6)), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_frames_may_be_written_in_any_order(order, kinds):
    stage = Usd.Stage.CreateInMemory()
    topologies = [[0, 1, 2], [0, 2, 1, 0, 1, 3], SIDES]
    for frame in order:
        prim = wp.usd.write_mesh(stage, "/M", TETRA, topologies[kinds[frame]], time=frame)
    for frame in range(6):
        assert wp.usd.read_mesh(prim, frame).indices.list() == topologies[kinds[frame]]


@pytest.mark.parametrize("time", [0, 1, 3, 4, 5])
def test_a_frame_of_a_mesh_whose_faces_are_a_default(stage, time):
    mesh = UsdGeom.Mesh.Define(stage, "/Cache")
    mesh.CreateFaceVertexCountsAttr([4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    for frame in range(1, 5):
        mesh.CreatePointsAttr().Set([(0, 0, frame), (1, 0, frame), (1, 1, frame), (0, 1, frame)], frame)
    wp.usd.write_mesh(stage, "/Cache", TETRA[:3], [0, 1, 2], time=time)
    for frame in {1, 2, 3, 4, time}:
        assert list(mesh.GetFaceVertexCountsAttr().Get(frame)) == ([3] if frame == time else [4])


def test_a_left_handed_subdivided_mesh_with_holes_is_replaced_as_a_whole(stage):
    mesh = UsdGeom.Mesh.Define(stage, "/World/M")
    mesh.CreateOrientationAttr("leftHanded")
    mesh.CreateHoleIndicesAttr([0])
    prim = wp.usd.write_mesh(stage, "/World/M", TETRA, SIDES)
    assert wp.usd.read_mesh(prim).indices.list() == SIDES


PRIMVARS = {
    "vector": wp.array([(1.0, 2.0)] * 4, dtype=wp.vec2),
    "ids": wp.array([2**40] * 4, dtype=wp.int64),
    "turn": wp.array([wp.quat(0.0, 0.0, 1.0, 0.0)] * 4, dtype=wp.quat),
    "frames": wp.array(np.tile(np.arange(16.0), (4, 1)).reshape(4, 4, 4), dtype=wp.mat44d),
    "half": wp.array(np.full(4, 0.5, np.float16), dtype=wp.float16),
    "weights": wp.array([[0.25, 0.75]] * 4, dtype=float),
    "flags": wp.array([True, False, True, True], dtype=wp.bool),
}


@pytest.mark.parametrize("name", PRIMVARS)
def test_arrays_come_back_as_they_were(stage, name):
    given = PRIMVARS[name]
    read = wp.usd.read_mesh(wp.usd.write_mesh(stage, "/World/M", TETRA, [0, 1, 2], primvars={name: given})).primvars[
        name
    ]
    assert read.interpolation == "vertex" and read.values.dtype is given.dtype and read.values.shape == given.shape
    assert np.array_equal(read.values.numpy(), given.numpy())


def test_a_mesh_that_was_read_is_written_the_same(stage):
    mesh = UsdGeom.Mesh.Define(stage, "/World/A")
    mesh.CreatePointsAttr([(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (1, 3, 0)])
    mesh.CreateFaceVertexCountsAttr([4, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3, 3, 2, 4])
    mesh.CreateNormalsAttr([(0, 0, 1)] * 7)
    mesh.SetNormalsInterpolation("faceVarying")
    mesh.CreateDisplayColorPrimvar("uniform").Set([(1, 0, 0), (0, 1, 0)])
    first = wp.usd.read_mesh(mesh)
    prim = wp.usd.write_mesh(
        stage, "/World/B", first.points, first.indices, normals=first.normals, primvars=first.primvars
    )
    second = wp.usd.read_mesh(prim)
    for name in ("points", "indices"):
        assert getattr(first, name).list() == getattr(second, name).list()
    assert first.normals.values.list() == second.normals.values.list()
    colors = [m.primvars["displayColor"] for m in (first, second)]
    assert colors[0].values.list() == colors[1].values.list()
    assert {(c.interpolation, c.type_name) for c in colors} == {("uniform", "color3f[]")}


MISTAKES = {
    "indices[2] is 4, and there are 4 points": lambda s: wp.usd.write_mesh(s, "/World/M", TETRA, [0, 1, 4]),
    "indices has 4 numbers, which are no triangles": lambda s: wp.usd.write_mesh(s, "/World/M", TETRA, [0, 1, 2, 3]),
    "counts has 7 corners in 2 faces, and indices has 4": (
        lambda s: wp.usd.write_mesh(s, "/W", TETRA, [0, 1, 2, 3], [4, 3])
    ),
    "points has the shape (2, 2)": lambda s: wp.usd.write_mesh(s, "/World/M", [(0, 1), (2, 3)], []),
    "displayColor has 2 values; the counts that fit are 4 (vertex), 3 (faceVarying), 1 (uniform)": (
        lambda s: wp.usd.write_mesh(s, "/World/M", TETRA, [0, 1, 2], colors=[(1, 0, 0)] * 2)
    ),
    "velocities has 1 rows for 4 points": (
        lambda s: wp.usd.write_mesh(s, "/W", TETRA, [0, 1, 2], velocities=[(0, 0, 0)])
    ),
    "widths has 2 numbers": lambda s: wp.usd.write_points(s, "/World/P", TETRA, [1.0, 2.0]),
    "ids has 1 numbers for 4 points": lambda s: wp.usd.write_points(s, "/World/P", TETRA, ids=[7]),
    "starts goes from 0 up to the number of points, 4": lambda s: wp.usd.write_curves(s, "/World/C", TETRA, [0, 5]),
    "'World/M' is no absolute path": lambda s: wp.usd.write_mesh(s, "World/M", TETRA, [0, 1, 2]),
    "/World.x is no path of a prim": lambda s: wp.usd.write_mesh(s, "/World.x", TETRA, [0, 1, 2]),
    "/World is Xform already, and Mesh was to be written": lambda s: wp.usd.write_mesh(s, "/World", TETRA, [0, 1, 2]),
    "indices[0] is 1, and there are 1 prototypes": lambda s: wp.usd.write_instancer(s, "/W", ["/A"], [1], [(0, 0, 0)]),
    "scales has 2 rows for 1 instances": (
        lambda s: wp.usd.write_instancer(s, "/W", ["/A"], [0], [(0, 0, 0)], scales=[(1, 1, 1)] * 2)
    ),
    "indices[1] is 1.5, which int32 cannot hold": lambda s: wp.usd.write_mesh(s, "/W", TETRA, [0, 1.5, 2]),
    "indices[2] is nan, which int32 cannot hold": lambda s: wp.usd.write_mesh(s, "/W", TETRA, [0, 1, np.nan]),
    "indices[0] is 4294967296, which int32": lambda s: wp.usd.write_mesh(s, "/W", TETRA, np.array([2**32, 1, 2])),
    "x[3] is 1099511627776, which int32": (
        lambda s: wp.usd.write_mesh(s, "/W", TETRA, [0, 1, 2], primvars={"x": [0, 1, 2, 2**40]})
    ),
    "scale has the shape (2,)": lambda s: wp.usd.write_transform(s, "/W", wp.transform_identity(), (1.0, 2.0)),
    "scale has the shape ()": lambda s: wp.usd.write_transform(s, "/W", wp.transform_identity(), 2.0),
    "transform has 9 numbers": lambda s: wp.usd.write_transform(s, "/World", np.eye(3)),
    "the last row of transform is [5.0, 6.0, 7.0, 1.0]: the matrix is for row vectors": (
        lambda s: wp.usd.write_transform(s, "/World", np.array(Gf.Matrix4d().SetTranslate((5, 6, 7))))
    ),
    "USD has no type for arrays of float32 with elements of shape (5,)": (
        lambda s: wp.usd.write_mesh(s, "/World/M", TETRA, [0, 1, 2], primvars={"x": np.zeros((4, 5), np.float32)})
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_named(stage, message):
    with pytest.raises((ValueError, wp.usd.StageError)) as caught:
        MISTAKES[message](stage)
    assert message in str(caught.value)


def test_a_mesh_over_a_moving_one_of_a_reference(stage, tmp_path):
    there = Usd.Stage.CreateNew(str(tmp_path / "moving.usda"))
    quad = UsdGeom.Mesh.Define(there, "/M")
    there.SetDefaultPrim(quad.GetPrim())
    for time in (1.0, 10.0):
        quad.CreatePointsAttr().Set([(0, 0, time), (1, 0, 0), (1, 1, 0), (0, 1, 0)], time)
    quad.CreateFaceVertexCountsAttr([4])
    quad.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
    there.Save()
    prim = stage.DefinePrim("/World/M")
    prim.GetReferences().AddReference(str(tmp_path / "moving.usda"))
    for time in range(2, 6):
        wp.usd.write_mesh(stage, "/World/M", [(0, 0, time), (1, 0, 0), (0, 1, 0)], [0, 1, 2], time=time)
    for time in (1, 2, 3.5, 5, 9, 10, 20):  # samples of the reference are hidden, and those of its topology with them
        assert wp.usd.read_mesh(prim, time).indices.list() == [0, 1, 2]
    assert prim.GetAttribute("faceVertexCounts").GetTimeSamples() == [2.0]


def test_a_layer_in_memory_is_not_lost_in_silence(stage, tmp_path):
    edits = Sdf.Layer.CreateAnonymous("edits.usda")
    stage.GetRootLayer().subLayerPaths.append(edits.identifier)
    stage.SetEditTarget(edits)
    wp.usd.write_points(stage, "/World/P", TETRA)
    with pytest.raises(wp.usd.OutputError, match=r"saved\.usda: the stage includes anon:.*edits\.usda, which is"):
        wp.usd.save(stage, tmp_path / "saved.usda")
    assert not (tmp_path / "saved.usda").exists()


def test_a_primvar_keeps_its_interpolation_over_time(stage):
    prim = wp.usd.write_mesh(stage, "/World/M", TETRA, SIDES, colors=[(1, 0, 0)] * 4, time=1)
    wp.usd.write_mesh(stage, "/World/M", TETRA[:3], [0, 1, 2], colors=[(0, 1, 0)], time=2)
    read = wp.usd.read_mesh(prim, 2).primvars["displayColor"]
    assert read.interpolation == "vertex" and read.values.numpy().tolist() == [[0, 1, 0]] * 3, "one for all is repeated"
    with pytest.raises(wp.usd.StageError, match=r"displayColor is there as color3f\[\] with interpolation 'vertex'"):
        wp.usd.write_mesh(stage, "/World/M", TETRA, SIDES, colors=[(1, 0, 0)] * 12, time=3)


def test_one_value_is_for_all(stage):
    for name, points, indices in (("One", TETRA[:3], [0, 1, 2]), ("More", TETRA, SIDES)):
        prim = wp.usd.write_mesh(stage, f"/World/{name}", points, indices, colors=[(1, 0, 0)])
        assert UsdGeom.Mesh(prim).GetDisplayColorPrimvar().GetInterpolation() == "constant"


def test_instance_proxies_cannot_be_written(stage):
    wp.usd.write_mesh(stage, "/Model/M", TETRA, SIDES)
    instance = stage.DefinePrim("/World/I")
    instance.GetReferences().AddInternalReference("/Model")
    instance.SetInstanceable(True)
    with pytest.raises(wp.usd.StageError, match="/World/I/M cannot be written"):
        wp.usd.write_mesh(stage, "/World/I/M", TETRA, SIDES)


# -- points, curves, transforms, instancers, volumes ------------------------------------------------------------------


def test_points_there_and_back(stage, tmp_path):
    for frame in (1, 2):
        prim = wp.usd.write_points(
            stage, "/World/P", np.array(TETRA) * frame, [0.5, 1.0, 1.5, 2.0], frame, ids=[4, 3, 2, 1],
            colors=np.eye(4)[:, :3], velocities=TETRA,
        )  # fmt: skip
    read = wp.usd.read_points(prim, 2)
    assert np.array_equal(read.points.numpy(), np.array(TETRA) * 2) and read.widths.list() == [0.5, 1.0, 1.5, 2.0]
    assert read.ids.list() == [4, 3, 2, 1] and read.velocities.numpy().tolist() == np.array(TETRA, float).tolist()
    assert UsdGeom.Points(prim).GetWidthsInterpolation() == "vertex"
    cloud = UsdGeom.Points(prim)
    wanted = UsdGeom.Points.ComputeExtent(cloud.GetPointsAttr().Get(2), cloud.GetWidthsAttr().Get(2))
    assert np.allclose(cloud.GetExtentAttr().Get(2), wanted)
    save_and_check(stage, tmp_path)


def test_curves_there_and_back(stage, tmp_path):
    points = np.random.default_rng(2).random((7, 3)).astype(np.float32)
    prim = wp.usd.write_curves(stage, "/World/C", points, [0, 3, 3, 7], 0.1, colors=[(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    read = wp.usd.read_curves(prim)
    assert np.array_equal(read.points.numpy(), points) and read.starts.list() == [0, 3, 3, 7]
    assert read.widths.numpy().tolist() == [np.float32(0.1)]
    assert read.primvars["displayColor"].interpolation == "uniform"
    save_and_check(stage, tmp_path)


def to_world(stage, path, time=None):
    code = Usd.TimeCode.Default() if time is None else Usd.TimeCode(time)
    return np.array(UsdGeom.XformCache(code).GetLocalToWorldTransform(stage.GetPrimAtPath(path))).T


@pytest.mark.parametrize("counts", [(4, 4, 4), (1, 3, 2), (3, 1, 2)])
@pytest.mark.parametrize("kinds", [(True, False, True), (False, True, False), (False, False, True)])
@pytest.mark.parametrize("kind", ["points", "curves"])
def test_widths_have_one_interpolation_over_time(stage, kind, kinds, counts):
    write, read = getattr(wp.usd, f"write_{kind}"), getattr(wp.usd, f"read_{kind}")
    written = {}
    for time, (is_one, count) in enumerate(zip(kinds, counts)):
        written[time] = np.full(count, time + 0.5, np.float32)
        points = np.arange(3 * count).reshape(count, 3)
        prim = write(stage, "/Thing", points, widths=time + 0.5 if is_one else written[time], time=time)
    for time, widths in written.items():
        found = read(prim, time).widths.numpy()
        assert len(prim.GetAttribute("widths").Get(time)) in (1, len(widths))
        assert np.array_equal(np.resize(found, len(widths)), widths)
    kept = prim.GetAttribute("widths")
    sizes = {len(kept.Get(time)) == len(widths) for time, widths in written.items()}
    assert kept.GetMetadata("interpolation") == "constant" or sizes == {True}


def test_transforms(stage):
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5)
    wp.usd.write_transform(stage, "/World/Body", wp.transform(wp.vec3(1.0, 2.0, 3.0), turn), scale=(2, 3, 4))
    c, s = np.cos(0.5), np.sin(0.5)
    wanted = [[2 * c, -3 * s, 0, 1], [2 * s, 3 * c, 0, 2], [0, 0, 4, 3], [0, 0, 0, 1]]
    assert np.allclose(to_world(stage, "/World/Body"), wanted, atol=1e-6)
    matrix = np.random.default_rng(1).random((4, 4))
    matrix[3] = [0, 0, 0, 1]
    wp.usd.write_transform(stage, "/World/Other", wp.mat44(matrix))
    assert np.allclose(to_world(stage, "/World/Other"), matrix, atol=1e-6)
    with pytest.raises(wp.usd.StageError, match=r"/World/Other has the operations xformOp:transform"):
        wp.usd.write_transform(stage, "/World/Other", wp.transform_identity())


@pytest.mark.parametrize("kind", [Gf.Matrix4d, Gf.Matrix4f])
def test_matrices_of_pxr_are_for_row_vectors(stage, kind):
    given = kind(Gf.Matrix4d(Gf.Rotation((0, 0, 1), 30), (5, 6, 7)))
    prim = wp.usd.write_transform(stage, "/World/Moved", given)
    written = UsdGeom.Xformable(prim).GetLocalTransformation()
    assert written == Gf.Matrix4d(given) and written.ExtractTranslation() == (5, 6, 7)


@pytest.mark.parametrize("kind", [tuple, list, np.array, lambda factors: wp.vec3(*factors)])
def test_scales_of_any_kind(stage, kind):
    prim = wp.usd.write_transform(stage, "/Body", wp.transform_identity(), kind((1.0, 2.0, 3.0)))
    assert prim.GetAttribute("xformOp:scale").Get() == Gf.Vec3f(1, 2, 3)


def test_rigid_motion_between_samples(stage):
    for time, angle in ((0, 0.0), (10, np.pi / 2)):
        turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), float(angle))
        wp.usd.write_transform(stage, "/World/Body", wp.transform(wp.vec3(float(time), 0.0, 0.0), turn), time=time)
    half = to_world(stage, "/World/Body", 5)
    assert half[0, 3] == 5.0 and np.allclose(half[:2, 0], [np.sqrt(0.5)] * 2, atol=1e-6)


def test_a_mesh_can_be_moved(stage):
    wp.usd.write_mesh(stage, "/World/M", TETRA, SIDES)
    prim = wp.usd.write_transform(stage, "/World/M", wp.transform(wp.vec3(5.0, 0.0, 0.0), wp.quat_identity()))
    assert prim.GetTypeName() == "Mesh" and wp.usd.read_mesh(prim, world=True).extent[0] == wp.vec3(5.0, 0.0, 0.0)


def test_instancers_there_and_back(stage, tmp_path):
    UsdGeom.Cone.Define(stage, "/World/Trees/Fir")
    quarter = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), np.pi / 2)
    prim = wp.usd.write_instancer(
        stage, "/World/Trees", ["/World/Trees/Fir"], [0, 0], [(1, 2, 3), (4, 5, 6)],
        wp.array([wp.quat_identity(), quarter], dtype=wp.quat), [(1, 1, 1), (2, 2, 2)], ids=[8, 9],
    )  # fmt: skip
    read = wp.usd.read_instancer(prim)
    first = [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    assert read.ids.list() == [8, 9] and np.allclose(read.transforms.numpy()[0], first)
    assert np.allclose(read.transforms.numpy()[1], [[0, -2, 0, 4], [2, 0, 0, 5], [0, 0, 2, 6], [0, 0, 0, 1]], atol=2e-3)
    save_and_check(stage, tmp_path)


def test_volumes_there_and_back(stage, tmp_path):
    (tmp_path / "smoke.nvdb").write_bytes(b"")
    prim = wp.usd.write_volume(stage, "/World/Smoke", {"density": (str(tmp_path / "smoke.nvdb"), "rho")})
    assert prim.IsA(UsdVol.Volume)
    wp.usd.save(stage, tmp_path / "smoke.usda")
    assert "@./smoke.nvdb@" in (tmp_path / "smoke.usda").read_text()
    again = Usd.Stage.Open(str(tmp_path / "smoke.usda"))
    field = wp.usd.read_volume(again.GetPrimAtPath("/World/Smoke"))["density"]
    assert (field.file, field.grid) == (str(tmp_path / "smoke.nvdb"), "rho")


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.usda", "a.usdc", "a.usd"])
def test_saved_stages(stage, tmp_path, name):
    wp.usd.write_mesh(stage, "/World/M", TETRA, SIDES)
    target = tmp_path / name
    victim = tmp_path / "victim"
    victim.write_text("mine")
    target.symlink_to(victim)
    wp.usd.save(stage, target)
    assert victim.read_text() == "mine" and not target.is_symlink() and sorted(os.listdir(tmp_path)) == [name, "victim"]
    again = Usd.Stage.Open(str(target))
    assert wp.usd.read_mesh(again.GetPrimAtPath("/World/M")).indices.list() == SIDES
    assert again.GetDefaultPrim().GetPath() == "/World"
    assert target.read_bytes().startswith(b"#usda" if name == "a.usda" else b"PXR-USDC")


def test_assets_are_found_from_the_new_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    part = Usd.Stage.CreateNew(str(tmp_path / "in" / "part.usda"))
    part.SetDefaultPrim(UsdGeom.Xform.Define(part, "/Part").GetPrim())
    part.Save()
    whole = Usd.Stage.CreateNew(str(tmp_path / "in" / "whole.usda"))
    whole.DefinePrim("/A").GetReferences().AddReference("./part.usda")
    whole.DefinePrim("/B").GetReferences().AddReference(str(tmp_path / "in" / "part.usda"))
    wp.usd.save(whole, tmp_path / "out" / "copy.usda")
    again = Usd.Stage.Open(str(tmp_path / "out" / "copy.usda"))
    assert [again.GetPrimAtPath(p).GetTypeName() for p in ("/A", "/B")] == ["Xform", "Xform"]
    assert (tmp_path / "out" / "copy.usda").read_text().count("@../in/part.usda@") == 2
    assert str(tmp_path) not in whole.GetRootLayer().ExportToString().replace(str(tmp_path / "in" / "part.usda"), "")


@pytest.mark.parametrize("name", ["ball.usda", "./ball.usda", "sub/ball.usda"])
@pytest.mark.parametrize("root", [None, "/dev/shm"])
def test_references_are_found_from_anywhere(tmp_path, name, root):
    (tmp_path / "sub").mkdir()
    ball = Usd.Stage.CreateNew(str(tmp_path / name))
    ball.SetDefaultPrim(UsdGeom.Sphere.Define(ball, "/Ball").GetPrim())
    ball.Save()
    stage = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    stage.DefinePrim("/Copy").GetReferences().AddReference(name)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        wp.usd.save(stage, f"{folder}/saved.usdc")
        saved = Usd.Stage.Open(f"{folder}/saved.usdc")
        assert saved.GetPrimAtPath("/Copy").GetTypeName() == "Sphere"


def test_a_stage_may_be_saved_over_its_own_file(tmp_path):
    path = str(tmp_path / "a.usdc")
    stage = Usd.Stage.CreateNew(path)
    wp.usd.write_mesh(stage, "/M", TETRA, SIDES)
    wp.usd.save(stage, path)
    wp.usd.write_mesh(stage, "/N", TETRA, SIDES)
    wp.usd.save(stage, path)
    again = Sdf.Layer.OpenAsAnonymous(path)
    assert again.GetPrimAtPath("/M") and again.GetPrimAtPath("/N")


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.obj", r"must end in \.usdc, \.usda or \.usd"), ("no/a.usda", "there is no folder"), (".usda", "must end in")],
)
def test_files_that_cannot_be(stage, tmp_path, name, message):
    with pytest.raises(wp.usd.OutputError, match=message):
        wp.usd.save(stage, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_widths_that_do_not_fit(stage):
    with pytest.raises(ValueError, match="widths has 2 numbers; the counts that fit are 1, 4"):
        wp.usd.write_points(stage, "/P", np.zeros((4, 3)), widths=[1, 2])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_extents_are_those_of_the_points_that_are_somewhere(bad):
    stage = Usd.Stage.CreateInMemory()
    places = [(0.0, 0.0, 0.0), (bad, 5.0, 0.0), (1.0, 2.0, 3.0), (9.0, 9.0, 9.0)]
    wp.usd.write_points(stage, "/P", places, widths=[1.0, 1.0, 2.0, bad])
    extent = UsdGeom.Points(stage.GetPrimAtPath("/P")).GetExtentAttr().Get()
    assert np.array_equal(extent, [(-0.5, -0.5, -0.5), (2.0, 3.0, 4.0)])
    wp.usd.write_mesh(stage, "/M", places[:3], [0, 1, 2])
    assert wp.usd.read_mesh(stage.GetPrimAtPath("/M")).extent == (wp.vec3(0.0), wp.vec3(1.0, 2.0, 3.0))
    wp.usd.write_points(stage, "/Q", [(bad, bad, bad), (3e38, 0.0, 0.0)], widths=[1.0, 3e38])
    assert np.array_equal(UsdGeom.Points(stage.GetPrimAtPath("/Q")).GetExtentAttr().Get(), np.zeros((2, 3)))


def test_hints_of_bounds_above_what_is_written_end(stage):
    """A viewer takes the bounds of a model from its hint; it computes them where a hint is missing."""
    world = stage.GetPrimAtPath("/World")
    for path in ("/World", "/World/Model", "/World/Other"):
        prim = UsdGeom.Xform.Define(stage, path).GetPrim()
        Usd.ModelAPI(prim).SetKind("component" if path != "/World" else "assembly")
        UsdGeom.ModelAPI.Apply(prim).SetExtentsHint([(0, 0, 0), (1, 1, 1)], 1)
    wp.usd.write_mesh(stage, "/World/Model/Tetra", 9 * np.array(TETRA), SIDES, time=1)
    cache = UsdGeom.BBoxCache(1, [UsdGeom.Tokens.default_], useExtentsHint=True)
    assert list(cache.ComputeWorldBound(world).GetRange().GetMax()) == [9, 9, 9]
    assert stage.GetAttributeAtPath("/World/Other.extentsHint").Get(1) is not None


def bounded(stage, path):
    """What a viewer takes for the bounds of a prim in its own space: its authored bounds, or the computed ones."""
    box = UsdGeom.BBoxCache(1.0, [UsdGeom.Tokens.default_], useExtentsHint=True)
    reach = box.ComputeUntransformedBound(stage.GetPrimAtPath(path)).ComputeAlignedRange()
    return [*reach.GetMin()], [*reach.GetMax()]


def old_instancer(stage):
    """A point instancer with bounds of before, and a prototype below it."""
    wp.usd.write_mesh(stage, "/World/Many/Tetra", TETRA, SIDES)
    places = [(0, 0, 0), (1, 0, 0)]
    wp.usd.write_instancer(stage, "/World/Many", ["/World/Many/Tetra"], [0, 0], places)
    UsdGeom.PointInstancer(stage.GetPrimAtPath("/World/Many")).CreateExtentAttr([(0, 0, 0), (2, 1, 1)])
    return stage.GetAttributeAtPath("/World/Many.extent")


def test_old_bounds_of_an_instancer_end_where_its_places_are_written(stage):
    extent = old_instancer(stage)
    wp.usd.write_instancer(stage, "/World/Many", ["/World/Many/Tetra"], [0, 0], [(0, 0, 0), (9, 0, 0)], time=1)
    assert not extent.HasAuthoredValue()
    assert bounded(stage, "/World/Many") == ([0, 0, 0], [10, 1, 1])


def test_old_bounds_of_an_instancer_end_where_a_prototype_is_written(stage):
    extent = old_instancer(stage)
    wp.usd.write_mesh(stage, "/World/Many/Tetra", 5.0 * np.array(TETRA), SIDES, time=1)
    assert not extent.HasAuthoredValue()
    assert bounded(stage, "/World/Many") == ([0, 0, 0], [6, 5, 5])


def test_bounds_that_a_caller_writes_frame_by_frame_stay(stage):
    extent = old_instancer(stage)
    for frame in (1, 2):
        places = [(0, 0, 0), (frame, 0, 0)]
        wp.usd.write_instancer(stage, "/World/Many", ["/World/Many/Tetra"], [0, 0], places, time=frame)
        extent.Set([(0, 0, 0), (frame + 1, 1, 1)], frame)
    assert extent.GetTimeSamples() == [1, 2]
