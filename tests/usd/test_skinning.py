"""Skinned meshes. The judges are linear blend skinning in NumPy's float64, and UsdSkel's BakeSkinning."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdSkel

import omni.warp_core as wp
from omni.warp_core.usd.pictures.drawables import Gatherer
from tests.usd.skinned_stage import add_blend_shapes, expected_points, skinned_stage

TUBE = "/Figure/Tube"


def tube(stage):
    return UsdGeom.Mesh(stage.GetPrimAtPath(TUBE))


def binding(stage):
    return UsdSkel.BindingAPI(stage.GetPrimAtPath(TUBE))


def baked(stage, time):
    """The points and normals that UsdSkel bakes into a copy of the stage, these with length 1."""
    copy = Usd.Stage.CreateInMemory()
    copy.GetRootLayer().TransferContent(stage.Flatten())
    assert UsdSkel.BakeSkinning(copy.Traverse())
    points, normals = np.array(tube(copy).GetPointsAttr().Get(time)), np.array(tube(copy).GetNormalsAttr().Get(time))
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("time", [0, 2, 4])
def test_points_are_where_the_joints_take_them(time):
    stage = skinned_stage()
    world = wp.usd.read_mesh(tube(stage), time, world=True)
    assert np.allclose(world.points.numpy(), expected_points(stage, time), atol=1e-5)
    points, normals = baked(stage, time)
    local = wp.usd.read_mesh(tube(stage), time)
    assert np.allclose(local.points.numpy(), points, atol=1e-5) and len(np.unique(points, axis=0)) == 40
    assert np.allclose(local.normals.values.numpy(), normals, atol=1e-5)
    matrix = np.array(local.transform).reshape(4, 4)
    placed = local.points.numpy() @ matrix[:3, :3].T + matrix[:3, 3]
    assert np.allclose(world.points.numpy(), placed, atol=1e-5)
    assert np.allclose(local.extent[1], points.max(0), atol=1e-5)


def test_joints_turn_between_samples():
    stage = skinned_stage()  # all rotations are around one axis, so that half of the time is half of the angle
    read = wp.usd.read_mesh(tube(stage), 2.5, world=True)
    assert np.allclose(read.points.numpy(), expected_points(stage, 2.5), atol=1e-5)


def test_the_rest_pose_is_there_on_request():
    stage = skinned_stage()
    tube(stage).CreateVelocitiesAttr([(0, 1, 0)] * 40)
    rest = wp.usd.read_mesh(tube(stage), 3, skinning=False)
    assert np.array_equal(rest.points.numpy(), tube(stage).GetPointsAttr().Get())
    assert rest.velocities is not None and wp.usd.read_mesh(tube(stage), 3).velocities is None


def test_one_influence_for_all_points():
    stage = skinned_stage()
    for primvar, values in (
        (binding(stage).GetJointIndicesPrimvar(), [1, 2]),
        (binding(stage).GetJointWeightsPrimvar(), [0.25, 0.75]),
    ):
        primvar.SetInterpolation("constant")
        primvar.Set(values)
    read = wp.usd.read_mesh(tube(stage), 3, world=True).points.numpy()
    assert np.allclose(read, expected_points(stage, 3), atol=1e-5)


def test_joints_in_the_order_of_the_mesh():
    stage = skinned_stage()
    expected = expected_points(stage, 3)
    primvar = binding(stage).GetJointIndicesPrimvar()
    primvar.Set([2 - joint for joint in primvar.Get()])
    binding(stage).CreateJointsAttr(["hip/knee/foot", "hip/knee", "hip"])
    assert np.allclose(wp.usd.read_mesh(tube(stage), 3, world=True).points.numpy(), expected, atol=1e-5)


def test_normals_of_corners_turn_with_their_points():
    stage = skinned_stage()
    mesh, order = tube(stage), np.random.default_rng(3).permutation(40)
    mesh.GetFaceVertexIndicesAttr().Set(order.tolist())
    mesh.SetNormalsInterpolation("faceVarying")
    _, normals = baked(stage, 3)
    read = wp.usd.read_mesh(mesh, 3).normals
    assert read.interpolation == "faceVarying"
    corners = np.argsort(order)[wp.usd.read_mesh(mesh, 3).indices.numpy()]  # each point is that of one corner
    assert np.allclose(read.values.numpy(), normals[corners], atol=1e-5)


def test_a_normal_of_a_face_has_no_pose():
    stage = skinned_stage()
    tube(stage).GetNormalsAttr().Set([(0, 0, 1)] * 10)
    tube(stage).SetNormalsInterpolation("uniform")
    assert wp.usd.read_mesh(tube(stage), 3).normals is None
    assert wp.usd.read_mesh(tube(stage), 3, skinning=False).normals is not None


@pytest.mark.parametrize("time", [1, 2, 4])
@pytest.mark.parametrize("method", ["classicLinear", "dualQuaternion"])
def test_blend_shapes_and_both_methods(method, time):
    stage = skinned_stage()
    add_blend_shapes(stage)
    binding(stage).CreateSkinningMethodAttr(method)
    points, normals = baked(stage, time)
    read = wp.usd.read_mesh(tube(stage), time)
    assert np.allclose(read.points.numpy(), points, atol=1e-5)
    assert np.allclose(read.normals.values.numpy(), normals, atol=1e-5)


def test_blend_shapes_alone_move_points():
    stage = skinned_stage()
    add_blend_shapes(stage)
    for name in ("jointIndices", "jointWeights"):
        stage.GetPrimAtPath(TUBE).RemoveProperty(f"primvars:skel:{name}")
    rest = np.array(tube(stage).GetPointsAttr().Get(), np.float64)
    expected = rest + 0.25 * np.array([(0.1 * i, 0, 1) for i in range(40)])
    # 0.6 lies between the in-between shape at 0.5 and the whole one at 1: 0.8 and 0.2 of them
    expected[[0, 2, 7]] += 0.8 * np.array([(0, 1, 0), (0, 1, 0), (0, 0, 0)])
    expected[[0, 2, 7]] += 0.2 * np.array([(0, 0, 1), (0, 0, 2), (1, 1, 1)])
    assert np.allclose(wp.usd.read_mesh(tube(stage), 4).points.numpy(), expected, atol=1e-5)


def test_instances_and_the_earliest_time():
    stage = skinned_stage()
    expected, earliest = baked(stage, 3)[0], baked(stage, 0)[0]
    crowd = stage.DefinePrim("/Crowd", "Xform")
    crowd.GetReferences().AddInternalReference("/Figure")
    crowd.SetTypeName("SkelRoot")
    crowd.SetInstanceable(True)
    proxy = stage.GetPrimAtPath("/Crowd/Tube")
    assert proxy.IsInstanceProxy()
    assert np.allclose(wp.usd.read_mesh(proxy, 3).points.numpy(), expected, atol=1e-5)
    assert np.allclose(wp.usd.read_mesh(proxy).points.numpy(), earliest, atol=1e-5)


def test_without_skeleton_root_or_binding_nothing_moves():
    for change in (
        lambda stage: stage.GetPrimAtPath("/Figure").SetTypeName("Xform"),
        lambda stage: stage.GetPrimAtPath(TUBE).RemoveAPI(UsdSkel.BindingAPI),
        lambda stage: binding(stage).GetSkeletonRel().ClearTargets(True),
    ):
        stage = skinned_stage()
        change(stage)
        read = wp.usd.read_mesh(tube(stage), 3).points.numpy()
        assert np.array_equal(read, tube(stage).GetPointsAttr().Get())


def bones(stage):
    return UsdSkel.Skeleton(stage.GetPrimAtPath("/Figure/Bones"))


def walk(stage):
    return UsdSkel.Animation(stage.GetPrimAtPath("/Figure/Bones/Walk"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: binding(s).GetJointIndicesPrimvar().Set([0] * 79 + [3]), "joint index 3 at index 79"),
        (lambda s: binding(s).GetSkeletonRel().SetTargets(["/Gone"]), "Invalid target </Gone>"),
        (lambda s: bones(s).GetBindTransformsAttr().Set([Gf.Matrix4d(1)]), r"/Figure/Bones .*bindTransforms"),
        (lambda s: bones(s).GetJointsAttr().Set(["a/b", "a", "c"]), "/Figure/Bones .*mis-ordered parent"),
        (lambda s: walk(s).GetTranslationsAttr().Set([(0, 0, 0)]), "/Figure/Bones/Walk -- failed"),
        (lambda s: UsdGeom.Xformable(tube(s)).GetOrderedXformOps()[0].Set((0, 1, 1)), "a scale in it is 0"),
    ],
)  # fmt: skip
def test_a_broken_skeleton_is_refused(change, words):
    stage = skinned_stage()
    change(stage)
    with pytest.raises(wp.usd.StageError, match=f"^{TUBE} cannot be posed: .*{words}"):
        wp.usd.read_mesh(tube(stage), 3)
    assert len(wp.usd.read_mesh(tube(stage), 3, skinning=False).points) == 40


def test_weights_for_other_points_are_refused():
    stage = skinned_stage()
    binding(stage).GetJointIndicesPrimvar().Set([0] * 79)
    with pytest.raises(wp.usd.StageError, match=r"cannot be posed: Size of jointIndices \[79\]"):
        wp.usd.read_mesh(tube(stage), 3)


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("pointIndices", [0, 40, 1], r"smile\.pointIndices\[1\] is 40, and the mesh has 40 points"),
        ("offsets", [(0, 0, 1)] * 2, "smile has 2 offsets for 3 pointIndices"),
    ],
)
def test_a_broken_blend_shape_is_refused(attribute, value, words):
    stage = skinned_stage()
    add_blend_shapes(stage)
    stage.GetPrimAtPath(f"{TUBE}/smile").GetAttribute(attribute).Set(value)
    with pytest.raises(wp.usd.StageError, match=words):
        wp.usd.read_mesh(tube(stage), 4)


def test_another_broken_figure_does_not_matter():
    stage = skinned_stage()
    other = UsdGeom.Mesh.Define(stage, "/Figure/Broken")
    UsdSkel.BindingAPI.Apply(other.GetPrim()).CreateSkeletonRel().SetTargets(["/Gone"])
    assert np.allclose(wp.usd.read_mesh(tube(stage), 3).points.numpy(), baked(stage, 3)[0], atol=1e-5)


def test_pictures_show_the_pose(tmp_path):
    stage, told = skinned_stage(), []
    gatherer = Gatherer(stage, told.append)
    for time in (1, 4):
        drawn = gatherer.at(Usd.TimeCode(time))
        assert np.allclose(drawn.vertices, expected_points(stage, time), atol=1e-5)
        read = wp.usd.read_mesh(tube(stage), time, world=True).normals.values.numpy()
        lengths = np.linalg.norm(drawn.normals, axis=1, keepdims=True)
        assert np.allclose(drawn.normals / lengths, read, atol=1e-5)
    binding(stage).GetSkeletonRel().SetTargets(["/Gone"])
    assert len(gatherer.at(Usd.TimeCode(4)).vertices) == 40
    assert told == [
        "/Figure/Tube cannot be posed: "
        "/Figure/Tube.skel:skeleton -- Invalid target </Gone>; the picture has its rest pose"
    ]
