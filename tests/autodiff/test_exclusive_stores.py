"""Threads that all store the same to an element: it has one gradient, which is added once."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.analysis.exclusive_stores import find_exclusive_stores
from omni.warp_core.autodiff.vjp.adjoint import _prepare
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel

F, F2, V = wp.array(dtype=float), wp.array2d(dtype=float), wp.array(dtype=wp.vec3)
LANES = [None, 1, 4, 8, 16]


@wp.struct
class Result:
    value: float
    count: int
    at: wp.vec3


@pytest.fixture(autouse=True)
def _config():
    yield
    wp.config.deterministic = False


def gradients(kernel, dim, inputs, out, seed=1.0):
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, dim, inputs=[*inputs, out])
    seeds = wp.empty_like(out, requires_grad=False)
    seeds.fill_(seed)
    tape.backward(grads={out: seeds})
    return [a.grad.numpy() for a in inputs if isinstance(a, wp.array)]


@pytest.mark.parametrize("deterministic", [False, pytest.param(True, marks=pytest.mark.cpu)])
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("threads", [1, 3, 8, 100, 10_000])
def test_a_result_of_all_threads(threads, lanes, deterministic):
    @wp.kernel(lanes=lanes)
    def result(p: F, y: F):
        y[0] = p[0] * p[0] + p[1]

    wp.config.deterministic = deterministic
    p, y = (wp.array(v, dtype=float, requires_grad=True) for v in ([3.0, 1.0], [0.0]))
    (found,) = gradients(result, threads, [p], y)
    assert found.tolist() == [6.0, 1.0]
    assert y.grad.list() == [0.0]


@pytest.mark.parametrize("lanes", LANES)
def test_rows(lanes):
    @wp.kernel(lanes=lanes)
    def rows(p: V, y: V):
        i, _ = wp.tid()
        y[i] = p[i] * p[i][0]

    p = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3, requires_grad=True)
    (found,) = gradients(rows, (2, 37), [p], wp.zeros(2, dtype=wp.vec3, requires_grad=True))
    assert found.tolist() == [[2 + 2 + 3, 1, 1], [8 + 5 + 6, 4, 4]]


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_precisions(dtype):
    @wp.kernel
    def result(p: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i // 40] = p[i // 40] * p[i // 40]

    p = wp.array([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    (found,) = gradients(result, 100, [p], wp.zeros(3, dtype=dtype, requires_grad=True))
    assert found.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("lanes", LANES)
def test_structs_and_places_from_memory(lanes):
    @wp.kernel(lanes=lanes)
    def told(p: F, group: wp.array(dtype=int), results: wp.array(dtype=Result)):
        k = group[wp.tid()]
        results[k].value = p[k] * p[k]
        results[k].count = k
        results[k].at[1] = 5.0 * p[k]

    @wp.kernel
    def read(results: wp.array(dtype=Result), y: F):
        k = wp.tid()
        y[k] = results[k].value + results[k].at[1]

    p = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    group = wp.array(np.arange(50) % 3, dtype=int)
    results, y = wp.zeros(3, dtype=Result, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(told, 50, inputs=[p, group, results])
        wp.launch(read, 3, inputs=[results, y])
    tape.backward(grads={y: wp.ones(3)})
    assert p.grad.list() == [7.0, 9.0, 11.0]


@pytest.mark.parametrize("lanes", LANES)
def test_what_is_stored_and_read_again(lanes):
    @wp.kernel(lanes=lanes)
    def again(p: F, scratch: F, y: F):
        i = wp.tid()
        scratch[0] = p[0] * p[0]
        y[i] = scratch[0] * float(i)

    p, scratch, y = (wp.array(np.ones(n), dtype=float, requires_grad=True) for n in (1, 1, 20))
    (found, _) = gradients(again, 20, [p, scratch], y)
    assert found.tolist() == [2.0 * sum(range(20))]


def test_gradients_that_end_behind_an_atomic():
    """What an exchange found in a gradient flows on."""

    @wp.kernel
    def highest(x: F, top: F):
        i = wp.tid()
        wp.atomic_max(top, 0, x[i])

    @wp.kernel
    def result(x: F, y: F):
        y[0] = x[0] * x[0]

    for step in (highest, result):
        x, loss = (wp.array(v, dtype=float, requires_grad=True) for v in ([1.0, 2.0], [0.0]))
        between = wp.zeros(1, dtype=float)
        tape = wp.Tape()
        with tape:
            wp.launch(step, 2, inputs=[x, between])
            wp.launch(result, 1, inputs=[between, loss])
        with pytest.raises(RuntimeError, match=f"which kernel `{step.name}`"):
            tape.backward(loss)


@wp.kernel
def by_thread(x: F, y: F, m: F2, n: int):
    i = wp.tid()
    y[i + n] = 1.0  # from the end where it is below zero
    m[i, 0] = 2.0
    m[i, 1] = 3.0
    row = m[i]
    row[2] = 4.0
    x[0] = 5.0


@wp.kernel
def by_two(x: F, y: F, m: F2, n: int):
    i = wp.tid()
    y[i] = 1.0
    y[i + 1] = 2.0
    part = x[n:]
    part[i] = 3.0
    m[i, i] = 4.0
    m[0, i] = 5.0


@wp.kernel
def by_grid(x: F, y: F, m: F2, n: int):
    i, j = wp.tid()
    m[j, i] = 1.0
    y[i] = 2.0
    x[i * n + j] = 3.0


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (by_thread, [("y", False), ("m", True), ("m", True), ("m", True), ("x", False)]),
        (by_two, [("y", False), ("y", False), ("x", False), ("m", True), ("m", True)]),
        (by_grid, [("m", True), ("y", False), ("x", False)]),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_stores_of_one_thread(kernel, expected):
    prepared = _prepare(lower_kernel(kernel), library_gradient, shared=False)
    owned = find_exclusive_stores(prepared, shared=False)
    found = []
    for op in prepared.body.walk():
        if op.code == "store":
            array = op.args[0]
            while array.op is not None:
                array = array.op.args[0]
            found.append((array.name, op in owned))
    assert found == expected
    assert not find_exclusive_stores(prepared, shared=True)
