"""Points, instancers, curves and volumes as `wp.usd` reads them, against USD itself, SciPy and hand-made values."""

import itertools

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdVol, Vt
from scipy.interpolate import BSpline, CubicHermiteSpline

import omni.warp_core as wp


@pytest.fixture
def stage():
    made = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(made, "/World")
    return made


def translate_and_scale(stage, path="/World", translation=(10, 20, 30), scale=2.0):
    api = UsdGeom.XformCommonAPI(stage.GetPrimAtPath(path))
    api.SetTranslate(translation)
    api.SetScale((scale, scale, scale))


# -- points -----------------------------------------------------------------------------------------------------------


def cloud(stage):
    points = UsdGeom.Points.Define(stage, "/World/Cloud")
    points.CreatePointsAttr([(0, 0, 0), (1, 2, 3), (4, 5, 6)])
    return points


def test_points_with_all_they_carry(stage):
    points = cloud(stage)
    points.CreateWidthsAttr([2.0, 1.0, 0.5])
    points.CreateIdsAttr([7, 5, 2**40])
    points.CreateVelocitiesAttr([(0, 0, 1)] * 3)
    points.CreateDisplayColorPrimvar("vertex").Set([(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    translate_and_scale(stage)
    local, world = wp.usd.read_points(points), wp.usd.read_points(points.GetPrim(), world=True)
    assert local.points.numpy().tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]] and local.widths.list() == [2.0, 1.0, 0.5]
    assert local.ids.list() == [7, 5, 2**40] and local.extent == (wp.vec3(-1.0), wp.vec3(4.25, 5.25, 6.25))
    assert world.points.numpy().tolist() == [[10, 20, 30], [12, 24, 36], [18, 30, 42]]
    assert world.widths.numpy() == pytest.approx([4.0, 2.0, 1.0]) and world.velocities.numpy()[0].tolist() == [0, 0, 2]
    assert local.primvars["displayColor"].values.numpy().tolist() == np.eye(3).tolist()


def test_points_without_anything(stage):
    read = wp.usd.read_points(UsdGeom.Points.Define(stage, "/World/None"))
    assert len(read.points) == 0 and read.widths is read.ids is read.velocities is None


def test_points_over_time(stage):
    points = cloud(stage)
    points.GetPointsAttr().Set([(0, 0, 0)] * 3, 0)
    points.GetPointsAttr().Set([(2, 0, 0)] * 3, 1)
    assert wp.usd.read_points(points, 0.25).points.numpy()[:, 0].tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("name", "value"), [("widths", [1.0, 2.0]), ("ids", [1]), ("velocities", [(0, 0, 0)]), ("widths", [1.0] * 4)]
)
def test_points_whose_counts_do_not_fit(stage, name, value):
    points = cloud(stage)
    points.GetPrim().GetAttribute(name).Set(value)
    with pytest.raises(wp.usd.StageError, match=rf"/World/Cloud\.{name} has {len(value)} values for 3 points"):
        wp.usd.read_points(points)


# -- instancers -------------------------------------------------------------------------------------------------------


def instancer(stage, count=20, seed=1):
    random = np.random.default_rng(seed)
    made = UsdGeom.PointInstancer.Define(stage, "/World/Trees")
    paths = ["/World/Trees/Fir", "/World/Trees/Oak"]
    for k, path in enumerate(paths):
        UsdGeom.XformCommonAPI(UsdGeom.Cone.Define(stage, path)).SetTranslate((0, 0, float(k)))
    made.CreatePrototypesRel().SetTargets(paths)
    quaternions = random.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    made.CreateProtoIndicesAttr([int(k) for k in random.integers(0, 2, count)])
    made.CreatePositionsAttr(Vt.Vec3fArray.FromNumpy(random.normal(size=(count, 3)).astype(np.float32)))
    made.CreateOrientationsAttr([Gf.Quath(*map(float, q)) for q in quaternions])
    made.CreateScalesAttr(Vt.Vec3fArray.FromNumpy(random.uniform(0.5, 2, (count, 3)).astype(np.float32)))
    return made


