"""Idioms of users with arrays and control flow: sorting, compacting, views, atomics of all kinds, early returns."""

from __future__ import annotations

from typing import Any

import omni.warp_core as wp
from tests.autodiff.corpus.user_programs import (
    R,
    V,
    loss_of,
    mat23,
    mat33,
    program,
    quat,
    real,
    smooth,
    sums,
    vec3,
    vec5,
    zeros,
)


@wp.kernel
def median(x: R, y: R):
    i = wp.tid()
    a = wp.zeros(shape=5, dtype=real)
    for k in range(5):
        a[k] = x[(i + k) % x.shape[0]] * real(k + 1)
    for _p in range(5):
        for q in range(4):
            if a[q] > a[q + 1]:
                t = a[q]
                a[q] = a[q + 1]
                a[q + 1] = t
    y[i] = a[2] * a[2] + a[4] - a[0]


@program(x=((6,), real))
def sorted_locals(x):
    y = zeros(6)
    wp.launch(median, dim=6, inputs=[x, y])
    return loss_of(y)


@wp.kernel
def mul_into(v: wp.indexedarray(dtype=real), y: R):
    i = wp.tid()
    v[i] = v[i] * y[i] + wp.sin(v[i])


@program(x=((6,), real), y=((3,), real))
def indexed(x, y):
    ids = wp.array([4, 0, 3], dtype=int)
    view = wp.indexedarray(x, [ids])
    wp.launch(mul_into, 3, inputs=[view, y])
    return loss_of(x)


@program(x=((8,), real), y=((8,), real))
def views(x, y):
    z = zeros(8)
    wp.copy(z, x, dest_offset=2, src_offset=1, count=4)
    z[::2] = y[4:]
    z[1:4] += x[5:8] * y[:3]
    wp.launch(smooth, 6, inputs=[z[1:7], z[:6]])
    w = wp.clone(z)
    z.fill_(0.3)
    return loss_of(w * z + w)


def make_poly(n):
    @wp.kernel
    def poly(c: R, x: R, y: R):
        i = wp.tid()
        s = real(0.0)
        for k in range(wp.static(n)):
            s = s * x[i] + c[k]
        y[i] = s

    return poly


@program(c=((5,), real), x=((4,), real))
def factories(c, x):
    y, z = zeros(4), zeros(4)
    wp.launch(make_poly(3), 4, inputs=[c, x, y])
    wp.launch(make_poly(5), 4, inputs=[c, y, z])
    return loss_of(z)


@wp.kernel
def gathered(x: V, s: wp.array(dtype=mat33), low: R, high: R):
    i = wp.tid()
    wp.atomic_add(s, i % 2, wp.outer(x[i], x[i]))
    wp.atomic_min(low, 0, x[i][0] * x[i][1])
    wp.atomic_max(high, 0, wp.length(x[i]))


@wp.kernel
def used(s: wp.array(dtype=mat33), low: R, high: R, y: R):
    i = wp.tid()
    m = s[i] + wp.identity(n=3, dtype=real) * real(2.0)
    y[i] = wp.trace(wp.inverse(m)) + low[0] * high[0] + wp.determinant(m)


@program(x=((5,), vec3))
def atomics(x):
    s, low, high, y = zeros(2, mat33), wp.full(1, 1e9, dtype=real, requires_grad=True), zeros(1), zeros(2)
    wp.launch(gathered, 5, inputs=[x, s, low, high])
    wp.launch(used, 2, inputs=[s, low, high, y])
    return loss_of(y)


@wp.kernel
def compact(x: R, count: wp.array(dtype=int), y: R):
    i = wp.tid()
    if x[i] > real(0.0):
        k = wp.atomic_add(count, 0, 1)
        y[k] = x[i] * x[i]


@program(x=((6,), real))
def compaction(x):
    y = zeros(6)
    wp.launch(compact, 6, inputs=[x, wp.zeros(1, dtype=int), y])
    out = zeros(1)
    wp.launch(sums, 6, inputs=[y, out])
    return out


@wp.kernel
def consume(count: wp.array(dtype=int), y: R, out: R):
    i = wp.tid()
    if i >= count[0]:
        return
    wp.atomic_add(out, 0, y[i] * y[i] * real(count[0]))


@program(x=((6,), real))
def compaction_counted(x):
    y, count, out = zeros(6), wp.zeros(1, dtype=int), zeros(1)
    for _ in range(2):
        count.zero_()
        wp.launch(compact, 6, inputs=[x, count, y])
        wp.launch(consume, 6, inputs=[count, y, out])
        x = y
    return out


