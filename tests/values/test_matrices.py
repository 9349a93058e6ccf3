"""Matrices at Python scope, judged by NumPy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.lang import types as lang_types

mat23 = wp.types.matrix(shape=(2, 3), dtype=float)
mat32d = wp.types.matrix((3, 2), wp.float64)


def array_of(m) -> np.ndarray:
    return np.array(m._leaves(), np.float64).reshape(m._shape_)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: wp.mat22(), [[0, 0], [0, 0]]),
        (lambda: wp.mat22(1, 2, 3, 4), [[1, 2], [3, 4]]),
        (lambda: wp.mat22(1.5), [[1.5, 1.5], [1.5, 1.5]]),
        (lambda: wp.mat22([1, 2], [3, 4]), [[1, 2], [3, 4]]),
        (lambda: wp.mat22(wp.vec2(1, 2), wp.vec2(3, 4)), [[1, 2], [3, 4]]),  # as observed in warp-lang: rows
        (lambda: wp.mat22([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (lambda: wp.mat22([1, 2, 3, 4]), [[1, 2], [3, 4]]),
        (lambda: wp.mat33(np.arange(9)), np.arange(9).reshape(3, 3)),
        (lambda: wp.mat33(np.arange(9).reshape(3, 3)), np.arange(9).reshape(3, 3)),
        (lambda: wp.mat33(wp.mat33d(np.eye(3))), np.eye(3)),
        (lambda: mat23(1, 2, 3, 4, 5, 6), [[1, 2, 3], [4, 5, 6]]),
        (lambda: mat32d([1, 2], (3, 4), np.array([5, 6])), [[1, 2], [3, 4], [5, 6]]),
        (lambda: wp.spatial_matrix(np.arange(36)), np.arange(36).reshape(6, 6)),
        (lambda: wp.types.matrix((2, 2), wp.bool)([True, False], [False, True]), np.eye(2)),
    ],
)
def test_construction(make, expected):
    np.testing.assert_array_equal(array_of(make()), expected)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: wp.mat22(1, 2), ValueError, "4 components, got 2"),
        (lambda: wp.mat22(1, 2, 3), ValueError, "4 components, got 3"),
        (lambda: wp.mat33([[1, 2], [3, 4]]), ValueError, "lengths"),
        (lambda: wp.mat33((1, 2, 3)), ValueError, "9 components, got 3"),
        (lambda: wp.mat33(wp.mat22()), ValueError, r"shape \(3, 3\), got a mat22f"),
        (lambda: wp.mat22("abcd"), TypeError, "str"),
        (lambda: wp.types.matrix((2, 2), int)(1.5, 2, 3, 4), TypeError, "the float 1.5"),
        (lambda: wp.types.matrix(3, float), ValueError, "shape"),
        (lambda: wp.types.matrix((0, 1), float), ValueError, "shape"),
        (lambda: wp.types.matrix((2, 2), wp.vec3), TypeError, "scalar dtype"),
    ],
)
def test_wrong_construction(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_indexing_and_slicing():
    judge = np.arange(12.0).reshape(3, 4)
    m = wp.types.matrix((3, 4), float)(judge)
    assert len(m) == 3 and m[1, 2] == 6.0 and m[-1, -1] == 11.0 and m[1][2] == 6.0
    for key in (0, -1, (slice(None), 1), (2, slice(1, 3)), (slice(None, None, -1), 0)):
        got = m[key]
        assert isinstance(got, type(wp.types.vector(len(judge[key]), float)()))
        np.testing.assert_array_equal(np.array(got._leaves()), judge[key])
    for key in (slice(0, 2), slice(None, None, -1), (slice(1, 3), slice(0, 4, 2))):
        np.testing.assert_array_equal(array_of(m[key]), judge[key])
    np.testing.assert_array_equal([list(row) for row in m], judge)
    for bad in (3, (0, 4), (-4, 0)):
        with pytest.raises(IndexError, match="out of range"):
            m[bad]
    with pytest.raises(IndexError):
        m[0, 0, 0]


def test_assignment():
    judge = np.zeros((3, 3))
    m = wp.mat33()
    for key, value in [
        (0, wp.vec3(1, 2, 3)),
        ((1, 1), 9),
        ((slice(None), 2), [7, 8, 9]),
        (2, 5.0),
        ((slice(0, 2), slice(0, 2)), [[1, 2], [3, 4]]),
    ]:
        m[key] = value
        judge[key] = np.array(value, dtype=float)
        np.testing.assert_array_equal(array_of(m), judge)
    with pytest.raises(ValueError, match="cannot assign 2 components to 3"):
        m[0] = [1, 2]


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((2, 2), (2, 2)), ((1, 4), (4, 3)), ((4, 4), (4, 4))])
def test_products_match_numpy(shapes):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-9, 9, s).astype(float) for s in shapes)  # small integers: no rounding anywhere
    ma, mb = (wp.types.matrix(x.shape, wp.float64)(x) for x in (a, b))
    v = wp.types.vector(a.shape[1], wp.float64)(b[:, 0])
    w = wp.types.vector(a.shape[0], wp.float64)(a[:, 0])
    np.testing.assert_array_equal(array_of(ma * mb), a @ b)
    np.testing.assert_array_equal(array_of(ma @ mb), a @ b)
    np.testing.assert_array_equal(np.array(ma * v), a @ b[:, 0])
    np.testing.assert_array_equal(np.array(ma @ v), a @ b[:, 0])
    np.testing.assert_array_equal(np.array(w * ma), a[:, 0] @ a)
    np.testing.assert_array_equal(np.array(w @ ma), a[:, 0] @ a)


def test_each_step_of_a_product_is_rounded():
    a, b = np.float32([[0.1, 0.7], [1e8, 3.3]]), np.float32([[0.3, 9.1], [1e-3, 7.7]])
    want = np.empty((2, 2), np.float32)
    for r in range(2):
        for c in range(2):
            want[r, c] = np.float32(a[r, 0] * b[0, c]) + np.float32(a[r, 1] * b[1, c])
    np.testing.assert_array_equal(array_of(wp.mat22(a) * wp.mat22(b)), want.astype(np.float64))


def test_componentwise_arithmetic():
    a, b = wp.mat22(1, 2, 3, 4), wp.mat22(5, 6, 7, 8)
    assert a + b == wp.mat22(6, 8, 10, 12) and b - a == wp.mat22(4.0) and -a == wp.mat22(-1, -2, -3, -4)
    assert a * 2 == 2 * a == wp.mat22(2, 4, 6, 8) and a / 2.0 == wp.mat22(0.5, 1, 1.5, 2)
    assert a * wp.float32(2) == wp.mat22(2, 4, 6, 8)
    assert 12.0 / a == wp.mat22(12, 6, 4, 3)


@pytest.mark.parametrize(
    "expression",
    [
        lambda: wp.mat22() + 1.0,
        lambda: wp.mat22() + wp.mat33(),
        lambda: wp.mat22() * wp.mat33(),
        lambda: wp.mat22() * wp.vec3(),
        lambda: wp.vec3() * wp.mat22(),
        lambda: wp.mat22() * wp.mat22d(),
        lambda: wp.mat22() @ 2.0,
    ],
)
def test_operators_that_do_not_exist_are_type_errors(expression):
    with pytest.raises(TypeError):
        expression()


def test_equality_and_text():
    m = wp.mat22(1, 2, 3, 4)
    assert m == wp.mat22(1, 2, 3, 4) and m == [[1, 2], [3, 4]] and m == np.array([[1, 2], [3, 4]])
    assert m != [1, 2, 3, 4] and m != wp.mat22() and m != wp.vec4(1, 2, 3, 4)
    assert str(m) == "[[1.0, 2.0],\n [3.0, 4.0]]"
    assert repr(m) == f"mat22f({m})" and repr(mat23()).startswith("matrix(shape=(2, 3), dtype=float32)(")


def test_memory_is_row_major_and_flat_for_numpy():
    m = mat23(1, 2, 3, 4, 5, 6)
    np.testing.assert_array_equal(np.array(m), np.arange(1, 7, dtype=np.float32))  # as observed in warp-lang: flat
    assert pickle.loads(pickle.dumps(m)) == m


def test_truth_values_as_extents_are_ones():
    assert lang_types.Mat(True, True, lang_types.F32).key == "mat1x1<f32>"
    assert lang_types.Vec(True, lang_types.F64) is lang_types.Vec(1, lang_types.F64)
    assert lang_types.Vec(1, lang_types.F64).key == "vec1<f64>"
