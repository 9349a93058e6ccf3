"""Memory of `Vt` arrays under arrays of this package, and the copy back. The judge is USD: lists and `FromNumpy`."""

import gc

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

import omni.warp_core as wp
from omni.warp_core.usd.numpy_conversion import to_usd

VECTORS = {"half": "h", "float": "f", "double": "d", "int": "i"}
KINDS = [
    (f"{name}{n}", f"Vec{n}{letter}Array", f"vec{n}{letter}") for name, letter in VECTORS.items() for n in (2, 3, 4)
]
KINDS += [(f"matrix{n}d", f"Matrix{n}dArray", f"mat{n}{n}d") for n in (2, 3, 4)]
KINDS += [(f"quat{letter}", f"Quat{letter}Array", f"quat{letter}") for letter in "hfd"]
KINDS += [
    ("bool", "BoolArray", "bool"), ("uchar", "UCharArray", "uint8"), ("int", "IntArray", "int32"),
    ("uint", "UIntArray", "uint32"), ("int64", "Int64Array", "int64"), ("uint64", "UInt64Array", "uint64"),
    ("half", "HalfArray", "float16"), ("float", "FloatArray", "float32"), ("double", "DoubleArray", "float64"),
]  # fmt: skip


def numbers_for(dtype, count):
    """Some numbers that all types can hold, in the shape that elements of a type need."""
    shape = np.asarray(wp.zeros(count, dtype=dtype).numpy()).shape
    numbers = np.random.default_rng(5).integers(0, 100, shape)
    return numbers.astype(wp.zeros(1, dtype=dtype).numpy().dtype)


@pytest.mark.parametrize(("usd", "cls", "ours"), KINDS, ids=lambda x: x)
def test_arrays_show_the_memory_of_vt_arrays(usd, cls, ours):
    dtype = bool if ours == "bool" else getattr(wp, ours)
    numbers = numbers_for(dtype, 5)
    v = getattr(Vt, cls).FromNumpy(numbers)
    a = wp.array(v, dtype=dtype, copy=False)
    assert (a.shape, a.readonly, a.ptr) == ((5,), True, np.asarray(v).ctypes.data)
    assert np.array_equal(a.numpy(), numbers)
    made = to_usd(numbers, usd + "[]")
    assert type(made) is type(v)
    assert made == v  # element for element, as FromNumpy copies


def test_quaternions_keep_their_parts():
    a = wp.array(Vt.QuatfArray([Gf.Quatf(1, 2, 3, 4)]), dtype=wp.quat, copy=False)
    assert a[0] == wp.quat(2.0, 3.0, 4.0, 1.0)
    assert to_usd(a.numpy(), "quatf[]")[0] == Gf.Quatf(1, 2, 3, 4)


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i])


@wp.kernel
def clear(v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v[i] = wp.vec3()


def test_kernels_read_points_of_a_stage_in_place():
    stage = Usd.Stage.CreateInMemory()
    points = UsdGeom.Points.Define(stage, "/Points").CreatePointsAttr([(3, 4, 0), (0, 5, 12)])
    out = wp.zeros(2, dtype=float)
    wp.launch(lengths, dim=2, inputs=[points.Get()], outputs=[out])
    assert out.list() == [5.0, 13.0]
    with pytest.raises(ValueError, match="`v` is read-only but the kernel writes it"):
        wp.launch(clear, dim=2, inputs=[points.Get()])


def test_memory_outlives_the_vt_array_and_changes_of_the_stage():
    stage = Usd.Stage.CreateInMemory()
    points = UsdGeom.Points.Define(stage, "/Points").CreatePointsAttr([(1, 2, 3)] * 1000)
    a = wp.array(points.Get(), dtype=wp.vec3, copy=False)
    points.Set([(4, 5, 6)] * 1000)
    gc.collect()
    assert a.list() == [wp.vec3(1.0, 2.0, 3.0)] * 1000


def test_numbers_go_to_usd_by_a_copy():
    numbers = np.ones((4, 3), np.float32)
    made = to_usd(numbers, "point3f[]")
    kept = Vt.Vec3fArray(made)
    numbers[:] = 7.0
    assert list(made) == list(kept) == [Gf.Vec3f(1, 1, 1)] * 4
    again = to_usd(numbers, "point3f[]")
    assert (made[0], again[0]) == (Gf.Vec3f(1, 1, 1), Gf.Vec3f(7, 7, 7))
    assert list(to_usd(numbers[::2].astype(np.float64), "point3f[]")) == [Gf.Vec3f(7, 7, 7)] * 2  # USD converts
    for wrong in (np.zeros((4, 2), np.float32), np.zeros(4, np.float32)):
        with pytest.raises(ValueError):
            to_usd(wrong, "point3f[]")


def test_texts_have_no_memory_to_show():
    for v in (Vt.TokenArray(["a"]), Vt.StringArray(["a"])):
        with pytest.raises((TypeError, ValueError)):
            wp.array(v, copy=False)
    assert Sdf.ValueTypeNames.TokenArray.type.pythonClass is type(to_usd(["a"], "token[]"))
