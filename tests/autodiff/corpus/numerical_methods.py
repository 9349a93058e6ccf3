"""Numerical methods and learning as users write them: solvers, networks, images, filters, steps of their own."""

from __future__ import annotations

import numpy as np

import omni.warp_core as wp
from omni.warp_core.dispatch import observers
from tests.autodiff.corpus.user_programs import R2, M, R, V, loss_of, mat33, program, real, smooth, vec2, vec3, zeros


@wp.func
def newton(a: real, b: real):
    x = real(1.0)
    n = 0
    while n < 30:
        f = x * x * x + a * x - b
        df = real(3.0) * x * x + a
        step = f / df
        x -= step
        n += 1
        if wp.abs(step) < real(1e-14):
            break
    return x


@wp.kernel
def roots(a: R, b: R, y: R):
    i = wp.tid()
    y[i] = newton(wp.abs(a[i]) + real(1.0), b[i])


@program(a=((5,), real), b=((5,), real))
def newton_roots(a, b):
    y = zeros(5)
    wp.launch(roots, dim=5, inputs=[a, b, y])
    return loss_of(y)


@program(x=((5,), real))
def numpy_reads(x):
    y = zeros(5)
    n = int(x.numpy().shape[0])
    wp.launch(roots, n, inputs=[x, x, y])
    peek = y.numpy().max()
    assert peek == peek
    wp.launch(smooth, n, inputs=[y, y])
    y.list()
    return loss_of(y)


@wp.func
def sdf(p: vec3, r: real):
    d = wp.length(p) - r
    e = wp.length(p - vec3(0.5, 0.3, 0.0)) - real(0.4)
    k = real(8.0)
    return -wp.log(wp.exp(-k * d) + wp.exp(-k * e)) / k


@wp.func
def march(o: vec3, d: vec3, r: real):
    t = real(0.0)
    for _i in range(12):
        h = sdf(o + d * t, r)
        if h < real(1e-9):
            return t
        t += h * real(0.7)
        if t > real(4.0):
            return real(4.0)
    return t


@wp.kernel
def trace(o: V, d: V, r: R, depth: R):
    i = wp.tid()
    depth[i] = march(o[i] + vec3(0.0, 0.0, -2.0), wp.normalize(d[i] * real(0.2) + vec3(0.0, 0.0, 1.0)), r[0])


@program(o=((5,), vec3), d=((5,), vec3), r=((1,), real))
def raymarching(o, d, r):
    depth = zeros(5)
    wp.launch(trace, dim=5, inputs=[o, d, r, depth])
    return loss_of(depth)


@wp.kernel
def add_bias(x: R2, b: R):
    i, j = wp.tid()
    x[i, j] += b[i]


@wp.func
def swish(x: real):
    return x / (real(1.0) + wp.exp(-x))


@program(w1=((4, 3), real), b1=((4,), real), w2=((2, 4), real), x=((3, 5), real))
def mlp(w1, b1, w2, x):
    h = w1 @ x
    wp.launch(add_bias, dim=h.shape, inputs=[h, b1])
    h = wp.map(swish, h)
    y = w2 @ h
    return loss_of(y.flatten())


@wp.kernel
def entropy(y: R2, label: wp.array(dtype=int), loss: R):
    i = wp.tid()
    wp.atomic_add(loss, 0, -wp.log(y[i, label[i]]))


@wp.kernel
def softmax(x: R2, y: R2):
    i = wp.tid()
    m = x[i, 0]
    for j in range(1, x.shape[1]):
        m = wp.max(m, x[i, j])
    s = real(0.0)
    for j in range(x.shape[1]):
        y[i, j] = wp.exp(x[i, j] - m)
        s += y[i, j]
    for j in range(x.shape[1]):
        y[i, j] /= s


@program(x=((4, 3), real))
def cross_entropy(x):
    y, loss = zeros((4, 3)), zeros(1)
    wp.launch(softmax, dim=4, inputs=[x, y])
    wp.launch(entropy, dim=4, inputs=[y, wp.array([0, 2, 1, 1], dtype=int), loss])
    return loss


