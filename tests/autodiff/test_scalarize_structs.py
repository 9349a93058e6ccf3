"""Structs that hold arrays, whose other members change in loops and branches: against central differences.

That nothing else of what they do is lost, such as writes through the arrays, is held by the random programs, which have
such structs as well.
"""

from __future__ import annotations

import random

import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.analysis.scalarize_structs import scalarize
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir import verifier
from omni.warp_core.lang.types import Array
from omni.warp_core.passes.inline import inline_calls
from omni.warp_core.passes.simplify import simplify
from tests.autodiff import reference_gradients

F = wp.array(dtype=wp.float64)


@wp.struct
class Table:
    scale: wp.float64
    values: F
    hits: int


@wp.struct
class Pair:
    first: Table
    v: wp.vec3d
    second: F


@wp.kernel
def written(x: F, n: int, y: F, z: F):
    i = wp.tid()
    h = Table()
    h.scale, h.values = x[i], z
    for _ in range(n):
        y[i] += h.values[i] * h.values[i] * h.scale
        h.scale = h.scale * wp.float64(1.5)
        z[i] = z[i] + x[i]


@wp.kernel
def left(x: F, n: int, y: F, z: F):
    i = wp.tid()
    h = Table(x[i], x, 0)
    for k in range(2 * n):
        if h.scale > wp.float64(3.0):
            break
        if k == 1:
            h.hits += 1
            continue
        h.scale *= wp.float64(1.5) + h.values[k]
        y[i] += h.values[i] * h.values[i + 1] * h.scale
    y[i] += h.values[h.hits] * h.scale


@wp.func
def advanced(h: Table, k: int):
    g = h
    if g.scale > wp.float64(2.0):
        g.scale = wp.float64(0.5) * g.scale
        return g
    while g.scale < wp.float64(1.0):
        g.scale += wp.exp(g.values[k])
        g.hits += 1
    return g


@wp.kernel
def nested(x: F, n: int, y: F, z: F):
    i = wp.tid()
    p = Pair()
    p.first.scale, p.first.values = x[i], x
    p.second = z
    for k in range(n):
        p.first = advanced(p.first, k)
        p.v[k % 3] += p.first.scale * p.second[i]
        p.second[i] = wp.sin(p.v[0] + p.v[1])
        if p.v[0] > wp.float64(5.0):
            return
        for j in range(k + 1):
            p.first.scale += wp.float64(0.1) * p.first.values[j]
            p.first.hits -= 1
    y[i] += p.v[0] * p.v[1] + p.first.scale + p.first.values[0]


@wp.kernel
def endless(x: F, n: int, y: F, z: F):
    i = wp.tid()
    h = Table(x[i], x, 0)
    g = h
    k = 0
    while True:
        k += 1
        if k > n:
            break
        g.scale = g.scale * wp.cos(g.values[k]) + h.values[k]
        y[i] += g.scale


@wp.kernel
def chosen(x: F, n: int, y: F, z: F):
    """The arrays differ from branch to branch, and not from iteration to iteration."""
    i = wp.tid()
    h = Table(x[i], x, 0)
    if i > 0:
        h.values = x[i:]
        h.scale = x[i] * x[i]
    for k in range(n):
        h.scale += h.values[k] * h.scale
    y[i] += h.scale


KERNELS = (written, left, nested, endless, chosen)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.key)
@pytest.mark.parametrize("seed", range(3))
def test_gradient(kernel, seed):
    values, r = reference_gradients.inputs(seed), random.Random(seed)
    weights = {name: [r.uniform(-1.0, 1.0) for _ in values[name]] for name in "yz"}
    found = reference_gradients.interpreted(kernel, reference_gradients.THREADS, values, weights)
    assert reference_gradients.compare(lower_kernel(kernel), values, weights, found) == reference_gradients.Verdict(
        "right"
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.key)
def test_loops_carry_no_array(kernel):
    parted = scalarize(simplify(inline_calls(lower_kernel(kernel), lambda callee: not callee.is_library)))
    verifier.verify(parted)
    loops = [op for op in parted.body.walk() if op.code in ("for", "loop")]
    assert loops
    assert not [p for op in loops for p in op.regions[0].params if isinstance(p.type, Array)]


def test_launches():
    """Compiled, on a tape: a struct from outside, to which the kernel adds up what it reads through the array in it."""

    @wp.kernel
    def decay(given: Table, y: F):
        i = wp.tid()
        h = given
        for k in range(given.hits):
            y[i] += h.scale * h.values[i + k]
            h.scale *= wp.float64(0.5)

    given = Table()
    given.scale, given.hits = 2.0, 3
    given.values = wp.array([1.0, 2.0, 3.0, 4.0], dtype=wp.float64, requires_grad=True)
    y = wp.zeros(2, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(decay, 2, [given, y])
    tape.backward(grads={y: wp.array([1.0, 10.0], dtype=wp.float64)})
    assert y.list() == [5.5, 9.0]
    assert given.values.grad.list() == [2.0, 21.0, 10.5, 5.0]
