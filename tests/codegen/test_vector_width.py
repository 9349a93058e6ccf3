"""Kernels that fit twice into the registers, and gain from it, get two registers of lanes, and others get one.

Kernels that go through rows of different length get one lane.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.codegen import row_loops
from omni.warp_core.codegen.cpu.native_calls import SYMBOLS
from omni.warp_core.codegen.target import x86
from omni.warp_core.codegen.vector_width import preferred_lanes
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.builder import Builder
from omni.warp_core.ir.nodes import Function, Value
from omni.warp_core.lang.types import F32, I32, Array
from omni.warp_core.passes import pipeline

_TARGET = x86("avx512")


def _chains(count: int, length: int) -> Function:
    """`count` values, each squared `length` times, summed at the end: all alive throughout."""
    fn = Function("chains", [Value(Array(F32), name="x")], is_kernel=True)
    (x,) = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    values = [b.op("load", x, b.op("add", i, b.i32(k)), attr=()) for k in range(count)]
    for _ in range(length):
        values = [b.op("mul", v, v) for v in values]
    total = values[0]
    for v in values[1:]:
        total = b.op("add", total, v)
    b.op("store", x, i, total, attr=())
    b.terminate("return")
    return fn


@pytest.mark.parametrize(
    ("count", "length", "lanes"),
    [
        (4, 10, 32),  # long chains of few values
        (1, 3, 16),  # nothing to overlap
        (30, 10, 16),  # the registers are full with one group
        (4, 200, 16),  # too large to compile twice as wide
    ],
)
def test_lanes(count, length, lanes):
    assert preferred_lanes(_chains(count, length), _TARGET, {}) == lanes


@pytest.mark.parametrize(("size", "lanes"), [(1, 1), (3, 4), (16, 16), (100, 16)])
def test_blocks_of_one_thread_have_as_many_lanes_as_a_tile_fills(size, lanes):
    @wp.kernel
    def doubled(x: wp.array2d[float]):
        i = wp.tid()
        t = wp.tile_load(x[i], shape=size)
        wp.tile_store(x[i], t + t)

    assert preferred_lanes(pipeline.run(lower_kernel(doubled, 1)), _TARGET, {}) == lanes


def _sums(count: int, kind: str) -> Function:
    """`count` values that are alive together, four of which are added to an element."""
    fn = Function("sums", [Value(Array(F32), name="x"), Value(Array(I32), name="k"), Value(Array(F32))], is_kernel=True)
    x, k, out = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    values = [b.op("load", x, b.op("add", i, b.i32(k)), attr=()) for k in range(count)]
    at = {
        "of the launch": b.i32(0),
        "of all lanes": b.op("load", k, b.i32(0), attr=()),
        "of each lane": b.op("load", k, i, attr=()),
    }[kind]
    for v in values:
        b.op("store", x, i, b.op("mul", v, v), attr=())
    for v in values[:4]:
        b.op("atomic", out, at, v, attr=("add", ()))
    b.terminate("return")
    return fn


@pytest.mark.parametrize(
    ("count", "kind", "lanes"),
    [
        (20, "of all lanes", 32),  # spilling costs less than bringing together twice
        (20, "of each lane", 16),
        (20, "of the launch", 16),  # brought together once, at the end
        (30, "of all lanes", 16),
    ],
)
def test_lanes_that_add_to_one_element(count, kind, lanes):
    assert preferred_lanes(_sums(count, kind), _TARGET, {}) == lanes


@wp.kernel
def multiply_rows(
    first: wp.array[int], column: wp.array[int], a: wp.array[float], x: wp.array[float], y: wp.array[float]
):
    i = wp.tid()
    total = 0.0
    for k in range(first[i], first[i + 1]):
        total += a[k] * x[column[k]]
    y[i] = total


@wp.func
def entry(k: int, column: wp.array[int], a: wp.array[float], x: wp.array[float]):
    return a[k] * x[column[k]]


@wp.kernel
def multiply_rows_of_counts(
    first: wp.array[int], column: wp.array[int], a: wp.array[float], x: wp.array[float], y: wp.array[float]
):
    i = wp.tid()
    begin = first[i]
    for k in range(first[i + 1] - begin):
        y[i] = y[i] + entry(begin + k, column, a, x)


@wp.kernel
def smooth(first: wp.array[int], column: wp.array[int], a: wp.array[float], x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    total = 0.0
    for k in range(first[i], first[i + 1]):
        total += a[k] * wp.exp(-x[column[k]]) * wp.sin(x[column[k]])
    y[i] = total


@wp.kernel
def series(first: wp.array[int], column: wp.array[int], a: wp.array[float], x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    total = 0.0
    for k in range(first[i], first[i + 1]):
        total += 1.0 / (1.0 + float(k))
    y[i] = total


@wp.kernel
def same_length(
    first: wp.array[int], column: wp.array[int], a: wp.array[float], x: wp.array[float], y: wp.array[float]
):
    i = wp.tid()
    total = 0.0
    for k in range(first[0]):
        total += a[k] * x[column[k]]
    y[i] = total


@pytest.mark.parametrize(
    ("kernel", "one_lane"),
    [
        (multiply_rows, True),
        (multiply_rows_of_counts, True),
        (smooth, False),  # lanes share the functions
        (series, False),  # reads nothing of the row
        (same_length, False),  # all threads go through the same elements
    ],
)
def test_rows_of_different_length(kernel, one_lane):
    assert (preferred_lanes(pipeline.run(lower_kernel(kernel)), _TARGET, {}) == 1) is one_lane


@wp.kernel
def density(grid: wp.uint64, points: wp.array[wp.vec3], r: float, out: wp.array[float]):
    i = wp.tid()
    query = wp.hash_grid_query(grid, points[i], r)
    j, total = 0, 0.0
    while wp.hash_grid_query_next(query, j):
        total += wp.max(r * r - wp.length_sq(points[i] - points[j]), 0.0)
    out[i] = total


@wp.kernel
def forces(grid: wp.uint64, points: wp.array[wp.vec3], r: float, out: wp.array[float]):
    i = wp.tid()
    query = wp.hash_grid_query(grid, points[i], r)
    j, total = 0, 0.0
    while wp.hash_grid_query_next(query, j):
        away = points[i] - points[j]
        d = wp.length(away) / r
        total += wp.length(away / d + away / (1.0 + d) / (2.0 + d)) / (3.0 + d) + 1.0 / (4.0 + d)
    out[i] = total


@wp.kernel
def faces_near(mesh: wp.uint64, points: wp.array[wp.vec3], r: float, out: wp.array[float]):
    i = wp.tid()
    query = wp.mesh_query_aabb(mesh, points[i] - wp.vec3(r), points[i] + wp.vec3(r))
    face, count = 0, 0.0
    while wp.mesh_query_aabb_next(query, face):
        count += 1.0
    out[i] = count


@wp.kernel
def hits(mesh: wp.uint64, points: wp.array[wp.vec3], r: float, out: wp.array[float]):
    i = wp.tid()
    out[i] = wp.mesh_query_ray(mesh, points[i], wp.vec3(0.0, 0.0, 1.0), r).t


@pytest.mark.parametrize(("kernel", "one_lane"), [(density, True), (forces, False), (faces_near, True), (hits, False)])
def test_walks_through_neighbours_and_faces(kernel, one_lane):
    """Queries that find one thing after the other run on one lane, unless each takes much arithmetic."""
    options = pipeline.PassOptions(native=frozenset(SYMBOLS))
    assert (preferred_lanes(pipeline.run(lower_kernel(kernel), options), _TARGET, {}) == 1) is one_lane


def test_rows_of_different_length_are_multiplied():
    rng = np.random.default_rng(3)
    lengths = rng.integers(0, 20, 77)
    first = np.concatenate([[0], np.cumsum(lengths)])
    column, a, x = rng.integers(0, 77, first[-1]), rng.random(first[-1]), rng.random(77)
    dense = np.zeros((77, 77))
    np.add.at(dense, (np.repeat(np.arange(77), lengths), column), a)
    for kernel in (multiply_rows, multiply_rows_of_counts):
        y = wp.zeros(77)
        wp.launch(
            kernel,
            77,
            [wp.array(first, dtype=int), wp.array(column, dtype=int), *(wp.array(v, dtype=float) for v in (a, x)), y],
        )
        np.testing.assert_allclose(y.numpy(), dense @ x, rtol=1e-5)


def test_a_bound_that_doubles_again_and_again_is_looked_at_once():
    fn = Function("doubles", [Value(Array(I32), name="x")], is_kernel=True)
    (x,) = fn.params
    b = Builder(fn)
    i = b.op("tid", attr=(0, 1))
    bound = i
    for _ in range(200):  # as many paths as 2 to the 200th
        bound = b.op("add", bound, bound)
    assert not row_loops._is_loaded(bound)
    assert row_loops._is_loaded(b.op("add", bound, b.op("load", x, i, attr=())))
