"""A tube that three joints bend, for tests of skinning, and NumPy's view of linear blend skinning in float64."""

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdSkel

JOINTS = ["hip", "hip/knee", "hip/knee/foot"]
_AXIS = (0.0, 0.6, 0.8)


def skinned_stage(points=40, influences=2):
    """Return a stage with a skinned mesh /Figure/Tube, posed at the times 0 to 4."""
    stage = Usd.Stage.CreateInMemory()
    figure = UsdSkel.Root.Define(stage, "/Figure")
    UsdGeom.Xformable(figure).AddTranslateOp().Set((5, 0, 0))
    skeleton = UsdSkel.Skeleton.Define(stage, "/Figure/Bones")
    skeleton.CreateJointsAttr(JOINTS)
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1).SetTranslate(Gf.Vec3d(0, i, 0)) for i in range(3)])
    skeleton.CreateRestTransformsAttr([Gf.Matrix4d(1).SetTranslate(Gf.Vec3d(0, i > 0, 0)) for i in range(3)])
    UsdGeom.Xformable(skeleton).AddRotateZOp().Set(20.0)
    animation = UsdSkel.Animation.Define(stage, "/Figure/Bones/Walk")
    animation.CreateJointsAttr(JOINTS)
    animation.CreateTranslationsAttr([(0, 0, 0), (0, 1, 0), (0, 1, 0)])
    animation.CreateScalesAttr([(1, 1, 1), (1, 1.5, 1), (1, 1, 1)])
    for time in range(5):
        turn = Gf.Quatf(np.cos(0.1 * time), Gf.Vec3f(*_AXIS) * float(np.sin(0.1 * time)))
        animation.CreateRotationsAttr().Set([turn] * 3, time)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    mesh = UsdGeom.Mesh.Define(stage, "/Figure/Tube")
    UsdGeom.Xformable(mesh).AddScaleOp().Set((2, 1, 1))
    _shape(mesh, points)
    _bind(mesh, skeleton, points, influences)
    return stage


def _shape(mesh, count):
    rng = np.random.default_rng(1)
    mesh.CreatePointsAttr((rng.random((count, 3)) * [1, 3, 1]).tolist())
    mesh.CreateFaceVertexCountsAttr([4] * (count // 4))
    mesh.CreateFaceVertexIndicesAttr(list(range(count)))
    mesh.CreateSubdivisionSchemeAttr("none")
    normals = rng.normal(size=(count, 3))
    mesh.CreateNormalsAttr((normals / np.linalg.norm(normals, axis=1, keepdims=True)).tolist())
    mesh.SetNormalsInterpolation("vertex")


def _bind(mesh, skeleton, points, influences):
    rng = np.random.default_rng(2)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1).SetTranslate(Gf.Vec3d(0.5, 0.25, 0)))
    joints = rng.integers(0, 3, points * influences).tolist()
    binding.CreateJointIndicesPrimvar(False, influences).Set(joints)
    weights = rng.dirichlet([1.0] * influences, points).ravel().tolist()
    binding.CreateJointWeightsPrimvar(False, influences).Set(weights)


def add_blend_shapes(stage, moved=(0, 2, 7)):
    """Give the mesh two blend shapes with weights at the times 0 and 4; the first one moves three points."""
    path, count = "/Figure/Tube", len(UsdGeom.Mesh(stage.GetPrimAtPath("/Figure/Tube")).GetPointsAttr().Get())
    smile = UsdSkel.BlendShape.Define(stage, f"{path}/smile")
    smile.CreatePointIndicesAttr(list(moved))
    smile.CreateOffsetsAttr([(0, 0, 1), (0, 0, 2), (1, 1, 1)])
    smile.CreateNormalOffsetsAttr([(1, 0, 0), (1, 0, -1), (0, 0.5, 0)])
    half = smile.CreateInbetween("half")
    half.SetWeight(0.5)
    half.SetOffsets([(0, 1, 0), (0, 1, 0), (0, 0, 0)])
    frown = UsdSkel.BlendShape.Define(stage, f"{path}/frown")
    frown.CreateOffsetsAttr([(0.1 * i, 0, 1) for i in range(count)])
    binding = UsdSkel.BindingAPI(stage.GetPrimAtPath(path))
    binding.CreateBlendShapesAttr(["smile", "frown"])
    binding.CreateBlendShapeTargetsRel().SetTargets([smile.GetPath(), frown.GetPath()])
    animation = UsdSkel.Animation(stage.GetPrimAtPath("/Figure/Bones/Walk"))
    animation.CreateBlendShapesAttr(["frown", "smile", "other"])
    animation.CreateBlendShapeWeightsAttr().Set([0, 0, 0], 0)
    animation.GetBlendShapeWeightsAttr().Set([0.25, 0.6, 1], 4)


def _matrix(time, stretch, up):
    """The transform of a joint to its parent, for column vectors: rotation of all joints, by Rodrigues."""
    x, y, z = _AXIS
    cross, angle = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), 0.2 * time
    turn = np.identity(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    matrix = np.identity(4)
    matrix[:3, :3], matrix[1, 3] = turn @ np.diag([1, stretch, 1]), up
    return matrix


def expected_points(stage, time):
    """Return the world points of the tube in float64: sum of weight * joint * inverse bind * geomBind * point."""
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/Figure/Tube"))
    rest = np.array(mesh.GetPointsAttr().Get(), np.float64)
    hip = _matrix(time, 1.0, 0.0)
    knee = hip @ _matrix(time, 1.5, 1.0)
    foot = knee @ _matrix(time, 1.0, 1.0)
    below = [np.identity(4) for _ in range(3)]
    for i in range(3):
        below[i][1, 3] = -i
    joints = np.array([m @ b for m, b in zip((hip, knee, foot), below, strict=True)])
    binding = UsdSkel.BindingAPI(mesh.GetPrim())
    primvars = binding.GetJointIndicesPrimvar(), binding.GetJointWeightsPrimvar()
    width = primvars[0].GetElementSize()
    indices = np.array(primvars[0].Get()).reshape(-1, width)
    weights = np.array(primvars[1].Get(), np.float64).reshape(-1, width)
    bound = np.c_[np.add(rest, [0.5, 0.25, 0.0]), np.ones(len(rest))]
    posed = np.einsum("nw,nwij,nj->ni", weights, joints[np.broadcast_to(indices, (len(rest), width))], bound)[:, :3]
    c, s = np.cos(np.deg2rad(20)), np.sin(np.deg2rad(20))
    return posed @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + [5, 0, 0]