def test_instances_are_scaled_then_turned_then_moved(stage):
    made = instancer(stage)
    read = wp.usd.read_instancer(made)
    indices = made.GetProtoIndicesAttr().Get()
    assert read.prototypes == ("/World/Trees/Fir", "/World/Trees/Oak") and read.indices.list() == list(indices)
    for k, matrix in enumerate(read.transforms.numpy()):
        q = made.GetOrientationsAttr().Get()[k]
        point = np.array([0.3, -0.2, 0.5])
        scaled = (point + np.array([0, 0, indices[k]])) * made.GetScalesAttr().Get()[k]
        turned = Gf.Rotation(Gf.Quatd(q.real, *q.imaginary).GetNormalized()).TransformDir(Gf.Vec3d(*scaled))
        wanted = np.array(turned) + np.array(made.GetPositionsAttr().Get()[k])
        assert (matrix @ [*point, 1])[:3] == pytest.approx(wanted, abs=2e-3), "orientations have half precision"


def test_hidden_instances_are_left_out(stage):
    made = instancer(stage, 4)
    made.CreateIdsAttr([40, 30, 20, 10])
    made.CreateInvisibleIdsAttr([30])
    made.DeactivateId(10)
    read = wp.usd.read_instancer(made)
    assert read.ids.list() == [40, 20] and len(read.indices) == len(read.transforms) == 2


def test_instances_without_orientations_and_scales(stage):
    made = UsdGeom.PointInstancer.Define(stage, "/World/Trees")
    UsdGeom.Cone.Define(stage, "/World/Trees/Fir")
    made.CreatePrototypesRel().SetTargets(["/World/Trees/Fir"])
    made.CreateProtoIndicesAttr([0, 0])
    made.CreatePositionsAttr([(1, 2, 3), (4, 5, 6)])
    translate_and_scale(stage)
    read = wp.usd.read_instancer(made)
    assert read.transforms.numpy()[1].tolist() == [[1, 0, 0, 4], [0, 1, 0, 5], [0, 0, 1, 6], [0, 0, 0, 1]]
    assert read.transform == wp.mat44([[2, 0, 0, 10], [0, 2, 0, 20], [0, 0, 2, 30], [0, 0, 0, 1]])
    assert read.ids.list() == [0, 1]


BROKEN_INSTANCERS = {
    "index": (lambda m: m.GetProtoIndicesAttr().Set([0, 1, 2]), r"protoIndices\[2\] is 2, and there are 2 prototypes"),
    "negative": (lambda m: m.GetProtoIndicesAttr().Set([0, -1, 0]), r"protoIndices\[1\] is -1"),
    "positions": (lambda m: m.GetPositionsAttr().Set([(0, 0, 0)] * 2), r"positions has 2 values for 3 instances"),
    "scales": (lambda m: m.GetScalesAttr().Set([(1, 1, 1)] * 2), r"scales has 2 values for 3 instances"),
    "ids": (lambda m: m.CreateIdsAttr([5]), r"ids has 1 values for 3 instances"),
    "prototype": (lambda m: m.GetPrototypesRel().AddTarget("/World/Elm"), r"prototypes names /World/Elm, .* no prim"),
}


@pytest.mark.parametrize("name", BROKEN_INSTANCERS)
def test_broken_instancers(stage, name):
    change, message = BROKEN_INSTANCERS[name]
    made = instancer(stage, 3)
    change(made)
    with pytest.raises(wp.usd.StageError, match=message):
        wp.usd.read_instancer(made)


# -- curves -----------------------------------------------------------------------------------------------------------


def curves(stage, counts, points, kind="cubic", basis="bezier", wrap="nonperiodic"):
    made = UsdGeom.BasisCurves.Define(stage, "/World/Hair")
    made.CreateTypeAttr(kind)
    made.CreateBasisAttr(basis)
    made.CreateWrapAttr(wrap)
    made.CreateCurveVertexCountsAttr(counts)
    made.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32)))
    return made


POINTS = np.random.default_rng(6).normal(size=(40, 3)).astype(np.float32)


def pieces(read):
    starts, points = read.starts.list(), read.points.numpy()
    return [points[a:b] for a, b in itertools.pairwise(starts)]


def test_linear_curves(stage):
    read = pieces(wp.usd.read_curves(curves(stage, [3, 0, 1, 2], POINTS[:6], "linear")))
    assert [len(p) for p in read] == [3, 0, 1, 2] and np.array_equal(np.concatenate(read), POINTS[:6])
    read = pieces(wp.usd.read_curves(curves(stage, [3, 4], POINTS[:7], "linear", wrap="periodic")))
    assert np.array_equal(read[0], POINTS[[0, 1, 2, 0]]) and np.array_equal(read[1], POINTS[[3, 4, 5, 6, 3]])


