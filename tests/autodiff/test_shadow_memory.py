"""Gradients through arrays that a kernel makes for itself, against central differences of the same in Python."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

D = wp.array(dtype=wp.float64)
STEP = 1e-6


@wp.struct
class Pair:
    a: wp.float64
    k: int


@wp.func
def polynomial(c: D, x: wp.float64):
    s = x * 0.0
    for i in range(c.shape[0]):
        s = s * x + c[i]
    return s


def ring(x: D, n: int, y: D):
    i = wp.tid()
    a = wp.zeros(shape=4, dtype=wp.float64)
    for j in range(n):
        a[j % 4] += x[i] * wp.float64(j)
        a[(j + 1) % 4] = a[j % 4] * x[i]
    y[i] = polynomial(a, x[i]) + polynomial(a[1:3], x[i] * 0.5)


def ring_judge(x, n):
    a = [0.0] * 4
    for j in range(n):
        a[j % 4] += x * j
        a[(j + 1) % 4] = a[j % 4] * x
    return np.polyval(a, x) + np.polyval(a[1:3], 0.5 * x)


def table(x: D, n: int, y: D):
    i = wp.tid()
    total = x[i]
    for j in range(n):
        m = wp.zeros(shape=(2, 3), dtype=wp.float64)  # anew in every iteration
        for k in range(6):
            m[k // 3, k % 3] = wp.sin(total * wp.float64(k))
        row = m[1]
        if total > 1.0:
            break
        total = total + row[j % 3] * m[0, (j + 1) % 3]
    y[i] = total


def table_judge(x, n):
    total = x
    for j in range(n):
        m = np.sin(total * np.arange(6)).reshape(2, 3)
        if total > 1.0:
            break
        total = total + m[1][j % 3] * m[0, (j + 1) % 3]
    return total


def records(x: D, n: int, y: D):
    i = wp.tid()
    p = wp.zeros(shape=40, dtype=Pair)
    for j in range(n):
        p[3 * j].a = x[i] * wp.float64(j)
        p[3 * j].k = j
        p[3 * j + 1] = p[3 * j]
        p[3 * j + 1].a *= p[3 * j].a
    s = x[i] * 0.0
    for q in range(40):
        s += p[q].a * wp.float64(p[q].k)
    y[i] = s


def records_judge(x, n):
    return sum(j * (x * j + (x * j) ** 2) for j in range(n))


@pytest.mark.parametrize("lanes", [None, 1, 4])
@pytest.mark.parametrize(("func", "judge"), [(ring, ring_judge), (table, table_judge), (records, records_judge)])
def test_local_array(func, judge, lanes):
    n, values = 7, np.random.default_rng(3).uniform(-1.2, 1.2, 21)
    x, y = (wp.array(v, dtype=wp.float64, requires_grad=True) for v in (values, np.zeros(21)))
    tape = wp.Tape()
    with tape:
        wp.launch(wp.kernel(func, lanes=lanes), 21, inputs=[x, n, y])
    tape.backward(grads={y: wp.ones(21, dtype=wp.float64)})
    np.testing.assert_allclose(y.numpy(), [judge(v, n) for v in values], rtol=1e-12)
    slopes = [(judge(v + STEP, n) - judge(v - STEP, n)) / (2 * STEP) for v in values]
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-6, atol=1e-6)
