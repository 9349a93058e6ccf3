"""Kernels and functions that type checkers accept without a word: arrays are annotated with brackets."""

from __future__ import annotations

from typing import Any

import omni.warp_core as wp

GRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.0))


@wp.func
def spring(x: wp.vec3, stiffness: float) -> wp.vec3:
    return -stiffness * x


@wp.func
def twice(x: Any) -> Any:
    return x + x


@wp.func
def larger(x: wp.Float, y: wp.Float) -> wp.Float:
    return x if x > y else y


@wp.kernel
def shifted(x: wp.array[Any], by: wp.Scalar, n: wp.Int):
    i = wp.tid()
    x[i] = x[i] + by * larger(1.0, 2.0)


@wp.func
def halves(x: float, by: float = 2.0) -> tuple[float, float]:
    return x / by, x - x / by


@wp.kernel
def scalars(x: wp.array[float], y: wp.array[wp.float32], n: wp.array[int], dt: float):
    i = wp.tid()
    x[i] = wp.sin(y[i]) + wp.cos(0.5) * wp.sqrt(2.0 * x[i])
    s = 0.0
    for j in range(n[i]):
        s += y[j] * dt
    low, high = halves(s)
    x[i] += wp.clamp(s, low, high) + wp.min(s, 1.0) + wp.lerp(low, high, 0.5)
    if x[i] > 1.0 and not wp.isnan(x[i]):
        x[i] = wp.where(s > 0.0, s, -s)
    n[i] = int(x[i]) + wp.abs(n[i]) % 3
    wp.atomic_add(x, i, 1.0)
    wp.printf("%d %f\n", i, x[i])


@wp.kernel(enable_backward=False)
def vectors(p: wp.array[wp.vec3], m: wp.array[wp.mat33], q: wp.array[wp.quat], t: wp.array[wp.transform]):
    i = wp.tid()
    v = p[i]
    v.x = 1.0
    v[1] = v.y + v.z
    p[i] = wp.vec3(1.0, 2.0, 3.0) * 2.0 + spring(v, 4.0) + GRAVITY
    p[i] += wp.cross(v, p[0]) / 2.0 + wp.normalize(v) + m[i] * v + m[i] @ v + v * m[i]
    p[i] = wp.quat_rotate(q[i], v) + wp.transform_point(t[i], v)
    m[i] = wp.outer(v, v) + wp.transpose(m[i]) @ wp.inverse(m[i]) * 2.0
    m[i][0, 1] = wp.trace(m[i]) + wp.determinant(m[i]) + wp.dot(v, v) + wp.length(m[i][0])
    q[i] = wp.normalize(q[i] * wp.quat_from_axis_angle(v, 0.5))
    t[i] = wp.transform(v, q[i]) * t[i]
    u, sigma, w = wp.svd3(m[i])
    p[i] = u @ sigma + twice(w[0])


@wp.kernel
def dimensions(grid: wp.array2d[float], cube: wp.array3d[wp.vec2], out: wp.array[wp.vec2]):
    i, j = wp.tid()
    row = grid[i]
    grid[i, j] = row[j] + grid[0][1] + cube[i, j, 0].x
    cube[i, j, 1] = cube[0, 0][1] + wp.vec2(1.0)
    out[i] = cube[i][j][0]
    wp.atomic_add(grid, i, j, 1.0)
    wp.atomic_max(cube, i, j, 0, wp.vec2(1.0))
    out[j] = wp.vec2(float(grid.shape[0]), float(len(row)))


@wp.kernel
def widths(a: wp.array[wp.float64], b: wp.array[wp.uint32], c: wp.array[wp.vec3d], state: wp.uint32):
    i = wp.tid()
    a[i] = 2.0 * a[i] + wp.float64(1.0) / a[i] - 0.5
    a[i] = wp.max(a[i], 0.0) + wp.smoothstep(0.0, 1.0, a[i])
    a[i] += wp.dot(c[i], c[i]) * wp.float64(b[i])
    b[i] = (b[i] << 1) ^ state | 1
    b[i] += wp.uint32(i)
    c[i] = wp.vec3d(a[i], 1.0, 2.0) * a[i] + wp.lerp(c[i], c[0], 0.5)
    c[i].x = 0.0
    random = wp.rand_init(1, i)
    a[i] = wp.float64(wp.randf(random) + wp.noise(random, wp.vec3(1.0)))
    b[i] = wp.randu(random)
