"""`wp.grad(f)` in kernels: the gradients of functions, and kernels with them differentiated."""

from __future__ import annotations

import math

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)


@wp.func
def product(x: float, y: float):
    return x * x * y


@wp.func
def cube(x: float):
    return x * x * x


@wp.func
def steep(x: float):
    return x * x


@wp.func_grad(steep)
def steep_gradient(x: float, dy: float):
    wp.adjoint[x] += dy * 20.0 * x


@wp.func
def series(x: float, n: int):
    s = x
    for _ in range(n):
        if s > 10.0:
            return s * x
        s = wp.sin(s) * x + s
    return s


@wp.func
def squared(v: wp.vec3, n: int):
    return wp.dot(v, v) * float(n)


@wp.func
def several(v: wp.vec3, w: float):
    return v * w, w * w


@wp.func
def several(v: wp.vec2):  # noqa: F811
    return v[0] * v[1]


slope_of_cube = wp.grad(cube)


@wp.kernel
def all_kinds(o: F, x: float):
    a, b = wp.grad(product)(x, 5.0)
    o[0] = a
    o[1] = b
    o[2] = wp.grad(cube)(x)
    o[3] = wp.grad(wp.sin)(0.5)
    o[4] = wp.grad(steep)(x)
    d, n = wp.grad(squared)(wp.vec3(1.0, 2.0, x), 2)
    o[5] = d[2] + float(n)
    p, q = wp.grad(several)(wp.vec3(1.0, 2.0, 3.0), x)
    o[6] = q + 100.0 * p[0]
    r = wp.grad(several)
    o[7] = r(wp.vec2(7.0, x))[0]
    o[8] = slope_of_cube(x)
    e, _ = wp.grad(series)(x, 4)
    o[9] = e
    g, h = wp.grad(wp.atan2)(x, 2.0)
    o[10] = g + 10.0 * h


def test_values():
    o = wp.zeros(11, dtype=float)
    wp.launch(all_kinds, 1, inputs=[o, 0.75])
    x = 0.75

    def series_of(t):
        s = t
        for _ in range(4):
            s = math.sin(s) * t + s
        return s

    slope = (series_of(x + 1e-6) - series_of(x - 1e-6)) / 2e-6
    expected = [10 * x, x * x, 3 * x * x, math.cos(0.5), 20 * x, 4 * x, 6 + 2 * x + 100 * x, x, 3 * x * x, slope]
    expected.append((2.0 - 10.0 * x) / (4.0 + x * x))
    assert np.allclose(o.numpy(), expected, rtol=1e-5)


def gradient(kernel, x):
    x, y = wp.array([x], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 1, inputs=[x, y])
    tape.backward(y)
    return y.list()[0], x.grad.list()[0]


def test_second_order():
    @wp.func
    def slope(x: float):
        return wp.grad(cube)(x)

    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        a, b = wp.grad(wp.atan2)(x[i], 2.0)
        y[i] = wp.grad(cube)(x[i]) * x[i] + wp.grad(slope)(x[i]) + a * b + wp.grad(steep)(x[i])

    def value(x):
        n = 4.0 + x * x
        return 3.0 * x**3 + 6.0 * x - 2.0 * x / n**2 + 20.0 * x

    y, g = gradient(k, 1.5)
    assert y == pytest.approx(value(1.5), rel=1e-5)
    assert g == pytest.approx((value(1.5 + 1e-6) - value(1.5 - 1e-6)) / 2e-6, rel=1e-5)


def test_second_order_of_a_loop_is_refused():
    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        a, _ = wp.grad(series)(x[i], 3)
        y[i] = a

    with pytest.raises(wp.CompileError, match="no gradient itself"):
        gradient(k, 1.0)


@wp.struct
class Layer:
    weights: F
    bias: float


@wp.func
def neuron(layer: Layer, x: wp.vec2):
    return wp.tanh(layer.weights[0] * x[0] + layer.weights[1] * x[1] + layer.bias)


@wp.func
def polynomial(c: F, n: int, x: float):
    value = 0.0
    for k in range(n):
        if k == 2 and c[k] == 0.0:
            break
        value = value * x + c[k]
    return value


@wp.func
def cubic(c: F, x: float):
    return c[0] * x * x * x + c[1] * x * x


@wp.func
def looked_up(table: F, x: float):
    kept = wp.zeros(shape=2, dtype=float)
    kept[0] = table[int(x)]
    kept[1] = kept[0] * x
    return kept[1] * kept[1]


