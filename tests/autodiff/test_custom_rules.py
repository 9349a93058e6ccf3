"""`@wp.func_grad` and `@wp.func_replay`: the user's gradients and replays, and what is wrong about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

F = wp.array(dtype=float)
I = wp.array(dtype=int)


def gradient(kernel, *inputs, count=1):
    """The gradients of all arrays for ones as the gradient of the last."""
    with wp.Tape() as tape:
        wp.launch(kernel, count, inputs=inputs)
    tape.backward(grads={inputs[-1]: wp.ones_like(inputs[-1])})
    return [a.grad.numpy().tolist() if isinstance(a, wp.array) and a.grad is not None else None for a in inputs]


def numbers(*values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


# -- gradients ------------------------------------------------------------------------------------------------------


@wp.func
def scaled(x: float, n: int, v: wp.vec3):
    return x * float(n), v * x


@wp.func_grad(scaled)
def scaled_gradient(x: float, n: int, v: wp.vec3, dy: float, dv: wp.vec3):
    wp.adjoint[x] += 100.0 * (dy * float(n) + wp.dot(dv, v))
    wp.adjoint[v] += dv * x
    wp.adjoint[v][2] -= 5.0 * dv[0]


def test_several_parameters_and_results():
    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        a, b = scaled(x[i], 3, wp.vec3(x[i], 1.0, 7.0 * x[i]))
        y[i] = a + b[0]

    got, _ = gradient(k, numbers(2.0), numbers(0.0))
    assert got == [100.0 * (3.0 + 2.0) + 2.0 - 5.0 * 7.0]


def test_control_flow_in_a_gradient():
    @wp.func
    def f(x: float):
        return x * x

    @wp.func_grad(f)
    def g(x: float, dy: float):
        if x > 2.0:
            wp.adjoint[x] += 10.0 * dy
            return
        for _ in range(3):
            wp.adjoint[x] += dy * f(x)

    @wp.kernel
    def k(x: F, y: F):
        s = 0.0
        for i in range(x.shape[0]):
            s = 2.0 * s + f(x[i])
        y[0] = s

    got, _ = gradient(k, numbers(1.0, 3.0, 0.5), numbers(0.0))
    assert got == [4.0 * 3.0, 2.0 * 10.0, 0.75]


def test_overloads_and_generics():
    @wp.func
    def f(x: wp.float32):
        return x * x

    @wp.func
    def f(x: wp.vec3):  # noqa: F811
        return wp.dot(x, x)

    @wp.func
    def f(x: Any):  # noqa: F811
        return x * x

    @wp.func_grad(f)
    def first(x: wp.float32, dy: wp.float32):
        wp.adjoint[x] += 7.0 * dy

    @wp.func_grad(f)
    def second(x: Any, dy: Any):
        wp.adjoint[x] += x.dtype(3.0) * dy

    @wp.kernel
    def k(x: F, d: wp.array(dtype=wp.float64), y: F):
        i = wp.tid()
        y[i] = f(x[i]) + f(wp.vec3(x[i], 0.0, 0.0)) + float(f(d[i]))

    got, of_double, _ = gradient(k, numbers(2.0), numbers(2.0, dtype=wp.float64), numbers(0.0))
    assert got == [7.0 + 2.0 * 2.0]
    assert of_double == [3.0]


def test_arrays():
    @wp.func
    def f(a: F, b: F, i: int):
        b[i] = 2.0 * a[i]

    @wp.func_grad(f)
    def g(a: F, b: F, i: int):
        wp.adjoint[a][i] += 3.0 * wp.adjoint[b][i]
        wp.atomic_add(wp.adjoint[a], i, 10.0 * a[i] * b[i] * wp.adjoint[b][i])
        wp.adjoint[b][i] = 0.0

    @wp.kernel
    def k(a: F, b: F):
        f(a, b, wp.tid())

    a, b = numbers(1.0, 2.0), numbers(0.0, 0.0)
    assert gradient(k, a, b, count=2) == [[3.0 + 20.0, 3.0 + 80.0], [0.0, 0.0]]
    plain = wp.zeros(2, dtype=float)
    with wp.Tape() as tape:
        wp.launch(k, 2, inputs=[plain, b])
    tape.backward(grads={b: wp.ones_like(b)})
    assert b.grad.list() == [0.0, 0.0]


def test_what_a_gradient_reads_is_kept():
    @wp.func
    def f(a: F, i: int):
        return a[i] * a[i]

    @wp.func_grad(f)
    def g(a: F, i: int, dy: float):
        wp.adjoint[a][i] += 2.0 * a[i] * dy

    @wp.kernel
    def k(a: F, y: F):
        i = wp.tid()
        y[i] = f(a, i)

    a, y = numbers(3.0), numbers(0.0)
    with wp.Tape() as tape:
        wp.launch(k, 1, inputs=[a, y])
    a.fill_(100.0)
    tape.backward(y)
    assert a.grad.list() == [6.0]


@wp.func
def put(y: F, i: int, v: float):
    y[i] = v * v
    return v


@wp.func_grad(put)
def put_gradient(y: F, i: int, v: float, dv: float):
    wp.adjoint[v] += 2.0 * v * wp.adjoint[y][i] + dv
    wp.adjoint[y][i] = 0.0


@wp.func
def scale(a: F, s: float):
    for j in range(len(a)):
        a[j] *= s


@wp.func_grad(scale)
def scale_gradient(a: F, s: float):
    for j in range(len(a)):
        wp.adjoint[a][j] *= s


def test_gradients_taken_over_from_arrays_whether_or_not_the_result_is_used():
    @wp.kernel
    def squares(x: F, y: F, z: F):
        i = wp.tid()
        v = put(y, i, 3.0 * x[i])
        z[i] = wp.where(x[i] > 1.5, v, z[i])

    x, y, z = numbers(1.0, 2.0), numbers(0.0, 0.0), numbers(0.0, 0.0)
    with wp.Tape() as tape:
        wp.launch(squares, 2, inputs=[x, y, z])
    tape.backward(grads={y: wp.ones(2, dtype=float), z: wp.ones(2, dtype=float)})
    assert x.grad.list() == [18.0, 36.0 + 3.0]


def test_functions_without_results_in_loops():
    @wp.kernel
    def powers(x: F, n: int, y: F):
        i = wp.tid()
        for _ in range(n):
            scale(y[2 * i : 2 * i + 2], 2.0 * x[0])

    y = numbers(1.0, 2.0, 3.0, 4.0)
    with wp.Tape() as tape:
        wp.launch(powers, 2, inputs=[numbers(1.0), 3, y])
    tape.backward(grads={y: wp.ones(4, dtype=float)})
    assert y.grad.list() == [8.0] * 4


def test_arrays_of_the_kernel_that_a_function_changes():
    @wp.kernel
    def product(x: F, y: F):
        a = wp.zeros(shape=2, dtype=float)
        a[0] = x[0]
        a[1] = x[1]
        scale(a, 2.0)
        y[0] = a[0] * a[1]

    x, y = numbers(1.0, 3.0), numbers(0.0)
    with wp.Tape() as tape:
        wp.launch(product, 1, inputs=[x, y])
    tape.backward(y)
    assert (y.list(), x.grad.list()) == ([12.0], [12.0, 4.0])


@wp.struct
class State:
    x: float
    v: wp.vec3
    table: wp.array(dtype=float)


def test_structs():
    @wp.func
    def f(s: State, i: int):
        return s.x * s.v[0] * s.table[i]

    @wp.func_grad(f)
    def g(s: State, i: int, dy: float):
        wp.adjoint[s].x += 10.0 * dy
        wp.adjoint[s].v[0] += 20.0 * dy
        wp.adjoint[s].table[i] += 30.0 * dy

    @wp.kernel
    def k(x: F, table: F, y: F):
        i = wp.tid()
        s = State()
        s.x = x[i]
        s.v = wp.vec3(2.0 * x[i], 0.0, 0.0)
        s.table = table
        y[i] = f(s, 1)

    got = gradient(k, numbers(1.0), numbers(1.0, 1.0), numbers(0.0))
    assert got[:2] == [[10.0 + 2.0 * 20.0], [0.0, 30.0]]


def test_a_new_gradient_reaches_kernels_that_ran_before():
    @wp.func
    def f(x: float):
        return x * x

    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        y[i] = f(x[i])

    assert gradient(k, numbers(3.0), numbers(0.0))[0] == [6.0]
    for slope in (10.0, 20.0):

        @wp.func_grad(f)
        def g(x: float, dy: float):
            wp.adjoint[x] += wp.static(slope) * dy

        assert gradient(k, numbers(3.0), numbers(0.0))[0] == [slope]


# -- replays --------------------------------------------------------------------------------------------------------


@wp.func
def next_slot(counter: I, slots: I, i: int):
    k = wp.atomic_add(counter, 0, 1)
    slots[i] = k
    return k


@wp.func_replay(next_slot)
def same_slot(counter: I, slots: I, i: int):
    return slots[i]


@wp.kernel
def compact(counter: I, slots: I, x: F, y: F):
    i = wp.tid()
    if x[i] > 0.0:
        y[next_slot(counter, slots, i)] = x[i] ** 2.0


def test_counter():
    n = 20_000
    x = wp.array(np.random.default_rng(1).uniform(-1.0, 1.0, n), dtype=float, requires_grad=True)
    y = wp.zeros(n, dtype=float, requires_grad=True)
    counter, slots = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    with wp.Tape() as tape:
        wp.launch(compact, n, inputs=[counter, slots, x, y])
    places = slots.numpy().copy()
    slots.zero_()
    seeds = np.random.default_rng(2).uniform(size=n).astype(np.float32)
    tape.backward(grads={y: wp.array(seeds, dtype=float)})
    values = x.numpy()
    assert np.allclose(x.grad.numpy(), np.where(values > 0.0, 2.0 * values * seeds[places], 0.0), rtol=1e-6)
    assert counter.numpy()[0] == (values > 0.0).sum()


@wp.func
def note_slot(counter: I, slots: I, i: int):
    slots[i] = wp.atomic_add(counter, 0, 1)


@wp.func_replay(note_slot)
def slots_are_noted(counter: I, slots: I, i: int):
    pass


def test_the_kernel_reads_what_a_replay_does_not_write():
    """The slots as the launch left them, and the array before the call as it was before the launch."""

    @wp.kernel
    def k(counter: I, slots: I, x: F, y: F):
        i = wp.tid()
        note_slot(counter, slots, i)
        y[slots[i]] = x[i] * x[i]

    x, y, slots = numbers(1.0, 2.0, 3.0), numbers(0.0, 0.0, 0.0), wp.zeros(3, dtype=int)
    given = wp.array([1.0, 10.0, 100.0], dtype=float)
    with wp.Tape() as tape:
        wp.launch(k, 3, inputs=[wp.zeros(1, dtype=int), slots, x, y])
    tape.backward(grads={y: given})
    np.testing.assert_array_equal(x.grad.numpy(), 2.0 * x.numpy() * given.numpy()[slots.numpy()])


def test_reads_between_calls_are_refused():
    @wp.kernel
    def looping(counter: I, slots: I, x: F, y: F):
        for j in range(x.shape[0]):
            note_slot(counter, slots, j)
            y[slots[j]] = x[j]

    @wp.kernel
    def twice(counter: I, slots: I, x: F, y: F):
        note_slot(counter, slots, 0)
        y[slots[0]] = x[0]
        note_slot(counter, slots, 1)

    for k in (looping, twice):
        with pytest.raises(wp.CompileError, match="reads here what `note_slot` wrote, which its replay does not write"):
            gradient(k, wp.zeros(1, dtype=int), wp.zeros(3, dtype=int), numbers(1.0, 2.0, 3.0), numbers(0.0, 0.0, 0.0))


@wp.kernel
def compact_heights(id: wp.uint64, counter: I, slots: I, faces: I, x: wp.array(dtype=wp.vec3), y: F):
    i = wp.tid()
    found = wp.mesh_query_point(id, x[i], 10.0)
    if x[i][2] > 0.0:
        k = next_slot(counter, slots, i)
        nearest = wp.mesh_eval_position(id, found.face, found.u, found.v)
        faces[k] = wp.mesh_get(id).indices[3 * found.face]
        y[k] = wp.length_sq(x[i] - nearest)


def test_counter_beside_a_mesh():
    """A mesh has integers, too, which the launch leaves alone."""
    corners = [(-9.0, -9.0, 0.0), (9.0, -9.0, 0.0), (9.0, 9.0, 0.0), (-9.0, 9.0, 0.0)]
    mesh = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array([0, 1, 2, 0, 2, 3], dtype=int))
    points = np.random.default_rng(3).uniform(-1.0, 1.0, (50, 3)).astype(np.float32)
    x, y = wp.array(points, dtype=wp.vec3, requires_grad=True), wp.zeros(50, dtype=float, requires_grad=True)
    counter, slots, faces = wp.zeros(1, dtype=int), wp.zeros(50, dtype=int), wp.zeros(50, dtype=int)
    with wp.Tape() as tape:
        wp.launch(compact_heights, 50, inputs=[mesh.id, counter, slots, faces, x, y])
    places = slots.numpy().copy()
    seeds = np.random.default_rng(4).uniform(size=50).astype(np.float32)
    tape.backward(grads={y: wp.array(seeds, dtype=float)})
    expected = np.where(points[:, 2] > 0.0, 2.0 * points[:, 2] * seeds[places], 0.0)
    assert np.allclose(x.grad.numpy()[:, 2], expected, rtol=1e-5) and np.allclose(x.grad.numpy()[:, :2], 0.0, atol=1e-5)


def test_replay_gives_values_and_the_function_the_gradient():
    @wp.func
    def f(x: float):
        return x * x

    @wp.func_replay(f)
    def r(x: float):
        return 10.0 * x

    @wp.kernel
    def k(x: F, y: F):
        i = wp.tid()
        a = f(x[i])
        y[i] = a * a

    assert gradient(k, numbers(3.0), numbers(0.0))[0] == [2.0 * 30.0 * 6.0]


def test_replay_without_what_the_gradient_needs():
    @wp.func
    def f(counter: I, x: float):
        k = wp.atomic_add(counter, 0, 1)
        return x * float(k)

    @wp.func_replay(f)
    def r(counter: I, x: float):
        return x

    @wp.kernel
    def k(counter: I, x: F, y: F):
        i = wp.tid()
        y[i] = f(counter, x[i])

    with pytest.raises(wp.CompileError, match="func_grad") as caught:
        gradient(k, wp.zeros(1, dtype=int), numbers(3.0), numbers(0.0))
    assert "f(counter, x[i])" in caught.value.diagnostics[0].place.text


def test_array_that_others_write_too():
    @wp.kernel
    def k(counter: I, slots: I, x: F, y: F):
        i = wp.tid()
        y[next_slot(counter, slots, i)] = x[i] * x[i]
        slots[i] = 0

    with pytest.raises(wp.CompileError, match="outside of `next_slot`") as caught:
        gradient(k, wp.zeros(1, dtype=int), wp.zeros(1, dtype=int), numbers(3.0), numbers(0.0))
    assert "slots[i] = 0" in caught.value.diagnostics[0].place.text


def test_place_that_is_used_twice():
    @wp.kernel
    def twice(counter: I, slots: I, x: F, y: F):
        i = wp.tid()
        y[next_slot(counter, slots, i)] = x[i] * x[i]
        y[next_slot(counter, slots, i)] = x[i]

    @wp.kernel
    def in_a_loop(counter: I, slots: I, x: F, y: F):
        i = wp.tid()
        for k in range(x.shape[0]):
            y[next_slot(counter, slots, i)] = x[k] * x[k]

    for kernel in (twice, in_a_loop):
        with pytest.raises(wp.CompileError, match="a place of its own"):
            gradient(kernel, wp.zeros(1, dtype=int), wp.zeros(2, dtype=int), numbers(3.0), numbers(0.0, 0.0))


def test_places_in_a_loop():
    @wp.kernel
    def k(counter: I, slots: I, x: F, y: F):
        for j in range(x.shape[0]):
            y[next_slot(counter, slots, j)] = x[j] * x[j]

    got = gradient(k, wp.zeros(1, dtype=int), wp.zeros(3, dtype=int), numbers(1.0, 2.0, 3.0), numbers(0.0, 0.0, 0.0))
    assert got[2] == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("writes", [False, True])
def test_replay_of_a_function_that_changes_an_array_of_the_kernel(writes):
    @wp.func
    def doubled(a: F):
        a[0] *= 2.0
        return a[0]

    @wp.func_grad(doubled)
    def doubled_gradient(a: F, g: float):
        wp.adjoint[a][0] = 2.0 * (wp.adjoint[a][0] + g)

    if writes:

        @wp.func_replay(doubled)
        def again(a: F):
            a[0] *= 2.0
            return a[0]

    else:

        @wp.func_replay(doubled)
        def again(a: F):
            return a[0]

    @wp.kernel
    def k(x: F, y: F):
        a = wp.zeros(shape=1, dtype=float)
        a[0] = x[0]
        y[0] = doubled(a) * a[0] * x[0]

    x, y = numbers(3.0), numbers(0.0)
    if not writes:
        with wp.Tape(), pytest.raises(wp.CompileError, match="its replay leaves that as it was"):
            wp.launch(k, 1, inputs=[x, y])
        return
    with wp.Tape() as tape:
        wp.launch(k, 1, inputs=[x, y])
    tape.backward(y)
    assert (y.list(), x.grad.list()) == ([108.0], [108.0])


def test_replay_that_writes():
    @wp.func
    def f(a: F, i: int, x: float):
        return x * x

    @wp.func_replay(f)
    def r(a: F, i: int, x: float):
        a[i] = x
        return x

    @wp.kernel
    def k(a: F, x: F, y: F):
        i = wp.tid()
        s = f(a, i, x[i])
        y[i] = s * s

    with pytest.raises(wp.CompileError, match="replay of `f` writes"):
        gradient(k, numbers(1.0), numbers(3.0), numbers(0.0))


# -- counters without a replay --------------------------------------------------------------------------------------


@wp.func
def slot(counter: I):
    return wp.atomic_add(counter, 0, 1)


def test_counters():
    @wp.kernel
    def k(counter: I, x: F, y: F, z: F):
        i = wp.tid()
        if x[i] > 0.0:
            y[slot(counter)] = x[i] * x[i]
        z[x.shape[0] - wp.atomic_sub(counter, 1, 1)] = wp.sin(x[i])

    n = 4000
    values = np.random.default_rng(3).permutation(np.linspace(-1.0, 1.0, n)).astype(np.float32)
    x = wp.array(values, dtype=float, requires_grad=True)
    y, z = (wp.zeros(n, dtype=float, requires_grad=True) for _ in range(2))
    counter = wp.array([0, n], dtype=int)
    with wp.Tape() as tape:
        wp.launch(k, n, inputs=[counter, x, y, z])
    assert counter.list() == [n // 2, 0]
    counter.zero_()
    of_y, of_z = np.random.default_rng(4).uniform(size=(2, n)).astype(np.float32)
    tape.backward(grads={y: wp.array(of_y, dtype=float), z: wp.array(of_z, dtype=float)})
    expected = np.zeros(n)
    positive = values > 0.0
    # Both functions rise, so that ranks tell which thread wrote an element.
    expected[np.argsort(values)] = of_z[np.argsort(z.numpy())]
    expected *= np.cos(values)
    threads = np.flatnonzero(positive)[np.argsort(values[positive])]
    expected[threads] += 2.0 * values[threads] * of_y[np.argsort(y.numpy()[: len(threads)])]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_counter_in_two_dimensions():
    @wp.kernel
    def k(counter: I, x: F, y: F):
        i, j = wp.tid()
        y[wp.atomic_add(counter, 0, 1)] = x[i] * x[j]

    x, y = numbers(1.0, 2.0, 3.0), wp.zeros(9, dtype=float, requires_grad=True)
    got = gradient(k, wp.zeros(1, dtype=int), x, y, count=(3, 3))
    assert got[1] == [12.0, 12.0, 12.0]


# -- mistakes -------------------------------------------------------------------------------------------------------


def mistaken(decorator, make):
    @wp.func
    def f(x: float, n: int):
        return x * x

    custom = make()
    decorator(f)(custom)

    @wp.kernel
    def k(x: F):
        x[0] = f(x[0], 1)

    return k


def wrong_parameters():
    def g(x: int, n: int, dy: float):
        wp.adjoint[x] += dy

    return g


def missing_adjoint():
    def g(x: float, n: int):
        wp.adjoint[x] += 1.0

    return g


def unknown_name():
    def g(x: float, n: int, dy: float):
        wp.adjoint[z] += dy  # noqa: F821

    return g


def adjoint_of_an_adjoint():
    def g(x: float, n: int, dy: float):
        wp.adjoint[dy] += dy

    return g


def adjoint_of_an_integer():
    def g(x: float, n: int, dy: float):
        wp.adjoint[n] += 1

    return g


def returning():
    def g(x: float, n: int, dy: float):
        return dy

    return g


def type_of_an_adjoint():
    def g(x: float, n: int, dy: wp.vec3):
        wp.adjoint[x] += dy[0]

    return g


def type_of_what_is_added():
    def g(x: float, n: int, dy: float):
        wp.adjoint[x] += wp.vec3(dy)

    return g


def other_result():
    def g(x: float, n: int):
        return n

    return g


def more_parameters():
    def g(x: float, n: int, m: int):
        return x

    return g


@pytest.mark.parametrize(
    ("decorator", "make", "code", "under"),
    [
        (wp.func_grad, wrong_parameters, "arguments", "def g(x: int"),
        (wp.func_grad, missing_adjoint, "arguments", "def g(x: float, n: int)"),
        (wp.func_grad, unknown_name, "undefined-name", "wp.adjoint[z]"),
        (wp.func_grad, adjoint_of_an_adjoint, "undefined-name", "wp.adjoint[dy]"),
        (wp.func_grad, adjoint_of_an_integer, "type-mismatch", "wp.adjoint[n]"),
        (wp.func_grad, returning, "return-type", "return dy"),
        (wp.func_grad, type_of_an_adjoint, "arguments", "dy: wp.vec3"),
        (wp.func_grad, type_of_what_is_added, "type-mismatch", "wp.vec3(dy)"),
        (wp.func_replay, other_result, "return-type", "def g"),
        (wp.func_replay, more_parameters, "arguments", "def g"),
    ],
)
def test_mistakes(decorator, make, code, under):
    with pytest.raises(wp.CompileError) as caught:
        wp.launch(mistaken(decorator, make), 1, inputs=[numbers(1.0)])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert under in diagnostic.place.text


def test_adjoint_elsewhere():
    @wp.kernel
    def k(x: F):
        x[0] = wp.adjoint[x][0]

    with pytest.raises(wp.CompileError, match="func_grad only"):
        wp.launch(k, 1, inputs=[numbers(1.0)])
    with pytest.raises(TypeError, match="func_grad"):
        wp.adjoint[1.0]


def test_what_is_no_function():
    with pytest.raises(TypeError, match=r"decorated with @wp\.func"):
        wp.func_grad(len)


@wp.func
def counted(counter: wp.array[int], slots: wp.array[int], tid: int, limit: int = -1):
    n = wp.atomic_add(counter, 0, 1)
    if n < limit or limit < 0:
        if tid < slots.shape[0]:
            slots[tid] = n
        return n
    if tid < slots.shape[0]:
        slots[tid] = -1
    return -1


@wp.func_replay(counted)
def counted_again(counter: wp.array[int], slots: wp.array[int], tid: int, limit: int):
    if tid < slots.shape[0]:
        return slots[tid]
    return -1


def test_a_replay_is_enough_where_nothing_inside_has_a_gradient():
    @wp.kernel
    def keep_large(x: wp.array[float], counter: wp.array[int], slots: wp.array[int], y: wp.array[float]):
        i = wp.tid()
        if x[i] > 0.5:
            n = counted(counter, slots, i)
            if n < 6:
                y[n] = x[i] * x[i]

    x, y = numbers(0.1, 0.75, 1.5, 0.25, 1.0), numbers(*[0.0] * 6)
    with wp.Tape() as tape:
        wp.launch(keep_large, 5, inputs=[x, wp.zeros(1, dtype=int), wp.zeros(5, dtype=int), y])
    tape.backward(grads={y: wp.ones(6, dtype=float)})
    assert x.grad.list() == [0.0, 1.5, 3.0, 0.0, 2.0]
