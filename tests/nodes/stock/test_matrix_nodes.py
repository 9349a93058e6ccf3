"""Matrix nodes, compared with Gf and UsdGeom of USD, and with NumPy."""

import math

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom

from tests.nodes.stock.single_node import Bench, check, compute

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ANGLES = np.random.default_rng(3).uniform(-180, 180, (6, 3))
CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module", autouse=True)
def stage():
    """A stage for `by_usd`."""
    by_usd.stage = Usd.Stage.CreateInMemory()
    yield
    del by_usd.stage


def by_usd(angles, order="XYZ"):
    """The matrix of Euler angles, by UsdGeom."""
    prim = UsdGeom.Xform.Define(by_usd.stage, f"/{order}")
    prim.ClearXformOpOrder()
    kind = getattr(UsdGeom.XformOp, "TypeRotate" + order)
    op = prim.GetPrim().GetAttribute(f"xformOp:rotate{order}")
    op = UsdGeom.XformOp(op) if op else prim.AddXformOp(kind, UsdGeom.XformOp.PrecisionDouble)
    op.Set(Gf.Vec3d(*map(float, angles)))
    prim.SetXformOpOrder([op])
    return np.array(prim.GetLocalTransformation())


def rotations(order="XYZ"):
    return np.array([by_usd(angles, order)[:3, :3] for angles in ANGLES])


def transforms():
    out = np.array([by_usd(angles) for angles in ANGLES])
    out[:, 3, :3] = ANGLES
    return out


ROWS = [
    ("MatrixMultiply", {"a": ("matrixd[2]", [[1, 2], [3, 4]]), "b": ("matrixd[2]", [[0, 1], [1, 0]])},
     {"output": ("matrixd[2]", [[2, 1], [4, 3]])}),
    ("MatrixMultiply", {"a": ("float[2]", [1, 2]), "b": ("matrixd[2]", [[1, 2], [3, 4]])},
     {"output": ("float[2]", [7, 10])}),
    ("MatrixMultiply", {"a": ("matrixd[2]", [[1, 2], [3, 4]]), "b": ("double[2][]", [[1, 0], [0, 1]])},
     {"output": ("double[2][]", [[1, 3], [2, 4]])}),
    ("MatrixMultiply", {"a": ("double[3]", [1, 2, 3]), "b": ("double[3]", [1, 1, 1])}, {"output": ("double", 6)}),
    ("MatrixMultiply", {"a": ("int[2]", [1, 2]), "b": ("matrixd[2]", [[1, 0], [0, 1]])},
     {"output": ("double[2]", [1, 2])}),
    ("OgnInvertMatrix", {"matrix": ("matrixd[2]", [[2, 0], [0, 4]])},
     {"invertedMatrix": ("matrixd[2]", [[0.5, 0], [0, 0.25]])}),
    ("OgnInvertMatrix", {"matrix": ("matrixd[2][]", [[[1, 1], [1, 1]], [[1, 0], [0, 2]]])},
     {"invertedMatrix": ("matrixd[2][]", [np.eye(2) * np.finfo(np.float32).max, [[1, 0], [0, 0.5]]])}),
    ("OgnInvertMatrix", {"matrix": ("matrixd[2]", [[math.nan, 0], [0, 1]])},
     {"invertedMatrix": ("matrixd[2]", np.eye(2) * np.finfo(np.float32).max)}),
    ("Transpose", {"matrix": ("matrixd[3][]", [np.arange(9).reshape(3, 3)])},
     {"result": ("matrixd[3][]", [np.arange(9).reshape(3, 3).T])}),
    ("TransformVector",
     {"matrix": ("matrixd[3]", [[0, 1, 0], [-1, 0, 0], [0, 0, 2]]), "vector": ("vectorf[3]", [1, 2, 3])},
     {"result": ("vectorf[3]", [-2, 1, 6])}),
    ("TransformVector", {"matrix": ("matrixd[4]", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [5, 6, 7, 0]]),
                         "vector": ("vectord[3][]", [[0, 0, 2], [1, 1, 1]])},
     {"result": ("vectord[3][]", [[2.5, 3, 4.5], [6, 7, 8]])}),
    ("RotateVector", {"rotation": ("vectord[3]", [0, 0, 90]), "vector": ("vectorf[3]", [1, 0, 0])},
     {"result": ("vectorf[3]", [0, 1, 0])}),
    ("RotateVector", {"rotation": ("matrixd[4]", [[0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 1, 0], [9, 9, 9, 1]]),
                      "vector": ("vectord[3][]", [[1, 0, 0], [0, 1, 0]])},
                      {"result": ("vectord[3][]", [[0, 1, 0], [-1, 0, 0]])}),
    ("RotateVector", {"rotation": ("quatf[4][]", [[0, 0, 1, 0], [2, 0, 0, 0]]), "vector": ("vectord[3]", [1, 1, 1])},
     {"result": ("vectord[3][]", [[-1, -1, 1], [1, -1, -1]])}),
    ("GetMatrix4Translation", {"matrix": ("matrixd[4]", np.arange(16).reshape(4, 4))},
     {"translation": ("vectord[3]", [12, 13, 14])}),
    ("SetMatrix4Translation", {"matrix": ("matrixd[4]", np.eye(4)), "translation": ("vectord[3][]", [[1, 2, 3]])},
     {"matrix": ("matrixd[4][]", [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 2, 3, 1]]])}),
    ("GetMatrix4Scale", {"matrix": ("matrixd[3]", [[0, 2, 0], [3, 0, 0], [0, 0, -4]])},
     {"scale": ("vectord[3]", [2, 3, 4])}),
    ("SetMatrix4Scale",
     {"matrix": ("matrixd[3]", [[0, 2, 0], [3, 0, 0], [0, 0, 4]]), "scale": ("vectord[3]", [5, 6, 7])},
     {"matrix": ("matrixd[3]", [[0, 5, 0], [6, 0, 0], [0, 0, 7]])}),
    ("SetMatrix4Rotation", {"matrix": ("matrixd[4]", np.diag([2, 2, 2, 1])), "rotationAngle": ("double", 0)},
     {"matrix": ("matrixd[4]", np.eye(4))}),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_values(row):
    check(row)