def casteljau(p, t):
    while len(p) > 1:
        p = p[:-1] * (1 - t) + p[1:] * t
    return p[0]


@pytest.mark.parametrize(("counts", "wrap"), [([4, 7], "nonperiodic"), ([6, 3], "periodic"), ([7, 4], "pinned")])
def test_bezier_curves_against_de_casteljau(stage, counts, wrap):
    read = pieces(wp.usd.read_curves(curves(stage, counts, POINTS[: sum(counts)], "cubic", "bezier", wrap), segments=5))
    for first, count, found in zip(np.cumsum(counts) - counts, counts, read):
        own = POINTS[first : first + count].astype(float)
        own = np.concatenate([own, own[:1]]) if wrap == "periodic" else own
        wanted = [casteljau(own[3 * s : 3 * s + 4], k / 5) for s in range(len(own) // 3) for k in range(5)]
        assert np.allclose(found, [*wanted, own[-1]], atol=1e-5)


@pytest.mark.parametrize("wrap", ["nonperiodic", "periodic", "pinned"])
def test_b_splines_against_scipy(stage, wrap):
    own = POINTS[:6].astype(float)
    found = pieces(wp.usd.read_curves(curves(stage, [6], own, "cubic", "bspline", wrap), segments=4))[0]
    if wrap == "periodic":
        own = np.concatenate([own, own[:3]])
    elif wrap == "pinned":
        own = np.concatenate([[2 * own[0] - own[1]], own, [2 * own[-1] - own[-2]]])
        assert np.allclose(found[[0, -1]], POINTS[[0, 5]], atol=1e-5)
    segments = len(own) - 3
    spline = BSpline(np.arange(len(own) + 4), own, 3)
    assert np.allclose(found, spline(3 + np.arange(segments * 4 + 1) / 4), atol=1e-5)


@pytest.mark.parametrize("wrap", ["nonperiodic", "periodic", "pinned"])
def test_catmull_rom_splines_against_scipy(stage, wrap):
    own = POINTS[:6].astype(float)
    found = pieces(wp.usd.read_curves(curves(stage, [6], own, "cubic", "catmullRom", wrap), segments=4))[0]
    if wrap == "periodic":
        own = np.concatenate([own, own[:3]])
    elif wrap == "pinned":
        own = np.concatenate([[2 * own[0] - own[1]], own, [2 * own[-1] - own[-2]]])
    inner, slopes = own[1:-1], (own[2:] - own[:-2]) / 2
    spline = CubicHermiteSpline(np.arange(len(inner)), inner, slopes)
    assert np.allclose(found, spline(np.arange((len(inner) - 1) * 4 + 1) / 4), atol=1e-5)


def test_widths_and_primvars_of_curves(stage):
    made = curves(stage, [4, 7], POINTS[:11])
    made.CreateWidthsAttr([1.0, 3.0, 2.0, 4.0, 8.0])
    made.SetWidthsInterpolation("varying")
    api = UsdGeom.PrimvarsAPI(made)
    api.CreatePrimvar("place", Sdf.ValueTypeNames.Point3fArray, "vertex").Set(made.GetPointsAttr().Get())
    api.CreatePrimvar("owner", Sdf.ValueTypeNames.StringArray, "uniform").Set(["me", "you"])
    read = wp.usd.read_curves(made, segments=2)
    assert read.starts.list() == [0, 3, 8] and read.widths.list() == [1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 6.0, 8.0]
    assert np.allclose(read.primvars["place"].values.numpy(), read.points.numpy())
    assert read.primvars["owner"].values == ("me", "you")
    translate_and_scale(stage)
    world = wp.usd.read_curves(made, segments=2, world=True)
    assert np.allclose(world.points.numpy(), read.points.numpy() * 2 + [10, 20, 30], atol=1e-5)
    assert np.allclose(world.widths.numpy(), 2 * read.widths.numpy())


@pytest.mark.parametrize(
    ("counts", "points", "kind", "basis", "wrap", "message"),
    [
        (
            [4, 4],
            7,
            "cubic",
            "bezier",
            "nonperiodic",
            r"Hair\.curveVertexCounts counts 8 points, and the curves have 7",
        ),
        (
            [4, 5],
            9,
            "cubic",
            "bezier",
            "nonperiodic",
            r"curveVertexCounts\[1\] is 5, which no nonperiodic bezier curve",
        ),
        ([3], 3, "cubic", "bspline", "nonperiodic", r"curveVertexCounts\[0\] is 3, which no nonperiodic bspline curve"),
        ([8, -1], 7, "linear", "bezier", "nonperiodic", r"curveVertexCounts\[1\] is -1"),
        ([4], 4, "cubic", "hermite", "nonperiodic", r"Hair\.basis is 'hermite'; it must be one of bezier, bspline"),
        ([4], 4, "cubic", "bezier", "open", r"Hair\.wrap is 'open'"),
    ],
)
def test_broken_curves(stage, counts, points, kind, basis, wrap, message):
    with pytest.raises(wp.usd.StageError, match=message):
        wp.usd.read_curves(curves(stage, counts, POINTS[:points], kind, basis, wrap))


# -- volumes ----------------------------------------------------------------------------------------------------------


def volume(folder, name="smoke.vdb"):
    """A stage on disk whose volume is in another layer, so that paths start at that layer's folder."""
    (folder / "assets").mkdir()
    stage = Usd.Stage.CreateNew(str(folder / "assets" / "smoke.usda"))
    made = UsdVol.Volume.Define(stage, "/Smoke")
    stage.SetDefaultPrim(made.GetPrim())
    field = UsdVol.OpenVDBAsset.Define(stage, "/Smoke/density")
    field.CreateFilePathAttr(f"./{name}")
    field.CreateFieldNameAttr("density")
    field.CreateFieldIndexAttr(3)
    field.CreateFieldDataTypeAttr("float")
    field.CreateFieldClassAttr("fogVolume")
    made.CreateFieldRelationship("rho", field.GetPath())
    stage.Save()
    whole = Usd.Stage.CreateNew(str(folder / "scene.usda"))
    UsdGeom.Xform.Define(whole, "/World")
    whole.OverridePrim("/World/Smoke").GetReferences().AddReference("./assets/smoke.usda")
    return whole


def test_fields_of_volumes(tmp_path):
    stage = volume(tmp_path)
    (tmp_path / "assets" / "smoke.vdb").write_bytes(b"")
    translate_and_scale(stage)
    fields = wp.usd.read_volume(stage.GetPrimAtPath("/World/Smoke"))
    assert list(fields) == ["rho"]
    field = fields["rho"]
    assert (field.name, field.path, field.grid, field.index) == ("rho", "/World/Smoke/density", "density", 3)
    assert field.file == str(tmp_path / "assets" / "smoke.vdb")
    assert (field.data_type, field.grid_class) == ("float", "fogVolume")
    assert field.transform == wp.mat44([[2, 0, 0, 10], [0, 2, 0, 20], [0, 0, 2, 30], [0, 0, 0, 1]])


def test_files_that_change_over_time(tmp_path):
    stage = volume(tmp_path)
    attribute = stage.GetPrimAtPath("/World/Smoke/density").GetAttribute("filePath")
    for frame in (1, 2):
        attribute.Set(Sdf.AssetPath(f"./smoke.{frame}.nvdb"), frame)
        (tmp_path / f"smoke.{frame}.nvdb").write_bytes(b"")
    for time, frame in ((None, 1), (2, 2), (1.9, 1)):
        field = wp.usd.read_volume(stage.GetPrimAtPath("/World/Smoke"), time)["rho"]
        assert field.file == str(tmp_path / f"smoke.{frame}.nvdb")


def test_missing_files_are_named(tmp_path):
    stage = volume(tmp_path)
    prim = stage.GetPrimAtPath("/World/Smoke")
    missing = tmp_path / "assets" / "smoke.vdb"
    with pytest.raises(
        wp.usd.StageError, match=rf"density\.filePath is @\./smoke\.vdb@, and the file {missing} does not"
    ):
        wp.usd.read_volume(prim)
    stage.GetPrimAtPath("/World/Smoke/density").GetAttribute("filePath").Set(Sdf.AssetPath(""))
    with pytest.raises(wp.usd.StageError, match=r"/World/Smoke/density\.filePath names no file"):
        wp.usd.read_volume(prim)
    UsdVol.Volume(prim).CreateFieldRelationship("rho", "/World/Nowhere")
    with pytest.raises(
        wp.usd.StageError, match=r"/World/Smoke: the field 'rho' is at /World/Nowhere, where .* no prim"
    ):
        wp.usd.read_volume(prim)
    UsdVol.Volume(prim).CreateFieldRelationship("rho", "/World")
    with pytest.raises(wp.usd.StageError, match=r"/World is Xform, and a field with a file is needed"):
        wp.usd.read_volume(prim)
