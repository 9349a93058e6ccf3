"""Gradients and tangents of kernels that sum over neighbours, against differences of the same sums in float64."""

import gc
from itertools import pairwise

import numpy as np
import pytest

import omni.warp_core as wp

RADIUS, STEP = 0.7, 0.05


@wp.kernel
def energy(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, points[i], radius)
    index, total = 0, 0.0
    while wp.hash_grid_query_next(query, index):
        rest = radius * radius - wp.length_sq(points[i] - points[index])
        if rest > 0.0:
            total += rest * rest * rest
    out[i] = total


@wp.kernel
def push(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    radius: float,
    stiffness: wp.array(dtype=float),
    moved: wp.array(dtype=wp.vec3),
):
    """Move each point away from its neighbours; threads take them in the order of the cells."""
    i = wp.hash_grid_point_id(grid, wp.tid())
    here, force = points[i], wp.vec3()
    query = wp.hash_grid_query(grid, here, radius)
    index = 0
    while wp.hash_grid_query_next(query, index):
        apart = here - points[index]
        rest = radius * radius - wp.length_sq(apart)
        if rest > 0.0:
            force += stiffness[index] * rest * rest * apart
    moved[i] = here + STEP * force


def exact_energy(x):
    rest = np.maximum(RADIUS**2 - ((x[:, None] - x[None]) ** 2).sum(2), 0)
    return (rest**3).sum(1)


def exact_push(x, stiffness):
    apart = x[:, None] - x[None]
    rest = np.maximum(RADIUS**2 - (apart**2).sum(2), 0)
    return x + STEP * ((stiffness[None] * rest**2)[:, :, None] * apart).sum(1)


