"""The gradient of every library function: against central differences at random points, and at singular points.

Differences judge double precision. Single and half precision are judged by double precision at the same numbers.

A row such as `quat_rotate q v3 -> v3` names the function, the types of its arguments and of its results. The test makes
a kernel of it, and runs its adjoint in the interpreter. Types that come with a domain: `p` positive, `u` inside (-1,
1), `q` a unit quaternion, `t` a rigid motion; a number stands for itself.
"""

from __future__ import annotations

import math
import random
import re
from functools import cache, cached_property

import numpy as np
import pytest

from omni.warp_core.autodiff.jvp.tangent import tangent_kernel
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.build_library_pack import instances
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import verifier
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.ir.nodes import Function
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.registry import public
from omni.warp_core.lang.types import F32, F64, element
from omni.warp_core.lib.builtin_index import INDEX
from tests.autodiff.reference_gradients import kernel_of

# precision: (suffix of types, NumPy's type, rounding unit)
PRECISIONS = {
    "float64": ("d", np.float64, 2.0**-52),
    "float32": ("f", np.float32, 2.0**-23),
    "float16": ("h", np.float16, 2.0**-10),
}
# type: (components, how it is made of them; a type of the precision that is judged ends with @)
TYPES = {
    **dict.fromkeys("spu", (1, "@")),
    "f": (1, "wp.float32"),
    **{f"v{n}": (n, f"wp.vec{n}@") for n in (2, 3, 4)},
    **{f"w{n}": (n, f"wp.vec{n}") for n in (2, 3, 4)},
    **{f"m{n}": (n * n, f"wp.mat{n}{n}@") for n in (2, 3, 4)},
    "v6": (6, "wp.spatial_vector@"),
    "m6": (36, "wp.spatial_matrix@"),
    "q": (4, "wp.quat@"),
    "t": (7, "wp.transform@"),
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
div_approx s p -> s; div_approx v3 p -> v3; div_approx m2 p -> m2; div_approx q p -> q; div_approx p v3 -> v3
div_approx p m2 -> m2; div_approx s wp.quat@(0.6,-0.8,1.1,0.4) -> q
inverse_approx p -> s; inverse_approx m2 -> m2; inverse_approx m3 -> m3; inverse_approx m4 -> m4
add s s -> s; add v3 v3 -> v3; add m2 m2 -> m2; add q q -> q; add t t -> t
sub s s -> s; sub v3 v3 -> v3; sub m2 m2 -> m2; sub q q -> q; sub t t -> t
neg s -> s; neg v3 -> v3; neg m2 -> m2; neg q -> q; neg t -> t; pos v3 -> v3
mul s s -> s; mul s v3 -> v3; mul v3 s -> v3; mul s m2 -> m2; mul m2 s -> m2; mul s q -> q; mul q s -> q
mul s t -> t; mul t s -> t; mul m6 v6 -> v6; mul v6 m6 -> v6
div s p -> s; div v3 p -> v3; div m2 p -> m2; div q p -> q; div t p -> t; div p v3 -> v3; div p m2 -> m2
div s wp.quat@(0.6,-0.8,1.1,0.4) -> q; mod s p -> s; mod s -0.75 -> s; mod v3 wp.vec3@(0.7,-1.1,1.6) -> v3
floordiv s p -> s; where True v3 v3 -> v3; where False q q -> q; select True m2 m2 -> m2; select False s s -> s
vector s s s -> v3; matrix_from_rows v2 v2 -> m2; matrix_from_cols v2 v2 -> m2; quaternion s s s s -> q
transformation v3 q -> t
quat_from_axis_angle v3 s -> q; quat_from_axis_angle s s s s -> q; quat_to_axis_angle q -> v3 s
quat_inverse q -> q; quat_rotate q v3 -> v3
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
index v3 1 -> s; index q 3 -> s; index t -1 -> s; index m3 1 2 -> s; index m3 1 -> v3; randf wp.uint32(7) f f -> f
svd2 m2 -> m2 v2 m2; svd3 m3 -> m3 v3 m3; qr3 m3 -> m3 m3; eig3 m3 -> m3 v3
"""
TABLE = [row.strip() for row in ROWS.replace("\n", ";").split(";") if row.strip()]

# Neither arguments nor results that could have a derivative.
WITHOUT = """
    isfinite isnan isinf argmin argmax quat_identity transform_identity bit_count lower_bound intersect_tri_tri
    hash_grid_query hash_grid_query_next hash_grid_point_id mesh_query_sphere mesh_query_next
    volume_lookup_i volume_lookup_index volume_voxel_count volume_sample_i
    mesh_get_index mesh_query_ray_anyhit mesh_query_ray_count_intersections mesh_query_aabb mesh_query_aabb_next
    mesh_get_group_root mesh_get_bvh
    bvh_query_aabb bvh_query_ray bvh_query_sphere bvh_query_capsule bvh_query_next bvh_get_group_root
    rand_init randi randu randn poisson sample_cdf sample_triangle sample_unit_ring sample_unit_disk
    sample_unit_sphere_surface sample_unit_sphere sample_unit_hemisphere_surface sample_unit_hemisphere
    sample_unit_square sample_unit_cube
"""

# In tests/volumes and tests/geometry.
OF_STRUCTURES = """
    volume_lookup volume_lookup_f volume_lookup_v
    volume_sample volume_sample_f volume_sample_v volume_sample_world volume_sample_local
    volume_transform volume_transform_inv
    volume_index_to_world volume_index_to_world_dir volume_world_to_index volume_world_to_index_dir
    volume_store volume_store_f volume_store_i volume_store_v
    volume_sample_grad volume_sample_grad_f volume_sample_index volume_sample_grad_index
    mesh_query_ray mesh_query_point mesh_query_point_no_sign mesh_query_point_sign_normal mesh_query_point_sign_parity
    mesh_query_point_sign_winding_number mesh_query_furthest_point_no_sign
    mesh_eval_position mesh_eval_velocity mesh_eval_face_normal mesh_get_point mesh_get_velocity mesh_get
    texture_sample
"""


class Case:
    """A kernel y = f(x) of all components, its adjoint and both in the interpreter."""

    def __init__(self, row: str, precision: str = "float64", call: str = ""):
        self.row, self.numpy = row, PRECISIONS[precision][1]
        suffix = PRECISIONS[precision][0]
        given_types, _, results = row.partition(" -> ")
        name, *self.args = given_types.split()
        self.results = results.split()
        at, given = 0, []
        for a in self.args:
            count, make = TYPES.get(a, (0, ""))
            scalar = "wp.float32" if a[0] in "fw" else f"wp.{precision}"
            parts = ", ".join(f"{scalar}(x[{at + i}])" for i in range(count))
            made = scalar if make == "@" else make.replace("@", suffix)
            plain = a.replace("@", suffix) if "(" in a else f"{scalar}({a})" if "." in a else a
            given.append(f"{made}({parts})" if count else plain)
            at += count
        self.inputs = at
        names = [f"r{k}" for k in range(len(self.results))]
        lines = ["    " + (call.format(*given) if call else f"{', '.join(names)} = wp.{name}({', '.join(given)})")]
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
        self.function = lower_kernel(kernel_of(text, f"<library {row} {precision}>"))

    @cached_property
    def adjoint(self) -> Function:
        return adjoint_kernel(self.function, library_gradient).function

    @cached_property
    def tangent(self) -> Function:
        ready = tangent_kernel(self.function, (True, True), library_gradient)
        verifier.verify(ready)
        return ready

    @property
    def single(self) -> bool:
        return any(a[0] in "fw" for a in (*self.args, *self.results))

    def sample(self, r: random.Random) -> list[float]:
        out: list[float] = []
        for a in self.args:
            if a in TYPES:
                out += _sample(a, r)
        return [float((np.float32 if self.single else self.numpy)(x)) for x in out]

    def value(self, x: list[float]) -> np.ndarray:
        y = MemArray(F64, (self.outputs,), [0.0] * self.outputs)
        interp.run_kernel(self.function, [MemArray(F64, (self.inputs,), list(x)), y], 1)
        return np.array(y.values())

    def gradient(self, x: list[float], weights: list[float]) -> np.ndarray:
        args = [MemArray(F64, (self.inputs,), list(x)), MemArray(F64, (self.outputs,), [0.0] * self.outputs)]
        args[0].grad = MemArray(F64, (self.inputs,), [0.0] * self.inputs)
        args[1].grad = MemArray(F64, (self.outputs,), list(weights))
        interp.run_kernel(self.adjoint, args, 1)
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


case_of = cache(Case)  # rows are judged in several tests


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


def judged(row: str, call: str = "") -> str:
    """right, refused, or what is wrong."""
    r = random.Random(row)
    case = case_of(row, call=call)
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


# As good as the arithmetic: in units of the largest component of the gradient, or of 1.
BOUND = 16
# The signs of their factors, and the order, are those of rounding. test_decompositions has what is made of them.
FREE = ("svd3", "eig3")
TYPED = [row for row in TABLE if not set(re.findall(r"\b[fw]\d?\b", row)) and row.split()[0] not in FREE]


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("row", TYPED)
def test_in_other_precisions(row, precision):
    case, exact, r = case_of(row, precision), case_of(row), random.Random(row)
    for _ in range(3):
        x, weights = case.sample(r), [r.randint(-8, 8) / 8.0 for _ in range(case.outputs)]
        parts = [exact.gradient(x, [w * (k == j) for k, w in enumerate(weights)]) for j in range(case.outputs)]
        scale = max(1.0, np.abs(parts).sum(0).max())
        unit = PRECISIONS[precision][2]
        np.testing.assert_allclose(case.gradient(x, weights), np.sum(parts, 0), rtol=0, atol=BOUND * unit * scale)


OPERATORS = {"add", "sub", "neg", "pos", "div", "mod", "floordiv"}
INTRINSICS = {"where", "select", "vector", "matrix_from_rows", "matrix_from_cols", "quaternion", "transformation"}
# Functions that give their results to variables, and what calls them for a row.
ASSIGNING = {
    "transform_set_translation": ("t v3 -> t", "r0 = {0}\n    wp.transform_set_translation(r0, {1})"),
    "transform_set_rotation": ("t q -> t", "r0 = {0}\n    wp.transform_set_rotation(r0, {1})"),
    "quat_to_axis_angle": (
        "q -> v3 s",
        "r0 = wp.vec3d()\n    r1 = wp.float64()\n    wp.quat_to_axis_angle({0}, r0, r1)",
    ),
}


@pytest.mark.parametrize("name", ASSIGNING)
def test_functions_that_assign(name):
    row, call = ASSIGNING[name]
    assert judged(f"{name} {row}", call) == "right"


def test_every_function_is_in_the_table():
    tabled, without = {row.split()[0] for row in TABLE}, set(WITHOUT.split())
    assert tabled | without | set(OF_STRUCTURES.split()) | set(ASSIGNING) == set(INDEX) | OPERATORS | INTRINSICS
    assert not (tabled | set(ASSIGNING)) & without


# In tests/autodiff/test_decomposition_gradients.py: results that are given to variables.
ELSEWHERE = {"svd2#1", "svd3#3", "qr3#3", "eig3#3"}


def test_every_overload_is_in_the_table():
    """What the kernels of the table call, of all that take numbers of floating point."""
    rows = [case_of(row, precision) for row in TABLE for precision in ("float64", "float32")]
    rows += [case_of(f"{name} {row}", call=call) for name, (row, call) in ASSIGNING.items()]
    called = {op.attr.name.partition("(")[0] for c in rows for op in c.function.body.walk() if op.code == "call"}
    wanted = {
        f"{builtin.name}#{index}"
        for builtin, index, types in instances()
        if builtin.name in INDEX and any(element(t) in (F32, F64) for t in types)
    }
    assert {
        name for name in wanted - called if name.partition("#")[0] not in (WITHOUT + OF_STRUCTURES).split()
    } == ELSEWHERE


@pytest.mark.parametrize("name", WITHOUT.split())
def test_what_has_no_gradient_says_so(name):
    doc = public(name).__doc__
    assert "Derivative: none" in doc or "Derivative: " not in doc


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
    ("frac s -> s", [-1.0], [1.0]),
    ("frac s -> s", [0.0], [1.0]),
    ("mod s p -> s", [1.5, 0.5], [1.0, -3.0]),
    ("mod s p -> s", [-1.5, 0.5], None),
    ("mod s p -> s", [0.0, 0.5], [1.0, 0.0]),
    ("floor s -> s", [1.0], [0.0]),
    ("floordiv s p -> s", [1.0, 0.5], [0.0, 0.0]),
    ("round s -> s", [0.5], [0.0]),
    ("lerp s s s -> s", [1.0, 3.0, 0.0], [1.0, 0.0, 2.0]),
    ("lerp s s s -> s", [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]),
    ("smoothstep s s s -> s", [1.0, 1.0, 1.0], None),
    ("smoothstep s s s -> s", [1.0, 1.0, 2.0], [0.0, 0.0, 0.0]),
    ("smoothstep s s s -> s", [1.0, 2.0, 1.0], [0.0, 0.0, 0.0]),
    ("max v3 -> s", [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]),
    ("min v3 -> s", [1.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    ("abs v3 -> v3", [0.0, -1.0, 2.0], [1.0, -1.0, 1.0]),
    ("norm_l1 q -> s", [0.0] * 4, [1.0] * 4),
    ("norm_l2 q -> s", [0.0] * 4, [0.0] * 4),
    ("norm_huber q p -> s", [0.0] * 4 + [2.0], [0.0] * 5),
    ("norm_huber v3 p -> s", [0.0] * 3 + [2.0], [0.0] * 4),
    ("smooth_normalize q p -> q", [0.0] * 4 + [2.0], [0.5] * 4 + [0.0]),
    ("erf s -> s", [0.0], [1.1283791670955126]),
    ("tanh s -> s", [0.0], [1.0]),
    ("sinh s -> s", [0.0], [1.0]),
    ("transform_inverse t -> t", [0.0] * 3 + [0.0, 0.0, 0.0, 1.0], "near"),
    ("transform_from_matrix m4 -> t", np.eye(4).ravel().tolist(), "near"),
    ("transform_from_matrix m4 -> t", [0.0] * 16, None),
    ("quat_between_vectors v3 v3 -> q", [1.0, 0, 0, 0.0, 0, 0], None),
    ("quat_from_axis_angle v3 s -> q", [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
    ("quat_from_axis_angle v3 s -> q", [0.0, 0.0, 0.0, 1.0], None),
    ("quat_to_axis_angle q -> v3 s", [0.0, 0.0, 0.0, -1.0], [0.0] * 4),
    ("closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3", [0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0], None),
    ("closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3", [0.0, 0, 0, 1, 0, 0, 0.5, 0, 0, 0.5, 1, 0], None),
    ("closest_point_edge_edge v3 v3 v3 v3 0.000001 -> v3", [0.0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1], None),
    ("spatial_cross v6 v6 -> v6", [0.0] * 12, [0.0] * 12),
    ("transform_twist t v6 -> v6", [0.0] * 13, None),
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


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("row, x, expected", POINTS)
def test_at_singular_points(row, x, expected, precision):
    case = case_of(row, precision)
    weights = [1.0] * case.outputs
    x = [float(case.numpy(v)) for v in x]
    found = case.gradient(x, weights)
    assert np.isfinite(found).all(), found
    if expected == "near":
        expected = case_of(row).differences(x, weights)
    if expected is not None:
        loose = 3e-3 if case.single else 16 * PRECISIONS[precision][2] + 1e-6
        np.testing.assert_allclose(found, expected, rtol=loose, atol=loose)


# row, point next to a singular one in single precision, gradient
NEAR = [
    ("asin s -> s", [1.0 - 2.0**-24], [1.0 / math.sqrt(2.0**-23 - 2.0**-48)]),
    ("acos s -> s", [-1.0 + 2.0**-24], [-1.0 / math.sqrt(2.0**-23 - 2.0**-48)]),
    ("atan2 s s -> s", [2.0**-70, 2.0**-70], [2.0**69, -(2.0**69)]),
    ("atan2 s s -> s", [2.0**70, -(2.0**70)], [-(2.0**-71), -(2.0**-71)]),
    ("atan2 s s -> s", [0.0, 2.0**-120], [2.0**120, 0.0]),
    ("sqrt s -> s", [2.0**-120], [2.0**59]),
    ("cbrt s -> s", [2.0**-120], [2.0**80 / 3.0]),
    ("length v3 -> s", [2.0**-60, 0.0, 0.0], [1.0, 0.0, 0.0]),
    ("normalize v2 -> v2", [2.0**-60, 0.0], [0.0, 2.0**60]),
    ("mod s p -> s", [3.0 - 2.0**-22, 1.0 - 2.0**-24], [1.0, -2.0]),  # the quotient rounds to 3
    ("mod s p -> s", [np.nextafter(np.float32(2.1), np.float32(0.0)), np.float32(0.7)], [1.0, -2.0]),
    ("frac s -> s", [1.0 - 2.0**-24], [1.0]),
    ("inverse m2 -> m2", [1.0, 1.0, 1.0, 1.0 + 2.0**-20], None),
    ("inverse m3 -> m3", [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0 + 2.0**-20], None),
]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("row, x, expected", NEAR)
def test_beside_singular_points(row, x, expected, precision):
    case, weights = case_of(row, precision), [1.0] * case_of(row).outputs
    found = case.gradient([float(v) for v in x], weights)
    if expected is None:  # -transpose(b) * g * transpose(b)
        side = math.isqrt(len(x))
        b = np.linalg.inv(np.reshape(x, (side, side)))
        expected = (-b.T @ np.ones((side, side)) @ b.T).ravel()
    np.testing.assert_allclose(found, expected, rtol=8 * 2.0**-23, atol=1e-6 * np.abs(expected).max())
