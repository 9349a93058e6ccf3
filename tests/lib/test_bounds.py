"""The bounds that docstrings state for functions of vectors, matrices, rotations and transforms, in every precision.

A row of `CASES` is a call with the kinds of its arguments, the formula in extended precision, and what the error is
measured by. The number of ULP stands in the docstring alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import omni.warp_core as wp
from tests.lib import calls
from tests.lib import formulas as f
from tests.lib.judges import spacing
from tests.on_gpu import CPU_FUSES, MODE

COUNT = 200
DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64"}
EXPONENTS = {"f16": 2, "f32": 25, "f64": 200}  # of the sizes of vectors; fourth powers of them are in range


class Case(NamedTuple):
    """A call, and its results in extended precision."""

    call: str
    args: str
    results: str
    exact: Callable[..., Any]
    size: Callable[..., Any] = lambda *args: None  # what the error is relative to; the components themselves if None
    terms: int = 1  # products that are added, where the docstring states a rounding for each


def one(*args):
    return 1.0


def half_turn(*args):
    return math.pi


def products(a, b):
    return f.dot(abs(a), abs(b))


def crossed(a, b):
    a, b = abs(a), abs(b)
    return np.stack([a[:, i] * b[:, j] + a[:, j] * b[:, i] for i, j in ((1, 2), (2, 0), (0, 1))], -1)


def split(x):
    return x[:, :3], x[:, 3:]


def spatial_cross(a, b, cross=np.cross):
    (w, v), (x, y) = split(a), split(b)
    return f.join(cross(w, x), cross(v, x) + cross(w, y))


def spatial_cross_dual(a, b, cross=np.cross):
    (w, v), (n, g) = split(a), split(b)
    return f.join(cross(w, n) + cross(v, g), cross(w, g))


def twist(t, x):
    (p, q), (w, v) = split(t), split(x)
    turned = f.rotate(q, w)
    return f.join(turned, f.rotate(q, v) + np.cross(p, turned))


def wrench(t, x):
    (p, q), (n, g) = split(t), split(x)
    turned = f.rotate(q, g)
    return f.join(f.rotate(q, n) + np.cross(p, turned), turned)


def moved(t, x):
    (p, q) = split(t)
    return p + f.rotate(q, x)


def inverse_transform(t):
    p, q = split(t)
    back = f.conjugate(q)
    return f.join(-f.rotate(back, p), back)


def composed(a, b):
    return f.join(moved(a, b[:, :3]), f.product(a[:, 3:], b[:, 3:]))


def rows(*sizes):
    """One size for each row of components."""
    return f.column(sum(sizes))


def smoothstep(low, high, x):
    t = ((x - low) / (high - low)).clip(0, 1)
    return t * t * (3 - 2 * t)


def huber(v, delta):
    size = f.length(v)
    return np.where(size <= delta, size**2 / 2, delta * (size - delta / 2))


def pseudo_huber(v, delta):
    return delta * np.sqrt(1 + f.dot(v, v) / delta**2)


def inverse(a):
    return f.adjugate(a) / f.determinant(a)[:, None, None]


def inverse_size(a):
    """Minors with their magnitudes added, and the inverse times how much the determinant cancels."""
    d = f.determinant(a)[:, None, None]
    return f.cofactors(a, f.permanent) / abs(d) + abs(inverse(a)) * (f.permanent(a)[:, None, None] / abs(d))


def lengths(*parts):
    return rows(*(f.length(x) for x in parts))


def arm(t, x):
    """The sizes of the terms of twists and wrenches in another frame."""
    (p, _), (a, b) = split(t), split(x)
    return lengths(a, b) + f.column(f.length(p)) * lengths(a, b)


def frame(p, q, s):
    return np.where(np.arange(4) < 3, np.pad(s, ((0, 0), (0, 1)))[:, None, :], abs(f.affine(p, q, s)))


def decomposed(m):
    scale = np.sqrt((m[:, :3, :3] ** 2).sum(1))
    return m[:, :3, 3], f.quaternion(m[:, :3, :3] / scale[:, None, :]), scale


def euler_angles(q):
    """Angles about fixed x, y, z, from the matrices of rotations."""
    m = f.matrix(q)
    return np.stack(
        [np.arctan2(m[:, 2, 1], m[:, 2, 2]), -np.arcsin(m[:, 2, 0]), np.arctan2(m[:, 1, 0], m[:, 0, 0])], -1
    )


CASES = [
    *(Case("dot(a0, a1)", f"vec{n}, vec{n}", "number", f.dot, products, n) for n in (2, 3, 6)),
    Case("dot(a0, a1)", "quat, quat", "number", f.dot, products, 4),
    Case("length_sq(a0)", "vec4", "number", lambda a: f.dot(a, a), terms=4),
    *(Case("length(a0)", v, "number", f.length) for v in ("vec2", "vec4", "quat")),
    *(Case("normalize(a0)", v, v, f.unit) for v in ("vec2", "vec3", "vec4", "quat")),
    Case("cross(a0, a1)", "vec3, vec3", "vec3", np.cross, crossed, 2),
    Case("outer(a0, a1)", "vec2, vec3", "mat2x3", lambda a, b: a[:, :, None] * b[:, None, :]),
    Case("cw_mul(a0, a1)", "vec3, vec3", "vec3", lambda a, b: a * b),
    Case("cw_div(a0, a1)", "vec3, vec3", "vec3", lambda a, b: a / b),
    Case("lerp(a0, a1, a2)", "vec3, vec3, share", "vec3", lambda a, b, t: a + f.column(t) * (b - a),
         lambda a, b, t: np.maximum(abs(a), abs(b))),
    Case("smoothstep(a0, a1, a2)", "low, positive, angle", "number", smoothstep),
    Case("norm_l1(a0)", "vec4", "number", lambda v: abs(v).sum(-1), terms=4),
    Case("norm_l2(a0)", "vec3", "number", f.length),
    Case("norm_huber(a0, a1)", "vec3, positive", "number", huber),
    Case("norm_pseudo_huber(a0, a1)", "vec3, positive", "number", pseudo_huber),
    Case("smooth_normalize(a0, a1)", "vec3, positive", "vec3", lambda v, d: v / f.column(pseudo_huber(v, d))),
    Case("mul(a0, a1)", "mat2x3, vec3", "vec2", lambda a, x: np.einsum("nij,nj->ni", a, x),
         lambda a, x: np.einsum("nij,nj->ni", abs(a), abs(x)), 3),
    Case("mul(a0, a1)", "vec2, mat2x3", "vec3", lambda x, a: np.einsum("ni,nij->nj", x, a),
         lambda x, a: np.einsum("ni,nij->nj", abs(x), abs(a)), 2),
    Case("mul(a0, a1)", "mat3x3, mat3x3", "mat3x3", np.matmul, lambda a, b: abs(a) @ abs(b), 3),
    Case("mul(a0, a1)", "mat4x4, mat4x4", "mat4x4", np.matmul, lambda a, b: abs(a) @ abs(b), 4),
    Case("mul(a0, a1)", "quat, quat", "quat", f.product, one, 4),
    Case("trace(a0)", "mat4x4", "number", lambda a: np.einsum("nii->n", a), lambda a: np.einsum("nii->n", abs(a)), 4),
    Case("ddot(a0, a1)", "mat2x3, mat2x3", "number", lambda a, b: (a * b).sum((1, 2)),
         lambda a, b: abs(a * b).sum((1, 2)), 6),
    *(Case("determinant(a0)", m, "number", f.determinant, f.permanent)
      for m in ("mat2x2", "mat3x3", "mat4x4", "near3x3")),
    *(Case("inverse(a0)", f"near{n}x{n}", f"mat{n}x{n}", inverse, inverse_size) for n in (2, 3, 4)),
    Case("quat_from_axis_angle(a0, a1)", "unit, angle", "quat", f.turn),
    Case("quat_to_axis_angle(a0)", "quat", "vec3, number", f.axis_angle),
    Case("quat_rotate(a0, a1)", "quat, vec3", "vec3", f.rotate, lambda q, x: lengths(x)),
    Case("quat_rotate_inv(a0, a1)", "quat, vec3", "vec3", lambda q, x: f.rotate(f.conjugate(q), x),
         lambda q, x: lengths(x)),
    Case("quat_to_matrix(a0)", "quat", "mat3x3", f.matrix, one),
    Case("quat_from_matrix(a0)", "rigid", "quat", f.quaternion, one),
    Case("quat_rpy(a0[0], a0[1], a0[2])", "angles", "quat", lambda e: f.euler(0, 1, 2, e), one),
    Case("quat_to_rpy(a0)", "level", "vec3", euler_angles, half_turn),
    Case("quat_slerp(a0, a1, a2)", "quat, quat, share", "quat", f.slerp, one),
    Case("quat_between_vectors(a0, a1)", "unit, ahead", "quat", f.between, one),
    *(Case(f"quat_from_euler(a0, {i}, {j}, {k})", "angles", "quat", lambda e, s=(i, j, k): f.euler(*s, e), one)
      for i, j, k in ((0, 1, 2), (2, 0, 1), (1, 2, 1))),
    Case("quat_to_euler(a0, 0, 1, 2)", "level", "vec3", euler_angles, half_turn),
    Case("quat_twist(a0, a1)", "unit, quat", "quat", f.twist_of, one),
    Case("quat_twist_angle(a0, a1)", "unit, quat", "number",
         lambda a, q: 2 * np.arctan2(abs(f.dot(a, q[:, :3])), q[:, 3]), half_turn),
    Case("quat_twist_angle_signed(a0, a1)", "unit, quat", "number",
         lambda a, q: 2 * np.arctan2(f.dot(a, q[:, :3]), q[:, 3]), half_turn),
    Case("spatial_dot(a0, a1)", "vec6, vec6", "number", f.dot, products, 6),
    Case("spatial_cross(a0, a1)", "vec6, vec6", "vec6", spatial_cross, lambda a, b: spatial_cross(a, b, crossed), 4),
    Case("spatial_cross_dual(a0, a1)", "vec6, vec6", "vec6", spatial_cross_dual,
         lambda a, b: spatial_cross_dual(a, b, crossed), 4),
    Case("velocity_at_point(a0, a1)", "vec6, vec3", "vec3", lambda d, r: np.cross(d[:, :3], r) + d[:, 3:],
         lambda d, r: crossed(d[:, :3], r) + abs(d[:, 3:]), 3),
    Case("transform_twist(a0, a1)", "transform, vec6", "vec6", twist, arm),
    Case("transform_wrench(a0, a1)", "transform, vec6", "vec6", wrench, arm),
    Case("transform_point(a0, a1)", "transform, vec3", "vec3", moved, lambda t, x: lengths(t[:, :3], x)),
    Case("transform_vector(a0, a1)", "transform, vec3", "vec3", lambda t, x: f.rotate(t[:, 3:], x),
         lambda t, x: lengths(x)),
    Case("transform_inverse(a0)", "transform", "transform", inverse_transform,
         lambda t: f.join(np.repeat(lengths(t[:, :3]), 3, -1), np.ones((len(t), 4)))),
    Case("transform_multiply(a0, a1)", "transform, transform", "transform", composed,
         lambda a, b: f.join(np.repeat(lengths(a[:, :3], b[:, :3]), 3, -1), np.ones((len(a), 4)))),
    Case("transform_compose(a0, a1, a2)", "vec3, quat, vec3", "mat4x4", f.affine, lambda p, q, s: frame(p, q, abs(s))),
    Case("transform_decompose(a0)", "affine", "vec3, quat, vec3", decomposed, lambda m: (None, 1.0, None)),
    Case("transform_to_matrix(a0)", "transform", "mat4x4", lambda t: f.affine(t[:, :3], t[:, 3:], np.ones((len(t), 3))),
         lambda t: np.maximum(1.0, abs(f.affine(t[:, :3], t[:, 3:], np.ones((len(t), 3)))))),
    Case("transform_from_matrix(a0)", "rigid", "transform", lambda m: f.join(m[:, :3, 3], f.quaternion(m)),
         lambda m: f.join(abs(m[:, :3, 3]), np.ones((len(m), 4)))),
]  # fmt: skip


# -- arguments ------------------------------------------------------------------------------------------------------


def quats(rng):
    q = rng.normal(size=(COUNT, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def nearly_singular(n, rng, exponent):
    """Matrices whose last singular values are small."""
    u, v = (np.linalg.qr(rng.normal(size=(COUNT, n, n)))[0] for _ in range(2))
    k = rng.integers(0, min(exponent + 2, 20), COUNT)
    values = np.ones((COUNT, n))
    values[:, -1], values[::3, -2] = np.exp2(-k), np.exp2(-(k[::3] // 2))
    return u @ (values[:, :, None] * v)


def numbers(kind: str, rng, exponent: int):
    """Arguments of a kind, of sizes up to a power of two."""
    angles = rng.uniform(-2 * np.pi, 2 * np.pi, (COUNT, 3))
    scale = np.exp2(rng.integers(-exponent, exponent + 1, COUNT))
    directions = rng.normal(size=(COUNT, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    made = {
        "share": lambda: rng.uniform(0, 1, COUNT),
        "positive": lambda: rng.uniform(0.5, 2, COUNT),
        "low": lambda: rng.uniform(-2, -0.5, COUNT),
        "angle": lambda: angles[:, 0],
        "angles": lambda: angles,
        "level": lambda: f.euler(0, 1, 2, angles * [0.45, 0.2, 0.45]),
        "unit": lambda: directions,
        "ahead": lambda: directions + np.array([3.0, 0.0, 0.0]),
        "quat": lambda: quats(rng),
        "rigid": lambda: f.affine(rng.normal(size=(COUNT, 3)), quats(rng), np.ones((COUNT, 3))),
        "affine": lambda: f.affine(rng.normal(size=(COUNT, 3)), quats(rng), rng.uniform(0.5, 2, (COUNT, 3))),
        "transform": lambda: np.concatenate([rng.normal(size=(COUNT, 3)), quats(rng)], axis=1),
    }
    if kind in made:
        return made[kind]()
    if kind.startswith("near"):
        return nearly_singular(int(kind[-1]), rng, exponent)
    shape = tuple(map(int, re.findall(r"\d", kind)))
    values = rng.uniform(-1, 1, (COUNT, *shape))
    return values * (scale if len(shape) == 1 else np.ones(COUNT)).reshape(COUNT, *[1] * len(shape))


_TYPES = {"unit": "vec3", "ahead": "vec3", "angles": "vec3", "level": "quat", "rigid": "mat4x4", "affine": "mat4x4"}


def key_of(kind: str, scalar: str) -> str:
    """The type of a kind of argument, as tests/lib/calls.py writes it."""
    name = _TYPES.get(kind, kind.replace("near", "mat"))
    return f"{name}<{scalar}>" if re.match("vec|mat|quat|transform", name) else scalar


# -- running --------------------------------------------------------------------------------------------------------


def in_kernel(row: calls.Row, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a call in a kernel, for all samples."""
    kernel, keys = calls.kernel_of(wp, [row])
    given = []
    for key in keys:
        slots = [a if k == key else np.zeros((COUNT, *calls.shape_of(key)), a.dtype) for k, a in zip(row.args, inputs)]
        given.append(wp.array(np.stack(slots), dtype=calls.type_of(wp, key)))
    out = [wp.zeros(COUNT, dtype=calls.type_of(wp, key)) for key in row.results]
    wp.launch(kernel, dim=COUNT, inputs=[*given, *out])
    return [x.numpy() for x in out]


