"""Vectors, quaternions and transforms at Python scope. NumPy judges the numbers.

Where a comment says "observed", the expectation was seen in warp-lang 1.19, whose behaviour these classes follow.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang.types import SCALARS, Quat, Transform, Vec
from omni.warp_core.lang.values import scalars
from omni.warp_core.lang.values.value_classes import from_leaves, python_type, to_leaves

SUFFIX_DTYPES = {
    "h": np.float16, "f": np.float32, "d": np.float64, "b": np.int8, "ub": np.uint8, "s": np.int16, "us": np.uint16,
    "i": np.int32, "ui": np.uint32, "l": np.int64, "ul": np.uint64,
}  # fmt: skip


def array_of(value) -> np.ndarray:
    return np.array(value._leaves(), dtype=np.float64)


@pytest.mark.parametrize("suffix", SUFFIX_DTYPES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_named_vector_holds_numbers_of_its_type(suffix, n):
    cls, dtype = getattr(wp, f"vec{n}{suffix}"), SUFFIX_DTYPES[suffix]
    assert cls.__name__ == f"vec{n}{suffix}" and len(cls()) == n
    value = cls(*range(1, n + 1))
    judge = np.arange(1, n + 1, dtype=dtype)
    np.testing.assert_array_equal(np.array(value), judge)
    assert np.array(value).dtype == dtype
    packed = value._wc_pack() if hasattr(value, "_wc_pack") else bytes(memoryview(value))
    assert packed == judge.tobytes()


def test_the_plain_names_are_single_precision():
    assert wp.vec3 is wp.vec3f and wp.quat is wp.quatf and wp.transform is wp.transformf
    assert wp.spatial_transform is wp.transform  # its older name
    assert wp.types.vector(3, float) is wp.vec3 and wp.types.quaternion(wp.float64) is wp.quatd
    assert wp.spatial_vector is wp.types.vector(length=6, dtype=wp.float32)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: wp.vec3(), (0, 0, 0)),
        (lambda: wp.vec3(1, 2, 3), (1, 2, 3)),
        (lambda: wp.vec3(2.0), (2, 2, 2)),
        (lambda: wp.vec3([1, 2, 3]), (1, 2, 3)),
        (lambda: wp.vec3((1, 2, 3)), (1, 2, 3)),
        (lambda: wp.vec3(np.arange(3)), (0, 1, 2)),
        (lambda: wp.vec3(wp.vec3d(1, 2, 3)), (1, 2, 3)),
        (lambda: wp.vec3(wp.vec3i(1, 2, 3)), (1, 2, 3)),
        (lambda: wp.vec3(1, wp.float32(2), np.float32(3)), (1, 2, 3)),
        (lambda: wp.vec3(wp.float64(3.0)), (3, 3, 3)),
        (lambda: wp.vec3i(300), (300, 300, 300)),
        (lambda: wp.vec3ub(300), (44, 44, 44)),  # observed: wraps
        (lambda: wp.vec3ub(-1), (255, 255, 255)),
        (lambda: wp.vec3i(2**31, 0, 0), (-(2**31), 0, 0)),
        (lambda: wp.vec3i(True, 2, 3), (1, 2, 3)),
        (lambda: wp.spatial_vector(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)),
        (lambda: wp.spatial_vector(wp.vec3(1, 2, 3), wp.vec3(4, 5, 6)), (1, 2, 3, 4, 5, 6)),
        (lambda: wp.types.vector(1, float)(7), (7,)),
        (lambda: wp.types.vector(5, wp.float64)(range(5)), (0, 1, 2, 3, 4)),
        (lambda: wp.quat(1, 2, 3, 4), (1, 2, 3, 4)),
        (lambda: wp.quat(), (0, 0, 0, 0)),  # observed: not the identity
        (lambda: wp.quat(wp.vec3(1, 2, 3), 4.0), (1, 2, 3, 4)),
        (lambda: wp.transform(), (0, 0, 0, 0, 0, 0, 1)),
        (lambda: wp.transform((1, 2, 3)), (1, 2, 3, 0, 0, 0, 1)),
        (lambda: wp.transform((1, 2, 3), (0, 1, 0, 0)), (1, 2, 3, 0, 1, 0, 0)),
        (lambda: wp.transform(p=wp.vec3(1, 2, 3)), (1, 2, 3, 0, 0, 0, 1)),
        (lambda: wp.transform(q=wp.quat(1, 2, 3, 4)), (0, 0, 0, 1, 2, 3, 4)),
        (lambda: wp.transform((1, 2, 3), q=wp.quat(1, 2, 3, 4)), (1, 2, 3, 1, 2, 3, 4)),
        (lambda: wp.transform(*range(7)), (0, 1, 2, 3, 4, 5, 6)),
        (lambda: wp.transform(np.arange(7.0)), (0, 1, 2, 3, 4, 5, 6)),
        (lambda: wp.transform(1.0), (1,) * 7),
        (lambda: wp.transformd(wp.transform((1, 2, 3))), (1, 2, 3, 0, 0, 0, 1)),
    ],
)
def test_construction(make, expected):
    np.testing.assert_array_equal(array_of(make()), np.array(expected, dtype=np.float64))


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wp.vec3(1, 2), ValueError, "vec3f.* has 3 components, got 2 values"),
        (lambda: wp.vec3((1, 2)), ValueError, "3 components, got 2"),
        (lambda: wp.vec3(1, 2, 3, 4), ValueError, "3 components, got 4"),
        (lambda: wp.vec3("abc"), TypeError, "got str: 'abc'"),
        (lambda: wp.vec3(None), TypeError, "got NoneType"),
        (lambda: wp.vec3(1, None, 3), TypeError, "NoneType"),
        (lambda: wp.vec3([[1, 2, 3]]), ValueError, "lengths"),
        (lambda: wp.vec3i(1.5, 2, 3), TypeError, "the float 1.5 at 0"),
        (lambda: wp.vec3i(1.0), TypeError, "the float 1.0"),
        (lambda: wp.quat(1, 2, 3), ValueError, "quatf.* has 4"),
        (lambda: wp.transform(1, 2), ValueError, "transformf.* has 7"),
        (lambda: wp.transform((1, 2, 3), (0, 0, 0, 1), p=1), TypeError, "by position or by name"),
        (lambda: wp.types.vector(0, float), ValueError, "at least 1"),
        (lambda: wp.types.vector(-1, float), ValueError, "at least 1"),
        (lambda: wp.types.vector(2, str), TypeError, "str"),
        (lambda: wp.types.vector(2, wp.vec3), TypeError, "scalar dtype"),
        (lambda: wp.types.quaternion(int), TypeError, "floating point"),
        (lambda: wp.types.transformation(wp.int8), TypeError, "floating point"),
    ],
)
def test_wrong_construction_names_the_class_and_the_mistake(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_components_come_out_as_python_numbers_where_python_has_the_type():
    # observed: plain for float32, int32 and bool, typed for the rest
    assert type(wp.vec3(1, 2, 3)[0]) is float and type(wp.vec3i(1, 2, 3)[0]) is int
    assert type(wp.types.vector(2, wp.bool)(True, False)[0]) is bool
    assert type(wp.vec3d(1, 2, 3)[0]) is scalars.float64 and type(wp.vec3ub(1).x) is scalars.uint8
    assert all(type(x) is scalars.float16 for x in wp.vec3h(1, 2, 3))


def test_components_are_typed_while_a_kernel_is_interpreted():
    token = scalars.typed_components.set(True)
    try:
        v = wp.vec3i(2**31 - 1, 0, 0)
        assert (v.x + v[0]).value == -2 and type(list(v)[2]) is scalars.int32
    finally:
        scalars.typed_components.reset(token)


def test_indexing_and_slicing():
    v = wp.vec4(1, 2, 3, 4)
    assert (v[0], v[-1], v.x, v.y, v.z, v.w) == (1.0, 4.0, 1.0, 2.0, 3.0, 4.0)
    assert v[1:3] == wp.vec2(2, 3) and type(v[1:3]) is wp.vec2
    assert v[::-1] == wp.vec4(4, 3, 2, 1)
    assert list(v) == [1.0, 2.0, 3.0, 4.0] and tuple(wp.vec2i(5, 6)) == (5, 6) and sum(v) == 10.0
    assert wp.quat(1, 2, 3, 4)[0:3] == wp.vec3(1, 2, 3)
    for bad in (4, -5):
        for vector in (v, wp.vec4h(v)):
            with pytest.raises(IndexError, match=f"component {bad} is out of range for vec4. with 4"):
                vector[bad]
            with pytest.raises(IndexError, match=f"component {bad} is out of range for vec4. with 4"):
                vector[bad] = 1.0
    with pytest.raises(TypeError, match=r"vec3f\(\) takes numbers or sequences of them, got str: 'a'"):
        wp.vec3("a", 0, 0)
    with pytest.raises(AttributeError):
        wp.vec3().w


def test_assignment():
    v = wp.vec4(1, 2, 3, 4)
    v[0], v.y, v[-1] = 10, wp.float32(20), 40.0
    assert v == wp.vec4(10, 20, 3, 40)
    v[1:3] = wp.vec2(5, 6)
    assert v == wp.vec4(10, 5, 6, 40)
    v[:] = 0.5
    assert v == wp.vec4(0.5)
    v[::2] = [7, 8]
    assert v == wp.vec4(7, 0.5, 8, 0.5)
    with pytest.raises(ValueError, match="cannot assign 3 components to 2"):
        v[0:2] = [1, 2, 3]
    with pytest.raises(TypeError, match="str"):
        v[0] = "x"
    h = wp.vec2h(0)
    h[0] = 0.1
    assert h[0].value == float(np.float16(0.1))


def test_parts_of_transforms():
    t = wp.transform((1, 2, 3), (4, 5, 6, 7))
    assert t.p == wp.vec3(1, 2, 3) and type(t.p) is wp.vec3
    assert t.q == wp.quat(4, 5, 6, 7) and type(t.q) is wp.quat
    t.p, t.q = (9, 8, 7), wp.quat(0, 0, 0, 1)
    assert t == wp.transform((9, 8, 7))
    t.p[0] = 100.0
    assert t.p == wp.vec3(9, 8, 7)  # observed: the parts are copies


@pytest.mark.parametrize("suffix", ["f", "d", "h", "i", "ub"])
def test_arithmetic_matches_numpy(suffix):
    cls, dtype = getattr(wp, f"vec3{suffix}"), SUFFIX_DTYPES[suffix]
    rng = np.random.default_rng(3)
    for _ in range(50):
        a, b = (rng.uniform(1, 60, 3).astype(dtype) for _ in range(2))
        s = dtype(rng.uniform(1, 9))
        va, vb = cls(a), cls(b)
        for got, want in (
            (va + vb, a + b), (va - vb, a - b), (-va, -a), (va * s, a * s), (va + s, a + s), (va - s, a - s),
            (float(s) * va if dtype(0).dtype.kind == "f" else int(s) * va, s * a),
        ):  # fmt: skip
            assert type(got) is cls
            np.testing.assert_array_equal(np.array(got), want)
        if dtype(0).dtype.kind == "f":
            np.testing.assert_array_equal(np.array(va / s), a / s)
            np.testing.assert_array_equal(np.array(float(s) / va), s / a)
        else:
            np.testing.assert_array_equal(np.array(va / s), a // s)
        number = float(s) if dtype(0).dtype.kind == "f" else int(s)
        for got, want in ((va % vb, np.fmod(a, b)), (va % number, np.fmod(a, s)), (number % va, np.fmod(s, a))):
            np.testing.assert_array_equal(np.array(got), want)


def test_integer_vectors_wrap():
    assert wp.vec2i(2**31 - 1, -(2**31)) + wp.vec2i(1, -1) == wp.vec2i(-(2**31), 2**31 - 1)
    assert wp.vec2ub(200, 1) * 2 == wp.vec2ub(144, 2)
    assert wp.vec2i(7, -7) / 2 == wp.vec2i(3, -3)


def test_quaternion_products_follow_hamilton():
    rng = np.random.default_rng(5)
    for _ in range(50):
        a, b = rng.normal(size=4), rng.normal(size=4)
        av, aw, bv, bw = a[:3], a[3], b[:3], b[3]
        want = np.append(aw * bv + bw * av + np.cross(av, bv), aw * bw - av @ bv)
        np.testing.assert_allclose(array_of(wp.quatd(a) * wp.quatd(b)), want, rtol=0, atol=1e-14)
    assert wp.quat(1, 2, 3, 4) * wp.quat(1, 2, 3, 4) == wp.quat(8, 16, 24, 2)  # observed


def rotation(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_products_of_transforms_compose():
    rng = np.random.default_rng(6)
    for _ in range(20):
        (p1, p2), (q1, q2) = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
        q1, q2 = q1 / np.linalg.norm(q1), q2 / np.linalg.norm(q2)
        t = wp.transformd(p1, q1) * wp.transformd(p2, q2)
        np.testing.assert_allclose(array_of(t.p), p1 + rotation(q1) @ p2, rtol=0, atol=1e-14)
        np.testing.assert_allclose(rotation(array_of(t.q)), rotation(q1) @ rotation(q2), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "expression",
    [
        lambda: wp.vec3() + wp.vec3d(),
        lambda: wp.vec3() + wp.vec2(),
        lambda: wp.vec3() * wp.vec3(),
        lambda: wp.vec3() / wp.vec3(),
        lambda: wp.vec3() - (1, 2, 3),
        lambda: wp.vec3() + "x",
        lambda: wp.vec3i(1) * 1.5,
        lambda: wp.vec3(1) * True,
        lambda: wp.vec3() * wp.float64(2),
        lambda: wp.vec3() * np.int32(2),
        lambda: wp.vec3() < wp.vec3(),
        lambda: wp.vec3() @ wp.vec3(),
        lambda: wp.quat() + 1.0,
        lambda: wp.quat() * wp.vec3(),
        lambda: wp.transform() * wp.vec3(),
    ],
)
def test_operators_that_do_not_exist_are_type_errors(expression):
    with pytest.raises(TypeError):
        expression()


def test_equality():
    v = wp.vec3(1, 2, 3)
    assert v == wp.vec3(1, 2, 3) and (v != wp.vec3(1, 2, 3)) is False
    assert v == wp.vec3d(1, 2, 3) and v == (1, 2, 3) and v == [1, 2, 3] and v == np.array([1, 2, 3])  # observed
    assert v != wp.vec3(1, 2, 4) and v != wp.vec2(1, 2) and v != [1, 2] and v != 1 and v != None and v != "abc"  # noqa: E711
    assert wp.vec2(math.nan, 0) != wp.vec2(math.nan, 0) and v != np.array(1.0) and v != {1, 2, 3}


def test_equal_values_hash_equal():
    v = wp.vec3(1, 2, -0.0)
    for equal in (wp.vec3(1, 2, 0), wp.vec3d(1, 2, 0), wp.vec3i(1, 2, 0), (1, 2, 0), (1.0, 2.0, 0.0)):
        assert v == equal and hash(v) == hash(equal)
    assert wp.vec4(1, 2, 3, 4) == wp.quat(1, 2, 3, 4) and hash(wp.vec4(1, 2, 3, 4)) == hash(wp.quat(1, 2, 3, 4))
    m = wp.mat22(1, 2, 3, 4)
    assert m == ((1, 2), (3, 4)) and hash(m) == hash(((1, 2), (3, 4))) == hash(wp.mat22d(m))
    assert len({wp.vec2(i % 5, i % 3) for i in range(100)}) == 15
    assert {wp.vec2h(0.1): "h"}[wp.vec2h(0.1)] == "h"


@pytest.mark.parametrize(
    "value, text, representation",
    [  # observed
        (lambda: wp.vec3(1, 2, 3), "[1.0, 2.0, 3.0]", "vec3f([1.0, 2.0, 3.0])"),
        (lambda: wp.vec3i(1, 2, 3), "[1, 2, 3]", "vec3i([1, 2, 3])"),
        (lambda: wp.vec3ub(1), "[1, 1, 1]", "vec3ub([uint8(1), uint8(1), uint8(1)])"),
        (lambda: wp.vec2h(1.1, 2), "[1.099609375, 2.0]", "vec2h([float16(1.099609375), float16(2.0)])"),
        (lambda: wp.vec2d(0.1, 1e-9), "[0.1, 1e-09]", "vec2d([float64(0.1), float64(1e-09)])"),
        (lambda: wp.vec2(math.nan, math.inf), "[nan, inf]", "vec2f([nan, inf])"),
        (lambda: wp.quat(1, 2, 3, 4), "[1.0, 2.0, 3.0, 4.0]", "quatf([1.0, 2.0, 3.0, 4.0])"),
        (
            lambda: wp.transform(),
            "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]",
            "transformf([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])",
        ),
        (lambda: wp.types.vector(5, float)(1), str([1.0] * 5), f"vector(length=5, dtype=float32)({[1.0] * 5})"),
    ],
)
def test_text(value, text, representation):
    assert str(value()) == text and repr(value()) == representation and f"{value()}" == text


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: s.key)
def test_leaves_round_trip(scalar):
    kinds = [Vec(3, scalar)] + ([Quat(scalar), Transform(scalar)] if scalar.is_float else [])
    for t in kinds:
        numbers = tuple(i % 2 == 1 if scalar.key == "bool" else i for i in range(t.count))
        value = from_leaves(t, numbers)
        assert type(value) is python_type(t) and to_leaves(value, t) == numbers


def test_leaves_check_what_they_take_apart():
    assert to_leaves([1, 2, 3], Vec(3, wp.float32.__wc_type__)) == (1.0, 2.0, 3.0)
    assert to_leaves(True, wp.int32.__wc_type__) == (1,)
    assert to_leaves(3, wp.float32.__wc_type__) == (3.0,)
    for value, t, error in [
        (1.5, wp.int32, TypeError),
        (2**40, wp.int32, ValueError),
        (-1, wp.uint8, ValueError),
        ("1", wp.float32, TypeError),
        (wp.vec3d(), wp.vec3, TypeError),
        (1.0, wp.vec3, TypeError),
        ([1, 2], wp.vec3, ValueError),
    ]:
        with pytest.raises(error):
            to_leaves(value, t.__wc_type__)


@pytest.mark.parametrize(
    "value", [wp.vec3h(1, 2, 3), wp.vec3(1, 2, 3), wp.types.vector(7, wp.int8)(3), wp.transformd()]
)
def test_values_can_be_copied_and_pickled(value):
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(other) is type(value) and other == value
        other[0] = 9
        assert other != value


def test_brain_floats_reach_numpy_as_float32():
    bf = python_type(Vec(2, wp.bfloat16.__wc_type__))(1.1, -2)
    assert np.array(bf).dtype == np.float32 and np.array(bf).tolist() == [1.1015625, -2.0]
    assert bf._wc_pack() == (np.array([1.1015625, -2.0], np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
