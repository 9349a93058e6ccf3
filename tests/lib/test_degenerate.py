"""Arguments at the edge of what functions are for: zero vectors, singular matrices, half turns, equal rotations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import omni.warp_core as wp
from omni.warp_core.types import matrix, quaternion, transformation, vector
from tests.lib.test_aggregates import array, kinds, number, unit_quat

X, Y, Z = np.eye(3)


def vec(dtype, *components):
    return vector(len(components), dtype)(*(float(x) for x in components))


def quat(dtype, *components):
    return quaternion(dtype)(*(float(x) for x in components))


def square(dtype, rows):
    rows = np.asarray(rows, float)
    return matrix(rows.shape, dtype)(*rows.ravel().tolist())


@kinds
def test_zero_vectors(dtype, close):
    zero, other, identity = vec(dtype, 0, 0, 0), vec(dtype, 1, 2, 3), [0.0, 0.0, 0.0, 1.0]
    assert number(wp.length(zero)) == number(wp.norm_l1(zero)) == number(wp.norm_huber(zero, dtype(1.0))) == 0.0
    assert not array(wp.normalize(zero)).any()
    assert not array(wp.smooth_normalize(zero, dtype(0.5))).any()
    assert number(wp.norm_pseudo_huber(zero, dtype(0.5))) == 0.5
    assert array(wp.normalize(quat(dtype, 0, 0, 0, 0))).tolist() == identity
    for a, b in ((zero, other), (other, zero), (zero, zero)):
        assert array(wp.quat_between_vectors(a, b)).tolist() == identity
    assert array(wp.quat_from_axis_angle(zero, dtype(0.0))).tolist() == identity


@kinds
@pytest.mark.parametrize("n", [2, 3, 4])
def test_singular_matrices(dtype, close, n):
    """Products of small integers are exact, so that these determinants are zero in every precision."""
    k = np.arange(n, dtype=float)
    singular = [
        np.zeros((n, n)),
        np.ones((n, n)),
        np.outer(k + 1, k - 1),
        np.diag(k),
        k[:, None] + k if n > 2 else [[1, 2], [2, 4]],
    ]
    for a in singular:
        m = square(dtype, a)
        assert number(wp.determinant(m)) == 0.0
        assert not array(wp.inverse(m)).any()
    regular = square(dtype, np.triu(np.ones((n, n))))
    np.testing.assert_array_equal(array(wp.inverse(regular)), np.eye(n) - np.eye(n, k=1))
    np.testing.assert_array_equal(array(wp.inverse(square(dtype, np.fliplr(np.eye(n))))), np.fliplr(np.eye(n)))


@kinds
def test_matrices_of_extreme_scale(dtype, close):
    scale = {wp.float16: 2.0**-3, wp.float32: 2.0**-30, wp.float64: 2.0**-250}[dtype]
    for n in (2, 3, 4):
        for size in (scale, 1.0 / scale):
            np.testing.assert_array_equal(array(wp.inverse(square(dtype, size * np.eye(n)))), np.eye(n) / size)


@kinds
def test_slerp_between_equal_and_opposite_rotations(dtype, close):
    for q in [unit_quat(dtype) for _ in range(5)] + [quat(dtype, 0, 0, 0, 1), quat(dtype, 0, 1, 0, 0)]:
        turn = Rotation.from_quat(array(q))
        for other in (q, wp.neg(q)):
            for t in (0.0, 0.5, 1.0, 2.0):
                found = array(wp.quat_slerp(q, other, dtype(t)))
                np.testing.assert_allclose(np.linalg.norm(found), 1.0, atol=4 * close)
                np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), turn.as_matrix(), atol=8 * close)
    for axis in (X, Y, Z):  # half a turn apart: either way is as short
        a, b = quat(dtype, 0, 0, 0, 1), quat(dtype, *axis, 0)
        middle = Rotation.from_quat(array(wp.quat_slerp(a, b, dtype(0.5)))).as_rotvec()
        np.testing.assert_allclose(abs(middle), axis * math.pi / 2, atol=4 * close)


@kinds
@pytest.mark.parametrize("turns", [0.0, 0.5, 1.0, -0.5, 2.0])
def test_axis_and_angle_of_whole_and_half_turns(dtype, close, turns):
    for axis in (X, Y, Z, np.array([0.6, 0.0, 0.8])):
        angle = 2.0 * math.pi * turns
        q = wp.quat_from_axis_angle(vec(dtype, *axis), dtype(angle))
        expected = Rotation.from_rotvec(axis * angle).as_matrix()
        np.testing.assert_allclose(Rotation.from_quat(array(q)).as_matrix(), expected, atol=8 * close)
        found_axis, found_angle = wp.quat_to_axis_angle(q)
        assert 0.0 <= number(found_angle) <= number(dtype(math.pi))
        again = Rotation.from_rotvec(array(found_axis) * number(found_angle)).as_matrix()
        np.testing.assert_allclose(again, expected, atol=8 * close)


@kinds
def test_no_rotation_has_no_axis(dtype, close):
    for w in (1.0, -1.0):
        axis, angle = wp.quat_to_axis_angle(quat(dtype, 0, 0, 0, w))
        assert not array(axis).any()
        assert number(angle) == 0.0
    tiny = {wp.float16: 2.0**-10, wp.float32: 2.0**-60, wp.float64: 2.0**-500}[dtype]  # squares do not underflow
    axis, angle = wp.quat_to_axis_angle(quat(dtype, tiny, 0, 0, 1))
    np.testing.assert_array_equal(array(axis), X)
    np.testing.assert_allclose(number(angle), 2.0 * tiny, rtol=close)


@kinds
def test_half_turns_as_matrices(dtype, close):
    for axis in (X, Y, Z, np.array([0.6, 0.8, 0.0]), np.array([0.0, -0.6, 0.8])):
        m = 2.0 * np.outer(axis, axis) - np.eye(3)
        found = array(wp.quat_from_matrix(square(dtype, m)))
        np.testing.assert_allclose(abs(found), [*abs(axis), 0.0], atol=2 * close)
        np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), m, atol=4 * close)


@kinds
def test_directions_that_are_equal_or_opposite(dtype, close):
    for a in (X, Y, Z, [1.0, 2.0, 3.0], [-0.25, 0.5, 0.125]):
        same = array(wp.quat_between_vectors(vec(dtype, *a), vec(dtype, *(2.0 * x for x in a))))
        np.testing.assert_allclose(same, [0, 0, 0, 1], atol=close)
        assert array(wp.quat_between_vectors(vec(dtype, *a), vec(dtype, *(-x for x in a))))[:3].tolist() == [0.0] * 3


@kinds
def test_euler_angles_where_two_axes_coincide(dtype, close):
    """Then the angles are not unique, but they still give the rotation, to half the digits."""
    for pitch in (math.pi / 2, -math.pi / 2):
        for roll, yaw in ((0.0, 0.0), (0.7, -0.4), (2.0, 1.0)):
            turn = Rotation.from_euler("xyz", [roll, pitch, yaw])
            e = wp.quat_to_euler(quat(dtype, *turn.as_quat()), 0, 1, 2)
            again = Rotation.from_quat(array(wp.quat_from_euler(e, 0, 1, 2))).as_matrix()
            np.testing.assert_allclose(again, turn.as_matrix(), atol=4 * math.sqrt(close))


@kinds
def test_twist_of_half_turns(dtype, close):
    axis = vec(dtype, *Z)
    assert array(wp.quat_twist(axis, quat(dtype, *X, 0))).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert array(wp.quat_twist(axis, quat(dtype, *Z, 0))).tolist() == [0.0, 0.0, 1.0, 0.0]
    np.testing.assert_allclose(number(wp.quat_twist_angle(axis, quat(dtype, *Z, 0))), math.pi, atol=2 * close)
    assert number(wp.quat_twist_angle_signed(axis, quat(dtype, 0, 0, 0, 1))) == 0.0


@kinds
def test_transforms_that_flatten_or_do_nothing(dtype, close):
    p, q, zero = vec(dtype, 1, 2, 3), quat(dtype, 0, 0, 0, 1), vec(dtype, 0, 0, 0)
    position, rotation, scale = wp.transform_decompose(wp.transform_compose(p, q, zero))
    assert (array(position).tolist(), array(scale).tolist()) == ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert array(rotation).tolist() == [0.0, 0.0, 0.0, 1.0]
    still = transformation(dtype)(zero, q)
    assert array(wp.transform_point(still, p)).tolist() == [1.0, 2.0, 3.0]
    assert array(wp.transform_multiply(still, still)).tolist() == array(still).tolist()
    np.testing.assert_array_equal(array(wp.transform_inverse(still)), array(still))
