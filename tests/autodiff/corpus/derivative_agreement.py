"""Programs whose threads store the same to one element, as users do with means, normals and the heads of rows."""

from __future__ import annotations

import omni.warp_core as wp
from tests.autodiff.corpus.user_programs import R2, R, V, loss_of, program, real, vec3, zeros


@wp.kernel
def mean_by_all(x: R, mean: R, var: R):
    s = real(0.0)
    for k in range(x.shape[0]):
        s += x[k]
    m = s / real(x.shape[0])
    mean[0] = m
    q = real(0.0)
    for k in range(x.shape[0]):
        q += (x[k] - m) * (x[k] - m)
    var[0] = q / real(x.shape[0])
    i = wp.tid()
    if i > 100:
        var[0] = real(0.0)


@wp.kernel
def normalise(x: R, mean: R, var: R, y: R):
    i = wp.tid()
    y[i] = (x[i] - mean[0]) / wp.sqrt(var[0] + real(0.1))


@program(x=((7,), real))
def layer_norm(x):
    mean, var, y = zeros(1), zeros(1), zeros(7)
    wp.launch(mean_by_all, 7, inputs=[x, mean, var])
    wp.launch(normalise, 7, inputs=[x, mean, var, y])
    return loss_of(y)


@wp.kernel
def per_vertex(x: V, tris: wp.array2d(dtype=int), n: V, area: R):
    t, _ = wp.tid()
    a, b, d = x[tris[t, 0]], x[tris[t, 1]], x[tris[t, 2]]
    m = wp.cross(b - a, d - a)
    area[t] = wp.length(m)
    n[t] = wp.normalize(m)


@program(x=((5,), vec3))
def normals_by_corner(x):
    tris = wp.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]], dtype=int)
    n, area = zeros(3, vec3), zeros(3)
    for _ in range(2):
        wp.launch(per_vertex, (3, 3), inputs=[x, tris, n, area])
    out = loss_of(n)
    wp.launch(add_total, 3, inputs=[area, out])
    return out


@wp.kernel
def add_total(a: R, out: R):
    i = wp.tid()
    wp.atomic_add(out, 0, a[i] * a[i])


@wp.kernel
def flat(x: R2, y: R, w: int):
    i, j = wp.tid()
    k = i * w + j
    y[k] = x[i, j] * x[j % x.shape[0], i]
    if k > 0:
        y[k] *= real(0.5) + x[i, j]


@program(x=((3, 4), real))
def flattened(x):
    y = zeros(12)
    wp.launch(flat, (3, 4), inputs=[x, y, 4])
    return loss_of(y)


@program(p=((3,), real))
def row_heads(p):
    y = zeros((3, 3))
    wp.launch(heads, (3, 3), inputs=[p, y])
    return loss_of(y.flatten())


@wp.kernel
def heads(p: R, y: R2):
    i, j = wp.tid()
    row = y[i]
    row[0] = p[i] * p[i]
    v = row[0]
    if j > 0:
        row[j] = v * p[j]


@wp.kernel
def branchy(p: R, y: R, z: R):
    i = wp.tid()
    if p[0] > real(0.0):
        y[0] = p[0] * p[1]
    else:
        y[0] = p[1] * p[1] * p[1]
    for k in range(3):
        if p[k] > real(0.5):
            break
        y[k + 1] = p[k] * y[0]
    z[i] = y[0] * p[i % 3]


@program(p=((3,), real))
def same_in_branches(p):
    y, z = zeros(4), zeros(20)
    wp.launch(branchy, 20, inputs=[p, y, z])
    out = loss_of(y)
    wp.launch(add_total, 20, inputs=[z, out])
    return out


@program(x=((6,), real))
def repeated_indices(x):
    ids = wp.array([1, 1, 4, 4, 0], dtype=int)
    out = zeros(6)
    view = wp.indexedarray(out, [ids])
    wp.launch(through, 5, inputs=[x, ids, view])
    return loss_of(out)


@wp.kernel
def through(x: R, ids: wp.array(dtype=int), v: wp.indexedarray(dtype=real)):
    i = wp.tid()
    v[i] = x[ids[i]] * x[ids[i]]
