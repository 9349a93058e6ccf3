"""Drawables: shapes against volumes and USD's bounds, instances, curves, normals, broken stages."""

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

import omni.warp_core as wp
from omni.warp_core.usd.pictures import drawables
from omni.warp_core.usd.pictures.camera import look_at
from omni.warp_core.usd.pictures.drawables import Gatherer
from omni.warp_core.usd.pictures.render import Renderer
from omni.warp_core.usd.pictures.shapes import tubes
from omni.warp_core.usd.stage import StageError

UP = np.array([0.0, 1.0, 0.0])
FRONT = look_at(np.array([0.0, 0.0, 5.0]), np.zeros(3), UP, 1.0)


@pytest.fixture
def stage():
    return Usd.Stage.CreateInMemory()


def gathered(stage, time=None):
    return Gatherer(stage).at(Usd.TimeCode.Default() if time is None else Usd.TimeCode(time))


def picture(stage):
    return Renderer(64, 64, UP).draw(gathered(stage), FRONT).astype(int)


def volume(scene):
    a, b, c = (scene.vertices[scene.triangles[:, k]].astype(float) for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


# -- shapes -----------------------------------------------------------------------------------------------------------

CLOSED = {
    "Sphere": ({"radius": 2.0}, 4 / 3 * np.pi * 8),
    "Cube": ({"size": 3.0}, 27.0),
    "Cylinder": ({"radius": 2.0, "height": 3.0}, np.pi * 4 * 3),
    "Cone": ({"radius": 2.0, "height": 3.0}, np.pi * 4),
    "Capsule": ({"radius": 2.0, "height": 3.0}, np.pi * 4 * 3 + 4 / 3 * np.pi * 8),
}


def shape(stage, kind, axis=None, **values):
    prim = getattr(UsdGeom, kind).Define(stage, "/Shape").GetPrim()
    for name, value in values.items():
        prim.GetAttribute(name).Set(value)
    if axis is not None:
        prim.GetAttribute("axis").Set(axis)
    UsdGeom.Boundable(prim).CreateExtentAttr(UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), 0))
    return prim


