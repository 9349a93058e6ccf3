"""Atomics on elements of every type, in arrays of 1 to 4 dimensions, on components and fields, and under contention."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import omni.warp_core as wp

INTEGERS = [getattr(wp, f"{u}int{b}") for u in ("", "u") for b in (8, 16, 32, 64)]
FLOATS = [wp.float16, wp.float32, wp.float64]
RULES = {
    "add": operator.add,
    "sub": operator.sub,
    "min": np.minimum,
    "max": np.maximum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "exch": lambda old, new: new,
}
BITS = ("and", "or", "xor")
SHAPES = {"scalar": (), "vec3": (3,), "mat23": (2, 3)}
CASES = [
    (kind, dtype, shape)
    for kind in RULES
    for dtype in (INTEGERS if kind in BITS else [*INTEGERS, *FLOATS])
    for shape in SHAPES
]
RUNS = [("release", *case) for case in CASES]
RUNS += [("interpret", *case) for case in CASES if case[1] not in INTEGERS[:-1]]  # one integer type stands for all


def element_type(dtype, shape):
    if not SHAPES[shape]:
        return dtype
    return wp.types.vector(3, dtype) if shape == "vec3" else wp.types.matrix((2, 3), dtype)


def numpy_type(dtype):
    return np.dtype(dtype.__name__)


def operands(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    data = rng.integers(1, 100, size=(5, *SHAPES[shape]))
    return data.astype(numpy_type(dtype))


def updating(kind, element):
    update = getattr(wp, f"atomic_{kind}")

    @wp.kernel
    def run(a: wp.array(dtype=element), b: wp.array(dtype=element), old: wp.array(dtype=element)):
        i = wp.tid()
        old[i] = update(a, i, b[i])

    return run


@pytest.mark.parametrize(("mode", "kind", "dtype", "shape"), RUNS, ids=lambda x: getattr(x, "__name__", x))
def test_each_kind_on_each_type(mode, kind, dtype, shape, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", mode)
    element = element_type(dtype, shape)
    x, y = operands(dtype, shape, 1), operands(dtype, shape, 2)
    a, b, old = wp.array(x, dtype=element), wp.array(y, dtype=element), wp.zeros(5, dtype=element)
    wp.launch(updating(kind, element), dim=5, inputs=[a, b, old])
    assert np.array_equal(old.numpy(), x)
    assert np.array_equal(a.numpy(), RULES[kind](x, y).astype(x.dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=lambda t: t.__name__)
def test_compare_and_swap(dtype):
    @wp.kernel
    def swap(a: wp.array(dtype=dtype), old: wp.array(dtype=dtype)):
        i = wp.tid()
        old[i] = wp.atomic_cas(a, i, dtype(2), dtype(9))

    a, old = wp.array([1, 2, 3, 2], dtype=dtype), wp.zeros(4, dtype=dtype)
    wp.launch(swap, dim=4, inputs=[a, old])
    assert a.numpy().tolist() == [1, 9, 3, 9]
    assert old.numpy().tolist() == [1, 2, 3, 2]


THREADS = 20_000


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=lambda t: t.__name__)
def test_totals_under_contention(dtype):
    """Every thread counts once; small integers wrap."""
    threads = 2000 if dtype is wp.float16 else THREADS  # up to where it has all integers

    @wp.kernel
    def count(total: wp.array(dtype=dtype), least: wp.array(dtype=dtype), most: wp.array(dtype=dtype)):
        i = wp.tid()
        wp.atomic_add(total, 0, dtype(1))
        wp.atomic_min(least, 0, dtype(100 - i % 100))
        wp.atomic_max(most, 0, dtype(i % 100))

    total, least, most = wp.zeros(1, dtype=dtype), wp.full(1, 101, dtype=dtype), wp.zeros(1, dtype=dtype)
    wp.launch(count, dim=threads, inputs=[total, least, most])
    assert total.numpy()[0] == np.array(threads).astype(numpy_type(dtype))
    assert (least.numpy()[0], most.numpy()[0]) == (1, 99)


def test_old_values_are_a_permutation():
    @wp.kernel
    def take(counter: wp.array(dtype=int), ticket: wp.array(dtype=int)):
        ticket[wp.tid()] = wp.atomic_add(counter, 0, 1)

    ticket = wp.zeros(THREADS, dtype=int)
    wp.launch(take, dim=THREADS, inputs=[wp.zeros(1, dtype=int), ticket])
    assert np.array_equal(np.sort(ticket.numpy()), np.arange(THREADS))


def test_bits_and_exchanges_under_contention():
    @wp.kernel
    def mix(bits: wp.array(dtype=wp.uint64), last: wp.array(dtype=int), sum_of_old: wp.array(dtype=wp.int64)):
        i = wp.tid()
        wp.atomic_or(bits, 0, wp.uint64(1) << wp.uint64(i % 64))
        wp.atomic_and(bits, 1, ~(wp.uint64(1) << wp.uint64(i % 64)))
        wp.atomic_xor(bits, 2, wp.uint64(i))
        wp.atomic_add(sum_of_old, 0, wp.int64(wp.atomic_exch(last, 0, i)))

    bits = wp.array(np.array([0, 2**64 - 1, 0], dtype=np.uint64), dtype=wp.uint64)
    last, sum_of_old = wp.zeros(1, dtype=int), wp.zeros(1, dtype=wp.int64)
    wp.launch(mix, dim=THREADS, inputs=[bits, last, sum_of_old])
    assert bits.numpy().tolist() == [2**64 - 1, 0, np.bitwise_xor.reduce(np.arange(THREADS, dtype=np.uint64))]
    # every value that was put in came out again, but for the last one
    assert sum_of_old.numpy()[0] + last.numpy()[0] == sum(range(THREADS))


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_arrays_of_all_dimensions(ndim):
    indices = ", ".join(f"i // {4**k} % 4" for k in range(ndim))
    text = f"""
