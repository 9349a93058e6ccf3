"""Simulations as users write them: springs, contacts, rigid bodies, particles on grids, elements, chains of joints."""

from __future__ import annotations

import itertools

import omni.warp_core as wp
from tests.autodiff.corpus.user_programs import (
    R2,
    M,
    R,
    V,
    loss_of,
    mat33,
    program,
    quat,
    real,
    spatial,
    sums,
    transform,
    vec2,
    vec3,
    zeros,
)


@wp.kernel
def integrate(x0: V, v0: V, f: V, dt: real, x1: V, v1: V):
    i = wp.tid()
    v = v0[i] + (f[i] + vec3(0.0, -9.8, 0.0)) * dt
    p = x0[i] + v * dt
    if p[1] < real(-0.5):
        p[1] = real(-0.5)
        v[1] = -real(0.6) * v[1]
        v[0] *= real(0.8)
    x1[i] = p
    v1[i] = v


@wp.kernel
def springs(x: V, v: V, rest: R, pairs: wp.array(dtype=wp.vec2i), f: V):
    s = wp.tid()
    i, j = pairs[s][0], pairs[s][1]
    d = x[j] - x[i]
    l = wp.length(d)
    n = d / l
    push = n * (real(20.0) * (l - rest[s])) + n * wp.dot(v[j] - v[i], n)
    wp.atomic_add(f, i, push)
    wp.atomic_sub(f, j, push)


@program(x=((4,), vec3), v=((4,), vec3), rest=((5,), real))
def cloth(x, v, rest):
    pairs = wp.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], dtype=wp.vec2i)
    states = [(x, v)] + [(zeros(4, vec3), zeros(4, vec3)) for _ in range(6)]
    for (a, b), (c, d) in itertools.pairwise(states):
        f = zeros(4, vec3)
        wp.launch(springs, dim=5, inputs=[a, b, rest, pairs, f])
        wp.launch(integrate, dim=4, inputs=[a, b, f, 0.02, c, d])
    return loss_of(states[-1][0])


@program(x=((4,), vec3), v=((4,), vec3), rest=((5,), real))
def cloth_in_place(x, v, rest):
    pairs = wp.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], dtype=wp.vec2i)
    f = zeros(4, vec3)
    for _ in range(6):
        f.zero_()
        wp.launch(springs, dim=5, inputs=[x, v, rest, pairs, f])
        wp.launch(integrate, dim=4, inputs=[x, v, f, 0.02, x, v])
    return loss_of(x)


@wp.kernel
def heat(u: R2, k: R2, w: R2):
    i, j = wp.tid()
    if i == 0 or j == 0 or i == u.shape[0] - 1 or j == u.shape[1] - 1:
        w[i, j] = u[i, j]
        return
    lap = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - real(4.0) * u[i, j]
    w[i, j] = u[i, j] + real(0.1) * k[i, j] * lap


@program(u=((4, 5), real), k=((4, 5), real))
def heat_swapped(u, k):
    a, b = u, wp.zeros_like(u)
    for _ in range(5):
        wp.launch(heat, dim=a.shape, inputs=[a, k, b])
        a, b = b, a
    return loss_of(a.flatten())


@wp.struct
class Body:
    x: vec3
    q: quat
    v: vec3
    w: vec3
    mass: real


@wp.kernel
def make_bodies(x: V, v: V, m: R, bodies: wp.array(dtype=Body)):
    i = wp.tid()
    bodies[i].x = x[i]
    bodies[i].v = v[i]
    bodies[i].w = wp.cross(x[i], v[i])
    bodies[i].q = wp.quat_identity(real)
    bodies[i].mass = real(1.0) + m[i] * m[i]


@wp.kernel
def move_bodies(bodies: wp.array(dtype=Body), dt: real):
    i = wp.tid()
    b = bodies[i]
    b.v += vec3(0.0, -1.0, 0.5) * (dt / b.mass)
    dq = quat(b.w, real(0.0)) * b.q
    b.q = wp.normalize(b.q + dq * (real(0.5) * dt))
    bodies[i] = b
    bodies[i].x += bodies[i].v * dt
    bodies[i].v[1] *= real(0.9)
    bodies[i].mass -= real(0.01) * bodies[i].x[0]
    if bodies[i].x[1] < real(0.0):
        bodies[i].v[1] = -bodies[i].v[1]


@wp.kernel
def read_bodies(bodies: wp.array(dtype=Body), y: V):
    i = wp.tid()
    y[i] = bodies[i].x + wp.quat_rotate(bodies[i].q, vec3(0.2, 0.3, 0.1)) + bodies[i].v * bodies[i].mass


@program(x=((3,), vec3), v=((3,), vec3), m=((3,), real))
def rigid_bodies(x, v, m):
    bodies, y = zeros(3, Body), zeros(3, vec3)
    wp.launch(make_bodies, dim=3, inputs=[x, v, m, bodies])
    for _ in range(5):
        wp.launch(move_bodies, dim=3, inputs=[bodies, 0.1])
    wp.launch(read_bodies, dim=3, inputs=[bodies, y])
    return loss_of(y)