def differences(f, x, h=1e-5):
    """The gradient of a number with respect to an array."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        found[place] = (f(up) - f(down)) / (2 * h)
    return found


def cloud(n=40, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, (n, 3)).astype(np.float32)


def device_array(x, dtype) -> wp.array:
    return wp.array(np.asarray(x, np.float32), dtype=dtype, requires_grad=True)


def nothing(grid):
    pass


def build_again(grid):
    grid.build(wp.zeros(7, dtype=wp.vec3), 5.0)


def build_larger(grid):
    grid.build(wp.zeros(5000, dtype=wp.vec3), 0.1)
    wp.zeros(20_000, dtype=int).fill_(-3)


def build_empty(grid):
    grid.build(wp.zeros(0, dtype=wp.vec3), 0.1)


@pytest.mark.parametrize("later", [nothing, build_again, build_larger, build_empty])
def test_a_sum_over_neighbours(later):
    """Backward finds the points as they were, and leaves the grid as it is."""
    x, weights = cloud(), np.random.default_rng(2).normal(size=40)
    points, out = device_array(x, wp.vec3), wp.zeros(40, dtype=float, requires_grad=True)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(points, RADIUS)
    with wp.Tape() as tape:
        wp.launch(energy, 40, [grid.id, points, RADIUS, out])
    later(grid)
    now = visited(grid)
    for _ in range(2):
        tape.backward(grads={out: wp.array(weights, dtype=float)})
        expected = differences(lambda x: exact_energy(x) @ weights, x.astype(float))
        np.testing.assert_allclose(points.grad.numpy(), expected, atol=3e-6)
        assert visited(grid) == now
        tape.zero()


@wp.kernel
def in_order(grid: wp.uint64, order: wp.array(dtype=int)):
    order[wp.tid()] = wp.hash_grid_point_id(grid, wp.tid())


def visited(grid) -> list[int]:
    order = wp.zeros(5000, dtype=int)
    wp.launch(in_order, 5000, [grid.id, order])
    return order.list()


def simulate(grid, start, stiffness, steps):
    """Steps that build the same grid again and again."""
    states = [start, *(wp.zeros_like(start) for _ in range(steps))]
    for a, b in pairwise(states):
        grid.build(a, RADIUS)
        wp.launch(push, a.size, [grid.id, a, RADIUS, stiffness, b])
    return states[-1]


def exact_end(x, stiffness, steps):
    for _ in range(steps):
        x = exact_push(x, stiffness)
    return x


@pytest.mark.parametrize("steps", [1, 4])
def test_a_simulation_that_builds_at_every_step(steps):
    x, rng = cloud(30), np.random.default_rng(3)
    k, weights = rng.uniform(1, 3, 30).astype(np.float32), rng.normal(size=(30, 3)).astype(np.float32)
    start, stiffness, grid = device_array(x, wp.vec3), device_array(k, float), wp.HashGrid(3, 4, 5)
    with wp.Tape() as tape:
        end = simulate(grid, start, stiffness, steps)
    del grid
    gc.collect()
    np.testing.assert_allclose(end.numpy(), exact_end(x.astype(float), k, steps), atol=1e-5)
    tape.backward(grads={end: wp.array(weights, dtype=wp.vec3)})
    by_x = differences(lambda x: (exact_end(x, k, steps) * weights).sum(), x.astype(float))
    by_k = differences(lambda k: (exact_end(x.astype(float), k, steps) * weights).sum(), k.astype(float))
    np.testing.assert_allclose(start.grad.numpy(), by_x, atol=2e-5)
    np.testing.assert_allclose(stiffness.grad.numpy(), by_k, atol=2e-5)


def test_forward_mode():
    x, rng = cloud(30), np.random.default_rng(4)
    direction, k = rng.normal(size=(30, 3)).astype(np.float32), np.ones(30, np.float32)
    start, stiffness, grid = wp.array(x, dtype=wp.vec3), wp.array(k), wp.HashGrid(3, 4, 5)
    grid.build(start, RADIUS)
    out = wp.zeros(30, dtype=float)
    (tangent,) = wp.jvp(
        energy, 30, [grid.id, start, RADIUS], [out], [None, wp.array(direction, dtype=wp.vec3), None, None]
    )
    exact = x.astype(float)
    slope = (exact_energy(exact + 1e-5 * direction) - exact_energy(exact - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(tangent.numpy(), slope, atol=5e-6)
    _, moved = wp.jvp(lambda a: simulate(grid, a, stiffness, 3), (start,), (wp.array(direction, dtype=wp.vec3),))
    ends = [exact_end(exact + h * direction, k, 3) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(moved.numpy(), (ends[0] - ends[1]) / 2e-5, atol=2e-5)


@wp.kernel
def energy_of_any(grids: wp.array(dtype=wp.uint64), points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    if grids[0] == wp.uint64(0):
        out[i] = wp.length_sq(points[i])
    else:
        query = wp.hash_grid_query(grids[0], points[i], RADIUS)
        index = 0
        while wp.hash_grid_query_next(query, index):
            out[i] += wp.max(RADIUS * RADIUS - wp.length_sq(points[i] - points[index]), 0.0) ** 3.0


def test_ids_in_arrays():
    """The tape does not see which grid a kernel uses, and the first launch uses none."""
    x = cloud(20)
    points, ids = device_array(x, wp.vec3), wp.zeros(1, dtype=wp.uint64)
    for _ in range(2):
        before, out = wp.zeros(20, dtype=float, requires_grad=True), wp.zeros(20, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(energy_of_any, 20, [ids, points, before])
            grids = [wp.HashGrid(2, 2, 2) for _ in range(2)]
            for grid in grids:
                grid.build(points, RADIUS)
            ids.fill_(grids[1].id)
            wp.launch(energy_of_any, 20, [ids, points, out])
            grids[1].build(wp.zeros(3, dtype=wp.vec3), 1.0)
        ids.zero_()
        tape.backward(grads={out: wp.ones(20, dtype=float)})
        expected = differences(lambda x: exact_energy(x).sum(), x.astype(float))
        np.testing.assert_allclose(points.grad.numpy(), expected, atol=3e-6)
        tape.zero()


def test_a_tape_without_room_for_the_grid():
    points, out = device_array(cloud(), wp.vec3), wp.zeros(40, dtype=float, requires_grad=True)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(points, RADIUS)
    tape = wp.Tape(memory_budget=8)
    with tape:
        wp.launch(energy, 40, [grid.id, points, RADIUS, out])
    build_again(grid)
    with pytest.raises(RuntimeError, match=r"needs `(cell_starts|point_ids|xs|ys|zs)`.*tape keeps 0 of the 8"):
        tape.backward(grads={out: wp.ones(40, dtype=float)})


def test_recording_in_a_capture():
    """CPUs find the grid while a graph is captured; GPUs, whose memory cannot be read then, refuse."""
    x = cloud()
    points, out = device_array(x, wp.vec3), wp.zeros(40, dtype=float, requires_grad=True)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(points, RADIUS)
    if wp.get_device().is_cuda:
        text = "recording kernel `energy`, whose gradient needs structures .*, while a graph is captured"
        with wp.ScopedCapture(), pytest.raises(RuntimeError, match=text), wp.Tape():
            wp.launch(energy, 40, [grid.id, points, RADIUS, out])
        return
    with wp.ScopedCapture() as capture, wp.Tape() as tape:
        wp.launch(energy, 40, [grid.id, points, RADIUS, out])
        tape.backward(grads={out: wp.ones(40, dtype=float)})
    points.grad.zero_()
    wp.capture_launch(capture.graph)
    expected = differences(lambda x: exact_energy(x).sum(), x.astype(float))
    np.testing.assert_allclose(points.grad.numpy(), expected, atol=3e-6)


@wp.kernel(lanes=1)
def energy_and_counts(
    grid: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    visits: wp.array(dtype=int),
    near: wp.array(dtype=int),
    out: wp.array(dtype=float),
):
    """Integers that the kernel writes might be those of the grid, as far as the compiler knows."""
    i = wp.tid()
    query = wp.hash_grid_query(grid, points[i], RADIUS)
    index, found = 0, 0
    while wp.hash_grid_query_next(query, index):
        visits[index] += 1
        rest = RADIUS * RADIUS - wp.length_sq(points[i] - points[index])
        if rest > 0.0:
            found += 1
            out[i] += rest * rest * rest
    near[i] = found


def test_a_kernel_that_counts_too():
    x = cloud()
    points, out = device_array(x, wp.vec3), wp.zeros(40, dtype=float, requires_grad=True)
    visits, near = wp.zeros((2, 40), dtype=int)
    grid = wp.HashGrid(4, 4, 4)
    with wp.Tape() as tape:
        for _ in range(2):
            grid.build(points, RADIUS)
            wp.launch(energy_and_counts, 40, [grid.id, points, visits, near, out])
    counts = near.list()
    build_again(grid)
    tape.backward(grads={out: wp.ones(40, dtype=float)})
    expected = differences(lambda x: 2.0 * exact_energy(x).sum(), x.astype(float))
    np.testing.assert_allclose(points.grad.numpy(), expected, atol=6e-6)
    assert near.list() == counts and sum(counts) > 40


def test_second_derivatives():
    """A tape around forward mode gives the derivative of the gradient along a direction."""
    x = cloud(20)
    direction, grid = np.random.default_rng(9).normal(size=(20, 3)).astype(np.float32), wp.HashGrid(4, 4, 4)
    points, moves = device_array(x, wp.vec3), device_array(direction, wp.vec3)

    def program(points):
        out = wp.zeros(20, dtype=float, requires_grad=True)
        grid.build(points, RADIUS)
        wp.launch(energy, 20, [grid.id, points, RADIUS, out])
        return out

    with wp.Tape() as tape:
        _, slope = wp.jvp(program, (points,), (moves,))
    build_again(grid)
    tape.backward(grads={slope: wp.ones(20, dtype=float)})
    ends = [
        differences(lambda x: exact_energy(x).sum(), x.astype(float) + h * direction.astype(float))
        for h in (1e-4, -1e-4)
    ]
    np.testing.assert_allclose(points.grad.numpy(), (ends[0] - ends[1]) / 2e-4, atol=3e-5)