@pytest.mark.parametrize("axis", "XYZ")
@pytest.mark.parametrize("kind", [*CLOSED, "Plane"])
def test_shapes_fill_the_bounds_and_face_outward(stage, kind, axis):
    values, wanted = CLOSED.get(kind, ({"width": 2.0, "length": 6.0}, None))
    prim = shape(stage, kind, None if kind in ("Sphere", "Cube") else axis, **values)
    scene = gathered(stage)
    assert scene.triangles.dtype == np.int32  # as the kernels of the renderer take them
    box = UsdGeom.BBoxCache(0, ["default"]).ComputeLocalBound(prim).ComputeAlignedRange()
    assert np.allclose(scene.bounds, [box.GetMin(), box.GetMax()], atol=1e-5)
    if wanted is not None:
        assert volume(scene) == pytest.approx(wanted, rel=0.03), "a negative volume would be inside out"
    a, b, c = (scene.vertices[scene.triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    shares = np.einsum("ij,ikj->ik", faces, scene.normals[scene.triangles])
    large = np.linalg.norm(faces, axis=1) > 1e-4
    assert (shares[large].sum(1) > 0).all() and np.allclose(np.linalg.norm(scene.normals, axis=1), 1, atol=1e-5)


def test_shapes_have_colors_and_places(stage):
    prim = shape(stage, "Cube", size=2.0)
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([(1, 0.5, 0)])
    UsdGeom.XformCommonAPI(prim).SetTranslate((5, 6, 7))
    scene = gathered(stage)
    assert np.allclose(scene.bounds, [[4, 5, 6], [6, 7, 8]]) and np.allclose(scene.colors, [1, 0.5, 0])


def test_shapes_with_values_of_other_types():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString('#usda 1.0\ndef Sphere "S" {\n string radius = "big"\n}\n')
    warnings = []
    assert Gatherer(Usd.Stage.Open(layer), warnings.append).at(Usd.TimeCode(0)).is_empty
    assert warnings == ["/S.radius is 'big', and a number is needed"]


# -- normals ----------------------------------------------------------------------------------------------------------

QUAD = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]


@pytest.mark.parametrize("kind", ["vertex", "faceVarying", "uniform"])
def test_authored_normals_are_shaded(stage, kind):
    values = wp.usd.Primvar(np.float32([(0, 0, 1)] * (1 if kind == "uniform" else 4)), kind)
    plain = picture_of(normals=None)
    assert np.array_equal(picture_of(normals=values), plain), "these are the normals of the quad itself"
    tilted = wp.usd.Primvar(np.float32([(0.6, 0.6, 0.5)] * len(values.values)), kind)
    assert np.abs(picture_of(normals=tilted) - plain)[28:36, 28:36].min(2).min() > 3


def picture_of(**more):
    stage = Usd.Stage.CreateInMemory()
    wp.usd.write_mesh(stage, "/Quad", QUAD, [0, 1, 2, 3], [4], colors=[(0.5, 0.5, 0.5)], **more)
    return picture(stage)


def test_normals_of_subdivision_surfaces_and_broken_ones_are_computed(stage):
    prim = wp.usd.write_mesh(stage, "/Quad", QUAD, [0, 1, 2, 3], [4], normals=[(1, 0, 0)] * 4)
    assert gathered(stage).normals.tolist() == [[1, 0, 0]] * 4
    UsdGeom.PrimvarsAPI(prim).GetPrimvar("normals").Set([(1, 0, 0)] * 3)
    assert not gathered(stage).normals.any()
    UsdGeom.PrimvarsAPI(prim).GetPrimvar("normals").Set([(1, 0, 0)] * 4)
    UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Set("catmullClark")
    assert not gathered(stage).normals.any()


def test_normals_turn_with_their_mesh(stage):
    wp.usd.write_mesh(stage, "/Quad", QUAD, [0, 1, 2, 3], [4], normals=[(1, 1, 0)] * 4)
    matrix = np.diag([1.0, 2.0, 1.0, 1.0])
    wp.usd.write_transform(stage, "/Quad", matrix)
    scene = gathered(stage)
    wanted = np.linalg.inv(matrix[:3, :3]).T @ [1, 1, 0]
    assert np.allclose(
        scene.normals / np.linalg.norm(scene.normals, axis=1, keepdims=True), wanted / np.linalg.norm(wanted)
    )


# -- concave faces ----------------------------------------------------------------------------------------------------


def test_the_notch_of_a_concave_face_is_empty(stage):
    notched = [(0, 1.5, 0), (-1.5, -1.5, 0), (0, 0.5, 0), (1.5, -1.5, 0)]
    wp.usd.write_mesh(stage, "/Arrow", notched, [0, 1, 2, 3], [4], colors=[(1, 1, 1)])
    lit = picture(stage).sum(2) > 300
    assert lit[20, 32] and not lit[40, 32] and lit[42, 18] and lit[42, 45]


# -- instancers -------------------------------------------------------------------------------------------------------


def instancer(stage, path="/Field", prototype="/Field/Box"):
    box = UsdGeom.Cube.Define(stage, prototype)
    box.CreateSizeAttr(1.0)
    return wp.usd.write_instancer(
        stage, path, [prototype], [0, 0, 0], [(0, 0, 0), (5, 0, 0), (0, 5, 0)], scales=[(1, 1, 1), (2, 2, 2), (1, 1, 3)]
    )


def test_prototypes_are_drawn_for_each_instance_alone(stage):
    prim = instancer(stage)
    UsdGeom.XformCommonAPI(prim).SetTranslate((100, 0, 0))
    UsdGeom.XformCommonAPI(stage.GetPrimAtPath("/Field/Box")).SetTranslate((0, 0, 10))
    scene = gathered(stage)
    boxes = scene.vertices.reshape(3, -1, 3)
    centres = [b.mean(0).tolist() for b in boxes]
    assert np.allclose(centres, [[100, 0, 10], [105, 0, 20], [100, 5, 30]], atol=1e-4)
    assert np.allclose(np.ptp(boxes, axis=1), [[1, 1, 1], [2, 2, 2], [1, 1, 3]], atol=1e-4)
    assert len(scene.triangles) == 36 and scene.triangles.max() == len(scene.vertices) - 1


def test_colors_and_visibility_of_instances(stage):
    prim = instancer(stage)
    colors = UsdGeom.PrimvarsAPI(prim).CreatePrimvar("displayColor", Sdf.ValueTypeNames.Color3fArray, "vertex")
    colors.Set([(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    assert np.array_equal(gathered(stage).colors.reshape(3, -1, 3)[:, 0], np.eye(3))
    UsdGeom.Imageable(prim).MakeInvisible()
    assert gathered(stage).is_empty


def test_instances_of_instances_and_of_themselves(stage):
    instancer(stage, "/Inner", "/Inner/Box")
    outer = wp.usd.write_instancer(stage, "/Outer", ["/Inner"], [0, 0], [(0, 0, 0), (0, 0, 50)])
    assert len(gathered(stage).triangles) == (3 + 2 * 3) * 12
    UsdGeom.PointInstancer(outer).GetPrototypesRel().SetTargets(["/Outer"])
    assert len(gathered(stage).triangles) == 3 * 12


def test_too_many_instances_are_refused(stage, monkeypatch):
    instancer(stage)
    monkeypatch.setattr(drawables, "MOST_ELEMENTS", 60)
    with pytest.raises(StageError, match="/Field has more than 60 vertices and points to draw"):
        gathered(stage)


def test_points_within_prototypes_scale(stage):
    wp.usd.write_points(stage, "/Field/Dot", [(1, 0, 0)], widths=1.0)
    wp.usd.write_instancer(stage, "/Field", ["/Field/Dot"], [0], [(10, 0, 0)], scales=[(2, 2, 2)])
    scene = gathered(stage)
    assert scene.points.tolist() == [[12, 0, 0]] and scene.radii == pytest.approx([1.0])


# -- curves -----------------------------------------------------------------------------------------------------------


def test_tubes_have_the_radius_of_their_lines():
    random = np.random.default_rng(3)
    points, starts = random.random((9, 3)).astype(np.float32) * 10, np.array([0, 4, 4, 5, 9])
    radii = random.random(9).astype(np.float32) + 0.1
    surface, owners = tubes(points, starts, radii, sides=5)
    lines = [(0, 1), (1, 2), (2, 3), (5, 6), (6, 7), (7, 8)]
    assert owners.reshape(-1, 2, 5)[:, :, 0].tolist() == [list(line) for line in lines]
    for vertex, normal, owner, line in zip(surface.vertices, surface.normals, owners, np.repeat(lines, 10, 0)):
        along = points[line[1]] - points[line[0]]
        out = vertex - points[owner]
        assert np.linalg.norm(out) == pytest.approx(radii[owner], rel=1e-4) and abs(out @ along) < 1e-4
        assert np.allclose(out / radii[owner], normal, atol=1e-4)
    assert len(surface.triangles) == len(lines) * 10 and surface.triangles.max() == len(surface.vertices) - 1


def test_curves_are_seen_in_their_color(stage):
    wp.usd.write_curves(stage, "/C", [(-1.5, 0, 0), (1.5, 0, 0)], widths=0.5, colors=[(1, 0, 0)])
    drawn = picture(stage)
    reds = (drawn[:, :, 0] > drawn[:, :, 2] + 40).sum(0)
    assert (reds[16:48] >= 5).all() and not reds[:8].any(), "half a unit is 6.4 pixels high"


def test_broken_curves_are_named(stage):
    wp.usd.write_curves(stage, "/C", [(0, 0, 0), (1, 0, 0)])
    UsdGeom.BasisCurves(stage.GetPrimAtPath("/C")).GetCurveVertexCountsAttr().Set([5])
    warnings = []
    assert Gatherer(stage, warnings.append).at(Usd.TimeCode(0)).is_empty
    assert warnings == ["/C.curveVertexCounts counts 5 points, and the curves have 2"]


def test_vertices_and_points_at_no_place_are_left_out(stage):
    nan, inf = np.nan, np.inf
    places = np.float32([(0, 0, 0), (1, 0, 0), (1, 1, 0), (nan, 1, 0)])
    wp.usd.write_mesh(stage, "/M", places, [0, 1, 2, 0, 2, 3])
    wp.usd.write_points(stage, "/P", [(0, inf, 0), (2, 0, 0), (nan, 0, 0), (4, 0, 0)], widths=[1.0, 2.0, 3.0, 4.0])
    warnings = []
    gatherer = Gatherer(stage, warnings.append)
    mesh = gatherer.piece(stage.GetPrimAtPath("/M"), Usd.TimeCode(0))
    assert mesh.triangles.tolist() == [[0, 1, 2]] and np.array_equal(mesh.vertices[:3], places[:3])
    assert len(mesh.vertices) == 4 and np.isfinite(mesh.vertices).all(), "vertices keep their numbers"
    cloud = gatherer.piece(stage.GetPrimAtPath("/P"), Usd.TimeCode(0))
    assert cloud.points[:, 0].tolist() == [2, 4] and cloud.radii.tolist() == [1, 2]
    assert cloud.point_numbers.tolist() == [1, 3]
    low, high = gatherer.at(Usd.TimeCode(0)).bounds
    assert low.tolist() == [0, -2, -2] and high.tolist() == [6, 2, 2]
    assert len(warnings) == 2, "each prim is told once"


def test_inherited_colors(stage):
    world = UsdGeom.Xform.Define(stage, "/World")
    UsdGeom.PrimvarsAPI(world).CreatePrimvar("displayColor", Sdf.ValueTypeNames.Color3fArray).Set([Gf.Vec3f(0, 1, 0)])
    UsdGeom.Sphere.Define(stage, "/World/S")
    assert np.allclose(gathered(stage).colors, [0, 1, 0])


# -- values that do not fit -------------------------------------------------------------------------------------------


def quad(stage, path="/M", **values):
    """A mesh of two quads beside each other, and what goes wrong with it."""
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)])
    mesh.CreateFaceVertexCountsAttr(values.get("counts", [4, 4]))
    mesh.CreateFaceVertexIndicesAttr(values.get("indices", [0, 1, 2, 3, 1, 4, 5, 2]))
    mesh.CreateHoleIndicesAttr(values.get("holes", []))
    mesh.CreateSubdivisionSchemeAttr("none")
    if "normals" in values:
        mesh.CreateNormalsAttr(values["normals"])
    return mesh


def told(stage, times=(0,)):
    """The warnings of pictures at some times."""
    warnings: list[str] = []
    gatherer = Gatherer(stage, warnings.append)
    for time in times:
        gatherer.at(Usd.TimeCode(time))
    return warnings


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"counts": [4, 4, 4]}, "/M.faceVertexCounts counts 12 corners in 3 faces, and faceVertexIndices has 8"),
        ({"counts": [4]}, "/M.faceVertexCounts counts 4 corners in 1 faces, and faceVertexIndices has 8"),
        ({"indices": [0, 1, 2, 3, 1, 4, 5, 6]}, "/M.faceVertexIndices[7] is 6, and the mesh has 6 points"),
        ({"indices": [0, 1, 2, 3, 1, 4, 5, -1]}, "/M.faceVertexIndices[7] is -1, and the mesh has 6 points"),
        ({"indices": [2**31 - 1] * 8}, "/M.faceVertexIndices[0] is 2147483647, and the mesh has 6 points"),
        ({"counts": [4, -4]}, "/M.faceVertexCounts[1] is -4; a face has at least 0 corners"),
        ({"holes": [0, 9]}, "/M.holeIndices[1] is 9, and the mesh has 2 faces"),
        ({"normals": [(0, 0, 1)] * 2}, "/M has 2 normals, and their interpolation 'vertex' needs 6"),
    ],
)
def test_a_mesh_that_does_not_fit_is_drawn_in_part_with_a_warning(stage, values, words):
    quad(stage, **values)
    [warning] = told(stage)
    assert warning.startswith(f"{words}; the picture has ")


