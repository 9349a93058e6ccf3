"""Gradients of loops over integers of every type, against the same loops in Python."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.trip_count import backwards, times
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import I32

D = wp.array(dtype=wp.float64)
SIGNED = (wp.int8, wp.int16, wp.int32, wp.int64)
UNSIGNED = (wp.uint8, wp.uint16, wp.uint32, wp.uint64)
STEP = 1e-6
SPAN = 3


def _kernel(t, leaves: bool):
    @wp.kernel
    def counted(x: D, low: int, high: int, step: int, last: int, y: D):
        i = wp.tid()
        s = x[i]
        for j in range(t(low), t(high), t(step)):
            s = s * x[int(j) & 1] + wp.sin(x[i])
            if wp.static(leaves) and int(j) == last:
                break
        y[i] = s

    return counted


def _judge(x, indices, last):
    s = x.copy()
    for j in indices:
        s = s * x[j & 1] + np.sin(x)
        if j == last:
            break
    return s


def _differences(f, x):
    return sum((f(x + STEP * e) - f(x - STEP * e)) / (2 * STEP) * e for e in np.eye(SPAN))


CASES = [(t, 2, 9, 3) for t in (*SIGNED, *UNSIGNED)] + [
    *((t, 4, -5, -2) for t in SIGNED),
    *((t, 5, 5, 1) for t in UNSIGNED),
    (wp.int8, -128, 127, 1),
    (wp.int8, 127, -128, -1),
    (wp.uint8, 0, 255, 1),
    (wp.uint8, 3, 255, 84),
    (wp.int32, -(2**31), 2**31 - 1, 2**30),
]


@pytest.mark.parametrize("last", [None, 2], ids=["whole", "left"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1]}-{case[2]}-{case[3]}")
def test_ranges_of_all_integers(case, last):
    t, low, high, step = case
    start = np.array([0.5, 0.6, 0.4])
    x = wp.array(start, dtype=wp.float64, requires_grad=True)
    y = wp.zeros(SPAN, dtype=wp.float64, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(_kernel(t, last is not None), SPAN, inputs=[x, low, high, step, last or 0, y])
    tape.backward(grads={y: wp.ones(SPAN, dtype=wp.float64)})
    indices = range(low, high, step)
    assert np.allclose(y.numpy(), _judge(start, indices, last))
    expected = _differences(lambda at: _judge(at, indices, last).sum(), start)
    assert np.allclose(x.grad.numpy(), expected, rtol=1e-7, atol=1e-8)


def test_a_loop_over_more_numbers_than_its_type_counts_can_be_left():
    @wp.kernel
    def search(x: D, low: int, high: int, y: D):
        s = wp.float64(1.0)
        for j in range(low, high):
            s = s * x[0]
            if j >= low + 2:
                break
        y[0] = s

    x, y = (wp.array([3.0], dtype=wp.float64, requires_grad=True) for _ in range(2))
    tape = wp.Tape()
    with tape:
        wp.launch(search, 1, inputs=[x, -(2**31), 2**31 - 1, y])
    tape.backward(y)
    assert (y.list(), x.grad.list()) == ([27.0], [27.0])


@pytest.mark.parametrize("lanes", [None, 1])
@pytest.mark.parametrize(
    "t, low, high, step",
    [
        (wp.int64, 2**63 - 10, 2**63 - 1, 4),
        (wp.int64, -(2**63) + 3, -(2**63), -2),
        (wp.int64, -(2**63), 2**63 - 1, 2**62),
        (wp.uint64, 2**63 - 4, 2**63 + 4, 3),
        (wp.uint64, 2**64 - 9, 2**64 - 1, 5),
        (wp.uint64, 0, 10, 2**64 - 2),
        (wp.uint64, 10, 0, 2**64 - 2),
        (wp.int32, 2**31 - 9, 2**31 - 1, 5),
    ],
)
def test_ranges_to_the_ends_of_their_types(t, low, high, step, lanes):
    def k(bounds: wp.array2d(dtype=t), x: D, y: D):
        i = wp.tid()
        for _ in range(bounds[i, 0], bounds[i, 1], bounds[i, 2]):
            y[i] += x[i]
            if y[i] > 100.0:
                return
        for _ in range(bounds[0, 0], bounds[i, 1], bounds[0, 2]):
            y[i] += x[i]
            if y[i] > 100.0:
                return
        for _ in range(bounds[0, 0], bounds[0, 1], bounds[0, 2]):
            y[i] += x[i]
            if y[i] > 100.0:
                return
        for _ in range(bounds[0, 0], bounds[0, 1], t(wp.static(step))):
            y[i] += x[i]
            if y[i] > 100.0:
                return

    times = 4 * len(range(low, high, step))
    bounds = wp.array(np.array([[low, high, step]] * SPAN, dtype=wp.dtype_to_numpy(t)), dtype=t)
    x, y = (make(SPAN, dtype=wp.float64, requires_grad=True) for make in (wp.ones, wp.zeros))
    tape = wp.Tape()
    with tape:
        wp.launch(wp.kernel(k, lanes=lanes), SPAN, inputs=[bounds, x, y])
    tape.backward(grads={y: wp.ones(SPAN, dtype=wp.float64)})
    assert y.numpy().tolist() == x.grad.numpy().tolist() == [times] * SPAN


LOWEST, HIGHEST = -(2**31), 2**31 - 1
RANGES = [
    (LOWEST, HIGHEST, 1),
    (HIGHEST, LOWEST, -1),
    (HIGHEST, -1, -1),
    (LOWEST, HIGHEST, 2),
    (LOWEST + 5, HIGHEST - 7, 3),
    (-(2**30), 2**30 + 6, 1),
    (0, HIGHEST, 1),
    (-3, 4, 1),
    (4, -3, -2),
    (5, 5, 1),
    (HIGHEST, LOWEST, 1),
]


@pytest.mark.parametrize("known", ["", "step", "low step", "high step"])
@pytest.mark.parametrize("case", RANGES, ids=str)
def test_reversed_ranges_have_all_iterations(case, known):
    """As many as Python counts, from the last index to the first; known: what the kernel has as a constant."""
    names = ("low", "high", "step")
    fn = Function("reversed", [Value(I32, name=n) for n in names], results=(I32,) * 4)
    b = Builder(fn)
    given = [b.i32(x) if n in known.split() else p for n, x, p in zip(names, case, fn.params)]
    (start, end, step), index = backwards(b, *given)
    b.terminate("return", [start, end, index(start), index(b.op("add", end, b.i32(1)))])
    start, end, first, last = interp.call(fn, list(case))
    indices = range(*case)
    assert (step.const, len(range(start, end, -1))) == (-1, len(indices))
    assert not indices or (first, last) == (indices[-1], indices[0])


def test_a_loop_counts_more_iterations_than_int32_has_numbers_above_zero():
    fn = Function("counted", [Value(I32, name="count")], results=(I32, I32))
    b = Builder(fn)
    b.terminate("return", times(b, fn.params[0])[:2])
    for count in (0, 1, 2**31 - 1, 2**31, 2**31 + 5, 2**32 - 1):
        start, end = interp.call(fn, [(count + 2**31) % 2**32 - 2**31])
        assert len(range(start, end, -1)) == count
