"""Hash grids of several Python threads: adjoints in one must not change what the grids of others find."""

import threading

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu


@wp.kernel
def total(grid: wp.uint64, x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.hash_grid_query(grid, x[i], 0.1)
    j = 0
    while wp.hash_grid_query_next(query, j):
        y[i] += wp.length_sq(x[i] - x[j])


@wp.kernel
def count(grid: wp.uint64, x: wp.array(dtype=wp.vec3), found: wp.array(dtype=int)):
    query = wp.hash_grid_query(grid, x[wp.tid()], 0.1)
    j = 0
    while wp.hash_grid_query_next(query, j):
        found[wp.tid()] += 1


def test_an_adjoint_leaves_the_grids_of_other_threads_alone():
    places = np.random.default_rng(0).random((500, 3)).astype(np.float32)
    wide, narrow = (wp.array(places * scale, dtype=wp.vec3) for scale in (1.0, 0.5))
    other = wp.HashGrid(8, 8, 8)

    def found(points):
        other.build(points, 0.1)
        result = wp.zeros(500, dtype=int)
        wp.launch(count, 500, [other.id, points, result])
        return result.numpy().sum()

    wanted, seen, stop = (found(wide), found(narrow)), [], threading.Event()

    def look():
        while not stop.is_set():
            seen.append((found(wide), found(narrow)))

    looking = threading.Thread(target=look)
    looking.start()
    grid, x = wp.HashGrid(8, 8, 8), wp.array(places, dtype=wp.vec3, requires_grad=True)
    for _ in range(150):
        grid.build(x, 0.1)
        y = wp.zeros(500, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(total, 500, [grid.id, x, y])
        tape.backward(grads={y: wp.ones(500, dtype=float)})
    stop.set()
    looking.join()
    assert set(seen) == {wanted}


@wp.kernel
def total_of_array(ids: wp.array(dtype=wp.uint64), x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.hash_grid_query(ids[0], x[i], 0.1)
    j = 0
    while wp.hash_grid_query_next(query, j):
        y[i] += wp.length_sq(x[i] - x[j])


def test_ids_in_arrays_are_refused_after_another_thread_has_built():
    """The adjoint would let the id lead to the old grid, in the other thread, too."""
    places = np.random.default_rng(1).random((100, 3)).astype(np.float32)
    grid, x = wp.HashGrid(8, 8, 8), wp.array(places, dtype=wp.vec3, requires_grad=True)
    grid.build(x, 0.1)
    ids, y = wp.array([grid.id], dtype=wp.uint64), wp.zeros(100, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(total_of_array, 100, [ids, x, y])
    seeds = wp.ones(100, dtype=float)
    tape.backward(grads={y: seeds})
    expected = x.grad.numpy().copy()
    tape.zero()
    moved = wp.array(places * 0.5, dtype=wp.vec3)
    other = threading.Thread(target=grid.build, args=(moved, 0.1))
    other.start()
    other.join()
    with pytest.raises(RuntimeError, match=r"another thread has built.*: pass the id as an argument"):
        tape.backward(grads={y: seeds})
    tape.zero()
    grid.build(moved, 0.1)  # now this thread has
    tape.backward(grads={y: seeds})
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)  # threads add in any order
