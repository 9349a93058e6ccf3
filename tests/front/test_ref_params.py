"""Parameters that functions change for their caller: `wp.ref[T]`, and builtins that give results to variables.

Compiled and interpreted kernels are held to plain Python that assigns what the functions return.
"""

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.front.lower import lower_kernel


@wp.struct
class Body:
    mass: float
    position: wp.vec3
    history: wp.array(dtype=float)


@wp.func
def bump(x: wp.ref[float], by: float):
    x += by
    return 2.0 * x


@wp.func
def swap(x: wp.ref[Any], y: wp.ref[Any]):
    x, y = y, x


@wp.func
def push(v: wp.ref[wp.vec3]):
    v[1] = 7.0
    v = v + wp.vec3(1.0)
    v.z *= 2.0


@wp.func
def spread(v: wp.ref[Any], by: float):
    bump(v[0], by)
    v[1] -= by
    v += type(v)(by)


@wp.func
def twice(x: wp.ref[float]):
    y = bump(x, 3.0)
    x = x + y


@wp.func
def unless_negative(x: wp.ref[float], limit: float):
    if x < 0.0:
        return False
    while x > limit:
        x = 0.5 * x
    return True


@wp.func
def grow(b: wp.ref[Body], i: int):
    b.mass = 2.0 * b.mass
    b.position.y += 1.0
    b.history[i] = b.mass


@wp.func
def reset(x: wp.ref[int]):
    x = 0


@wp.func
def reset(x: float):  # noqa: F811 - an overload
    return -x


@pytest.fixture(params=["release", "debug", "interpret"])
def launch(request, monkeypatch):
    """Runs a kernel with one thread on arrays of zeros and gives what is in them then."""
    monkeypatch.setattr(wp.config, "mode", request.param)

    def launch(kernel, *args, dim=1):
        wp.launch(kernel, dim=dim, inputs=list(args))
        return [a.numpy().tolist() for a in args if isinstance(a, wp.array)]

    return launch


def test_locals_components_and_elements(launch):
    @wp.kernel
    def k(out: wp.array(dtype=float), vectors: wp.array(dtype=wp.vec3)):
        x = 1.0
        out[0] = bump(x, 2.0)
        out[1] = x
        bump(out[2], 4.0)
        v = wp.vec3(1.0, 2.0, 3.0)
        bump(v[1], 1.0)
        bump(v.z, by=1.0)
        bump(by=5.0, x=vectors[1][2])
        bump(vectors[1].x, 6.0)
        vectors[0] = v
        push(vectors[0])
        push(v)
        out[3] = v[0] + v[1] + v[2]
        m = wp.mat22(1.0, 2.0, 3.0, 4.0)
        bump(m[1, 0], 10.0)
        i = wp.tid() + 1
        bump(m[i - 1, i], 20.0)
        out[4] = m[1, 0]
        out[5] = m[0, 1]
        t = wp.transform_identity()
        bump(t.p[1], 1.0)
        out[6] = t[1]
        twice(out[7])
        a, b = 1.0, 2.0
        swap(a, b)
        swap(out[8], out[0])
        out[9] = a - b

    out, vectors = launch(k, wp.zeros(10, dtype=float), wp.zeros(2, dtype=wp.vec3))
    assert out == [0.0, 3.0, 4.0, 2.0 + 8.0 + 10.0, 13.0, 22.0, 1.0, 9.0, 6.0, 1.0]
    assert vectors == [[2.0, 8.0, 10.0], [6.0, 0.0, 5.0]]


def test_control_flow(launch):
    @wp.kernel
    def k(n: int, out: wp.array(dtype=float)):
        x, total = 1.0, 0.0
        for i in range(n):
            if i % 2 == 0:
                bump(x, 2.0)
            elif bump(x, -0.5) > 5.0 and unless_negative(x, 2.0):
                total += x
        out[0] = x
        out[1] = total
        y = -1.0
        out[2] = 1.0 if unless_negative(y, 1.0) else 5.0
        out[3] = y
        while bump(y, 1.0) < 10.0:
            out[4] += y

    x, total = 1.0, 0.0
    for i in range(7):
        if i % 2 == 0:
            x += 2.0
        else:
            x -= 0.5
            if 2.0 * x > 5.0:
                while x > 2.0:
                    x *= 0.5
                total += x
    [out] = launch(k, 7, wp.zeros(5, dtype=float))
    assert out == [x, total, 5.0, -1.0, sum(range(5))]


