"""`wp.usd.read_mesh` against values computed by hand, NumPy and USD itself."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

import omni.warp_core as wp

SQUARE = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)]
# A square and a triangle that share an edge.
HOUSE = [*SQUARE, (1, 3, 0)], [4, 3], [0, 1, 2, 3, 3, 2, 4]
HOUSE_TRIANGLES = [[0, 1, 2], [0, 2, 3], [3, 2, 4]]
HOUSE_CORNERS = [0, 1, 2, 0, 2, 3, 4, 5, 6]
STAGES = []  # a prim does not keep its stage alive


def new_stage():
    STAGES[:] = [*STAGES[-3:], Usd.Stage.CreateInMemory()]
    return STAGES[-1]


def define(points=HOUSE[0], counts=HOUSE[1], indices=HOUSE[2], stage=None, path="/World/House"):
    mesh = UsdGeom.Mesh.Define(stage or new_stage(), path)
    mesh.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*map(float, p)) for p in points]))
    mesh.CreateFaceVertexCountsAttr(counts)
    mesh.CreateFaceVertexIndicesAttr(indices)
    return mesh


def triangles(mesh):
    return mesh.indices.numpy().reshape(-1, 3).tolist()


def area(mesh):
    a, b, c = (mesh.points.numpy()[mesh.indices.numpy().reshape(-1, 3)[:, k]].astype(float) for k in range(3))
    return np.cross(b - a, c - a).sum(0) / 2


def test_points_and_triangles():
    read = wp.usd.read_mesh(define())
    assert read.path == "/World/House" and triangles(read) == HOUSE_TRIANGLES and read.faces.list() == [0, 0, 1]
    assert read.points.dtype is wp.vec3 and read.points.numpy().tolist() == [list(map(float, p)) for p in HOUSE[0]]
    assert read.extent == (wp.vec3(0.0, 0.0, 0.0), wp.vec3(2.0, 3.0, 0.0)) and read.transform == wp.mat44(np.eye(4))
    assert read.normals is None and read.uvs is None and read.velocities is None and read.primvars == {}


def test_the_arrays_are_the_callers():
    mesh = define()
    wp.usd.read_mesh(mesh).points.fill_(7.0)
    assert mesh.GetPointsAttr().Get()[1] == Gf.Vec3f(2, 0, 0)


@pytest.mark.parametrize("kind", ["prim", "schema"])
def test_prims_and_schemas(kind):
    mesh = define()
    assert len(wp.usd.read_mesh(mesh.GetPrim() if kind == "prim" else mesh).indices) == 9


def test_holes_and_small_faces_have_no_triangles():
    mesh = define(HOUSE[0], [2, 4, 0, 3, 1], [0, 1, *HOUSE[2], 4])
    assert wp.usd.read_mesh(mesh).faces.list() == [1, 1, 3]
    mesh.CreateHoleIndicesAttr([1, 2])
    read = wp.usd.read_mesh(mesh)
    assert read.faces.list() == [3] and triangles(read) == [[3, 2, 4]]


def test_left_handed_meshes_turn_right():
    mesh = define()
    mesh.CreateOrientationAttr("leftHanded")
    read = wp.usd.read_mesh(mesh)
    assert triangles(read) == [[a, c, b] for a, b, c in HOUSE_TRIANGLES] and area(read)[2] == -5.0


def test_a_mesh_without_values_is_empty():
    read = wp.usd.read_mesh(UsdGeom.Mesh.Define(new_stage(), "/Empty"))
    assert len(read.points) == len(read.indices) == len(read.faces) == 0
    assert read.extent == (wp.vec3(0.0, 0.0, 0.0), wp.vec3(0.0, 0.0, 0.0))


VALUES = np.random.default_rng(3).random((7, 3)).astype(np.float32)
ROWS = {
    "constant": ([0], 1),
    "uniform": ([0, 0, 1], 2),
    "vertex": (range(5), 5),
    "varying": (range(5), 5),
    "faceVarying": (HOUSE_CORNERS, 7),
}


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("interpolation", ROWS)
def test_primvars_follow_the_triangles(interpolation, indexed):
    rows, count = ROWS[interpolation]
    mesh = define()
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("dye", Sdf.ValueTypeNames.Color3fArray, interpolation)
    numbers = [(k * 3) % 4 for k in range(count)] if indexed else list(range(count))
    primvar.Set(Vt.Vec3fArray.FromNumpy(VALUES[:4] if indexed else VALUES[:count]))
    if indexed:
        primvar.SetIndices(numbers)
    read = wp.usd.read_mesh(mesh).primvars["dye"]
    assert (read.interpolation, read.type_name, read.values.dtype) == (interpolation, "color3f[]", wp.vec3)
    assert np.array_equal(read.values.numpy(), VALUES[[numbers[row] for row in rows]])


def test_values_at_corners_after_ear_clipping_and_flipping():
    """Values that tell their point: each corner of a triangle has those of its point, whatever the triangulation."""
    points = [(0, 0, 0), (2, -1, 0), (1, 0, 0), (2, 1, 0), (-1, 1, 0), (-1, -1, 0)]
    mesh = define(points, [4, 4], [0, 1, 2, 3, 0, 3, 4, 5])
    mesh.CreateOrientationAttr("leftHanded")
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("number", Sdf.ValueTypeNames.IntArray, "faceVarying")
    primvar.Set([0, 1, 2, 3, 0, 3, 4, 5])
    read = wp.usd.read_mesh(mesh)
    assert read.primvars["number"].values.list() == read.indices.list() and area(read)[2] == pytest.approx(-3.5)


@pytest.mark.parametrize(
    ("type_name", "dtype", "value"),
    [
        ("float[]", wp.float32, [0.5] * 5), ("double[]", wp.float64, [0.5] * 5), ("half[]", wp.float16, [0.5] * 5),
        ("int[]", wp.int32, [3] * 5), ("int64[]", wp.int64, [3] * 5), ("uchar[]", wp.uint8, [3] * 5),
        ("bool[]", wp.bool, [True] * 5), ("texCoord2f[]", wp.vec2, [(1, 2)] * 5),
        ("float4[]", wp.vec4, [(1, 2, 3, 4)] * 5),
        ("double3[]", wp.vec3d, [(1, 2, 3)] * 5), ("int2[]", wp.types.vector(2, int), [(1, 2)] * 5),
        ("quatf[]", wp.quat, [Gf.Quatf(4, 1, 2, 3)] * 5), ("matrix4d[]", wp.mat44d, [Gf.Matrix4d(2.0)] * 5),
    ],
)  # fmt: skip
def test_types_of_primvars(type_name, dtype, value):
    mesh = define()
    UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("x", Sdf.ValueTypeNames.Find(type_name), "vertex").Set(value)
    read = wp.usd.read_mesh(mesh).primvars["x"].values
    assert read.dtype is dtype and len(read) == 5
    if dtype is wp.quat:
        assert read.list()[0] == wp.quat(1.0, 2.0, 3.0, 4.0)
    elif dtype is not wp.mat44d:
        assert np.array_equal(read.numpy(), np.asarray(value))


def test_texts_single_values_and_elements_of_several_numbers():
    mesh = define()
    api = UsdGeom.PrimvarsAPI(mesh)
    api.CreatePrimvar("name", Sdf.ValueTypeNames.StringArray, "uniform").Set(["wall", "roof"])
    api.CreatePrimvar("age", Sdf.ValueTypeNames.Float).Set(2.5)
    api.CreatePrimvar("maker", Sdf.ValueTypeNames.Token).Set("me")
    weights = api.CreatePrimvar("weights", Sdf.ValueTypeNames.FloatArray, "vertex", 2)
    weights.Set(np.arange(10.0))
    read = wp.usd.read_mesh(mesh).primvars
    assert read["name"].values == ("wall", "wall", "roof") and read["maker"].values == ("me",)
    assert read["age"].values.list() == [2.5] and read["age"].interpolation == "constant"
    assert read["weights"].values.numpy().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def test_inherited_primvars():
    stage = Usd.Stage.CreateInMemory()
    world = UsdGeom.Xform.Define(stage, "/World")
    UsdGeom.PrimvarsAPI(world).CreatePrimvar("wet", Sdf.ValueTypeNames.FloatArray, "constant").Set([0.25])
    assert wp.usd.read_mesh(define(stage=stage)).primvars["wet"].values.list() == [0.25]


@pytest.mark.parametrize("name", ["st", "UVMap", "anything"])
def test_texture_coordinates(name):
    mesh = define()
    api = UsdGeom.PrimvarsAPI(mesh)
    api.CreatePrimvar("lightmap", Sdf.ValueTypeNames.Float2Array, "vertex").Set([(9, 9)] * 5)
    api.CreatePrimvar(name, Sdf.ValueTypeNames.TexCoord2fArray, "vertex").Set([(k, 0) for k in range(5)])
    assert wp.usd.read_mesh(mesh).uvs.values.numpy()[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_normals_and_the_primvar_that_goes_before_them():
    mesh = define()
    mesh.CreateNormalsAttr([(0, 0, 1)] * 3 + [(0, 1, 0)] * 4)
    mesh.SetNormalsInterpolation("faceVarying")
    read = wp.usd.read_mesh(mesh).normals
    assert read.values.numpy().tolist() == [([0, 0, 1], [0, 1, 0])[row > 2] for row in HOUSE_CORNERS]
    UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, "constant").Set([(1, 0, 0)])
    read = wp.usd.read_mesh(mesh)
    assert read.normals.values.numpy().tolist() == [[1, 0, 0]] and "normals" not in read.primvars


def test_time_samples():
    mesh = define()
    mesh.GetPointsAttr().Set([(x, y, 4) for x, y, _ in HOUSE[0]], 1)
    mesh.GetPointsAttr().Set([(x, y, 8) for x, y, _ in HOUSE[0]], 3)
    mesh.CreateVelocitiesAttr().Set([(0, 0, 2)] * 5, 1)
    heights = {None: 4.0, 1: 4.0, 2: 6.0, 2.5: 7.0, 9: 8.0, Usd.TimeCode(3): 8.0, Usd.TimeCode.Default(): 0.0}
    for time, height in heights.items():
        assert set(wp.usd.read_mesh(mesh, time).points.numpy()[:, 2].tolist()) == {height}
    assert wp.usd.read_mesh(mesh, 1).velocities.numpy().tolist() == [[0, 0, 2]] * 5


def test_topology_changes_over_time():
    mesh = define()
    mesh.GetPointsAttr().Set(SQUARE[:3], 5)
    mesh.GetFaceVertexCountsAttr().Set([3], 5)
    mesh.GetFaceVertexIndicesAttr().Set([2, 1, 0], 5)
    assert triangles(wp.usd.read_mesh(mesh, 5)) == [[2, 1, 0]]
    assert triangles(wp.usd.read_mesh(mesh, Usd.TimeCode.Default())) == HOUSE_TRIANGLES


def placed(mesh, *matrices):
    """Set a matrix at the mesh and at its parent, and return their product for column vectors."""
    parent = UsdGeom.Xform.Define(mesh.GetPrim().GetStage(), mesh.GetPath().GetParentPath())
    for prim, matrix in zip((mesh, parent), matrices):
        UsdGeom.Xformable(prim).MakeMatrixXform().Set(Gf.Matrix4d(matrix.T.tolist()))
    return matrices[1] @ matrices[0]


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_world_space(mirror):
    random = np.random.default_rng(4)
    a, b = np.eye(4), np.eye(4)
    a[:3], b[:3] = random.normal(size=(3, 4)), random.normal(size=(3, 4))
    a[0] *= mirror * np.sign(np.linalg.det(a @ b))
    mesh = define()
    mesh.CreateNormalsAttr([(0, 0, 1)] * 5)
    mesh.CreateVelocitiesAttr([(1, 2, 3)] * 5)
    whole = placed(mesh, a, b)
    local, world = wp.usd.read_mesh(mesh), wp.usd.read_mesh(mesh, world=True)
    points = np.array(HOUSE[0]) @ whole[:3, :3].T + whole[:3, 3]
    assert np.allclose(np.array(local.transform).reshape(4, 4), whole, atol=1e-6) and world.transform == wp.mat44(
        np.eye(4)
    )
    assert np.allclose(world.points.numpy(), points, atol=1e-5)
    assert np.allclose(world.velocities.numpy(), whole[:3, :3] @ [1, 2, 3], atol=1e-5)
    assert np.allclose(world.extent, [points.min(0), points.max(0)], atol=1e-5)
    assert triangles(local) == HOUSE_TRIANGLES
    outward = area(world) / np.linalg.norm(area(world))
    assert np.allclose(world.normals.values.numpy(), outward, atol=1e-5), "triangles still face where normals point"
    assert np.allclose(wp.transform_point(local.transform, local.points.list()[4]), points[4], atol=1e-5)


def test_a_flat_or_broken_transform_is_no_crash():
    for matrix in (np.zeros((4, 4)), np.full((4, 4), np.nan), np.diag([1.0, 1.0, 0.0, 1.0]), np.full((4, 4), 1e300)):
        mesh = define()
        mesh.CreateNormalsAttr([(0, 0, 1)] * 5)
        placed(mesh, matrix, np.eye(4))
        assert len(wp.usd.read_mesh(mesh, world=True).points) == 5


def test_instances_are_read_through_their_proxies():
    stage = Usd.Stage.CreateInMemory()
    define(stage=stage, path="/Prototype/House")
    for k in range(2):
        instance = stage.DefinePrim(f"/World/I{k}", "Xform")
        instance.GetReferences().AddInternalReference("/Prototype")
        instance.SetInstanceable(True)
        UsdGeom.XformCommonAPI(instance).SetTranslate((10.0 * (k + 1), 0, 0))
    proxy = stage.GetPrimAtPath("/World/I1/House")
    assert proxy.IsInstanceProxy()
    read = wp.usd.read_mesh(proxy, world=True)
    assert read.path == "/World/I1/House" and read.extent[0] == wp.vec3(20.0, 0.0, 0.0)


def test_arrays_are_on_the_device_that_is_asked_for(device):
    mesh = define()
    mesh.CreateDisplayColorPrimvar("uniform").Set([(1, 0, 0), (0, 1, 0)])
    mesh.CreateVelocitiesAttr([(1, 2, 3)] * 5)
    read = wp.usd.read_mesh(mesh)
    colors = read.primvars["displayColor"].values
    assert {a.device for a in (read.points, read.indices, read.faces, read.velocities, colors)} == {device}
    copy = wp.usd.write_mesh(new_stage(), "/Copy", read.points, read.indices, primvars=read.primvars)
    again = wp.usd.read_mesh(copy, device="cpu")
    assert again.points.device.is_cpu and triangles(again) == HOUSE_TRIANGLES


BROKEN = {
    "counts": (lambda m: m.GetFaceVertexCountsAttr().Set([4, 4]), r"/World/House\.faceVertexCounts counts 8 .* has 7"),
    "negative": (lambda m: m.GetFaceVertexCountsAttr().Set([8, -1]), r"House\.faceVertexCounts\[1\] is -1"),
    "beyond": (lambda m: m.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3, 3, 2, 5]), r"Indices\[6\] is 5, .* 5 points"),
    "below": (lambda m: m.GetFaceVertexIndicesAttr().Set([0, 1, -2, 3, 3, 2, 4]), r"Indices\[2\] is -2, .* 5 points"),
    "hole": (lambda m: m.CreateHoleIndicesAttr([0, 2]), r"House\.holeIndices\[1\] is 2, and the mesh has 2 faces"),
    "velocities": (lambda m: m.CreateVelocitiesAttr([(0, 0, 0)] * 4), r"House\.velocities has 4 values for 5 points"),
    "normals": (lambda m: m.CreateNormalsAttr([(0, 0, 1)] * 4), r"House\.normals has 4 values, .*'vertex' needs 5"),
    "color": (
        lambda m: m.CreateDisplayColorPrimvar("faceVarying").Set([(0, 0, 1)] * 6),
        r"House\.primvars:displayColor has 6 values, and its interpolation 'faceVarying' needs 7",
    ),
    "primvar index": (
        lambda m: [p := m.CreateDisplayColorPrimvar("uniform"), p.Set([(0, 0, 1)]), p.SetIndices([0, 1])],
        r"House\.primvars:displayColor:indices\[1\] is 1, and primvars:displayColor has 1 elements",
    ),
    "interpolation": (
        lambda m: (
            m.CreateDisplayColorPrimvar("constant").GetAttr().SetMetadata("interpolation", "sideways")
            and m.CreateDisplayColorPrimvar().Set([(0, 0, 1)])
        ),
        r"unknown interpolation 'sideways'",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_errors_name_prim_attribute_and_value(name):
    change, message = BROKEN[name]
    mesh = define()
    change(mesh)
    with pytest.raises(wp.usd.StageError, match=message):
        wp.usd.read_mesh(mesh)


def test_prims_that_are_no_meshes():
    stage = Usd.Stage.CreateInMemory()
    with pytest.raises(wp.usd.StageError, match=r"/Ball is Sphere, and Mesh is needed"):
        wp.usd.read_mesh(UsdGeom.Sphere.Define(stage, "/Ball"))
    with pytest.raises(wp.usd.StageError, match=r"/Nothing is a prim without a type"):
        wp.usd.read_mesh(stage.DefinePrim("/Nothing"))
    with pytest.raises(wp.usd.StageError, match="does not exist"):
        wp.usd.read_mesh(stage.GetPrimAtPath("/Absent"))
    with pytest.raises(wp.usd.StageError, match="its stage is gone"):
        wp.usd.read_mesh(UsdGeom.Mesh.Define(Usd.Stage.CreateInMemory(), "/Lost"))
    with pytest.raises(TypeError, match=r"stage\.GetPrimAtPath.*not str"):
        wp.usd.read_mesh("/Ball")


def test_attributes_of_other_types():
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(
        '#usda 1.0\ndef Mesh "M" {\n float3[] points = [(0, 0, 0)]\n string faceVertexCounts = "many"\n}\n'
        'def Mesh "N" {\n float[] points = [1, 2]\n}\n'
        'def Mesh "O" {\n float3[] points = [(0, 0, 0)]\n int64[] faceVertexCounts = [3, 4294967299]\n}\n'
    )
    stage = Usd.Stage.Open(layer)
    with pytest.raises(
        wp.usd.StageError, match=r"/M\.faceVertexCounts is 'many', and an array of whole numbers is needed"
    ):
        wp.usd.read_mesh(stage.GetPrimAtPath("/M"))
    with pytest.raises(
        wp.usd.StageError, match=r"/N\.points is an array of float32 of shape \(2,\), .* rows of 3 numbers"
    ):
        wp.usd.read_mesh(stage.GetPrimAtPath("/N"))
    with pytest.raises(wp.usd.StageError, match=r"/O\.faceVertexCounts\[1\] is 4294967299, which int32 cannot hold"):
        wp.usd.read_mesh(stage.GetPrimAtPath("/O"))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_grid_cut_into_random_faces_keeps_its_area(width, height, random):
    """Cells of a grid, some merged into concave faces of two or three cells, in the orientation of the grid."""
    cells = dict.fromkeys(itertools.product(range(width), range(height)))
    faces = []
    while cells:
        (x, y), _ = cells.popitem()
        merged = [(x, y)]
        if (x, y - 1) in cells and (x - 1, y) in cells and random.random() < 0.5:
            merged += [(x, y - 1), (x - 1, y)]
            del cells[x, y - 1], cells[x - 1, y]
            corners = [
                (x - 1, y),
                (x, y),
                (x, y - 1),
                (x + 1, y - 1),
                (x + 1, y),
                (x + 1, y + 1),
                (x, y + 1),
                (x - 1, y + 1),
            ]
        else:
            corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]
        faces.append([i * (height + 1) + j for i, j in corners])
    points = [(i, j, 0) for i in range(width + 1) for j in range(height + 1)]
    read = wp.usd.read_mesh(define(points, [len(f) for f in faces], [*itertools.chain(*faces)]))
    assert area(read)[2] == width * height
    a, b, c = (read.points.numpy()[read.indices.numpy()[k::3]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


def test_a_mesh_whose_payload_is_not_loaded_says_so():
    stage = new_stage()
    define(stage=stage, path="/Store")
    prim = stage.DefinePrim("/World/House")
    prim.GetPayloads().AddInternalPayload("/Store")
    stage.Unload("/World/House")
    with pytest.raises(wp.usd.StageError, match=r"payload is not loaded, load it with stage.Load\(\)"):
        wp.usd.read_mesh(prim)
    stage.Load("/World/House")
    assert len(wp.usd.read_mesh(stage.GetPrimAtPath("/World/House")).points) == 5


@pytest.mark.parametrize("time", ["now", (1, 2)])
def test_a_time_that_is_no_number_is_told_as_that(time):
    with pytest.raises(ValueError, match=r"time is .*, and a time code is a number"):
        wp.usd.read_mesh(define(), time)
