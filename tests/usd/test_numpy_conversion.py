"""Values between USD and NumPy."""

import numpy as np
import pytest
from pxr import Gf, Sdf, Vt

from omni.warp_core.usd.numpy_conversion import to_numpy, to_usd

RANDOM = np.random.default_rng(1)
ARRAYS = [
    ("float[]", np.float32, ()),
    ("double[]", np.float64, ()),
    ("half[]", np.float16, ()),
    ("int[]", np.int32, ()),
    ("uchar[]", np.uint8, ()),
    ("uint[]", np.uint32, ()),
    ("int64[]", np.int64, ()),
    ("uint64[]", np.uint64, ()),
    ("bool[]", np.bool_, ()),
    ("float2[]", np.float32, (2,)),
    ("point3f[]", np.float32, (3,)),
    ("color4f[]", np.float32, (4,)),
    ("half3[]", np.float16, (3,)),
    ("int3[]", np.int32, (3,)),
    ("quatf[]", np.float32, (4,)),
    ("quatd[]", np.float64, (4,)),
    ("quath[]", np.float16, (4,)),
    ("matrix2d[]", np.float64, (2, 2)),
    ("matrix4d[]", np.float64, (4, 4)),
    ("timecode[]", np.float64, ()),
]


def sample(dtype, shape):
    if dtype is np.bool_:
        return RANDOM.random(shape) < 0.5
    return (RANDOM.random(shape) * 100).astype(dtype)


@pytest.mark.parametrize(("name", "dtype", "shape"), ARRAYS, ids=[row[0] for row in ARRAYS])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_arrays_there_and_back(name, dtype, shape, count):
    values = sample(dtype, (count, *shape))
    usd = to_usd(values, name)
    layer = Sdf.Layer.CreateAnonymous()
    spec = Sdf.AttributeSpec(Sdf.PrimSpec(layer, "P", Sdf.SpecifierDef), "a", Sdf.ValueTypeNames.Find(name))
    spec.default = usd  # USD itself judges the type
    assert len(usd) == count
    if count:
        back = to_numpy(usd)
        assert back.dtype == dtype and np.array_equal(back, values)


@pytest.mark.parametrize(("name", "dtype", "shape"), ARRAYS, ids=[row[0] for row in ARRAYS])
def test_single_values_there_and_back(name, dtype, shape):
    value = sample(dtype, shape) if shape else sample(dtype, ()).item()
    usd = to_usd(value, name.removesuffix("[]"))
    layer = Sdf.Layer.CreateAnonymous()
    spec = Sdf.AttributeSpec(Sdf.PrimSpec(layer, "P", Sdf.SpecifierDef), "a", Sdf.ValueTypeNames.Find(name[:-2]))
    spec.default = usd
    assert np.array_equal(to_numpy(spec.default), value)


def test_arrays_are_views():
    points = Vt.Vec3fArray([(1, 2, 3), (4, 5, 6)])
    view = to_numpy(points)
    assert not view.flags.owndata and not view.flags.writeable and view.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_quaternions_are_i_j_k_real_and_matrices_rows():
    assert to_numpy(Gf.Quatf(4, 1, 2, 3)).tolist() == [1, 2, 3, 4]
    assert to_usd(np.array([1.0, 2, 3, 4]), "quatf") == Gf.Quatf(4, 1, 2, 3)
    moved = Gf.Matrix4d().SetTranslate((7, 8, 9))
    assert to_numpy(moved)[3].tolist() == [7, 8, 9, 1] and to_usd(to_numpy(moved), "matrix4d") == moved


def test_texts():
    assert to_numpy(Vt.TokenArray(["a", "b"])) == ("a", "b") and to_numpy("x") == "x" and to_numpy(None) is None
    assert to_numpy(Sdf.AssetPath("a.png")) == "a.png" and to_usd("a.png", "asset") == Sdf.AssetPath("a.png")
    assert list(to_usd(("a", "b"), "token[]")) == ["a", "b"]
