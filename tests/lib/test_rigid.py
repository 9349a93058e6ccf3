"""Spatial vectors, Euler angles, twists, transform matrices and norms against SciPy, NumPy and observed peer values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import omni.warp_core as wp
from tests.lib.test_aggregates import array, kinds, mat, number, transformation, unit_quat, vec

X, Y, Z = np.eye(3)
SEQUENCES = [s for s in itertools.product(range(3), repeat=3) if s[0] != s[1] != s[2]]


def near(close):
    return {"rtol": 0.0, "atol": 8 * close}


def unit_vec(dtype):
    return wp.normalize(vec(dtype, 3))


@kinds
def test_spatial_products(dtype, close):
    a, b, r = vec(dtype, 6), vec(dtype, 6), vec(dtype, 3)
    (w, v), (x, y) = np.split(array(a), 2), np.split(array(b), 2)
    np.testing.assert_array_equal(array(wp.spatial_top(a)), w)
    np.testing.assert_array_equal(array(wp.spatial_bottom(a)), v)
    np.testing.assert_allclose(number(wp.spatial_dot(a, b)), w @ x + v @ y, **near(close))
    motion = [*np.cross(w, x), *(np.cross(v, x) + np.cross(w, y))]
    np.testing.assert_allclose(array(wp.spatial_cross(a, b)), motion, **near(close))
    force = [*(np.cross(w, x) + np.cross(v, y)), *np.cross(w, y)]
    np.testing.assert_allclose(array(wp.spatial_cross_dual(a, b)), force, **near(close))
    np.testing.assert_allclose(array(wp.velocity_at_point(a, r)), np.cross(w, array(r)) + v, **near(close))


@kinds
def test_spatial_vectors_change_frames(dtype, close):
    p, q, x = vec(dtype, 3), unit_quat(dtype), vec(dtype, 6)
    t = transformation(dtype)(p, q)
    turn, (w, v), at = Rotation.from_quat(array(q)), np.split(array(x), 2), array(p)
    twist = [*turn.apply(w), *(turn.apply(v) + np.cross(at, turn.apply(w)))]
    np.testing.assert_allclose(array(wp.transform_twist(t, x)), twist, **near(close))
    wrench = [*(turn.apply(w) + np.cross(at, turn.apply(v))), *turn.apply(v)]
    np.testing.assert_allclose(array(wp.transform_wrench(t, x)), wrench, **near(close))
    r = wp.quat_to_matrix(q)
    moved = wp.mul(wp.spatial_adjoint(r, wp.mul(wp.skew(p), r)), x)
    np.testing.assert_allclose(array(moved), twist, **near(2 * close))
    a, b = mat(dtype, 3, 3), mat(dtype, 3, 3)
    blocks = np.block([[array(a), np.zeros((3, 3))], [array(b), array(a)]])
    np.testing.assert_array_equal(array(wp.spatial_adjoint(a, b)), blocks)


@kinds
@pytest.mark.parametrize("axes", SEQUENCES, ids=lambda s: "".join(map(str, s)))
def test_euler_angles(dtype, close, axes):
    for _ in range(4):
        e = wp.mul(vec(dtype, 3), dtype(3.0))
        angles = [Rotation.from_rotvec(np.eye(3)[n] * array(e)[n]) for n in axes]
        expected = (angles[2] * angles[1] * angles[0]).as_matrix()
        found = wp.quat_from_euler(e, *axes)
        np.testing.assert_allclose(Rotation.from_quat(array(found)).as_matrix(), expected, **near(close))

        q = unit_quat(dtype)
        back = array(wp.quat_to_euler(q, *axes))
        i, j, k = axes if axes[0] != axes[2] else (*axes[:2], 3 - axes[0] - axes[1])
        turns = [Rotation.from_rotvec(np.eye(3)[n] * back[at]) for n, at in zip(axes, (i, j, k))]
        again = (turns[2] * turns[1] * turns[0]).as_matrix()
        np.testing.assert_allclose(again, Rotation.from_quat(array(q)).as_matrix(), **near(4 * close))


def test_euler_angles_are_those_of_the_peer():
    q, e = wp.normalize(wp.quat(0.3, -0.5, 0.2, -0.6)), wp.vec3(0.5, -1.2, 2.5)
    for axes, angles, turn in OBSERVED_EULER:
        np.testing.assert_allclose(array(wp.quat_to_euler(q, *axes)), angles, rtol=0, atol=2e-6)
        np.testing.assert_allclose(array(wp.quat_from_euler(e, *axes)), turn, rtol=0, atol=1e-6)


# Axes, quat_to_euler and quat_from_euler of the arguments above: observed in warp-lang 1.19, not computed here.
OBSERVED_EULER = [
    (
        (0, 1, 0),
        [-0.08314108848571777, 1.3528590202331543, 5.439031600952148],
        [0.3956869840621948, -0.5646424889564514, 0.0, 0.7243001461029053],
    ),
    (
        (0, 1, 2),
        [4.819124698638916, 0.7058073878288269, -1.2827409505844116],
        [0.5835652351379395, 0.02126498520374298, 0.8029309511184692, 0.11958813667297363],
    ),
    (
        (0, 2, 0),
        [1.4876551628112793, 3.8682351112365723, 1.3528590202331543],
        [0.15117360651493073, 0.0, 0.948984682559967, 0.27672138810157776],
    ),
    (
        (0, 2, 1),
        [-0.3217506408691406, -5.034139633178711, -0.8179265260696411],
        [-0.4547930955886841, 0.02126498520374298, 0.802931010723114, 0.38472455739974976],
    ),
    (
        (1, 0, 1),
        [0.8649888038635254, -1.858851671218872, -3.0348570346832275],
        [0.24740397930145264, -0.9030642509460449, 0.0, 0.3510929048061371],
    ),
    (
        (1, 0, 2),
        [-0.85833740234375, -4.83674430847168, 0.12435507774353027],
        [0.5835652351379395, 0.02126498520374298, 0.71483314037323, 0.38472455739974976],
    ),
    (
        (1, 2, 0),
        [-0.8621702194213867, -4.931057929992676, 0.08117012679576874],
        [0.5835652351379395, -0.3662838339805603, 0.7148331999778748, 0.11958813667297363],
    ),
    (
        (1, 2, 1),
        [-1.4640605449676514, -3.4296481609344482, 0.8649888038635254],
        [-2.9802322387695312e-08, -0.2938927710056305, 0.9489846229553223, 0.1142595037817955],
    ),
    (
        (2, 0, 1),
        [-0.21793730556964874, -4.795530319213867, -0.8441540002822876],
        [-0.4547930955886841, -0.3662838339805603, 0.802931010723114, 0.11958813667297363],
    ),
    (
        (2, 0, 2),
        [1.489626169204712, 1.789465308189392, 3.8502187728881836],
        [0.24740396440029144, 0.0, 0.5798671245574951, -0.7762380242347717],
    ),
    (
        (2, 1, 0),
        [5.071159362792969, 1.3377741575241089, 0.35877060890197754],
        [-0.4547930955886841, -0.3662838339805603, 0.7148331999778748, 0.38472455739974976],
    ),
    (
        (2, 1, 2),
        [0.21866893768310547, 1.489626169204712, 5.42101526260376],
        [0.0, -0.5646424889564514, 0.49394041299819946, -0.6612123847007751],
    ),
]


@kinds
def test_twist(dtype, close):
    for _ in range(10):
        axis, q = unit_vec(dtype), unit_quat(dtype)
        twist = array(wp.quat_twist(axis, q))
        np.testing.assert_allclose(np.linalg.norm(twist), 1.0, **near(close))
        np.testing.assert_allclose(np.cross(twist[:3], array(axis)), 0.0, **near(close))
        swing = Rotation.from_quat(array(q)) * Rotation.from_quat(twist).inv()
        np.testing.assert_allclose(swing.as_rotvec() @ array(axis), 0.0, **near(4 * close))
        angle = 2.0 * math.atan2(array(q)[:3] @ array(axis), array(q)[3])
        np.testing.assert_allclose(number(wp.quat_twist_angle_signed(axis, q)), angle, **near(2 * close))
        np.testing.assert_allclose(number(wp.quat_twist_angle(axis, q)), abs(angle), **near(2 * close))
    half_turn = wp.quat(1.0, 0.0, 0.0, 0.0)
    assert wp.quat_twist(wp.vec3(0.0, 0.0, 1.0), half_turn) == wp.quat(0.0, 0.0, 0.0, 1.0)


@kinds
def test_transform_matrices(dtype, close):
    for _ in range(10):
        p, q = vec(dtype, 3), unit_quat(dtype)
        scale = wp.add(wp.abs(vec(dtype, 3)), type(p)(0.5, 0.5, 0.5))
        turn, m = Rotation.from_quat(array(q)), np.eye(4)
        m[:3, :3], m[:3, 3] = turn.as_matrix() * array(scale), array(p)
        composed = wp.transform_compose(p, q, scale)
        np.testing.assert_allclose(array(composed), m, **near(close))
        position, rotation, factor = wp.transform_decompose(composed)
        np.testing.assert_array_equal(array(position), array(p))
        np.testing.assert_allclose(array(factor), array(scale), **near(close))
        np.testing.assert_allclose(Rotation.from_quat(array(rotation)).as_matrix(), turn.as_matrix(), **near(close))
        rigid = transformation(dtype)(p, q)
        m[:3, :3] = turn.as_matrix()
        np.testing.assert_allclose(array(wp.transform_to_matrix(rigid)), m, **near(close))
        back = array(wp.transform_from_matrix(wp.transform_to_matrix(rigid)))
        sign = np.sign(back[3:] @ array(q))
        np.testing.assert_allclose(np.concatenate([back[:3], sign * back[3:]]), array(rigid), **near(close))


@kinds
@pytest.mark.parametrize("n", [2, 3, 6])
def test_norms(dtype, close, n):
    for size in (0.3, 3.0):
        v, delta = wp.mul(vec(dtype, n), dtype(size)), dtype(0.75)
        x, d = array(v), 0.75
        length = np.linalg.norm(x)
        np.testing.assert_allclose(number(wp.norm_l1(v)), np.abs(x).sum(), **near(close))
        np.testing.assert_allclose(number(wp.norm_l2(v)), length, **near(close))
        for given, y in (((), 1.0), ((delta,), d)):
            huber = 0.5 * length**2 if length <= y else y * (length - 0.5 * y)
            np.testing.assert_allclose(number(wp.norm_huber(v, *given)), huber, **near(2 * close))
            pseudo = y * math.sqrt(1.0 + (length / y) ** 2)
            np.testing.assert_allclose(number(wp.norm_pseudo_huber(v, *given)), pseudo, **near(close))
            np.testing.assert_allclose(array(wp.smooth_normalize(v, *given)), x / pseudo, **near(close))