def in_python(row: calls.Row, inputs: list[np.ndarray], sample: int) -> list[np.ndarray]:
    """The results of the call in Python for one sample."""
    space: dict[str, Any] = {"wp": wp}
    for i, (key, a) in enumerate(zip(row.args, inputs)):
        space[f"a{i}"] = calls.type_of(wp, key)(*a[sample].ravel().tolist())
    found = eval(row.expression, space)
    results = found if len(row.results) > 1 else (found,)
    return [np.array(getattr(x, "value", x), np.float64) for x in results]


def bounds(doc: str, case: Case, count: int) -> list[float]:
    """How many ULP the docstring allows for each result.

    A rounding is half an ULP of the sum of magnitudes. Where products are not fused with additions, all of them are
    rounded rather than one. Together that is less than an ULP of the sum, as that of a product p is at most
    2**(1 - bits) p.
    """
    if re.search(r"Error: one rounding", doc):
        unfused = case.terms > 1 and not (CPU_FUSES or MODE)
        return [(case.terms + unfused) / 2] * count
    found = [float(x) for x in re.findall(r"([\d.]+) ULP", doc)]
    return found * count if len(found) == 1 else [0.0] * (count - len(found)) + found


def nearer(exact: np.ndarray, found: np.ndarray, key: str) -> np.ndarray:
    """Of two quaternions of one rotation, the one that was found."""
    if key.startswith(("quat", "transform")):
        sign = np.where(f.dot(found[:, -4:].astype(np.longdouble), exact[:, -4:]) < 0, -1, 1)
        exact[:, -4:] *= sign[:, None]
    return exact


