"""Vectors, matrices, quaternions and transforms against NumPy and SciPy in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import omni.warp_core as wp
from omni.warp_core.lang.types import Mat
from omni.warp_core.types import matrix, quaternion, transformation, vector

# dtype, how far results of a few operations on numbers around 1 may be off
KINDS = [(wp.float16, 8e-3), (wp.float32, 2e-6), (wp.float64, 1e-14)]
kinds = pytest.mark.parametrize(("dtype", "close"), KINDS, ids=["half", "single", "double"])
rng = np.random.default_rng(23)


def number(x):
    return float(getattr(x, "value", x))


def array(value):
    """A vector, matrix, quaternion or transform as doubles."""
    t = value.__wc_type__
    return np.array(value, dtype=np.float64).reshape((t.rows, t.cols) if isinstance(t, Mat) else t.count)


def vec(dtype, n):
    return vector(n, dtype)(*rng.uniform(-1, 1, n).tolist())


def mat(dtype, m, n):
    return matrix((m, n), dtype)(*rng.uniform(-1, 1, m * n).tolist())


def unit_quat(dtype):
    q = rng.normal(size=4)
    return quaternion(dtype)(*(q / np.linalg.norm(q)).tolist())


def rotation(q):
    return Rotation.from_quat(array(q))


@kinds
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_vectors(dtype, close, n):
    a, b = vec(dtype, n), vec(dtype, n)
    x, y = array(a), array(b)
    near = {"rtol": 0.0, "atol": close}
    np.testing.assert_allclose(number(wp.dot(a, b)), x @ y, **near)
    np.testing.assert_allclose(number(wp.length(a)), np.linalg.norm(x), **near)
    np.testing.assert_allclose(number(wp.length_sq(a)), x @ x, **near)
    np.testing.assert_allclose(array(wp.normalize(a)), x / np.linalg.norm(x), **near)
    np.testing.assert_allclose(array(wp.cw_mul(a, b)), x * y, **near)
    np.testing.assert_allclose(array(wp.cw_div(a, b)), x / y, rtol=close)
    np.testing.assert_allclose(array(wp.outer(a, b)), np.outer(x, y), **near)
    np.testing.assert_allclose(array(wp.lerp(a, b, dtype(0.25))), 0.75 * x + 0.25 * y, **near)
    np.testing.assert_array_equal(array(wp.min(a, b)), np.minimum(x, y))
    np.testing.assert_array_equal(array(wp.max(a, b)), np.maximum(x, y))
    np.testing.assert_array_equal(array(wp.abs(a)), np.abs(x))
    np.testing.assert_array_equal(array(wp.sign(a)), np.sign(x))
    assert number(wp.min(a)) == x.min()
    assert number(wp.max(a)) == x.max()
    assert number(wp.argmin(a)) == x.argmin()
    assert number(wp.argmax(a)) == x.argmax()


@kinds
def test_cross_and_skew(dtype, close):
    a, b = vec(dtype, 3), vec(dtype, 3)
    expected = np.cross(array(a), array(b))
    np.testing.assert_allclose(array(wp.cross(a, b)), expected, rtol=0, atol=close)
    np.testing.assert_allclose(array(wp.skew(a) * b), expected, rtol=0, atol=close)


def test_vector_special_values():
    zero = wp.vec3(0.0, 0.0, 0.0)
    assert wp.normalize(zero) == zero
    assert wp.normalize(wp.quat(0.0, 0.0, 0.0, 0.0)) == wp.quat(0.0, 0.0, 0.0, 1.0)
    assert wp.sign(wp.vec3(-1.0, 0.0, 2.0)) == wp.vec3(-1.0, 1.0, 1.0)
    assert (int(wp.argmin(wp.vec3(1.0, 1.0, 2.0))), int(wp.argmax(wp.vec3(1.0, 2.0, 2.0)))) == (0, 1)
    assert wp.cw_div(wp.vec2(1.0, 2.0), wp.vec2(0.0, 4.0)) == wp.vec2(math.inf, 0.5)
    assert not wp.isfinite(wp.vec3(1.0, math.inf, 2.0))
    assert wp.isinf(wp.mat22(1.0, math.inf, 2.0, 3.0))
    assert wp.isnan(wp.quat(1.0, math.nan, 2.0, 3.0))
    assert wp.dot(wp.vec3i(1, 2, 3), wp.vec3i(4, 5, 6)) == 32
    assert wp.cross(wp.vec3i(1, 0, 0), wp.vec3i(0, 1, 0)) == wp.vec3i(0, 0, 1)


@kinds
@pytest.mark.parametrize(("m", "n", "k"), [(2, 2, 2), (3, 3, 3), (4, 4, 4), (2, 3, 4), (4, 1, 3)])
def test_products(dtype, close, m, n, k):
    a, b, u, v = mat(dtype, m, n), mat(dtype, n, k), vec(dtype, m), vec(dtype, n)
    near = {"rtol": 0.0, "atol": 4 * close}
    np.testing.assert_allclose(array(wp.mul(a, b)), array(a) @ array(b), **near)
    np.testing.assert_allclose(array(wp.mul(a, v)), array(a) @ array(v), **near)
    np.testing.assert_allclose(array(wp.mul(u, a)), array(u) @ array(a), **near)
    np.testing.assert_array_equal(array(wp.transpose(a)), array(a).T)
    np.testing.assert_allclose(number(wp.ddot(a, a)), (array(a) ** 2).sum(), **near)


@kinds
@pytest.mark.parametrize("n", [2, 3, 4])
def test_square_matrices(dtype, close, n):
    for _ in range(5):
        a = wp.add(mat(dtype, n, n), matrix((n, n), dtype)(*(2.0 * np.eye(n)).ravel().tolist()))
        x = array(a)
        condition = np.linalg.cond(x)
        np.testing.assert_allclose(number(wp.determinant(a)), np.linalg.det(x), rtol=0, atol=50 * close)
        np.testing.assert_allclose(array(wp.inverse(a)), np.linalg.inv(x), rtol=0, atol=8 * close * condition)
        np.testing.assert_allclose(number(wp.trace(a)), np.trace(x), rtol=0, atol=4 * close)
        np.testing.assert_array_equal(array(wp.get_diag(a)), np.diag(x))
        np.testing.assert_array_equal(array(wp.diag(wp.get_diag(a))), np.diag(np.diag(x)))


@kinds
def test_index(dtype, close):
    rng = np.random.default_rng(5)
    m, v, q = rng.random((3, 4)), rng.random(5), rng.random(4)
    a, u, r = matrix((3, 4), dtype)(*m.ravel().tolist()), vector(5, dtype)(*v), wp.types.quaternion(dtype)(*q)
    for i in range(-3, 3):
        np.testing.assert_array_equal(array(wp.index(a, i)), array(a)[i])
        assert number(wp.index(u, i)) == array(u)[i] and number(wp.index(r, i)) == array(r)[i]
        assert [number(wp.index(a, i, j)) for j in range(-4, 4)] == [*array(a)[i], *array(a)[i]]
    with pytest.raises(IndexError, match=r"wp.index: an index is out of range: component 7 of 5"):
        wp.index(u, 7)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_inverse_of_a_singular_matrix_is_zero(n):
    a = matrix((n, n), wp.float32)(*(float(i + 1) for i in range(n) for _ in range(n)))
    assert not array(wp.inverse(a)).any()


@kinds
def test_quaternions_rotate(dtype, close):
    near = {"rtol": 0.0, "atol": 4 * close}
    for _ in range(10):
        p, q, v = unit_quat(dtype), unit_quat(dtype), vec(dtype, 3)
        r, s, x = rotation(p), rotation(q), array(v)
        np.testing.assert_allclose(array(wp.quat_rotate(p, v)), r.apply(x), **near)
        np.testing.assert_allclose(array(wp.quat_rotate_inv(p, v)), r.inv().apply(x), **near)
        np.testing.assert_allclose(array(wp.quat_to_matrix(p)), r.as_matrix(), **near)
        np.testing.assert_allclose(array(wp.quat_to_matrix(wp.mul(p, q))), (r * s).as_matrix(), **near)
        np.testing.assert_allclose(array(wp.quat_rotate(wp.quat_inverse(p), v)), r.inv().apply(x), **near)
        again = wp.quat_from_matrix(wp.quat_to_matrix(p))
        np.testing.assert_allclose(rotation(again).as_matrix(), r.as_matrix(), **near)


@kinds
def test_axis_and_angle(dtype, close):
    near = {"rtol": 0.0, "atol": 4 * close}
    for angle in (0.0, 0.3, 1.5, 3.0):
        axis = wp.normalize(vec(dtype, 3))
        q = wp.quat_from_axis_angle(axis, dtype(angle))
        np.testing.assert_allclose(rotation(q).as_rotvec(), array(axis) * angle, **near)
        assert wp.quat_from_axis_angle(*axis, dtype(angle)) == q  # the older form
        found_axis, found_angle = wp.quat_to_axis_angle(q)
        np.testing.assert_allclose(array(found_axis) * number(found_angle), array(axis) * angle, **near)
        minus = wp.quat_to_axis_angle(wp.neg(q))
        np.testing.assert_allclose(array(minus[0]) * number(minus[1]), array(axis) * angle, **near)


@kinds
def test_roll_pitch_yaw(dtype, close):
    for _ in range(10):
        angles = rng.uniform(-1.4, 1.4, 3)
        q = wp.quat_rpy(*(dtype(a) for a in angles.tolist()))
        expected = Rotation.from_euler("xyz", angles)
        np.testing.assert_allclose(rotation(q).as_matrix(), expected.as_matrix(), rtol=0, atol=4 * close)
        np.testing.assert_allclose(array(wp.quat_to_rpy(q)), angles, rtol=0, atol=40 * close)


@kinds
def test_slerp_goes_the_short_way_at_constant_speed(dtype, close):
    for _ in range(10):
        p, q = unit_quat(dtype), unit_quat(dtype)
        full = (rotation(p).inv() * rotation(q)).magnitude()
        for t in (0.0, 0.25, 1.0):
            between = rotation(wp.quat_slerp(p, q, dtype(t)))
            assert (rotation(p).inv() * between).magnitude() == pytest.approx(t * full, abs=20 * close)


@kinds
def test_rotation_between_vectors(dtype, close):
    for _ in range(10):
        a, b = vec(dtype, 3), vec(dtype, 3)
        turned = array(wp.quat_rotate(wp.quat_between_vectors(a, b), wp.normalize(a)))
        np.testing.assert_allclose(turned, array(wp.normalize(b)), rtol=0, atol=20 * close)
    a = vector(3, dtype)(1.0, 2.0, 3.0)
    np.testing.assert_array_equal(array(wp.quat_between_vectors(a, wp.neg(a)))[:3], 0.0)


def test_quaternions_that_are_not_unit_follow_the_formulas():
    """Values of the established implementation of this interface."""
    q = wp.quat(0.0, 0.0, 1.2, 1.6)
    np.testing.assert_allclose(array(wp.quat_rotate(q, wp.vec3(1.0, 0.0, 0.0))), [4.12, 3.84, 0.0], rtol=1e-6)
    expected = [[4.12, -3.84, 0.0], [3.84, 4.12, 0.0], [0.0, 0.0, 7.0]]
    np.testing.assert_allclose(array(wp.quat_to_matrix(q)), expected, rtol=1e-6)
    assert wp.quat_from_matrix(wp.mat33(2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0)) == wp.quat(0.0, 0.0, 0.0, 1.0)
    for axis in np.eye(3):
        turn = wp.mat33(*Rotation.from_rotvec(np.pi * axis).as_matrix().ravel().tolist())
        np.testing.assert_allclose(array(wp.quat_from_matrix(turn)), [*axis, 0.0], atol=1e-6)
    axis, angle = wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 0.0, 1.0))
    assert (axis, angle) == (wp.vec3(0.0, 0.0, 0.0), 0.0)


@kinds
def test_transforms(dtype, close):
    near = {"rtol": 0.0, "atol": 8 * close}
    make = transformation(dtype)
    for _ in range(10):
        p, q, u, v, x = unit_quat(dtype), unit_quat(dtype), vec(dtype, 3), vec(dtype, 3), vec(dtype, 3)
        a, b = make(u, p), make(v, q)
        moved = array(u) + rotation(p).apply(array(x))
        np.testing.assert_allclose(array(wp.transform_point(a, x)), moved, **near)
        np.testing.assert_allclose(array(wp.transform_vector(a, x)), rotation(p).apply(array(x)), **near)
        np.testing.assert_allclose(
            array(wp.transform_point(wp.transform_inverse(a), wp.transform_point(a, x))), array(x), **near
        )
        twice = wp.transform_point(wp.transform_multiply(a, b), x)
        np.testing.assert_allclose(array(twice), array(wp.transform_point(a, wp.transform_point(b, x))), **near)
        assert array(wp.mul(a, b)).tolist() == array(wp.transform_multiply(a, b)).tolist()
        np.testing.assert_array_equal(array(wp.transform_get_translation(a)), array(u))
        np.testing.assert_array_equal(array(wp.transform_get_rotation(a)), array(p))
        m = mat(dtype, 4, 4)
        np.testing.assert_allclose(array(wp.transform_point(m, x)), (array(m) @ [*array(x), 1.0])[:3], **near)
        np.testing.assert_allclose(array(wp.transform_vector(m, x)), array(m)[:3, :3] @ array(x), **near)


def test_kernels_compute_what_python_scope_does():
    @wp.kernel
    def mix(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        m = wp.inverse(wp.quat_to_matrix(q[i]) * 2.0)
        out[i] = m * wp.cross(wp.quat_rotate(q[i], v[i]), wp.normalize(v[i])) + wp.transform_point(
            wp.transform(v[i], q[i]), v[i]
        )

    quats, vecs = [unit_quat(wp.float32) for _ in range(37)], [vec(wp.float32, 3) for _ in range(37)]
    out = wp.zeros(37, dtype=wp.vec3)
    wp.launch(mix, dim=37, inputs=[wp.array(quats, dtype=wp.quat), wp.array(vecs, dtype=wp.vec3), out])
    for q, v, found in zip(quats, vecs, out.numpy()):
        m = wp.inverse(wp.quat_to_matrix(q) * 2.0)
        expected = m * wp.cross(wp.quat_rotate(q, v), wp.normalize(v)) + wp.transform_point(wp.transform(v, q), v)
        np.testing.assert_allclose(found, array(expected), rtol=0, atol=1e-6)