@wp.func
def sample(img: R2, u: real, v: real):
    x = wp.clamp(u, real(0.0), real(img.shape[0] - 1) - real(1e-6))
    y = wp.clamp(v, real(0.0), real(img.shape[1] - 1) - real(1e-6))
    i, j = int(x), int(y)
    fx, fy = x - real(i), y - real(j)
    top = wp.lerp(img[i, j], img[i, j + 1], fy)
    low = wp.lerp(img[i + 1, j], img[i + 1, j + 1], fy)
    return wp.lerp(top, low, fx)


@wp.kernel
def warp_image(img: R2, flow: wp.array2d(dtype=vec2), out: R2):
    i, j = wp.tid()
    f = flow[i, j]
    out[i, j] = sample(img, real(i) + f[0], real(j) + f[1])


@program(img=((4, 4), real), flow=((4, 4), vec2))
def bilinear(img, flow):
    out = zeros((4, 4))
    wp.launch(warp_image, dim=(4, 4), inputs=[img, flow], outputs=[out])
    return loss_of(out.flatten())


@wp.kernel
def conv(x: R2, w: R2, y: R2):
    i, j = wp.tid()
    acc = real(0.0)
    for a in range(-1, 2):
        for b in range(-1, 2):
            ii, jj = i + a, j + b
            if ii < 0 or ii >= x.shape[0]:
                continue
            if jj < 0 or jj >= x.shape[1]:
                continue
            acc += x[ii, jj] * w[a + 1, b + 1]
    y[i, j] = wp.max(acc, real(0.1) * acc)


@program(x=((4, 5), real), w=((3, 3), real))
def convolution(x, w):
    y, z = zeros((4, 5)), zeros((4, 5))
    wp.launch(conv, dim=(4, 5), inputs=[x, w, y])
    wp.launch(conv, dim=(4, 5), inputs=[y, w, z])
    return loss_of(z.flatten())


@wp.func
def basis(t: real):
    u = real(1.0) - t
    return (
        u * u * u / real(6.0),
        (real(3.0) * t * t * t - real(6.0) * t * t + real(4.0)) / real(6.0),
        t * t * t / real(6.0),
    )


@wp.kernel
def spline(p: V, t: R, out: V):
    i = wp.tid()
    s = wp.clamp(t[i] * t[i], real(0.0), real(0.999)) * real(3.0)
    k = int(wp.floor(s))
    a, b, c = basis(s - real(k))
    d = real(1.0) - a - b - c
    out[i] = p[k] * a + p[k + 1] * b + p[k + 2] * d + p[k + 3] * c


@program(p=((6,), vec3), t=((5,), real))
def splines(p, t):
    out = zeros(5, vec3)
    wp.launch(spline, 5, inputs=[p, t, out])
    return loss_of(out)


@wp.kernel
def filter_(x: R, alpha: R, y: R):
    n = x.shape[0]
    s = x[0]
    i = 0
    while i < n:
        if x[i] > real(1.2):
            i += 1
            continue
        s = alpha[0] * s + (real(1.0) - alpha[0]) * x[i]
        y[i] = s
        if s * s > real(50.0):
            break
        i += 1
    for j in range(n - 1, -1, -1):
        s = s * real(0.5) + y[j] * alpha[0]
        y[j] = y[j] + s


@program(x=((7,), real), alpha=((1,), real))
def filters(x, alpha):
    y = zeros(7)
    wp.launch(filter_, 1, inputs=[x, alpha, y])
    return loss_of(y)


@wp.kernel
def cell(w: R2, x: R, h0: R, h1: R):
    i = wp.tid()
    s = w[i, 0]
    for j in range(h0.shape[0]):
        s += w[i, j + 1] * h0[j]
    h1[i] = wp.tanh(s + x[i])


@program(w=((3, 4), real), xs=((5, 3), real), h=((3,), real))
def recurrent(w, xs, h):
    hs = zeros((6, 3))
    wp.copy(hs[0], h)
    for t in range(5):
        wp.launch(cell, 3, inputs=[w, xs[t], hs[t], hs[t + 1]])
    return loss_of(hs[5] + hs[2])


@wp.func
def potential(x: real, k: real):
    return k * x * x * x * x - wp.cos(x)


@wp.kernel
def descend(x: R, k: R, n: int):
    i = wp.tid()
    p = x[i]
    for _ in range(n):
        dx, dk = wp.grad(potential)(p, k[i])
        p = p - real(0.1) * dx + real(0.01) * dk
    x[i] = p