@pytest.mark.cpu  # interpreted kernels do not reach arrays within arrays of a GPU
def test_structs_and_their_arrays(launch):
    @wp.kernel
    def k(bodies: wp.array(dtype=Body), history: wp.array(dtype=float), out: wp.array(dtype=float)):
        b = Body()
        b.mass = 1.0
        b.history = history
        for i in range(3):
            grow(b, i)
        out[0] = b.position[1]
        bump(b.mass, 0.5)
        bump(b.history[3], 9.0)
        push(b.position)
        out[1] = b.mass
        out[2] = b.position.z
        grow(bodies[0], 4)
        bump(bodies[0].position.x, 2.5)

    body = Body()
    history = body.history = wp.zeros(5, dtype=float)
    body.mass = 3.0
    bodies = wp.array([body], dtype=Body)
    out = wp.zeros(3, dtype=float)
    launch(k, bodies, history, out)
    assert history.list() == [2.0, 4.0, 8.0, 9.0, 6.0]
    assert out.list() == [3.0, 8.5, 2.0]
    changed = bodies.list()[0]
    assert (changed.mass, list(changed.position)) == (6.0, [2.5, 1.0, 0.0])


def test_elements_left_alone_are_not_written(launch):
    """Copied in and out, the element would lose what other threads add to it."""

    @wp.func
    def maybe(x: wp.ref[int], yes: bool):
        if yes:
            x = x + 1

    @wp.kernel
    def k(out: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(out, 0, 1)
        maybe(out[0], False)
        maybe(out[1 + i], i % 2 == 0)

    [out] = launch(k, wp.zeros(1001, dtype=int), dim=1000)
    assert out == [1000, *([1, 0] * 500)]


def test_threads_that_add_to_one_element(launch):
    @wp.kernel
    def k(x: wp.array(dtype=float), m: wp.array(dtype=wp.mat22)):
        i = wp.tid()
        bump(x[i % 3], 2.0)
        bump(m[0][i % 2, 1], 1.0)

    x, m = launch(k, wp.zeros(3, dtype=float), wp.zeros(1, dtype=wp.mat22), dim=90)
    assert x == [60.0] * 3
    assert m == [[[0.0, 45.0], [0.0, 45.0]]]


def test_threads_that_add_to_rows_and_parts_of_one_element(launch):
    @wp.kernel
    def k(m: wp.array(dtype=wp.mat33), t: wp.array(dtype=wp.transform)):
        i = wp.tid()
        spread(m[0][1], 1.0)
        spread(m[0][2 * (i % 2)][1:], 1.0)
        spread(t[0].p, 1.0)

    m, t = launch(k, wp.zeros(1, dtype=wp.mat33), wp.zeros(1, dtype=wp.transform), dim=1000)
    assert m == [[[0.0, 1000.0, 0.0], [2000.0, 0.0, 1000.0], [0.0, 1000.0, 0.0]]]
    assert t == [[2000.0, 0.0, 1000.0, 0.0, 0.0, 0.0, 0.0]]


def test_rows_and_parts_are_changed_in_place(launch):
    @wp.func
    def change(v: wp.ref[wp.vec3]):
        v[1] = v[1] * 2.0
        v[0:2] = wp.vec2(v[2], 9.0)
        if v[0] > 3.0:
            v = 2.0 * v

    @wp.kernel
    def k(m: wp.array(dtype=wp.mat33), n: wp.array(dtype=wp.mat22)):
        i = wp.tid()
        change(m[i][1])
        change(m[i][i + 2])
        swap(m[i][0, 1:], n[i][i])

    m, n = launch(k, wp.array(np.arange(9).reshape(1, 3, 3), dtype=wp.mat33), wp.zeros(1, dtype=wp.mat22))
    assert m == [[[0.0, 0.0, 0.0], [10.0, 18.0, 10.0], [16.0, 18.0, 16.0]]]
    assert n == [[[1.0, 2.0], [0.0, 0.0]]]


def test_overloads_and_generic_references(launch):
    @wp.kernel
    def k(out: wp.array(dtype=float)):
        n, x = 5, 3.0
        reset(n)
        out[0] = reset(x)
        out[1] = x
        out[2] = float(n)
        p, q = wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)
        swap(p, q)
        swap(p.x, q.y)
        out[3] = p[0]
        out[4] = q[1]

    [out] = launch(k, wp.zeros(5, dtype=float))
    assert out == [-3.0, 3.0, 0.0, 2.0, 3.0]


def test_each_thread_has_its_own(launch):
    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        y = x[i]
        unless_negative(y, 3.0)
        out[i] = y
        unless_negative(x[i], 2.0)

    x = np.linspace(-5.0, 40.0, 100, dtype=np.float32)

    def halved(values, limit):
        while (values > limit).any():
            values = np.where(values > limit, values / 2, values)
        return values

    found, out = launch(k, wp.array(x), wp.zeros(100, dtype=float), dim=100)
    assert out == halved(x, 3.0).tolist()
    assert found == halved(x, 2.0).tolist()