@wp.func_grad(looked_up)
def looked_up_gradient(table: F, x: float, dy: float):
    wp.adjoint[x] += 2.0 * table[int(x)] * table[int(x)] * x * dy
    wp.adjoint[table][int(x)] += 2.0 * table[int(x)] * x * x * dy


@wp.kernel
def with_arrays(c: F, layer: Layer, o: F):
    nothing, _, o[0] = wp.grad(polynomial)(c, 3, 2.0)
    of_layer, of_x = wp.grad(neuron)(layer, wp.vec2(0.3, 0.4))
    o[1] = of_layer.bias
    o[2] = of_x[0]
    o[3] = of_x[1]
    _, o[4] = wp.grad(looked_up)(c, 1.5)
    if wp.static(nothing is None):
        o[5] = 1.0


def test_arrays_are_constant():
    """Also to gradients of the user's, and nothing is added to gradients of arrays."""
    c = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    layer = Layer()
    layer.weights, layer.bias = wp.array([0.5, 0.6], dtype=float, requires_grad=True), 0.1
    o = wp.zeros(6, dtype=float)
    wp.launch(with_arrays, 1, inputs=[c, layer, o])
    slope = 1.0 - math.tanh(0.5 * 0.3 + 0.6 * 0.4 + 0.1) ** 2
    assert np.allclose(o.numpy(), [6.0, slope, 0.5 * slope, 0.6 * slope, 12.0, 1.0], rtol=1e-6)
    assert not c.grad.numpy().any() and not layer.weights.grad.numpy().any()


def test_second_order_through_arrays():
    @wp.kernel
    def k(c: F, x: F, y: F):
        i = wp.tid()
        _, slope = wp.grad(cubic)(c, x[i])
        y[i] = slope * c[0]

    c, x = (wp.array(v, dtype=float, requires_grad=True) for v in ([2.0, 3.0], [1.5, -0.5]))
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(k, 2, inputs=[c, x, y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    a, b, points = 2.0, 3.0, np.array([1.5, -0.5])
    assert np.allclose(y.numpy(), a * (3 * a * points**2 + 2 * b * points))
    assert np.allclose(x.grad.numpy(), a * (6 * a * points + 2 * b))
    assert np.allclose(c.grad.numpy(), [np.sum(6 * a * points**2 + 2 * b * points), np.sum(a * 2 * points)])
    dx = wp.array([1.0, 0.5], dtype=float)
    (dy,) = wp.jvp(k, 2, [c, x], [y], tangents=[wp.clone(c), dx])
    along = a * (6 * a * points + 2 * b) * [1.0, 0.5] + a * (6 * a * points**2 + 2 * b * points) + b * a * 2 * points
    assert np.allclose(dy.numpy(), along)


def test_in_a_gradient():
    @wp.func
    def f(x: float):
        return x

    @wp.func_grad(f)
    def g(x: float, dy: float):
        wp.adjoint[x] += wp.grad(cube)(x) * dy

    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        y[i] = f(x[i])

    assert gradient(k, 2.0) == (2.0, 12.0)


@wp.func
def whole(x: float):
    return int(x)


@wp.func
def changing(x: wp.ref[float]):
    x = 2.0 * x
    return x * x


@wp.func
def storing(a: F, x: float):
    a[0] = x
    return x * x


@wp.kernel
def of_effects(x: F):
    _, x[1] = wp.grad(storing)(x, 1.0)


@wp.kernel
def of_integers(x: F):
    x[0] = wp.grad(whole)(x[0])


@wp.kernel
def of_references(x: F):
    s = x[0]
    x[0] = wp.grad(changing)(s)


@wp.kernel
def of_number(x: F):
    x[0] = wp.grad(3.0)(x[0])


@wp.kernel
def with_wrong_arguments(x: F):
    x[0] = wp.grad(cube)(wp.vec3(1.0))


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (of_effects, "writes to arrays, which wp.grad takes for constants"),
        (of_integers, "does not return a floating point number"),
        (of_references, "takes a local"),
        (of_number, "wp.grad takes a function"),
        (with_wrong_arguments, "cannot be called with"),
    ],
)
def test_refused(kernel, reason):
    with pytest.raises(wp.CompileError, match=reason):
        wp.launch(kernel, 1, inputs=[wp.zeros(3, dtype=float)])


def test_outside_of_kernels():
    with pytest.raises(TypeError, match="in compiled kernels"):
        wp.grad(cube)(1.0)
    with pytest.raises(TypeError, match=r"wp\.grad takes"):
        wp.grad(len)
