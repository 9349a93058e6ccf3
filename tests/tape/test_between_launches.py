"""Changes of arrays between launches keep the gradient right, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from tests.kernels import square

F = wp.array(dtype=float)


@wp.struct
class Sample:
    a: float
    v: wp.vec3
    n: int


@wp.kernel
def scale(x: F, v: wp.vec3, y: F):
    i = wp.tid()
    y[i] = x[i] * v[1]


def active(values, dtype=float):
    return wp.array(values, dtype=dtype, requires_grad=True)


def ones(a):
    return wp.array(np.ones(a.numpy().shape, np.float32), dtype=a.dtype)


def test_copy_to_an_overlapping_view():
    a = active([1.0, 2.0, 3.0])
    tape = wp.Tape()
    with tape:
        a[1:] = a[:-1]
    tape.backward(grads={a: wp.array([1.0, 10.0, 100.0], dtype=float)})
    assert a.list() == [1.0, 1.0, 2.0]
    assert a.grad.list() == [11.0, 100.0, 0.0]


def test_copy_to_itself():
    a = active([1.0, 2.0])
    tape = wp.Tape()
    with tape:
        a[:] = a
    tape.backward(grads={a: ones(a)})
    assert a.grad.list() == [1.0, 1.0]


def test_copy_brings_no_gradient_of_before():
    x, y = active([1.0]), active([0.0])
    x.grad.fill_(5.0)
    tape = wp.Tape()
    with tape:
        wp.copy(y, x)
    tape.backward(y)
    assert x.grad.list() == [6.0]


@pytest.mark.parametrize("way", ["copy", "assign", "part"])
def test_copies_in_a_step_of_ones_own_leave_gradients(way):
    """A step that puts back what an array held, from an array that has a gradient as well."""
    x, y, z = active([1.0, 2.0]), active([0.0, 0.0]), active([0.0, 0.0])
    before = wp.clone(y)
    tape = wp.Tape()

    def put_back():
        if way == "copy":
            wp.copy(y, before)
        elif way == "assign":
            y.assign(before)
        else:
            wp.copy(y, before, dest_offset=1, src_offset=1, count=1)

    with tape:
        wp.launch(square, 2, inputs=[x, y])
        tape.record_func(put_back, [y])
        wp.launch(square, 2, inputs=[y, z])
    before.grad.fill_(100.0)
    tape.backward(grads={z: ones(z)})
    assert x.grad.list() == [4.0, 32.0]  # of x ** 4
    assert before.grad.list() == [100.0, 100.0]
    assert y.list()[1] == 0.0


def test_plain_copies_take_gradients_along():
    x, y = active([1.0, 2.0]), active([3.0, 4.0])
    x.grad.fill_(5.0)
    y.assign(x)
    assert y.grad.list() == wp.clone(x).grad.list() == [5.0, 5.0]


def test_copy_of_structs():
    x, y = (wp.zeros(2, dtype=Sample, requires_grad=True) for _ in range(2))
    numbers = np.zeros(2, wp.dtype_to_numpy(Sample))
    numbers["a"], numbers["v"], numbers["n"] = 2.0, 3.0, 4
    seed = wp.array(numbers, dtype=Sample)
    tape = wp.Tape()
    with tape:
        wp.copy(y, x)
    tape.backward(grads={y: seed})
    found = x.grad.numpy()
    assert (found["a"].tolist(), found["v"].tolist(), found["n"].tolist()) == ([2.0] * 2, [[3.0] * 3] * 2, [0, 0])


@pytest.mark.parametrize("dtype", [wp.float16, wp.bfloat16, wp.float64, wp.vec3, wp.mat22h, wp.quatd])
def test_gradients_of_every_type_are_added(device, dtype):
    shape = (4, *np.shape(dtype()))
    numbers = np.random.default_rng(5).integers(-9, 9, shape).astype(float)
    x = wp.array(numbers.tolist(), dtype=dtype, requires_grad=True)
    y, z = wp.clone(x), wp.clone(x)
    with wp.Tape() as tape:
        wp.copy(y, x)
        wp.copy(z[1:][::2], x[::-1][:2])
    tape.backward(grads={y: wp.array(numbers.tolist(), dtype=dtype), z: wp.array(numbers.tolist(), dtype=dtype)})
    expected = numbers.copy()
    expected[::-1][:2] += numbers[1::2]
    np.testing.assert_array_equal(wp.array(expected.tolist(), dtype=dtype).numpy(), x.grad.numpy())


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64, wp.vec3, wp.mat22d])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_copies_of_every_kind_hand_gradients_on(dtype, step):
    n = 50_000  # more than one thread adds
    x, y = (wp.zeros(n, dtype=dtype, requires_grad=True) for _ in range(2))
    given = np.random.default_rng(3).integers(1, 9, y.numpy().shape).astype(y.numpy().dtype)
    tape = wp.Tape()
    with tape:
        wp.copy(y[::step], x[::step])
    for turn in (1, 2):
        tape.backward(grads={y: wp.array(given, dtype=dtype)})
        handed = np.zeros_like(given)
        handed[::step] = given[::step]
        np.testing.assert_array_equal(x.grad.numpy(), turn * handed)
        np.testing.assert_array_equal(y.grad.numpy(), given - handed)


@wp.struct
class Half:
    a: float
    n: int


BITS = {
    "integers": wp.int32,
    "two halves": wp.types.vector(2, wp.float16),
    "a struct with less": None,
}


@pytest.mark.parametrize("way", [wp.copy, lambda y, x: y.__setitem__(..., x), lambda y, x: y.assign(x)])
@pytest.mark.parametrize("dtype", BITS.values(), ids=BITS)
def test_views_of_other_numbers_are_refused(dtype, way):
    x, y = (active([[1.0, 2.0], [3.0, 4.0]], wp.vec2) for _ in range(2))
    if dtype is not None:
        x, y = x.view(float), y.view(float)
    with wp.Tape(), pytest.raises(ValueError, match="cannot pass through reinterpreted bits"):
        way(y.view(dtype or Half), x.view(dtype or Half))


def test_views_of_the_same_numbers_have_the_gradient():
    x, y = active([[1.0, 2.0], [3.0, 4.0]], wp.vec2), active([[1.0, 2.0]] * 2, wp.vec2)
    tape = wp.Tape()
    with tape:
        wp.copy(y.view(float), x.view(wp.int32).view(wp.vec2).view(float))
    tape.backward(grads={y: ones(y)})
    assert x.grad.numpy().tolist() == [[1.0, 1.0]] * 2


@pytest.mark.cpu
def test_integers_that_are_numbers_elsewhere_are_not_copied():
    x, y, z = active([1.0, 2.0]), active([0, 0], int), active([0, 0], int)
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x, y.view(float)])
        wp.copy(z, y)
    with pytest.raises(RuntimeError, match="a copy of int32 elements has a gradient"):
        tape.backward(grads={z.view(float): [1.0, 1.0]})
    tape.backward(grads={y.view(float): [0.0, 0.0]})  # nothing has come back


LISTS = {
    "assigned": lambda x, y: y.__setitem__(..., [x, x]),
    "a part": lambda x, y: y.__setitem__(0, [x[0:1], 1.0]),
    "assign": lambda x, y: y.assign([x, [1.0, 2.0]]),
    "made": lambda x, y: wp.array([x, x], dtype=float, requires_grad=True),
    "of indices": lambda x, y: y[0].__setitem__(..., x[wp.array([1, 0], dtype=int)]),
    "made of indices": lambda x, y: wp.array(x[wp.array([1, 0], dtype=int)], dtype=float),
}


@pytest.mark.cpu
@pytest.mark.parametrize("way", LISTS.values(), ids=LISTS)
def test_arrays_made_of_arrays_without_a_step_are_refused(way):
    x, y = active([1.0, 2.0]), active(np.zeros((2, 2)))
    with wp.Tape(), pytest.raises(RuntimeError, match="requires one while a tape records"):
        way(x, y)
    with pytest.raises(RuntimeError, match="has a tangent"):
        wp.jvp(lambda x: way(x, wp.zeros((2, 2), dtype=float)), (x,), (ones(x),))


def test_contiguous_copy():
    x, y = active([[1.0, 2.0], [3.0, 4.0]]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 2, inputs=[x[:, 1].contiguous(), y])
    tape.backward(grads={y: ones(y)})
    assert x.grad.numpy().tolist() == [[0.0, 4.0], [0.0, 8.0]]


def test_arithmetic_in_place_with_a_reversed_view():
    a = active([1.0, 2.0, 3.0])
    tape = wp.Tape()
    with tape:
        a *= a[::-1]
    tape.backward(grads={a: ones(a)})
    assert a.list() == [3.0, 4.0, 3.0]
    assert a.grad.list() == [6.0, 4.0, 2.0]


@pytest.mark.parametrize("make", [lambda: wp.vec3(1.0, 2.0, 3.0), lambda: [1.0, 2.0, 3.0], lambda: np.arange(1.0, 4.0)])
def test_arguments_that_change_afterwards(make):
    x, y, v = active([3.0]), active([0.0]), make()
    tape = wp.Tape()
    with tape:
        wp.launch(scale, 1, inputs=[x, v, y])
    v[1] = 100.0
    tape.backward(y)
    assert x.grad.list() == [2.0]


def test_interpreted_launch():
    x, y, z = active([3.0]), active([0.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square, 1, inputs=[x, y], interpret=True)
        wp.launch(square, 1, inputs=[y, z])
    tape.backward(z)
    assert x.grad.list() == [108.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda a, b, index: a.__setitem__(index, b),
        lambda a, b, index: wp.copy(b, a[index]),
        lambda a, b, index: a[index].fill_(2.0),
        lambda a, b, index: a[index].contiguous(),
    ],
)
def test_indexed_arrays_are_refused(write):
    a, b, index = active([1.0, 2.0, 3.0]), active([5.0, 6.0]), wp.array([0, 2], dtype=int)
    with pytest.raises(RuntimeError, match="indexed array"), wp.Tape():
        write(a, b, index)
    assert (a.list(), b.list()) == ([1.0, 2.0, 3.0], [5.0, 6.0])
    write(a, b, index)


def test_tape_in_a_tape_is_refused():
    x, y = active([3.0]), active([0.0])
    tape = wp.Tape()
    with tape:
        with pytest.raises(RuntimeError, match="a tape records already"), wp.Tape():
            pass
        wp.launch(square, 1, inputs=[x, y])
    tape.backward(y)
    assert x.grad.list() == [6.0]


def test_backward_writes_to_nothing_but_gradients():
    @wp.kernel
    def square_and_sum(x: F, loss: F, y: F):
        i = wp.tid()
        x[i] = x[i] * x[i]
        wp.atomic_add(loss, 0, x[i] * x[i])
        y[i] = x[i]

    x, loss, y = active([2.0, 3.0]), active([0.0]), active([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        wp.launch(square_and_sum, 2, inputs=[x, loss, y])
    y.fill_(7.0)
    tape.backward(loss)
    assert (x.list(), loss.list(), y.list()) == ([4.0, 9.0], [97.0], [7.0, 7.0])
    assert x.grad.list() == [32.0, 108.0]