@pytest.mark.parametrize("scalar", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.call} {c.args}")
def test_functions_keep_their_bound(case, scalar):
    kinds, rng = case.args.split(", "), np.random.default_rng(5)
    row = calls.Row(
        f"wp.{case.call}",
        tuple(key_of(k, scalar) for k in kinds),
        tuple(key_of(k, scalar) for k in case.results.replace("number", "share").split(", ")),
    )
    inputs = [numbers(k, rng, EXPONENTS[scalar]).astype(DTYPES[scalar]) for k in kinds]
    found = in_kernel(row, inputs)
    for sample in (0, COUNT // 2):
        for x, y in zip(in_python(row, inputs, sample), found):
            # float64 functions of a GPU come from another library than those in Python.
            rounding = 1e-15 if wp.get_device().is_cuda and scalar == "f64" else 0.0
            np.testing.assert_allclose(x.reshape(y.shape[1:]), y[sample].astype(np.float64), rounding, rounding)
    judged = [x.astype(np.longdouble) for x in inputs]
    exact, size = case.exact(*judged), case.size(*judged)
    exact, size = (exact, size) if isinstance(exact, tuple) else ((exact,), (size,))
    allowed = bounds(getattr(wp, re.match(r"\w+", case.call)[0]).__doc__, case, len(found))
    sizes = size if isinstance(size, tuple) else [size] * len(found)
    for x, y, s, ulps, key in zip(found, exact, sizes, allowed, row.results):
        y = nearer(y, x, key)
        errors = abs(x - y) / spacing(
            np.broadcast_to(np.asarray(y if s is None else s, np.float64), y.shape), DTYPES[scalar]
        )
        worst = np.unravel_index(np.argmax(errors), errors.shape)
        assert errors.max() <= ulps, f"{row}: {errors.max():.2f} ULP, not {ulps}, for {[a[worst[0]] for a in inputs]}"
