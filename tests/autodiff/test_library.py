"""The gradient of every library function: against central differences at random points, and at singular points.

A row such as `quat_rotate q v3 -> v3` names the function, the types of its arguments and of its results; a kernel is
made of it, and its adjoint runs in the interpreter. Types that come with a domain: `p` positive, `u` inside (-1, 1),
`q` a unit quaternion, `t` a rigid motion; a number stands for itself.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from omni.warp_core.autodiff.adjoint import adjoint_kernel
from omni.warp_core.front.gradients import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import interp
from omni.warp_core.ir.memory import MemArray
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import F64
from omni.warp_core.lib.index import INDEX
from tests.autodiff.judge import kernel_of

# type: (components, how it is made of them)
TYPES = {
    **dict.fromkeys("spu", (1, "wp.float64")),
    "f": (1, "wp.float32"),
    **{f"v{n}": (n, f"wp.vec{n}d") for n in (2, 3, 4)},
    **{f"w{n}": (n, f"wp.vec{n}") for n in (2, 3, 4)},
    **{f"m{n}": (n * n, f"wp.mat{n}{n}d") for n in (2, 3, 4)},
    "v6": (6, "wp.spatial_vectord"),
    "m6": (36, "wp.spatial_matrixd"),
    "q": (4, "wp.quatd"),
    "t": (7, "wp.transformd"),
}

ROWS = """
sin s -> s; cos s -> s; tan u -> s; asin u -> s; acos u -> s; atan s -> s; atan2 s s -> s
exp s -> s; exp2 s -> s; log p -> s; log2 p -> s; log10 p -> s; pow p s -> s
sinh s -> s; cosh s -> s; tanh s -> s; cbrt s -> s; erf s -> s; erfc s -> s; erfinv u -> s; erfcinv p -> s
clamp s s s -> s; floor s -> s; ceil s -> s; trunc s -> s; rint s -> s; round s -> s; frac s -> s; sqrt p -> s
degrees s -> s; radians s -> s; step s -> s; nonzero s -> s; smoothstep -1.5 1.75 s -> s; smoothstep u p s -> s
copysign s s -> s; copysign f f -> f
abs s -> s; abs v3 -> v3; sign s -> s; sign v3 -> v3; min s s -> s; max s s -> s; min v3 -> s; max v3 -> s
min v3 v3 -> v3; max v3 v3 -> v3
lerp s s s -> s; lerp v3 v3 s -> v3; lerp m3 m3 s -> m3; lerp q q s -> q; lerp t t s -> t
dot v3 v3 -> s; dot q q -> s; length_sq v3 -> s; length_sq q -> s; length v3 -> s; length q -> s
normalize v3 -> v3; normalize v2 -> v2; normalize q -> q; cross v3 v3 -> v3; outer v2 v2 -> m2; skew v3 -> m3
cw_mul v3 v3 -> v3; cw_mul m2 m2 -> m2; cw_div v3 v3 -> v3; cw_div m2 m2 -> m2
transpose m3 -> m3; trace m3 -> s; ddot m3 m3 -> s; diag v3 -> m3; get_diag m3 -> v3
determinant m2 -> s; determinant m3 -> s; determinant m4 -> s; inverse m2 -> m2; inverse m3 -> m3; inverse m4 -> m4
mul m3 v3 -> v3; mul v3 m3 -> v3; mul m2 m2 -> m2; mul q q -> q; mul t t -> t
div_approx s p -> s; inverse_approx p -> s
quat_from_axis_angle v3 s -> q; quat_to_axis_angle q -> v3 s; quat_inverse q -> q; quat_rotate q v3 -> v3
quat_rotate_inv q v3 -> v3; quat_to_matrix q -> m3; quat_from_matrix m3 -> q; quat_from_matrix m4 -> q
quat_rpy s s s -> q; quat_to_rpy q -> v3; quat_slerp q q s -> q; quat_between_vectors v3 v3 -> q
transform_get_translation t -> v3; transform_get_rotation t -> q; transform_multiply t t -> t
transform_point t v3 -> v3; transform_point m4 v3 -> v3; transform_vector t v3 -> v3; transform_vector m4 v3 -> v3
transform_inverse t -> t; transform_compose v3 q v3 -> m4; transform_decompose m4 -> v3 q v3
transform_from_matrix m4 -> t; transform_to_matrix t -> m4
spatial_top v6 -> v3; spatial_bottom v6 -> v3; spatial_dot v6 v6 -> s; spatial_cross v6 v6 -> v6
spatial_cross_dual v6 v6 -> v6; spatial_adjoint m3 m3 -> m6; transform_twist t v6 -> v6; transform_wrench t v6 -> v6
velocity_at_point v6 v3 -> v3
quat_from_euler v3 0 1 2 -> q; quat_from_euler v3 2 0 2 -> q; quat_to_euler q 0 1 2 -> v3; quat_to_euler q 2 0 2 -> v3
quat_twist v3 q -> q; quat_twist_angle v3 q -> s; quat_twist_angle_signed v3 q -> s
norm_l1 v3 -> s; norm_l1 q -> s; norm_l1 t -> s; norm_l2 v3 -> s; norm_l2 q -> s
norm_huber v3 -> s; norm_huber v3 p -> s; norm_huber q p -> s; norm_pseudo_huber v3 p -> s; norm_pseudo_huber q p -> s
smooth_normalize v3 p -> v3; smooth_normalize q p -> q; closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3
noise wp.uint32(7) f -> f; noise wp.uint32(7) w2 -> f; noise wp.uint32(7) w3 -> f; noise wp.uint32(7) w4 -> f
pnoise wp.uint32(7) f 3 -> f; pnoise wp.uint32(7) w2 3 2 -> f; pnoise wp.uint32(7) w3 3 2 4 -> f
pnoise wp.uint32(7) w4 3 2 4 5 -> f; curlnoise wp.uint32(7) w2 -> w2; curlnoise wp.uint32(7) w3 -> w3
curlnoise wp.uint32(7) w4 -> w3
svd2 m2 -> m2 v2 m2; svd3 m3 -> m3 v3 m3; qr3 m3 -> m3 m3; eig3 m3 -> m3 v3
"""
TABLE = [row.strip() for row in ROWS.replace("\n", ";").split(";") if row.strip()]

# Neither arguments nor results that could have a derivative, or an argument that is changed in place.
WITHOUT = """
    isfinite isnan isinf argmin argmax quat_identity transform_identity bit_count lower_bound index intersect_tri_tri
    rand_init randi randu randf randn poisson sample_cdf sample_triangle sample_unit_ring sample_unit_disk
    sample_unit_sphere_surface sample_unit_sphere sample_unit_hemisphere_surface sample_unit_hemisphere
    sample_unit_square sample_unit_cube transform_set_translation transform_set_rotation