def test_a_mesh_that_fits_is_drawn_without_a_warning(stage):
    mesh = quad(stage, holes=[1], normals=[(0, 0, 1)] * 6)
    mesh.CreateDisplayColorPrimvar("uniform").Set([(1, 0, 0), (0, 1, 0)])
    assert told(stage) == []


@pytest.mark.parametrize(
    ("interpolation", "count", "indices", "words"),
    [
        ("vertex", 2, [0, 1, 2, 0, 0, 0], ":indices[2] is 2, and primvars:displayColor has 2 elements"),
        ("faceVarying", 2, [0, 1, -1, 0, 0, 0, 0, 0], ":indices[2] is -1, and primvars:displayColor has 2 elements"),
        ("vertex", 2, [0, 1], " has 2 values, and its interpolation 'vertex' needs 6"),
        ("vertex", 5, None, " has 5 values, and its interpolation 'vertex' needs 6"),
        ("uniform", 3, None, " has 3 values, and its interpolation 'uniform' needs 2"),
    ],
)
def test_colors_that_do_not_fit_are_told(stage, interpolation, count, indices, words):
    primvar = quad(stage).CreateDisplayColorPrimvar(interpolation)
    primvar.Set([(1, 0, 0)] * count)
    if indices:
        primvar.SetIndices(Vt.IntArray(indices))
    assert told(stage) == [f"/M.primvars:displayColor{words}; the picture has other colors"]