@wp.func
def axpy(a: Any, x: wp.array(dtype=Any), y: wp.array(dtype=Any), i: int):
    y[i] += a * x[i]
    return y[i]


@wp.kernel
def blas(a: R, x: V, y: V, z: R, w: R):
    i = wp.tid()
    p = axpy(a[i], x, y, i)
    q = axpy(p[0], z, w, i)
    y[i] = p * q + y[i]


@program(a=((4,), real), x=((4,), vec3), y=((4,), vec3), z=((4,), real), w=((4,), real))
def generics(a, x, y, z, w):
    wp.launch(blas, 4, inputs=[a, x, y, z, w])
    wp.launch(blas, 4, inputs=[w, y, x, a, z])
    return loss_of(x)


@wp.kernel
def odd_sizes(x: R, m: wp.array(dtype=mat23), y: R):
    i = wp.tid()
    v = vec5()
    for k in range(5):
        v[k] = x[(i + k) % x.shape[0]]
    for k in range(5):
        v[(k * 2) % 5] += v[k] * real(0.3)
    a = m[i]
    a[1] = vec3(v[0], v[1], v[2]) + a[0]
    a[0, i % 3] *= v[3]
    g = a * wp.transpose(a)
    y[i] = wp.determinant(g) + wp.dot(v, v) + g[i % 2, 1]


@program(x=((4,), real), m=((4,), mat23))
def odd(x, m):
    y = zeros(4)
    wp.launch(odd_sizes, 4, inputs=[x, m, y])
    return loss_of(y)


@wp.kernel
def box(x: wp.array3d(dtype=real), y: wp.array3d(dtype=real)):
    i, j, k = wp.tid()
    s = real(0.0)
    for a in range(wp.max(i - 1, 0), wp.min(i + 2, x.shape[0])):
        plane = x[a]
        for b in range(wp.max(j - 1, 0), wp.min(j + 2, x.shape[1])):
            s += plane[b, k] * plane[j, k]
    y[i, j, k] = wp.tanh(s)


@program(x=((3, 2, 2), real))
def boxes(x):
    y = zeros((3, 2, 2))
    wp.launch(box, dim=(3, 2, 2), inputs=[x, y])
    wp.launch(box, dim=(3, 2, 2), inputs=[y, x])
    return loss_of(x.flatten())


@wp.kernel
def guarded(x: R, limit: real, y: R, n: R):
    i = wp.tid()
    v = x[i]
    y[i] = v
    if v > limit:
        y[i] = limit * v
        wp.atomic_add(n, 0, v)
        return
    while v < limit:
        v += real(0.3) + v * v * real(0.1)
        if v < real(-0.9):
            y[i] = v * real(3.0)
            return
    y[i] = y[i] * v
    wp.atomic_sub(n, 0, v * v)


@program(x=((6,), real))
def early(x):
    y, n = zeros(6), zeros(1)
    wp.launch(guarded, 6, inputs=[x, 0.4, y, n])
    wp.launch(guarded, 6, inputs=[y, 0.2, y, n])
    out = loss_of(y)
    wp.launch(sums, 1, inputs=[n, out])
    return out


@program(x=((3, 4), real), y=((4,), real))
def arithmetic(x, y):
    z = x * 2.0 + y
    z -= x
    w = wp.map(lambda a, b: a * wp.sin(b), z, x)
    w = w.transpose()
    w[1] = y[:3] * w[0]
    return loss_of(w.contiguous().flatten())


@wp.kernel
def three(a: R, b: R, c: R):
    i = wp.tid()
    t = a[i] * b[i]
    c[i] = t + wp.sin(b[i])


@program(x=((6,), real))
def same_twice(x):
    y = zeros(6)
    wp.launch(three, 6, inputs=[x, x, y])
    wp.launch(three, 6, inputs=[y, y, y])
    wp.launch(three, 3, inputs=[y[:3], y[3:], x[::2]])
    return loss_of(x + y)


@wp.kernel
def slerps(a: wp.array(dtype=quat), t: R, y: V):
    i = wp.tid()
    q = wp.normalize(a[i] + quat(0.0, 0.0, 0.0, 2.0))
    k = 0
    while k < a.shape[0]:
        q = wp.quat_slerp(q, wp.normalize(a[k] + quat(0.0, 0.5, 0.0, 2.0)), real(0.3) + real(0.1) * t[i])
        k += 1
    y[i] = wp.quat_rotate_inv(q, vec3(t[i], 1.0, 0.5))


@program(a=((3,), quat), t=((3,), real))
def quaternions(a, t):
    y = zeros(3, vec3)
    wp.launch(slerps, 3, inputs=[a, t, y])
    return loss_of(y)