@pytest.mark.parametrize("order", ORDERS)
def test_transforms_are_those_of_usd(order):
    move, turn, scale = [1, 2, 3], ANGLES[0], [2, 3, 4]
    got = compute("MakeTransform", translation=move, rotationXYZ=turn, scale=scale, rotationOrder=order)["transform"]
    wanted = (
        Gf.Matrix4d().SetScale(Gf.Vec3d(*scale))
        * Gf.Matrix4d(by_usd(turn, order))
        * Gf.Matrix4d().SetTranslate(Gf.Vec3d(*move))
    )
    np.testing.assert_allclose(got[1], np.array(wanted), **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_come_back_as_the_same_rotation(order):
    scaled = np.eye(3) * [2, 3, 4] @ rotations()
    kind, angles = compute("GetMatrix4Rotation", matrix=("matrixd[3][]", scaled), rotationOrder=order)["rotation"]
    assert kind == "vectord[3][]"
    np.testing.assert_allclose([by_usd(a, order)[:3, :3] for a in angles], rotations(), **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("middle", [90.0, -90.0])
def test_euler_angles_where_two_axes_fall_together(order, middle):
    given = np.zeros(3)
    given[["XYZ".index(letter) for letter in order]] = (30.0, middle, 20.0)
    matrix = by_usd(given, order)
    angles = compute("GetMatrix4Rotation", matrix=("matrixd[4]", matrix), rotationOrder=order)["rotation"][1]
    np.testing.assert_allclose(by_usd(angles, order), matrix, rtol=0, atol=1e-7)


def test_quaternions_are_those_of_usd():
    kind, quaternions = compute("GetMatrix4Quaternion", matrix=("matrixd[4][]", transforms()))["quaternion"]
    assert kind == "quatd[4][]"
    for matrix, got in zip(transforms(), quaternions):
        q = Gf.Matrix4d(matrix).ExtractRotationQuat()
        wanted = np.array([*q.GetImaginary(), q.GetReal()])
        np.testing.assert_allclose(got, wanted * np.sign(wanted[3]), **CLOSE)
    back = compute("SetMatrix4Quaternion", matrix=("matrixd[4][]", transforms()), quaternion=(kind, quaternions))[
        "matrix"
    ][1]
    np.testing.assert_allclose(back, transforms(), **CLOSE)


@pytest.mark.parametrize(
    "q", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [0, 1e-9, 1, 1e-9]]
)
def test_half_turns_keep_their_quaternion(q):
    matrix = compute("GetMatrix4RotationMatrix", matrix=("quatd[4]", q))["rotation"]
    assert matrix[0] == "matrixd[3]"
    got = compute("GetMatrix4Quaternion", matrix=matrix)["quaternion"][1]
    assert abs(np.dot(got, q)) == pytest.approx(np.linalg.norm(q), rel=1e-12)


def test_rotation_keeps_the_translation_and_takes_every_form():
    matrix = ("matrixd[4]", transforms()[0])
    wanted = by_usd([0, 0, 40])
    wanted[3] = matrix[1][3]
    q = [0, 0, math.sin(math.radians(20)), math.cos(math.radians(20))]
    forms = (
        {"rotationAngle": ("double", 40), "fixedRotationAxis": "Z"},
        {"rotationAngle": ("double", 40), "fixedRotationAxis": "Custom", "rotationAxis": [0, 0, 5]},
        {"rotationAngle": ("vectord[3]", [0, 0, 40])},
        {"rotationAngle": ("quatd[4]", q)},
        {"rotationAngle": ("matrixd[3]", wanted[:3, :3])},
    )
    for form in forms:
        np.testing.assert_allclose(compute("SetMatrix4Rotation", matrix=matrix, **form)["matrix"][1], wanted, **CLOSE)


def test_orthonormal_matrices_are_the_nearest_ones():
    turned = transforms()
    turned[:, :3, :3] += 0.01 * np.random.default_rng(1).standard_normal((len(turned), 3, 3))
    out = compute("Orthonormalize", matrix=("matrixd[4][]", turned))["result"][1]
    np.testing.assert_allclose(
        out[:, :3, :3] @ out[:, :3, :3].swapaxes(1, 2), np.broadcast_to(np.eye(3), (6, 3, 3)), **CLOSE
    )
    np.testing.assert_array_equal(out[:, 3], turned[:, 3])
    for got, given in zip(out, turned):  # by USD's own iteration, which ends 1e-6 from the same matrix
        np.testing.assert_allclose(got[:3, :3], np.array(Gf.Matrix3d(given[:3, :3]).GetOrthonormalized()), atol=1e-3)


def test_look_at_is_that_of_a_camera():
    eye, center, up = [1.0, 2.0, 3.0], [-4.0, 0.0, 1.0], [0.0, 0.0, 1.0]
    got = compute("MakeTransformLookAt", eye=eye, center=center, up=up)["transform"][1]
    view = Gf.Matrix4d().SetLookAt(Gf.Vec3d(*eye), Gf.Vec3d(*center), Gf.Vec3d(*up))
    np.testing.assert_allclose(got, np.array(view.GetInverse()), **CLOSE)


@pytest.mark.parametrize("target", [[5, 6, -7], [0, 9, 0], [0, -9, 0], [0, 0, -3], [0, 0, 3]])
def test_look_at_rotation_turns_forward_to_the_target(target):
    out = compute("GetLookAtRotation", start=[1, 1, 1], target=np.add(target, 1))
    matrix = by_usd(out["rotateXYZ"][1])[:3, :3]
    np.testing.assert_allclose(
        np.array([0, 0, 1]) @ matrix, np.array(target) / np.linalg.norm(target), rtol=0, atol=1e-7
    )
    same = compute("RotateVector", rotation=out["orientation"], vector=("vectord[3][]", np.eye(3)))["result"][1]
    np.testing.assert_allclose(same, matrix, rtol=0, atol=1e-7)
    if abs(target[1]) != 9:
        assert (np.array([1, 0, 0]) @ matrix)[1] == pytest.approx(0, abs=1e-9), "it does not roll"


ERRORS = [
    ("MatrixMultiply", {"a": ("matrixd[3]", np.eye(3)), "b": ("float[2]", [1, 2])}, "they have no product"),
    ("Transpose", {"matrix": ("float", 1)}, "inputs:matrix is of type float; it must be a matrix of 2 x 2"),
    ("OgnInvertMatrix", {"matrix": ("token", "x")}, "inputs:matrix is of type token"),
    ("Orthonormalize", {"matrix": ("matrixd[3]", np.full((3, 3), math.nan))}, "NaN or infinite"),
    ("GetMatrix4Rotation", {"matrix": ("quatd[4]", [0, 0, 0, 0])}, "a quaternion of length 0"),
    ("GetMatrix4Rotation", {"matrix": ("matrixd[3]", np.eye(3)), "rotationOrder": "XYX"},
     "inputs:rotationOrder is 'XYX'"),
    ("SetMatrix4Rotation",
     {"matrix": ("matrixd[4]", np.eye(4)), "rotationAngle": ("double", 1), "fixedRotationAxis": "Custom",
                            "rotationAxis": [0, 0, 0]}, "inputs:rotationAxis is zero"),
    ("SetMatrix4Rotation", {"matrix": ("matrixd[4]", np.eye(4)), "rotationAngle": ("double", math.inf)},
     "NaN or infinite"),
    ("TransformVector", {"matrix": ("matrixd[4][]", [np.eye(4)] * 2), "vector": ("vectorf[3][]", [[1, 2, 3]] * 3)},
     "inputs:vector"),
    ("MakeTransformLookAt", {"eye": [1, 1, 1], "center": [1, 1, 1]}, "are the same point"),
    ("GetLookAtRotation", {"target": [1, 0, 0], "forward": [0, 0, 0]}, "inputs:forward is zero"),
    ("MakeTransform", {"rotationXYZ": [math.nan, 0, 0]}, "inputs:rotationXYZ has a component that is NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "text"), ERRORS)
def test_errors(name, inputs, text):
    assert text in Bench(name, **inputs).error
