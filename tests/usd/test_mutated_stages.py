"""Stages with random damage: every call gives a result or a StageError, never another exception or a warning."""

import random

import numpy as np
import pytest
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, Vt

import omni.warp_core as wp
from omni.warp_core.usd.pictures.drawables import Gatherer
from omni.warp_core.usd.stage import READ_ERRORS, StageError
from tests.usd.skinned_stage import add_blend_shapes, skinned_stage

READERS = {
    "Mesh": wp.usd.read_mesh,
    "Points": wp.usd.read_points,
    "BasisCurves": wp.usd.read_curves,
    "PointInstancer": wp.usd.read_instancer,
    "Volume": wp.usd.read_volume,
}
# What any attribute may turn into, with a type that may not be its own.
VALUES = {
    "int[]": [[], [0], [3, 3], [-1], [4, 4, 2**31 - 1], [0, 1, 2, 3], [2**31 - 1, 1], [7] * 100],
    "point3f[]": [[], [(0, 0, 0)], [(float("nan"),) * 3] * 4, [(float("inf"), 0, 0)] * 4, [(1e38, -1e38, 1e38)] * 9],
    "float[]": [[], [1.0], [float("nan")] * 4, [-1.0, 1e30], [0.5] * 9],
    "float": [0.0, -1.0, float("nan"), float("inf"), 1e38],
    "double": [0.0, 1e308, float("-inf")],
    "token": ["", "leftHanded", "periodic", "uniform", "none", "\u00e9"],
    "string[]": [[], ["a", "b"]],
    "quath[]": [[], [Gf.Quath(0, 0, 0, 0)] * 3],
    "quatf[]": [[], [Gf.Quatf(0, 0, 0, 0)] * 3, [Gf.Quatf(1e30, 0, float("nan"), 0)] * 3],
    "token[]": [[], ["hip"], ["hip", "hip", "hip"], ["hip/knee/foot", "hip/knee", "hip"], ["frown", "smile", "smile"]],
    "uint[]": [[], [0, 1, 2], [2**32 - 1] * 3],
    "matrix4d[]": [[], [Gf.Matrix4d(0.0)] * 3, [Gf.Matrix4d(float("nan"))] * 3, [Gf.Matrix4d(1e300)] * 3],
    "matrix4d": [Gf.Matrix4d(0.0), Gf.Matrix4d(float("nan")), Gf.Matrix4d(1e300)],
    "asset": [Sdf.AssetPath(""), Sdf.AssetPath("/nowhere/x.vdb"), Sdf.AssetPath("a[b].vdb")],
    "bool": [True],
}


def scene():
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.Xform.Define(stage, "/World").AddTransformOp().Set(Gf.Matrix4d(2.0))
    points = [(0, 0, 0), (2, -1, 0), (1, 0, 0), (2, 1, 0)]
    wp.usd.write_mesh(
        stage, "/World/M", points, [0, 1, 2, 3], [4], normals=points, uvs=np.zeros((4, 2)), colors=points,
        velocities=points, primvars={"x": wp.usd.Primvar(np.arange(4), "faceVarying"), "t": ("a", "b", "c", "d")},
    )  # fmt: skip
    indexed = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/World/M")).CreatePrimvar(
        "i", Sdf.ValueTypeNames.FloatArray, "vertex"
    )
    indexed.Set([1.0, 2.0])
    indexed.SetIndices(Vt.IntArray([0, 1, 0, 1]))
    UsdGeom.Mesh(stage.GetPrimAtPath("/World/M")).CreateHoleIndicesAttr([])
    wp.usd.write_points(stage, "/World/P", points, [0.1, 0.2, 0.3, 0.4], ids=[1, 2, 3, 4], colors=points)
    wp.usd.write_curves(stage, "/World/C", points, [0, 2, 4], [0.1] * 4, colors=points)
    cubic = wp.usd.write_curves(stage, "/World/D", points, None, 0.1)
    UsdGeom.BasisCurves(cubic).CreateTypeAttr("cubic")
    for kind in ("Sphere", "Cube", "Cone", "Capsule", "Cylinder", "Plane"):
        prim = getattr(UsdGeom, kind).Define(stage, f"/World/{kind}").GetPrim()
        for name in ("radius", "height", "axis", "size", "width", "length"):
            if prim.HasAttribute(name):
                prim.GetAttribute(name).Set(prim.GetAttribute(name).Get())
    wp.usd.write_instancer(
        stage, "/World/I", ["/World/Cone"], [0, 0], points[:2], [(0, 0, 0, 1)] * 2, [(1, 1, 1)] * 2, ids=[1, 2]
    )
    wp.usd.write_volume(stage, "/World/V", {"density": ("/nowhere/x.vdb", "d")})
    return stage.GetRootLayer().ExportToString()