@wp.struct
class Model:
    k: R
    damping: real
    x: V
    v: V


@wp.kernel
def model_step(m: Model, dt: real, out: Model):
    i = wp.tid()
    for _s in range(2):
        m.damping *= real(0.9)
    a = -m.k[i] * m.x[i] - m.damping * m.v[i]
    out.v[i] = m.v[i] + a * dt
    out.x[i] = m.x[i] + out.v[i] * dt


@program(k=((3,), real), x=((3,), vec3), v=((3,), vec3))
def model_structs(k, x, v):
    m = Model()
    m.k, m.damping, m.x, m.v = k, 0.3, x, v
    for _ in range(4):
        n = Model()
        n.k, n.damping, n.x, n.v = k, m.damping, zeros(3, vec3), zeros(3, vec3)
        wp.launch(model_step, dim=3, inputs=[m, 0.1, n])
        m = n
    return loss_of(m.x)


@wp.func
def contact(x: vec3, v: vec3, mu: real):
    depth = -x[1]
    if depth <= real(0.0):
        return vec3()
    fn = real(100.0) * depth - real(2.0) * wp.min(v[1], real(0.0))
    vt = vec3(v[0], real(0.0), v[2])
    s = wp.length(vt)
    ft = vec3()
    if s > real(1e-3):
        ft = -vt / s * wp.min(mu * fn, s * real(10.0))
    return vec3(ft[0], fn, ft[2])


@wp.kernel
def bounce(x: V, v: V, mu: R, n: int, out: V):
    i = wp.tid()
    p, q = x[i], v[i]
    for _ in range(n):
        q += (contact(p, q, mu[i]) + vec3(0.0, -9.8, 0.0)) * real(0.01)
        p += q * real(0.01)
    out[i] = p + q


@program(x=((4,), vec3), v=((4,), vec3), mu=((4,), real))
def friction(x, v, mu):
    out = zeros(4, vec3)
    wp.launch(bounce, dim=4, inputs=[x, v, mu, 15, out])
    return loss_of(out)


@wp.kernel
def gravity(x: V, m: R, a: V):
    i = wp.tid()
    acc = vec3()
    for j in range(x.shape[0]):
        if i != j:
            d = x[j] - x[i]
            r2 = wp.length_sq(d) + real(0.1)
            acc += d * (m[j] / (r2 * wp.sqrt(r2)))
    a[i] = acc


@program(x=((5,), vec3), v=((5,), vec3), m=((5,), real))
def nbody(x, v, m):
    a = zeros(5, vec3)
    for _ in range(3):
        wp.launch(gravity, dim=5, inputs=[x, m, a])
        v = v + a * 0.1
        x = x + v * 0.1
    return loss_of(x)


@wp.kernel
def g2p(x: R, v: R, mom: R, x1: R, v1: R):
    p = wp.tid()
    s = wp.clamp(x[p] * real(2.0) + real(4.0), real(0.0), real(7.0))
    i = int(s)
    f = s - real(i)
    v1[p] = mom[i] * (real(1.0) - f) + mom[i + 1] * f
    x1[p] = x[p] + real(0.1) * v1[p]


@wp.kernel
def grid(mass: R, mom: R):
    i = wp.tid()
    if mass[i] > real(1e-6):
        mom[i] = mom[i] / mass[i] + real(0.1) * wp.sin(real(i))


@wp.kernel
def p2g(x: R, v: R, mass: R, mom: R):
    p = wp.tid()
    s = wp.clamp(x[p] * real(2.0) + real(4.0), real(0.0), real(7.0))
    i = int(s)
    f = s - real(i)
    for k in range(2):
        w = wp.where(k == 0, real(1.0) - f, f)
        wp.atomic_add(mass, i + k, w)
        wp.atomic_add(mom, i + k, w * v[p])


@program(x=((6,), real), v=((6,), real))
def pic(x, v):
    for _ in range(3):
        mass, mom = zeros(9), zeros(9)
        wp.launch(p2g, 6, inputs=[x, v, mass, mom])
        wp.launch(grid, 9, inputs=[mass, mom])
        x1, v1 = zeros(6), zeros(6)
        wp.launch(g2p, 6, inputs=[x, v, mom, x1, v1])
        x, v = x1, v1
    return loss_of(x + v)


@wp.kernel
def fem(x: V, rest: M, tets: wp.array2d(dtype=int), e: R):
    t = wp.tid()
    a, b, c, d = x[tets[t, 0]], x[tets[t, 1]], x[tets[t, 2]], x[tets[t, 3]]
    ds = wp.matrix_from_cols(b - a, c - a, d - a)
    f = ds * wp.inverse(rest[t] * real(0.2) + wp.identity(n=3, dtype=real))
    u, _s, v = wp.svd3(f)
    r = u * wp.transpose(v)
    diff = f - r
    e[t] = wp.ddot(diff, diff) + wp.pow(wp.determinant(f) - real(1.0), real(2.0))