@program(x=((4,), real), k=((4,), real))
def inner_descent(x, k):
    wp.launch(descend, 4, inputs=[x, k, 6])
    return loss_of(x)


@wp.kernel
def jacobi(a: R2, b: R, x0: R, x1: R):
    i = wp.tid()
    s = b[i]
    for j in range(b.shape[0]):
        if j != i:
            s -= a[i, j] * x0[j]
    x1[i] = s / (a[i, i] + real(4.0))


@program(a=((4, 4), real), b=((4,), real))
def jacobi_solver(a, b):
    x = [zeros(4), zeros(4)]
    for k in range(8):
        wp.launch(jacobi, 4, inputs=[a, b, x[k % 2], x[(k + 1) % 2]])
    return loss_of(x[0])


@wp.kernel
def butterfly(re: R, im: R, half: int):
    t = wp.tid()
    k = (t // half) * 2 * half + t % half
    ang = -real(3.141592653589793) * real(t % half) / real(half)
    c, s = wp.cos(ang), wp.sin(ang)
    xr, xi = re[k + half], im[k + half]
    tr, ti = c * xr - s * xi, c * xi + s * xr
    re[k + half] = re[k] - tr
    im[k + half] = im[k] - ti
    re[k] += tr
    im[k] += ti


@program(re=((8,), real), im=((8,), real))
def fft(re, im):
    half = 1
    while half < 8:
        wp.launch(butterfly, 4, inputs=[re, im, half])
        half *= 2
    return loss_of(re * re + im * im)


@wp.kernel
def cholesky(a: M, y: R):
    i = wp.tid()
    s = a[i] * wp.transpose(a[i]) + wp.identity(n=3, dtype=real)
    l = mat33()
    for j in range(3):
        d = s[j, j]
        for k in range(j):
            d -= l[j, k] * l[j, k]
        l[j, j] = wp.sqrt(d)
        for r in range(j + 1, 3):
            e = s[r, j]
            for k in range(j):
                e -= l[r, k] * l[j, k]
            l[r, j] = e / l[j, j]
    y[i] = wp.log(l[0, 0] * l[1, 1] * l[2, 2]) + l[2, 0] * l[1, 0]


@program(a=((3,), mat33))
def factors(a):
    y = zeros(3)
    wp.launch(cholesky, 3, inputs=[a, y])
    return loss_of(y)


@program(x=((6,), real))
def cdf(x):
    c, s = zeros(6), zeros(1)
    wp.utils.array_scan(x * x, c, inclusive=True)
    wp.utils.array_inner(c, x, out=s)
    y = c * s
    return loss_of(y)


@program(x=((5,), real))
def custom_step(x):
    """A linear system that NumPy solves."""
    matrix = 3.0 * np.eye(5) + np.eye(5, k=1)
    y = wp.zeros(5, dtype=real, requires_grad=x.requires_grad)
    y.numpy()[:] = np.linalg.solve(matrix, x.numpy())

    def backward():
        x.grad.numpy()[:] += np.linalg.solve(matrix.T, y.grad.numpy())
        y.grad.zero_()

    if observers.tape() is not None:
        observers.tape().record_func(backward, [x, y])
    return loss_of(y)


@wp.func
def safe_norm(v: vec3):
    return wp.sqrt(wp.dot(v, v) + real(1e-3))


@wp.kernel
def tension(x: V, y: R):
    i = wp.tid()
    for j in range(x.shape[0]):
        if j == i:
            continue
        y[i] += wp.exp(-safe_norm(x[i] - x[j])) * safe_norm(x[j])


@program(x=((4,), vec3))
def custom_grad(x):
    y = zeros(4)
    wp.launch(tension, 4, inputs=[x, y])
    return loss_of(y)


@wp.struct
class Heap:
    scale: real
    table: R
    best: int


@wp.kernel
def annealed(x: R, y: R):
    i = wp.tid()
    h = Heap()
    h.scale = real(1.0)
    h.table = x
    for k in range(x.shape[0]):
        if x[k] * h.scale > x[h.best]:
            h.best = k
        h.scale *= real(0.8)
        y[i] += h.table[h.best] * h.scale


@program(x=((5,), real))
def annealing(x):
    y = zeros(5)
    wp.launch(annealed, 5, inputs=[x, y])
    return loss_of(y)