DECOMPOSED = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]])


def test_results_of_builtins_given_to_variables(launch):
    @wp.kernel
    def k(a: wp.mat33, out: wp.array(dtype=wp.mat33), t: wp.array(dtype=wp.transform), angles: wp.array(dtype=float)):
        u, sigma, v = wp.mat33(), wp.vec3(), wp.mat33()
        wp.svd3(a, u, sigma, v)
        out[0] = u * wp.diag(sigma) * wp.transpose(v)
        wp.eig3(a, Q=u, d=sigma)
        out[1] = u * wp.diag(sigma) * wp.transpose(u)
        wp.qr3(a, out[2], out[3])
        u2, s2, v2 = wp.mat22(), wp.vec2(), wp.mat22()
        wp.svd2(wp.mat22(3.0, 0.0, 0.0, 4.0), u2, s2, v2)
        angles[1] = s2[0]
        axis = wp.vec3()
        wp.quat_to_axis_angle(wp.quat(0.0, 1.0, 0.0, 0.0), axis, angles[0])
        angles[2] = axis[1]
        wp.transform_set_translation(t[0], wp.vec3(1.0, 2.0, 3.0))
        wp.transform_set_rotation(t[0], wp.quat(0.0, 1.0, 0.0, 0.0))

    out, t = wp.zeros(4, dtype=wp.mat33), wp.zeros(1, dtype=wp.transform)
    angles = wp.zeros(3, dtype=float)
    launch(k, wp.mat33(DECOMPOSED), out, t, angles)
    svd, eig, q, r = out.numpy().astype(float)
    for product in (svd, eig, q @ r):
        np.testing.assert_allclose(product, DECOMPOSED, atol=4e-6)
    assert np.abs(np.tril(r, -1)).max() < 1e-6
    assert angles.numpy() == pytest.approx([np.pi, 4.0, 1.0])
    assert t.numpy().tolist() == [[1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]]


def test_builtins_at_python_scope_change_values_in_place():
    a, u, sigma, v = wp.mat33(DECOMPOSED), wp.mat33(), wp.vec3(), wp.mat33()
    assert wp.svd3(a, u, sigma, v) is None
    np.testing.assert_allclose(np.sort(sigma), np.sort(np.linalg.svd(DECOMPOSED)[1]), rtol=1e-6)
    assert wp.svd3(a) == (u, sigma, v)
    t = wp.transform_identity()
    wp.transform_set_rotation(q=wp.quat(1.0, 0.0, 0.0, 0.0), xform=t)
    assert list(t) == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="a float cannot be changed in place here"):
        wp.quat_to_axis_angle(wp.quat(0.0, 0.0, 1.0, 0.0), wp.vec3(), 0.0)


def test_python_scope_is_plain_python():
    assert bump(1.0, 2.0) == 6.0


def test_annotation():
    assert repr(wp.ref[float]) == "wp.ref[float32]"
    assert wp.ref[wp.vec3] == wp.ref[wp.vec3] != wp.ref[float]
    with pytest.raises(TypeError, match=r"wp.ref\[T\] takes a type"):
        wp.ref["nonsense"]


def refused(kernel):
    with pytest.raises(wp.CompileError) as caught:
        lower_kernel(kernel)
    return [d.message for d in caught.value.diagnostics], str(caught.value)


def test_only_places_can_be_passed():
    @wp.kernel
    def k(out: wp.array(dtype=float), x: float):
        bump(1.0, 2.0)
        bump(x + 1.0, 2.0)
        i = 3
        bump(i, 1.0)
        f = lambda y: bump(x, y)  # noqa: E731
        f(1.0)
        v = wp.vec3()
        swap(v[0], v.x)

    messages, report = refused(k)
    place = "`x` takes a local, a part of one, or an array element, for it is changed; this is"
    assert messages == [
        f"`bump` cannot be called with (1.0, 2.0): {place} the literal 1.0",
        f"`bump` cannot be called with (float32, 2.0): {place} an expression",
        "`bump` cannot be called with (int32, 1.0): `x` takes float32, not int32",
        "this call of `bump` cannot update `x`",
        "`v` is passed twice to parameters that `swap` changes",
    ]
    assert "help: call it by its name, outside of lambdas: `bump(x, ...)`" in report


def test_kernels_have_no_caller():
    @wp.kernel
    def k(x: wp.ref[float]):
        x = 1.0

    assert refused(k)[0] == ["`x`: a kernel has no caller whose variables it could change: use an array"]