@program(x=((5,), vec3), rest=((2,), mat33))
def corotated(x, rest):
    tets = wp.array([[0, 1, 2, 3], [1, 2, 3, 4]], dtype=int)
    e = zeros(2)
    wp.launch(fem, 2, inputs=[x, rest, tets, e])
    return loss_of(e)


@wp.kernel
def chain(q: R, length: R, out: wp.array(dtype=transform), wrench: wp.array(dtype=spatial)):
    t = wp.transform_identity(real)
    w = spatial()
    for i in range(q.shape[0]):
        local = transform(vec3(length[i], real(0.0), real(0.1)), wp.quat_from_axis_angle(vec3(0.0, 0.6, 0.8), q[i]))
        t = t * local
        out[i] = t
        p = wp.transform_get_translation(t)
        w += spatial(wp.cross(p, vec3(0.0, 1.0, 0.0)), vec3(q[i], 0.0, 0.0))
        wrench[i] = w * q[i]


@wp.kernel
def tips(t: wp.array(dtype=transform), w: wp.array(dtype=spatial), y: V):
    i = wp.tid()
    y[i] = wp.transform_point(t[i], vec3(0.3, 0.2, -0.1)) + wp.spatial_top(w[i]) * real(0.3) + wp.spatial_bottom(w[i])


@program(q=((4,), real), length=((4,), real))
def kinematics(q, length):
    t, w, y = zeros(4, transform), zeros(4, spatial), zeros(4, vec3)
    wp.launch(chain, 1, inputs=[q, length, t, w])
    wp.launch(tips, 4, inputs=[t, w, y])
    return loss_of(y)


@wp.kernel
def pendulum(x: R, v: R, k: R, dt: real):
    i = wp.tid()
    v[i] -= k[i] * wp.sin(x[i]) * dt
    x[i] += v[i] * dt
    if x[i] > real(1.0):
        x[i] = real(2.0) - x[i]
        v[i] *= real(-0.9)


@program(x=((4,), real), v=((4,), real), k=((4,), real))
def checkpointed(x, v, k):
    energy = zeros(1)

    def step(i):
        wp.launch(pendulum, 4, inputs=[x, v, k, 0.1])
        if i % 3 == 0:
            wp.launch(sums, 4, inputs=[x, energy])

    wp.checkpointed(step, 17, state=[x, v], memory_budget=400)
    return energy


@wp.kernel
def relax(u: R, f: R, parity: int):
    i = wp.tid()
    k = 2 * i + parity
    if k == 0 or k >= u.shape[0] - 1:
        return
    u[k] = real(0.5) * (u[k - 1] + u[k + 1] - f[k])


@program(u=((9,), real), f=((9,), real))
def red_black(u, f):
    for _ in range(3):
        for p in range(2):
            wp.launch(relax, 5, inputs=[u, f, p])
    return loss_of(u)


@wp.func
def f1(x: vec2, mu: real):
    return vec2(x[1], mu * (real(1.0) - x[0] * x[0]) * x[1] - x[0])


@wp.func
def rk4(x: vec2, mu: real, h: real):
    a = f1(x, mu)
    b = f1(x + a * (h * real(0.5)), mu)
    c = f1(x + b * (h * real(0.5)), mu)
    d = f1(x + c * h, mu)
    return x + (a + real(2.0) * b + real(2.0) * c + d) * (h / real(6.0))


@wp.func
def solve(x: vec2, mu: real, n: int):
    for _i in range(n):
        x = rk4(x, mu, real(0.1))
        if wp.length(x) > real(2.5):
            return x * real(0.5)
    return x


@wp.kernel
def vdp(x: wp.array(dtype=vec2), mu: R, y: R):
    i = wp.tid()
    e = solve(x[i] * real(2.0), mu[i], 12)
    y[i] = e[0] * e[1]


@program(x=((4,), vec2), mu=((4,), real))
def van_der_pol(x, mu):
    y = zeros(4)
    wp.launch(vdp, 4, inputs=[x, mu, y])
    return loss_of(y)


@wp.kernel
def mc(mu: R, sigma: R, y: R):
    i = wp.tid()
    state = wp.rand_init(7, i)
    s = real(0.0)
    for _ in range(6):
        z = mu[i] + sigma[i] * real(wp.randn(state))
        if z > real(0.0):
            s += z * z
    y[i] = s


@program(mu=((4,), real), sigma=((4,), real))
def monte_carlo(mu, sigma):
    y = zeros(4)
    wp.launch(mc, 4, inputs=[mu, sigma, y])
    return loss_of(y)