"""


class Case:
    """A kernel y = f(x) of all components, its adjoint and both in the interpreter."""

    def __init__(self, row: str):
        self.row = row
        call, _, results = row.partition(" -> ")
        name, *self.args = call.split()
        self.results = results.split()
        at, given = 0, []
        for a in self.args:
            count, make = TYPES.get(a, (0, ""))
            parts = ", ".join(f"{'wp.float32' if a[0] in 'fw' else ''}(x[{at + i}])" for i in range(count))
            given.append(f"{make}({parts})" if count else f"wp.float64({a})" if "." in a and "(" not in a else a)
            at += count
        self.inputs = at
        names = [f"r{k}" for k in range(len(self.results))]
        lines = [f"    {', '.join(names)} = wp.{name}({', '.join(given)})"]
        at = 0
        for r, t in zip(names, self.results):
            count = TYPES[t][0]
            side = math.isqrt(count)
            for i in range(count):
                part = r if count == 1 else f"{r}[{i // side}, {i % side}]" if t[0] == "m" else f"{r}[{i}]"
                lines.append(f"    y[{at}] = wp.float64({part})")
                at += 1
        self.outputs = at
        text = "\n".join(["@wp.kernel", "def program(x: F, y: F):", *lines, ""])
        self.function = lower_kernel(kernel_of(text, f"<library {row}>"))

    @property
    def single(self) -> bool:
        return any(a[0] in "fw" for a in (*self.args, *self.results))

    def sample(self, r: random.Random) -> list[float]:
        out: list[float] = []
        for a in self.args:
            if a in TYPES:
                out += _sample(a, r)
        return [float(np.float32(x)) for x in out] if self.single else out

    def value(self, x: list[float]) -> np.ndarray:
        y = MemArray(F64, (self.outputs,), [0.0] * self.outputs)
        interp.run_kernel(self.function, [MemArray(F64, (self.inputs,), list(x)), y], 1)
        return np.array(y.values())

    def gradient(self, x: list[float], weights: list[float]) -> np.ndarray:
        adjoint = adjoint_kernel(self.function, library_gradient).function
        args = [MemArray(F64, (self.inputs,), list(x)), MemArray(F64, (self.outputs,), [0.0] * self.outputs)]
        args[0].grad = MemArray(F64, (self.inputs,), [0.0] * self.inputs)
        args[1].grad = MemArray(F64, (self.outputs,), list(weights))
        interp.run_kernel(adjoint, args, 1)
        return np.array(args[0].grad.values())

    def differences(self, x: list[float], weights: list[float]) -> np.ndarray:
        """Central differences, extrapolated from two steps."""
        step = 2.0**-7 if self.single else 2.0**-12

        def slope(i: int, h: float) -> float:
            up, down = list(x), list(x)
            up[i] += h
            down[i] -= h
            return float(np.dot(weights, self.value(up) - self.value(down))) / (2.0 * h)

        return np.array([(4.0 * slope(i, step / 2) - slope(i, step)) / 3.0 for i in range(self.inputs)])


def _sample(name: str, r: random.Random) -> list[float]:
    count = TYPES[name][0]
    if name == "p":
        return [r.uniform(0.3, 1.7)]
    if name == "f":  # no difference reaches across 0
        return [math.copysign(r.uniform(0.1, 2.0), r.uniform(-1, 1))]
    if name == "u":
        return [r.uniform(-0.9, 0.9)]
    if name in "qt":
        q = np.array([r.gauss(0, 1) for _ in range(4)])
        return [r.uniform(-2, 2) for _ in range(count - 4)] + (q / np.linalg.norm(q)).tolist()
    return [r.uniform(-2, 2) for _ in range(count)]


def judged(row: str) -> str:
    """right, refused, or what is wrong."""
    r = random.Random(row)
    case = Case(row)
    for _ in range(3):
        x, weights = case.sample(r), [r.uniform(-1, 1) for _ in range(case.outputs)]
        try:
            found = case.gradient(x, weights)
        except NotDifferentiable:
            return "refused"
        expected = case.differences(x, weights)
        loose = 3e-3 if case.single else 2e-6
        if not np.allclose(found, expected, rtol=loose, atol=loose * (1 + np.abs(expected).max())):
            return f"at {x}: {found} instead of {expected}"
    return "right"


@pytest.mark.parametrize("row", TABLE)
def test_at_random_points(row, record_property):
    kind = judged(row)
    record_property("gradient", kind)
    assert kind == "right"


def test_every_function_is_in_the_table():
    assert {row.split()[0] for row in TABLE} | set(WITHOUT.split()) == set(INDEX)


IDENTITY = [0.0, 0.0, 0.0, 1.0]
TURN = [0.0, 0.6, 0.0, 0.8]

# row, point, gradient with weights 1: numbers, as differences say ("near"), or None where only finiteness is promised
POINTS = [
    ("abs s -> s", [0.0], [1.0]),
    ("sign s -> s", [0.0], [0.0]),
    ("step s -> s", [0.0], [0.0]),
    ("nonzero s -> s", [0.0], [0.0]),
    ("sqrt p -> s", [0.0], [0.0]),
    ("cbrt s -> s", [0.0], [0.0]),
    ("asin u -> s", [1.0], [0.0]),
    ("asin u -> s", [-1.0], [0.0]),
    ("acos u -> s", [1.0], [0.0]),
    ("acos u -> s", [-1.0], [0.0]),
    ("atan2 s s -> s", [0.0, 0.0], [0.0, 0.0]),
    ("pow p s -> s", [0.0, 0.0], [0.0, 0.0]),
    ("pow p s -> s", [0.0, 0.5], [0.0, 0.0]),
    ("pow p s -> s", [0.0, 1.0], [1.0, 0.0]),
    ("pow p s -> s", [0.0, 2.0], [0.0, 0.0]),
    ("pow p s -> s", [-2.0, 3.0], [12.0, 0.0]),
    ("erfinv u -> s", [1.0], [0.0]),
    ("erfinv u -> s", [-1.0], [0.0]),
    ("erfcinv p -> s", [0.0], [0.0]),
    ("erfcinv p -> s", [2.0], [0.0]),
    ("min s s -> s", [1.0, 1.0], [0.0, 1.0]),
    ("max s s -> s", [1.0, 1.0], [0.0, 1.0]),
    ("clamp s s s -> s", [1.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    ("clamp s s s -> s", [2.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    ("smoothstep -1.5 1.75 s -> s", [-1.5], [0.0]),
    ("smoothstep -1.5 1.75 s -> s", [1.75], [0.0]),
    ("copysign s s -> s", [0.0, -1.0], [-1.0, 0.0]),
    ("copysign s s -> s", [2.0, -0.0], [-1.0, 0.0]),
    ("copysign s s -> s", [-2.0, 1.0], [-1.0, 0.0]),
    ("frac s -> s", [1.0], [1.0]),
    ("length v3 -> s", [0.0] * 3, [0.0] * 3),
    ("length q -> s", [0.0] * 4, [0.0] * 4),
    ("normalize v3 -> v3", [0.0] * 3, [0.0] * 3),
    ("normalize q -> q", [0.0] * 4, [0.0] * 4),
    ("norm_l1 v3 -> s", [0.0] * 3, [1.0] * 3),
    ("norm_l2 v3 -> s", [0.0] * 3, [0.0] * 3),
    ("norm_huber v3 -> s", [0.0] * 3, [0.0] * 3),
    ("norm_huber v3 -> s", [0.6, 0.8, 0.0], [0.6, 0.8, 0.0]),
    ("norm_pseudo_huber v3 p -> s", [0.0] * 3 + [2.0], [0.0] * 3 + [1.0]),
    ("smooth_normalize v3 p -> v3", [0.0] * 3 + [2.0], [0.5] * 3 + [0.0]),
    ("inverse m2 -> m2", [0.0] * 4, [0.0] * 4),
    ("inverse m3 -> m3", [0.0] * 9, [0.0] * 9),
    ("inverse m4 -> m4", [0.0] * 16, [0.0] * 16),
    ("inverse m2 -> m2", [1.0, 1.0, 1.0, 1.0 + 2.0**-20], None),
    ("determinant m4 -> s", [0.0] * 16, [0.0] * 16),
    ("quat_from_axis_angle v3 s -> q", [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.5]),
    ("quat_to_axis_angle q -> v3 s", IDENTITY, [0.0] * 4),
    ("quat_to_axis_angle q -> v3 s", [0.0] * 4, [0.0] * 4),
    ("quat_to_axis_angle q -> v3 s", [0.0, 0.0, 1.0, 0.0], None),
    ("quat_slerp q q s -> q", [*IDENTITY, *IDENTITY, 0.25], [0.75] * 3 + [1.0] + [0.25] * 3 + [0.0, 0.0]),
    ("quat_slerp q q s -> q", [*TURN, *TURN, 0.25], "near"),
    ("quat_slerp q q s -> q", [*IDENTITY, 0.0, 0.0, 1.0, 0.0, 0.25], None),
    ("quat_slerp q q s -> q", [*IDENTITY, 0.0, 0.0, 0.0, -1.0, 0.25], None),
    ("quat_slerp q q s -> q", [0.0] * 8 + [0.25], None),
    ("quat_from_matrix m3 -> q", [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0], "near"),
    ("quat_from_matrix m3 -> q", [1.0, 0, 0, 0, -1.0, 0, 0, 0, -1.0], None),
    ("quat_from_matrix m3 -> q", [0, 1.0, 0, 0, 0, 1.0, 1.0, 0, 0], None),
    ("quat_from_matrix m3 -> q", [0.0] * 9, None),
    ("quat_to_rpy q -> v3", [0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)], None),
    ("quat_to_euler q 0 1 2 -> v3", IDENTITY, "near"),
    ("quat_to_euler q 2 0 2 -> v3", IDENTITY, None),
    ("quat_between_vectors v3 v3 -> q", [1.0, 0, 0, -1.0, 0, 0], None),
    ("quat_between_vectors v3 v3 -> q", [1.0, 0, 0, 1.0, 0, 0], "near"),
    ("quat_between_vectors v3 v3 -> q", [0.0] * 6, None),
    ("quat_twist v3 q -> q", [0.0, 0.0, 1.0, *IDENTITY], None),
    ("quat_twist v3 q -> q", [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], None),
    ("quat_twist_angle v3 q -> s", [0.0, 0.0, 1.0, *IDENTITY], None),
    ("quat_twist_angle_signed v3 q -> s", [0.0, 0.0, 1.0, *IDENTITY], None),
    ("transform_decompose m4 -> v3 q v3", [0.0] * 16, None),
    ("transform_decompose m4 -> v3 q v3", np.eye(4).ravel().tolist(), "near"),
    ("closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3", [0.0] * 12, None),
    ("closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3", [0.0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0], None),
    ("noise wp.uint32(7) w3 -> f", [0.0, 1.0, 2.0], "near"),
    ("pnoise wp.uint32(7) w2 3 2 -> f", [3.0, 2.0], "near"),
    ("curlnoise wp.uint32(7) w3 -> w3", [1.0, 0.0, 0.0], None),
]


@pytest.mark.parametrize("row, x, expected", POINTS)
def test_at_singular_points(row, x, expected):
    case = Case(row)
    weights = [1.0] * case.outputs
    found = case.gradient([float(v) for v in x], weights)
    assert np.isfinite(found).all(), found
    if expected == "near":
        expected = case.differences(list(x), weights)
    if expected is not None:
        loose = 3e-3 if case.single else 1e-6
        np.testing.assert_allclose(found, expected, rtol=loose, atol=loose)