def test_what_does_not_fit_in_many_frames_is_told_once(stage):
    cloud = UsdGeom.Points.Define(stage, "/P")
    cloud.CreateWidthsAttr([0.1, 0.2])
    cloud.CreateDisplayColorPrimvar("vertex").Set([(1, 0, 0)] * 20)
    for frame in range(3, 9):
        cloud.GetPointsAttr().Set([(float(k), 0, 0) for k in range(frame)], frame)
    assert told(stage, range(3, 9)) == [
        "/P.widths has 2 values for 3 points; the picture has the first one for all",
        "/P.primvars:displayColor has 20 values, and its interpolation 'vertex' needs 3; the picture has other colors",
    ]


def test_prims_of_types_that_are_not_drawn_are_told(stage):
    for number in range(3):
        UsdGeom.NurbsPatch.Define(stage, f"/Patch{number}")
    assert told(stage) == ["/Patch0 is of the type NurbsPatch; pictures leave out all prims of this type"]


@pytest.mark.parametrize("hidden", [[], [1]])
@pytest.mark.parametrize("colors", [[(1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1, 1)]])
def test_instances_have_their_own_colors(stage, hidden, colors):
    UsdGeom.Cube.Define(stage, "/Hidden").CreateVisibilityAttr("invisible")
    cube = UsdGeom.Cube.Define(stage, "/I/Cube")
    cube.CreateSizeAttr(0.5)
    instancer = UsdGeom.PointInstancer.Define(stage, "/I")
    instancer.CreatePrototypesRel().SetTargets(["/I/Cube"])
    instancer.CreateProtoIndicesAttr([0, 0, 0])
    instancer.CreatePositionsAttr([(0, 0, 0), (2, 0, 0), (4, 0, 0)])
    instancer.CreateInvisibleIdsAttr(hidden)
    kind = "vertex" if len(colors) > 1 else "constant"
    UsdGeom.PrimvarsAPI(instancer).CreatePrimvar("displayColor", Sdf.ValueTypeNames.Color3fArray, kind).Set(colors)
    warnings = []
    scene = Gatherer(stage, warnings.append).at(Usd.TimeCode(0))
    assert not warnings
    for number in {0, 1, 2} - set(hidden):
        near = np.abs(scene.vertices[:, 0] - 2 * number) < 1
        assert near.any() and (scene.colors[near] == colors[min(number, len(colors) - 1)]).all()
    assert (np.abs(scene.vertices[:, 0] - 2) < 1).any() == (not hidden)
