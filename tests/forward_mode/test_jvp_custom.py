"""`wp.jvp` of functions with gradients and replays of the user's, against reverse mode, differences and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

D = wp.array(dtype=wp.float64)
STEP = 1e-6


@wp.func
def exp(x: wp.float64):  # not that of the library
    return x * x * x


@wp.func
def clipped(x: wp.float64, y: wp.float64):
    return wp.min(x, y), x * y


@wp.func_grad(clipped)
def clipped_gradient(x: wp.float64, y: wp.float64, dlow: wp.float64, dproduct: wp.float64):
    wp.adjoint[x] += wp.float64(7.0) * dlow + dproduct * y
    wp.adjoint[y] += dproduct * x


@wp.func
def looked_up(table: D, i: int):
    return table[i] * table[i]


@wp.func_grad(looked_up)
def looked_up_gradient(table: D, i: int, dy: wp.float64):
    wp.adjoint[table][i] += dy * table[i]


@wp.func
def slot(count: wp.array(dtype=int), places: wp.array(dtype=int), i: int):
    places[i] = wp.atomic_add(count, 0, 1)
    return places[i]


@wp.func_replay(slot)
def same_slot(count: wp.array(dtype=int), places: wp.array(dtype=int), i: int):
    return places[i]


@wp.kernel
def own_names(x: D, y: D):
    i = wp.tid()
    y[i] = exp(x[i])


@wp.kernel
def own_gradients(x: D, y: D):
    i = wp.tid()
    low, product = clipped(x[i], x[i + 1])
    y[i] = low + product


@wp.kernel
def own_array_gradients(x: D, y: D):
    i = wp.tid()
    y[i] = looked_up(x, i)


@wp.kernel
def counted(x: D, count: wp.array(dtype=int), places: wp.array(dtype=int), y: D):
    i = wp.tid()
    y[slot(count, places, i)] = x[i] * x[i]


@wp.kernel
def slopes(x: D, y: D):
    i = wp.tid()
    y[i] = wp.grad(exp)(x[i]) + wp.grad(wp.sin)(x[i])


@wp.kernel
def lowest_of_own(x: D, y: D):
    i = wp.tid()
    own = wp.zeros(shape=2, dtype=wp.float64)
    own[0] = x[i]
    for k in range(3):
        wp.atomic_min(own, 0, x[k] * x[k])
    wp.atomic_max(own, 1, x[i])
    y[i] = own[0] + wp.atomic_exch(own, 1, x[0])


def doubles(*values):
    return wp.array(values, dtype=wp.float64)


OWN = {
    "a name of the library": (own_names, [doubles(2.0)], [12.0]),
    "gradient": (own_gradients, [doubles(2.0, 5.0)], [7.0 + 5.0 + 2.0]),
    "replay": (counted, [doubles(3.0), wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)], [6.0]),
    "wp.grad": (slopes, [doubles(2.0)], [12.0 - np.sin(2.0)]),
    "atomics on local arrays": (lowest_of_own, [doubles(1.5, 0.5, 3.0)], [2.0]),
}


@pytest.mark.parametrize("name", OWN)
def test_own(name):
    kernel, inputs, expected = OWN[name]
    along = wp.ones(inputs[0].size, dtype=wp.float64)
    (dy,) = wp.jvp(kernel, 1, inputs, [doubles(0.0)], tangents=[along])
    np.testing.assert_allclose(dy.numpy(), expected, rtol=1e-12)


@wp.struct
class Body:
    mass: wp.float64
    place: wp.vec3d
    number: int


@wp.func
def pushed(body: Body, force: wp.float64, turn: wp.mat22d):
    return body.mass * force, Body(body.mass * turn[0, 0], body.place * force, body.number), body.number


@wp.func_grad(pushed)
def pushed_gradient(body: Body, force: wp.float64, turn: wp.mat22d, dwork: wp.float64, dbody: Body, dn: int):
    """No derivative at all, so that both modes show whether they use it."""
    wp.adjoint[body].mass += wp.float64(3.0) * dwork * force + dbody.mass
    wp.adjoint[body].place += dbody.place * wp.float64(7.0)
    wp.adjoint[force] += dwork * body.mass * wp.float64(5.0) + wp.dot(dbody.place, body.place)
    wp.adjoint[turn][0, 0] += dbody.mass * force
    wp.adjoint[turn][1, 0] -= dwork


@wp.func
def worked(body: Body, force: wp.float64):
    work, after, number = pushed(body, force, wp.mat22d(force, body.mass, force * force, force))
    return work * work + after.mass + wp.length_sq(after.place) + wp.float64(number)


@wp.kernel
def works(x: D, rounds: int, y: D):
    i = wp.tid()
    total = x[i]
    for k in range(rounds):
        if k != 1:
            place = wp.vec3d(x[i], total, wp.float64(1.0))
            total = wp.sin(worked(Body(x[i + 1], place, k), total))
    y[i] = total


def dot_products(kernel, x, *rest, count, seed):
    """Of weights with the tangents, and of their gradient with the direction."""
    r = np.random.default_rng(seed)
    along, weights = r.normal(size=x.size), r.normal(size=count)
    x, y = (wp.array(v, dtype=wp.float64, requires_grad=True) for v in (x, np.zeros(count)))
    with wp.Tape() as tape:
        wp.launch(kernel, count, inputs=[x, *rest, y])
    tape.backward(grads={y: wp.array(weights, dtype=wp.float64)})
    (dy,) = wp.jvp(kernel, count, [x, *rest], [y], tangents=[wp.array(along, dtype=wp.float64)])
    return dy.numpy() @ weights, x.grad.numpy() @ along


@pytest.mark.parametrize("seed", range(5))
def test_forward_mode_uses_the_gradient_that_reverse_mode_uses(seed):
    x = np.random.default_rng(seed).uniform(0.5, 1.5, 8)
    forward, reverse = dot_products(works, x, 4, count=7, seed=seed)
    assert forward == pytest.approx(reverse, rel=1e-11)


@wp.struct
class Table:
    values: D
    scale: wp.float64


@wp.func
def scaled(table: Table, i: int, x: wp.float64):
    return table.scale * table.values[i] * x


@wp.func_grad(scaled)
def scaled_gradient(table: Table, i: int, x: wp.float64, dy: wp.float64):
    """Other numbers than the derivative, and nothing for the values of the table."""
    wp.adjoint[table].scale += wp.float64(3.0) * table.values[i] * dy
    wp.adjoint[x] += wp.float64(5.0) * table.values[i] * dy


@wp.kernel
def scaled_by_a_table(x: D, values: D, y: D):
    i = wp.tid()
    table = Table(values, x[i])
    y[i] = scaled(table, i, x[i + 1])


def test_gradients_of_functions_of_structs_with_arrays_that_have_tangents():
    x, values = np.array([2.0, 3.0, 4.0]), np.array([1.0, -1.5])
    dx, dvalues = np.array([0.5, 1.0, -2.0]), np.array([7.0, 9.0])
    inputs, along = ([doubles(*a), doubles(*b)] for a, b in ((x, values), (dx, dvalues)))
    (dy,) = wp.jvp(scaled_by_a_table, 2, inputs, [doubles(0.0, 0.0)], tangents=along)
    np.testing.assert_allclose(dy.numpy(), values * (3.0 * dx[:2] + 5.0 * dx[1:]), rtol=1e-14)


@wp.func
def safe_root(x: wp.float64):
    return wp.sqrt(x)


@wp.func_grad(safe_root)
def safe_root_gradient(x: wp.float64, dy: wp.float64):
    wp.adjoint[x] += wp.float64(0.5) * dy / wp.sqrt(wp.max(x, wp.float64(1e-6)))


@wp.kernel
def safe_roots(x: D, y: D):
    i = wp.tid()
    y[i] = safe_root(x[i]) * safe_root(x[i] + x[i + 1])


def test_a_right_gradient_is_that_of_differences():
    x, dx = np.array([2.0, 0.5, 3.0]), np.array([1.0, -0.5, 0.25])
    (dy,) = wp.jvp(safe_roots, 2, [doubles(*x)], [doubles(0.0, 0.0)], tangents=[doubles(*dx)])
    up, down = (np.sqrt(v[:2]) * np.sqrt(v[:2] + v[1:]) for v in (x + STEP * dx, x - STEP * dx))
    np.testing.assert_allclose(dy.numpy(), (up - down) / (2 * STEP), rtol=1e-8)


@wp.func
def cubed(x: wp.float64):
    return x * x * x


@wp.func_replay(cubed)
def cubed_again(x: wp.float64):
    return wp.pow(x, wp.float64(3.0))


@wp.kernel
def squares_of_cubes(x: D, y: D):
    i = wp.tid()
    cube = cubed(x[i])
    y[i] = cube * cube


def test_replays_do_not_matter():
    forward, reverse = dot_products(squares_of_cubes, np.array([0.5, 2.0]), count=2, seed=1)
    assert forward == pytest.approx(reverse, rel=1e-12)


@wp.func
def noted(x: wp.float64, out: D, i: int):
    out[i] += x
    return x * x


@wp.func_grad(noted)
def noted_gradient(x: wp.float64, out: D, i: int, dy: wp.float64):
    wp.adjoint[x] += wp.float64(2.0) * x * dy


@wp.kernel
def notes(x: D, out: D, y: D):
    i = wp.tid()
    y[i] = noted(x[i], out, i)


@pytest.mark.parametrize(
    ("kernel", "arrays", "why", "under"),
    [
        (own_array_gradients, 1, "`looked_up` has a gradient of its own, which goes to arrays", "looked_up(x, i)"),
        (notes, 2, "`noted` writes to arrays and has a gradient of its own", "noted(x[i], out, i)"),
    ],
)
def test_gradients_that_give_no_tangents(kernel, arrays, why, under):
    inputs = [doubles(2.0) for _ in range(arrays)]
    with pytest.raises(wp.CompileError) as caught:
        wp.jvp(kernel, 1, inputs, [doubles(0.0)], tangents=[doubles(1.0)])
    (diagnostic,) = caught.value.diagnostics
    assert why in diagnostic.message
    assert under in diagnostic.place.text
