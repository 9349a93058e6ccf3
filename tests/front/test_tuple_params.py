"""Tuples as arguments of functions: each item is an argument of its own. Judge: plain Python on the same numbers."""

from typing import Any, Tuple  # noqa: UP035  # the older spelling is what is tested

import numpy as np
import pytest

import omni.warp_core as wp

interpreted = pytest.mark.parametrize("interpret", [False, True])


@wp.func
def weighted(index: tuple[int, int], s: float):
    return float(index[0] * 10 + index[1]) * s


@wp.func
def nested(t: tuple[tuple[float, int], wp.vec3]):
    (a, n), v = t
    return a * float(n) + v[2]


@wp.func
def of_any(t: Any):
    return float(t[0]) * t[1]


@wp.func
def of_some(t: tuple[int, ...]):
    s = 0
    for x in t:
        s += x
    return float(s * len(t))


@wp.func
def older(t: Tuple[float, int] = (0.5, 2)):  # noqa: UP006
    return t[0] * float(t[1])


@wp.func
def element(t: tuple[wp.array(dtype=float), int]):
    return t[0][t[1]] + 1.0


@wp.func
def sized(shape: tuple[int, int]):
    return float(wp.zeros(shape=shape, dtype=float).shape[1])


@interpreted
def test_functions_take_tuples(interpret):
    @wp.kernel
    def calls(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
        i = wp.tid()
        pair = (i, i + 1)
        out[i, 0] = weighted(pair, 2.0)
        out[i, 1] = nested(((x[i], 3), wp.vec3(1.0, 2.0, x[i])))
        out[i, 2] = of_any((i, x[i]))
        out[i, 3] = of_some((i, 5, i)) + of_some((i, 1))
        out[i, 4] = older((x[i], 4)) + older()
        out[i, 5] = element((x, i))

    x = np.array([3.0, 4.0, 5.0], np.float32)
    out = wp.zeros((3, 6), dtype=float)
    wp.launch(calls, 3, inputs=[wp.array(x), out], interpret=interpret)
    expected = [
        [(10 * i + i + 1) * 2.0, v * 3 + v, i * v, 3 * (2 * i + 5) + 2 * (i + 1), v * 4 + 1.0, v + 1.0]
        for i, v in enumerate(x)
    ]
    assert out.numpy().tolist() == expected


def test_a_literal_in_a_tuple_is_known_when_the_kernel_compiles():
    @wp.kernel
    def shapes(out: wp.array(dtype=float)):
        out[0] = sized((2, 3))

    out = wp.zeros(1, dtype=float)
    wp.launch(shapes, 1, inputs=[out])
    assert out.list() == [3.0]


def test_gradients_flow_through_the_items_of_a_tuple():
    @wp.func
    def product(t: tuple[float, tuple[float, int]], s: float):
        return t[0] * t[1][0] * s

    @wp.kernel
    def products(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        out[i] = product((a[i], (b[i], 3)), 2.0)

    a, b = (wp.array(v, dtype=float, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(products, 2, inputs=[a, b, out])
    tape.backward(grads={out: wp.ones(2, dtype=float)})
    assert a.grad.list() == [6.0, 8.0] and b.grad.list() == [2.0, 4.0]


def test_custom_gradients_name_the_items_of_a_tuple():
    @wp.func
    def product(t: tuple[float, float], s: float):
        return t[0] * t[1] * s

    @wp.func_grad(product)
    def product_gradient(pair: tuple[float, float], s: float, r: float):
        wp.adjoint[pair[0]] += 100.0 * r
        wp.adjoint[pair[1]] += 10.0 * r
        wp.adjoint[s] += r

    @wp.kernel
    def products(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = product((a[0], b[0]), 2.0)

    a, b = (wp.array([v], dtype=float, requires_grad=True) for v in (3.0, 4.0))
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(products, 1, inputs=[a, b, out])
    tape.backward(out)
    assert out.list() == [24.0] and a.grad.list() == [100.0] and b.grad.list() == [10.0]


def test_an_overload_is_picked_by_the_items_of_a_tuple():
    @wp.func
    def which(t: tuple[int, int]):
        return 1.0

    @wp.func
    def which(t: tuple[int, float]):  # noqa: F811
        return 2.0

    @wp.kernel
    def calls(x: float, out: wp.array(dtype=float)):
        i = wp.tid()
        out[0] = which((i, i))
        out[1] = which((i, x))

    out = wp.zeros(2, dtype=float)
    wp.launch(calls, 1, inputs=[1.0, out])
    assert out.list() == [1.0, 2.0]
    assert which((1, 2)) == 1.0 and which((1, 2.0)) == 2.0


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("(i, 2, 3)", r"`index` takes tuple\[int32, int32\], not \(int32, the literal 2, the literal 3\)"),
        ("(i, 2.0)", r"`index\[1\]` takes int32, not the literal 2.0"),
        ("i", r"`index` takes tuple\[int32, int32\], not int32"),
    ],
)
def test_a_tuple_that_does_not_fit_is_refused(argument, reason):
    text = f"""
import omni.warp_core as wp

@wp.func
def weighted(index: tuple[int, int]):
    return float(index[0])

@wp.kernel
def calls(out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = weighted({argument})
"""
    with pytest.raises(wp.CompileError, match=reason):
        wp.launch(wp.kernel_from_source(text), 1, inputs=[wp.zeros(1, dtype=float)])


def test_kernels_take_no_tuples():
    @wp.kernel
    def takes(pair: tuple[int, int], out: wp.array(dtype=float)):
        out[0] = float(pair[0])

    with pytest.raises(wp.CompileError, match="`pair`: a launch passes no tuples"):
        wp.launch(takes, 1, inputs=[(1, 2), wp.zeros(1, dtype=float)])


def test_grad_of_a_function_that_is_called_with_a_tuple_is_refused():
    @wp.func
    def product(t: tuple[float, float]):
        return t[0] * t[1]

    @wp.kernel
    def slopes(x: float, out: wp.array(dtype=float)):
        out[0] = wp.grad(product)((x, x))

    with pytest.raises(wp.CompileError, match=r"`product` is called with a tuple, and wp.grad gives one gradient"):
        wp.launch(slopes, 1, inputs=[1.0, wp.zeros(1, dtype=float)])