TEXT = scene()


def skinned():
    """The skinned tube, with a matrix and quaternions among its values."""
    stage = skinned_stage(points=4)
    add_blend_shapes(stage, (0, 2, 3))
    return stage.GetRootLayer().ExportToString()


SKINNED = skinned()


def damage(layer, dice):
    """Change the values, the types or the times of a few attributes, and metadata of others."""
    paths = []
    layer.Traverse("/", lambda path: paths.append(path) if path.IsPropertyPath() else None)
    for path in dice.sample(paths, dice.randint(1, 4)):
        spec = layer.GetAttributeAtPath(path)
        if spec is None:
            continue
        same = [name for name in VALUES if name == str(spec.typeName)]
        name = dice.choice(same or list(VALUES)) if dice.random() < 0.6 else dice.choice(list(VALUES))
        owner, attribute = layer.GetPrimAtPath(path.GetPrimPath()), spec.name
        if str(spec.typeName) != name:
            del owner.properties[attribute]
            spec = Sdf.AttributeSpec(owner, attribute, Sdf.ValueTypeNames.Find(name))
        value = dice.choice(VALUES[name])
        if dice.random() < 0.3:
            layer.SetTimeSample(path, dice.choice([-1.0, 0.0, 7.0]), value)
        else:
            spec.default = value
        if attribute.startswith("primvars:") and dice.random() < 0.5:
            spec.SetInfo("interpolation", dice.choice(["vertex", "uniform", "faceVarying", "constant", "odd"]))
            spec.SetInfo("elementSize", dice.choice([1, 2, 0, -1, 2**30]))


@pytest.mark.parametrize("text", [TEXT, SKINNED], ids=["scene", "skinned"])
@pytest.mark.parametrize("seed", range(6))
def test_damaged_values(seed, text):
    endings = set()
    for step in range(60):
        dice = random.Random(seed * 1000 + step)
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(text)
        damage(layer, dice)
        stage = Usd.Stage.Open(layer)
        time = dice.choice([None, -1.0, 0.5, 7.0])
        endings.update(read_all(stage, time, dice.random() < 0.5))
        try:
            Gatherer(stage).at(Usd.TimeCode.Default() if time is None else Usd.TimeCode(time))
        except (StageError, *READ_ERRORS) as error:  # preview makes StageErrors of them
            endings.add(type(error))
    assert StageError in endings and dict in endings, "both ways are taken"


def read_all(stage, time, world):
    for prim in stage.Traverse():
        reader = READERS.get(str(prim.GetTypeName()))
        if reader is None:
            continue
        more = {"world": world} if reader not in (wp.usd.read_instancer, wp.usd.read_volume) else {}
        try:
            read = reader(prim, time, **more)
            yield dict
            if reader is wp.usd.read_mesh:
                require_consistent(read)
        except StageError as error:
            assert str(prim.GetPath()) in str(error)
            yield StageError


def require_consistent(mesh):
    counts = {"vertex": len(mesh.points), "varying": len(mesh.points), "uniform": len(mesh.faces)}
    counts["faceVarying"] = len(mesh.indices)
    for primvar in (*mesh.primvars.values(), *([mesh.normals] if mesh.normals else [])):
        assert primvar.interpolation == "constant" or len(primvar) == counts[primvar.interpolation]
    indices = mesh.indices.numpy()
    assert len(indices) == 3 * len(mesh.faces)
    assert not len(indices) or (indices.min() >= 0 and indices.max() < len(mesh.points))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_text(seed):
    """Characters of the file change; most stages do not open then, and the rest are read."""
    dice, opened = random.Random(seed), 0
    for _ in range(60):
        text = list(TEXT)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(text))
            text[at] = dice.choice([*"0123456789-,.()[]\"'", "", "999999999999", "nan", "#", "\x00"])
        layer = Sdf.Layer.CreateAnonymous(".usda")
        try:
            if not layer.ImportFromString("".join(text)):
                continue
        except (Tf.ErrorException, UnicodeError, ValueError):
            continue
        opened += 1
        assert set(read_all(Usd.Stage.Open(layer), None, True))
    assert opened > 5
