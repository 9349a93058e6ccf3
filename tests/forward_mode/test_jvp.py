"""`wp.jvp` of kernels, functions and programs, against central differences and derivatives by hand."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import omni.warp_core as wp

F, D = wp.array(dtype=float), wp.array(dtype=wp.float64)
STEP = 1e-6


@wp.struct
class Spring:
    stiffness: wp.float64
    steps: int
    rest: D


@wp.kernel
def forces(x: wp.array(dtype=wp.vec3d), spring: Spring, f: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    d = x[i + 1] - x[i]
    force = spring.stiffness * (wp.length(d) - spring.rest[i]) * wp.normalize(d)
    for _ in range(spring.steps):
        wp.atomic_add(f, i, force)
        wp.atomic_sub(f, i + 1, force)


def spring_forces(x, stiffness, rest):
    d = np.diff(x, axis=0)
    length = np.linalg.norm(d, axis=1, keepdims=True)
    force = 2.0 * stiffness * (length - rest[:, None]) * d / length
    return np.pad(force, ((0, 1), (0, 0))) - np.pad(force, ((1, 0), (0, 0)))


def springs(r, n=9):
    return r.normal(size=(n + 1, 3)), 3.0, r.uniform(0.5, 1.0, n)


def spring(stiffness, rest):
    made = Spring()
    made.stiffness, made.steps, made.rest = stiffness, 2, wp.array(rest, dtype=wp.float64)
    return made


def test_struct_with_array():
    r = np.random.default_rng(1)
    (x, k, rest), (dx, dk, drest) = springs(r), springs(r)
    found = wp.jvp(
        forces,
        dim=9,
        inputs=[wp.array(x, dtype=wp.vec3d), spring(k, rest)],
        outputs=[wp.zeros(10, dtype=wp.vec3d)],
        tangents=[wp.array(dx, dtype=wp.vec3d), spring(dk, drest)],
    )
    up, down = (spring_forces(x + s * dx, k + s * dk, rest + s * drest) for s in (STEP, -STEP))
    np.testing.assert_allclose(found[0].numpy(), (up - down) / (2 * STEP), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("which", ["x", "stiffness", "rest"])
def test_one_of_several_inputs(which):
    r = np.random.default_rng(2)
    x, k, rest = springs(r)
    dx, dk, drest = (np.zeros_like(v) for v in (x, k, rest))
    tangents: dict = {}
    if which == "x":
        dx = r.normal(size=x.shape)
        tangents["x"] = dx
    elif which == "stiffness":
        dk = 1.0
        tangents[1] = Spring(stiffness=1.0)
    else:
        drest = r.normal(size=rest.shape)
        tangents["spring"] = Spring(rest=wp.array(drest, dtype=wp.float64))
    f = wp.zeros(10, dtype=wp.vec3d)
    (df,) = wp.jvp(forces, 9, [wp.array(x, dtype=wp.vec3d), spring(k, rest), f], tangents=tangents)
    up, down = (spring_forces(x + s * dx, k + s * dk, rest + s * drest) for s in (STEP, -STEP))
    np.testing.assert_allclose(df.numpy(), (up - down) / (2 * STEP), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(f.numpy(), spring_forces(x, k, rest), rtol=1e-12)


@wp.kernel
def scale(x: F, by: float, y: F):
    i = wp.tid()
    y[i] += by * x[i] * x[i]


@wp.kernel
def square(x: F, y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]


def floats(*values):
    return wp.array(values, dtype=float)


def test_numbers():
    y = floats(1.0, 1.0)
    (dy,) = wp.jvp(scale, 2, [floats(2.0, 3.0), 5.0], [y], tangents={"by": 1.0})
    assert dy.list() == [4.0, 9.0]
    assert y.list() == [21.0, 46.0]


def test_tangents_of_outputs_are_updated():
    dx, dy = floats(1.0, 1.0), floats(100.0, 200.0)
    (found,) = wp.jvp(scale, 2, [floats(2.0, 3.0), 5.0], [floats(0.0, 0.0)], tangents=[dx, None, dy])
    assert found is dy
    assert dy.list() == [120.0, 230.0]
    assert dx.list() == [1.0, 1.0]


@pytest.mark.cpu
def test_numpy_arrays():
    x, dx, dy = np.float32([2.0, 3.0]), np.float32([1.0, 2.0]), np.zeros(2, np.float32)
    wp.jvp(square, 2, [x, np.zeros(2, np.float32)], tangents=[dx, dy])
    assert dy.tolist() == [4.0, 12.0]


def test_nothing_moves():
    (dy,) = wp.jvp(square, 2, [floats(2.0, 3.0)], [floats(0.0, 0.0)])
    assert dy.list() == [0.0, 0.0]


def test_one_array_twice():
    x, dx = floats(3.0, 2.0), floats(1.0, 10.0)
    (found,) = wp.jvp(square, 2, [x], [x], tangents=[dx])
    assert x.list() == [9.0, 4.0]
    assert found.list() == dx.list() == [6.0, 40.0]


@wp.kernel
def shifted(x: F, y: F, n: int):
    for i in range(n):
        y[i] = 2.0 * x[i]


@pytest.mark.parametrize("given", ["x", "y", "both"])
def test_arrays_that_overlap(given):
    """y[i] is x[i + 1]: every element becomes 2 * the one before, one after the other."""
    a, d = floats(1.0, 2.0, 3.0, 4.0), floats(1.0, 10.0, 100.0, 1000.0)
    tangents = {"x": [d[:3], None], "y": [None, d[1:]], "both": [d[:3], d[1:]]}[given]
    start = {"x": [1.0, 10.0, 100.0, 0.0], "y": [0.0, 10.0, 100.0, 1000.0], "both": d.list()}[given]
    (dy,) = wp.jvp(shifted, 1, [a[:3]], [a[1:], 3], tangents=tangents)[:1]
    assert a.list() == [1.0, 2.0, 4.0, 8.0]
    assert dy.list() == [start[0] * 2.0**k for k in (1, 2, 3)]


def test_tangents_of_overlapping_arrays_that_differ():
    a = floats(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(ValueError, match="overlap"):
        wp.jvp(shifted, 1, [a[:3]], [a[1:], 3], tangents=[floats(1.0, 2.0, 3.0), floats(1.0, 2.0, 3.0)])


def test_tangent_in_the_memory_of_an_argument():
    x = floats(2.0, 3.0)
    (dy,) = wp.jvp(square, 2, [x], [floats(0.0, 0.0)], tangents=[x])
    assert dy.list() == [8.0, 18.0]
    with pytest.raises(ValueError, match="shares memory"):
        wp.jvp(square, 2, [x], [x], tangents=[None, x])


@wp.kernel
def gather(x: wp.indexedarray(dtype=float), y: F):
    i = wp.tid()
    y[i] = x[i] * x[i]
    x[i] = 2.0 * y[i]


def test_indexed_array():
    a, d = floats(1.0, 2.0, 3.0), floats(1.0, 10.0, 100.0)
    places = wp.array([2, 0], dtype=int)
    (dy,) = wp.jvp(gather, 2, [a[places]], [floats(0.0, 0.0)], tangents=[d[places]])
    assert dy.list() == [600.0, 2.0]
    assert d.list() == [4.0, 10.0, 1200.0]


@wp.kernel
def compacted(x: F, count: wp.array(dtype=int), y: F):
    i = wp.tid()
    if x[i] > 0.0:
        y[wp.atomic_add(count, 0, 1)] = x[i] * x[i]


def test_counter():
    (dcount, dy) = wp.jvp(
        compacted,
        4,
        [floats(1.0, -1.0, 2.0, -3.0)],
        [wp.zeros(1, dtype=int), floats(0.0, 0.0)],
        tangents=[floats(1.0, 1.0, 1.0, 1.0)],
    )
    assert dcount is None
    assert sorted(dy.list()) == [2.0, 4.0]


@wp.kernel
def chosen(a: F, b: F, first: bool, y: F):
    i = wp.tid()
    c = a
    if not first:
        c = b
    y[i] = c[i] * c[i]


@pytest.mark.parametrize("first", [True, False])
def test_choice_of_arrays(first):
    a, b = floats(1.0, 2.0), floats(3.0, 4.0)
    (dy,) = wp.jvp(chosen, 2, [a, b, first], [floats(0.0, 0.0)], tangents=[floats(1.0, 1.0)])
    assert dy.list() == ([2.0, 4.0] if first else [0.0, 0.0])


@wp.kernel
def steep(x: D, y: D):
    i = wp.tid()
    z = wp.float64(0.0)
    y[i] = wp.where(x[i] > z, wp.log(x[i]) + wp.sqrt(x[i]), x[i]) + wp.max(wp.pow(x[i], wp.float64(0.5)), -x[i])


def test_what_is_not_chosen():
    x = wp.array([0.0, 4.0], dtype=wp.float64)
    (dy,) = wp.jvp(steep, 2, [x], [wp.zeros(2, dtype=wp.float64)], tangents=[np.ones(2)])
    np.testing.assert_allclose(dy.numpy(), [0.0, 0.25 + 0.25 + 0.25], rtol=1e-12)


@wp.kernel
def generic(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    i = wp.tid()
    y[i] = wp.exp(x[i])


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_generic_kernel(dtype):
    x = wp.array([0.0, 1.0], dtype=dtype)
    (dy,) = wp.jvp(generic, 2, [x], [wp.zeros(2, dtype=dtype)], tangents=[wp.ones(2, dtype=dtype)])
    assert dy.dtype is dtype
    np.testing.assert_allclose(dy.numpy(), np.exp([0.0, 1.0]), rtol=2e-3)


def test_debug_mode_checks_values_and_not_tangents():
    @wp.kernel(module_options={"mode": "debug"})
    def rooted(x: F, y: F, k: int):
        i = wp.tid()
        y[i + k] = wp.sqrt(x[i]) * x[i]

    x, y, dx = floats(0.0, 4.0), floats(0.0, 0.0), floats(0.0, 1.0)
    (dy,) = wp.jvp(rooted, 2, [x], [y, 0], tangents=[dx])[:1]
    assert dy.list() == [0.0, 3.0]
    with pytest.raises(wp.KernelError, match="out of range"):
        wp.jvp(rooted, 2, [x], [y, 1], tangents=[dx])


def test_interpret_mode(monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "interpret")
    (dy,) = wp.jvp(square, 2, [floats(2.0, 3.0)], [floats(0.0, 0.0)], tangents=[floats(1.0, 1.0)])
    assert dy.list() == [4.0, 6.0]


# -- second derivatives -----------------------------------------------------------------------------------------------


@wp.kernel
def wave(x: D, y: D):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i])


def test_forward_over_forward():
    x, one = (wp.array([v], dtype=wp.float64) for v in (0.7, 1.0))

    def slope(x):
        y = wp.zeros(1, dtype=wp.float64)
        wp.launch(wave, 1, inputs=[x, y])
        return y

    (y, dy), (_, ddy) = wp.jvp(lambda x: wp.jvp(slope, (x,), (one,)), (x,), (one,))
    np.testing.assert_allclose(y.numpy(), np.sin(0.7) * np.exp(0.7))
    np.testing.assert_allclose(dy.numpy(), (np.sin(0.7) + np.cos(0.7)) * np.exp(0.7))
    np.testing.assert_allclose(ddy.numpy(), 2.0 * np.cos(0.7) * np.exp(0.7))


def test_reverse_over_forward():
    x = wp.array([0.7, -0.3], dtype=wp.float64, requires_grad=True)
    dx = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        (dy,) = wp.jvp(wave, 2, [x], [wp.zeros(2, dtype=wp.float64, requires_grad=True)], tangents=[dx])
    tape.backward(grads={dy: wp.ones(2, dtype=wp.float64)})
    v = x.numpy()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * np.cos(v) * np.exp(v) * [1.0, 2.0])
    np.testing.assert_allclose(dx.grad.numpy(), (np.sin(v) + np.cos(v)) * np.exp(v))


# -- programs ---------------------------------------------------------------------------------------------------------


@wp.kernel
def advance(p: D, v: D, dt: wp.float64):
    i = wp.tid()
    v[i] -= dt * wp.sin(p[i])
    p[i] += dt * v[i]


def pendulum(p, v, steps=20, dt=0.05):
    for _ in range(steps):
        wp.launch(advance, p.shape[0], inputs=[p, v, dt])


def test_simulation_in_place():
    start, along = np.array([0.3, 1.2, -2.0]), np.array([1.0, 0.5, -0.25])

    def end(x):
        p, v = wp.array(x, dtype=wp.float64), wp.zeros(3, dtype=wp.float64)
        pendulum(p, v)
        return np.concatenate([p.numpy(), v.numpy()])

    p, v, dp = (wp.array(x, dtype=wp.float64) for x in (start, np.zeros(3), along))
    values, tangents = wp.jvp(pendulum, (p, v), (dp, None))
    assert values == (p, v)
    slopes = (end(start + STEP * along) - end(start - STEP * along)) / (2 * STEP)
    np.testing.assert_allclose(np.concatenate([t.numpy() for t in tangents]), slopes, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(dp.numpy(), along)


def directional(function, shapes, seed=5):
    """The tangent of a function of arrays, and what differences say."""
    r = np.random.default_rng(seed)
    x, d = ([r.normal(size=s) for s in shapes] for _ in range(2))

    def value(step):
        return function(*(wp.array(a + step * b, dtype=wp.float64) for a, b in zip(x, d))).numpy()

    arrays, tangents = ([wp.array(a, dtype=wp.float64) for a in given] for given in (x, d))
    out, tangent = wp.jvp(function, arrays, tangents)
    np.testing.assert_allclose(out.numpy(), value(0.0), rtol=1e-12)
    return tangent.numpy(), (value(STEP) - value(-STEP)) / (2 * STEP)


def copies(a, b):
    c = wp.zeros(6, dtype=wp.float64)
    c[:4] = a
    c[2:5].assign(b)
    c[0] = 3.0
    d = wp.clone(c)
    c.fill_(1.0)
    wp.copy(c, d, dest_offset=1, src_offset=3, count=2)
    d += c
    c.zero_()
    return d + c


def within(a):
    a[1:] = a[:-1]
    return a


def inner(a, b):
    out = wp.zeros(1, dtype=wp.float64)
    wp.utils.array_inner(a, b, out=out)
    return out


def total(a):
    out = wp.zeros(1, dtype=wp.float64)
    wp.utils.array_sum(a * a, out=out)
    return out


def running(a):
    out = wp.clone(a)
    wp.utils.array_scan(out, out, inclusive=False)
    return out


def product(a, b, c):
    out = wp.empty((3, 5), dtype=wp.float64)
    wp.matmul(a, b, c, out, alpha=2.0, beta=0.5)
    return out


def strided(a):
    out = wp.zeros(6, dtype=wp.float64)
    wp.launch(wave, 3, inputs=[a.reshape((2, 3))[1], out[::2]])
    return out


PROGRAMS = {
    "copies": (copies, [4, 3]),
    "copy within": (within, [4]),
    "arithmetic and map": (lambda a, b: 2.0 * a * b - wp.map(wp.sin, a) / (b * b + 1.0), [4, 4]),
    "sum": (total, [5]),
    "sums along an axis": (lambda a: wp.utils.array_sum(a * a, axis=1), [(3, 4)]),
    "inner product": (inner, [5, 5]),
    "inner product with itself": (lambda a: inner(a, a), [5]),
    "scan": (running, [5]),
    "matmul": (product, [(3, 4), (4, 5), (3, 5)]),
    "@": (lambda a, b: a @ b, [(3, 4), 4]),
    "views": (strided, [6]),
    "constant": (lambda a: wp.ones(3, dtype=wp.float64), [2]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    found, expected = directional(*PROGRAMS[name])
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_overwritten_by_an_indexed_array():
    places = floats(1.0, 2.0, 3.0)[wp.array([2, 0], dtype=int)]

    def replaced(x):
        y = x * x
        wp.copy(y, places)
        return y

    y, dy = wp.jvp(replaced, (floats(1.0, 2.0),), (floats(1.0, 1.0),))
    assert (y.list(), dy.list()) == ([3.0, 1.0], [0.0, 0.0])


def test_primals_in_one_memory():
    x = floats(1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="primals overlap, and the tangents given for them differ"):
        wp.jvp(lambda a, b: a * b, (x[:2], x[1:]), (floats(1.0, 0.0), floats(1.0, 0.0)))
    _, d = wp.jvp(lambda a, b: a * b, (x[:2], x[1:]), (floats(1.0, 0.0), floats(0.0, 1.0)))
    assert d.list() == [2.0, 2.0]


def unrecorded(x):
    wp.launch(square, 3, inputs=[x, x], record_tape=False)


UNSEEN = {
    "NumPy": lambda x: x.numpy().__setitem__(0, 5.0),
    "unrecorded launch": unrecorded,
    "address": lambda x: ctypes.memset(x.ptr, 1, 4),
}
AFTERWARDS = {
    "nothing": lambda y: y,
    "launch": lambda y: wp.launch(square, 3, inputs=[y, wp.zeros(3, dtype=float)]),
    "launch on a part": lambda y: wp.launch(square, 1, inputs=[y[:1], y[:1]]),
    "copy": lambda y: wp.copy(wp.zeros(3, dtype=float), y),
    "copy to a part": lambda y: wp.copy(y, floats(1.0)),
    "sum": lambda y: wp.utils.array_sum(y, out=wp.zeros(1, dtype=float)),
    "product": lambda y: y.reshape((1, 3)) @ y.reshape((3, 1)),
}


@pytest.mark.cpu
@pytest.mark.parametrize("used", AFTERWARDS.values(), ids=AFTERWARDS)
@pytest.mark.parametrize("write", UNSEEN.values(), ids=UNSEEN)
def test_writes_that_nothing_tells_of(write, used):
    def program(x, wrong):
        y = wp.zeros(3, dtype=float)
        wp.launch(square, 3, inputs=[x, y])
        y.numpy()
        for changed in (x, y) if wrong else ():
            write(changed)
        used(y)
        return y

    x = floats(1.0, 2.0, 3.0)
    with pytest.raises(RuntimeError, match="tangent does not belong to its numbers"):
        wp.jvp(lambda x: program(x, True), (x,), (floats(1.0, 1.0, 1.0),))
    wp.jvp(lambda x: program(x, False), (floats(1.0, 2.0, 3.0),), (floats(1.0, 1.0, 1.0),))


@pytest.mark.cpu
def test_writes_that_nothing_tells_of_and_that_do_not_matter():
    def program(x):
        x.numpy()
        y = x * x
        for rewrite in (
            lambda: wp.launch(square, 3, inputs=[x, y]),
            lambda: y.assign(x * x),
            lambda: y.fill_(4.0),
            lambda: wp.copy(y, x),
        ):
            y.numpy()[:] = 7.0
            rewrite()
            y += x
        return y

    y, dy = wp.jvp(program, (floats(1.0, 2.0, 3.0),), (floats(1.0, 1.0, 1.0),))
    assert (y.list(), dy.list()) == ([2.0, 4.0, 6.0], [2.0, 2.0, 2.0])


def test_threads_have_jvps_of_their_own():
    """Some compute tangents, others launch at the same time."""

    def fourth(x):
        y, z = wp.zeros(3, dtype=float), wp.zeros(3, dtype=float)
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(square, 3, inputs=[y, z])
        return z

    shared = floats(1.0, 2.0, 3.0)
    wp.jvp(fourth, (shared,), (shared,))  # compiled before

    def tangents(_):
        return wp.jvp(fourth, (shared,), (floats(1.0, 1.0, 1.0),))[1].list()

    def values(_):
        return fourth(shared).list()

    interval, begun = sys.getswitchinterval(), threading.Barrier(4)
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4, initializer=begun.wait) as pool:  # no thread begins while another one is at wp.jvp
            jobs = [pool.submit(f, i) for i in range(100) for f in (tangents, values)]
            found = [job.result() for job in jobs]
    finally:
        sys.setswitchinterval(interval)
    assert found == [[4.0, 32.0, 108.0], [1.0, 16.0, 81.0]] * 100


@pytest.mark.parametrize(
    "use",
    [
        lambda x, y: wp.launch(square, 3, inputs=[x, y]),
        lambda x, y: wp.copy(y, x),
        lambda x, y: y.__setitem__(slice(0, 2), x[:2]),
        lambda x, y: wp.utils.array_scan(x, y),
        lambda x, y: wp.utils.array_inner(x, x),
        lambda x, y: x.fill_(1.0),
    ],
)
def test_threads_within_are_refused(use):
    raised = []
    begun = threading.Event()
    older = threading.Thread(target=begun.wait)  # its number goes to the next thread
    older.start()

    def program(x):
        y = wp.zeros(3, dtype=float)
        begun.set()
        older.join()

        def work():
            try:
                use(x, y)
            except RuntimeError as why:
                raised.append(str(why))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return y

    wp.jvp(program, (floats(1.0, 2.0, 3.0),), (floats(1.0, 1.0, 1.0),))
    assert re.search(r"in another thread than wp.jvp \(.*jvp.py:\d+\)", raised[0])


def test_views_of_other_numbers():
    @wp.kernel
    def copy_bits(x: wp.array(dtype=int), y: wp.array(dtype=int)):
        i = wp.tid()
        y[i] = x[i]

    def copied(x):
        y = wp.zeros(2, dtype=float)
        wp.copy(y.view(int), x.view(int))
        return y

    def launched(x):
        y = wp.zeros(2, dtype=float)
        wp.launch(copy_bits, 2, inputs=[x.view(int), y.view(int)])
        return y

    for program in (copied, launched):
        with pytest.raises(ValueError, match="cannot follow the bits of numbers"):
            wp.jvp(program, (floats(1.0, 2.0),), (floats(1.0, 1.0),))


def test_structures_of_results():
    x = floats(2.0, 3.0)
    value, tangent = wp.jvp(lambda a: {"y": (a * a, 7), "n": None}, (x,), (floats(1.0, 1.0),))
    assert value["y"][1] == 7
    assert tangent["y"][0].list() == [4.0, 6.0]
    assert tangent["y"][1] is None
    assert tangent["n"] is None


def test_memory_that_is_used_again():
    def many(x):
        y = x
        for _ in range(50):
            y = y + 1.0  # each is freed as the next is made
        return y * y

    y, dy = wp.jvp(many, (floats(1.0),), (floats(1.0),))
    assert (y.list(), dy.list()) == ([2601.0], [102.0])


def test_launch_outside_afterwards():
    y, dy = wp.jvp(lambda x: x * x, (floats(3.0),), (floats(1.0),))
    z = y * y
    assert (z.list(), dy.list()) == ([81.0], [6.0])


# -- functions --------------------------------------------------------------------------------------------------------


@wp.func
def growth(x: float, v: wp.vec3, n: int):
    s = v
    for _ in range(n):
        s = wp.sin(x) * s + v
    return wp.length(s), s, n


def test_function():
    args, (dx, dv) = (0.3, wp.vec3(1.0, 2.0, 3.0), 3), (1.0, wp.vec3(0.5, 0.0, -1.0))
    value, tangent = wp.jvp(growth, args, (dx, dv, None))

    def judge(step):
        x, v = 0.3 + step, np.array([1.0, 2.0, 3.0]) + step * np.array(dv)
        s = v
        for _ in range(3):
            s = np.sin(x) * s + v
        return np.array([np.linalg.norm(s), *s])

    slopes = (judge(STEP) - judge(-STEP)) / (2 * STEP)
    np.testing.assert_allclose([value[0], *value[1]], judge(0.0), rtol=1e-6)
    np.testing.assert_allclose([tangent[0], *tangent[1]], slopes, rtol=1e-5)
    assert tangent[2] is None


def test_builtin():
    assert wp.jvp(wp.max, (1.0, 2.0), (1.0, 10.0)) == (2.0, 10.0)
    value, tangent = wp.jvp(wp.normalize, (wp.vec3(0.0, 2.0, 0.0),), (wp.vec3(1.0, 1.0, 0.0),))
    assert (value, tangent) == (wp.vec3(0.0, 1.0, 0.0), wp.vec3(0.5, 0.0, 0.0))


# -- what is refused --------------------------------------------------------------------------------------------------


@wp.kernel
def lowest(x: F, y: F):
    i = wp.tid()
    wp.atomic_min(y, 0, x[i])


@wp.kernel
def found_there(x: F, y: F):
    i = wp.tid()
    x[i] = wp.atomic_add(y, 0, x[i])


@wp.kernel
def bits(x: F, y: F):
    i = wp.tid()
    y[i] = wp.cast(wp.cast(x[i], wp.int32) + 1, wp.float32)


@wp.struct
class Row:
    values: F


@wp.kernel
def rows(x: wp.array(dtype=Row), y: F):
    i = wp.tid()
    y[i] = x[i].values[0]


LINES = {
    "atomic minimum": (lowest, "atomic min", "wp.atomic_min(y, 0, x[i])"),
    "what an atomic found": (found_there, "order of threads", "wp.atomic_add(y, 0, x[i])"),
    "bits": (bits, "bits", "wp.cast(x[i], wp.int32)"),
}


@pytest.mark.parametrize("name", LINES)
def test_refused(name):
    kernel, reason, under = LINES[name]
    with pytest.raises(wp.CompileError) as caught:
        wp.jvp(kernel, 2, [floats(1.0, 2.0)], [floats(0.0, 0.0)], tangents=[floats(1.0, 1.0)])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "gradient"
    assert reason in diagnostic.message
    assert under in diagnostic.place.text


def test_refused_array_in_an_element():
    x = wp.array([Row(values=floats(1.0))], dtype=Row)
    with pytest.raises(wp.CompileError, match="elements of arrays"):
        wp.jvp(rows, 1, [x], [floats(0.0)], tangents=[None, floats(1.0)])


def test_refused_function():
    with pytest.raises(wp.CompileError, match="bits"):
        wp.jvp(wp.func(lambda_bits), (1.0,), (1.0,))


def lambda_bits(x: float):
    return wp.cast(wp.cast(x, wp.int32) + 1, wp.float32)


def gradient_within(x):
    tape = wp.Tape()
    with tape:
        y = x * x
    tape.backward(grads={y: y})
    return x.grad


def into_places(x):
    y = wp.zeros(4, dtype=float)
    y[wp.array([3, 1], dtype=int)] = x
    return y


MISTAKES = {
    "an indexed array": (
        lambda: wp.jvp(into_places, (floats(1.0, 2.0),), (floats(1.0, 1.0),)),
        RuntimeError,
        "indexed",
    ),
    "a tape inside": (lambda: wp.jvp(gradient_within, (floats(1.0),), (floats(1.0),)), RuntimeError, "tape around"),
    "too many": (lambda: wp.jvp(square, 2, [floats(1.0)], [floats(1.0)], tangents=[None] * 3), ValueError, "3 for 2"),
    "shape": (lambda: wp.jvp(square, 1, [floats(1.0), floats(1.0)], tangents=[floats(1.0, 2.0)]), ValueError, "shape"),
    "dtype": (
        lambda: wp.jvp(square, 1, [floats(1.0), floats(1.0)], tangents=[wp.ones(1, dtype=wp.float64)]),
        ValueError,
        "dtype",
    ),
    "name": (lambda: wp.jvp(square, 1, [floats(1.0), floats(1.0)], tangents={"z": 1.0}), ValueError, "'z' is no arg"),
    "integer": (
        lambda: wp.jvp(shifted, 1, [floats(1.0), floats(1.0), 1], tangents={"n": 1}),
        TypeError,
        "only floating point",
    ),
    "arguments": (lambda: wp.jvp(square, 1, [floats(1.0)]), TypeError, "give 1; the first missing one is `y`"),
    "number in Python": (lambda: wp.jvp(lambda a: a, (1.0,), (1.0,)), TypeError, "through Python"),
    "no tuple": (lambda: wp.jvp(lambda a: a, floats(1.0), (1.0,)), TypeError, "expected a tuple"),
    "no function": (lambda: wp.jvp(3, (1.0,), (1.0,)), TypeError, "kernel or a function"),
    "sum as a number": (
        lambda: wp.jvp(lambda a: wp.utils.array_sum(a), (floats(1.0),), (floats(1.0),)),
        RuntimeError,
        "forward mode",
    ),
    "sorting": (
        lambda: wp.jvp(
            lambda a: wp.utils.radix_sort_pairs(a, wp.zeros(2, dtype=int), 1), (floats(1.0, 2.0),), (floats(1.0, 1.0),)
        ),
        RuntimeError,
        "forward mode",
    ),
    "recorded launch": (
        lambda: wp.jvp(lambda a: wp.launch(square, 1, [a, a], record_cmd=True), (floats(1.0),), (floats(1.0),)),
        RuntimeError,
        "recorded launches",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    call, error, text = MISTAKES[name]
    with pytest.raises(error, match=text):
        call()