@wp.kernel
def scatter(a: wp.array(dtype=wp.vec2, ndim={ndim})):
    i = wp.tid()
    wp.atomic_add(a, {indices}, wp.vec2(1.0, float(i)))
"""
    kernel = wp.kernel_from_source(text, namespace={"wp": wp})
    a = wp.zeros((4,) * ndim, dtype=wp.vec2)
    wp.launch(kernel, dim=1024, inputs=[a])
    expected = np.zeros((*(4,) * ndim, 2))
    for i in range(1024):
        expected[tuple(i // 4**k % 4 for k in range(ndim))] += [1.0, i]
    assert np.array_equal(a.numpy(), expected)


def test_quaternions_and_transforms_add_by_components():
    @wp.kernel
    def add(q: wp.array(dtype=wp.quat), t: wp.array(dtype=wp.transformd)):
        wp.atomic_add(q, 0, wp.quat(1.0, 2.0, 3.0, 4.0))
        p = wp.vec3d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0))
        wp.atomic_sub(t, 0, wp.transformd(p, wp.quat_identity(dtype=wp.float64)))

    q, t = wp.zeros(1, dtype=wp.quat), wp.zeros(1, dtype=wp.transformd)
    wp.launch(add, dim=100, inputs=[q, t])
    assert q.numpy().tolist() == [[100.0, 200.0, 300.0, 400.0]]
    assert t.numpy().tolist() == [[-100.0, -200.0, -300.0, 0.0, 0.0, 0.0, -100.0]]


@wp.struct
class Cell:
    count: int
    weight: wp.vec2


def test_fields_and_components_by_operators():
    @wp.kernel
    def count(cells: wp.array(dtype=Cell), v: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        cells[i % 3].count += 1
        cells[i % 3].weight[1] += 2.0
        v[0][i % 3] += 1.0
        v[1].z -= 1.0

    cells, v = wp.zeros(3, dtype=Cell), wp.zeros(2, dtype=wp.vec3)
    wp.launch(count, dim=3000, inputs=[cells, v])
    assert [c.count for c in cells.list()] == [1000] * 3
    assert [list(c.weight) for c in cells.list()] == [[0.0, 2000.0]] * 3
    assert v.numpy().tolist() == [[1000.0] * 3, [0.0, 0.0, -3000.0]]
