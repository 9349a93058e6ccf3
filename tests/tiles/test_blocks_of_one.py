"""Blocks of one thread: nothing differs within them, so that threads may part as they like. NumPy judges.

A CPU launch under `wp.config.dialect = "warp-lang"` has such blocks, as those of warp-lang, where usual ones, or those
of the size that it names, cannot run.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

ROWS, N = 7, 6
X = np.random.default_rng(1).uniform(-1, 1, (ROWS, N)).astype(np.float32)


@pytest.fixture
def dialect(monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")


@wp.kernel
def odd_rows(x: wp.array2d[float], last: int, y: wp.array2d[float], count: wp.array[int], total: wp.array[float]):
    i = wp.tid()
    if i > last:
        return
    row = wp.tile_load(x[i], shape=N)
    if i % 2 == 1:
        row = row * 2.0
        wp.atomic_add(count, 0, 1)
    for _ in range(i):
        row = row + wp.tile_ones(shape=N, dtype=float)
    wp.tile_store(y[i], row)
    wp.tile_atomic_add(total, wp.tile_sum(row), offset=i % 3)


def expected_rows(x, last):
    i = np.arange(ROWS, dtype=x.dtype)[:, None]
    y = np.where(i <= last, np.where(i % 2 == 1, 2 * x, x) + i, 0)
    return y, [(last + 1) // 2], [y[r::3].sum() for r in range(3)]


def check_rows(**options):
    last = ROWS - 2
    y, count, total = wp.zeros((ROWS, N), dtype=float), wp.zeros(1, dtype=int), wp.zeros(3, dtype=float)
    wp.launch(odd_rows, ROWS + 4, [wp.array(X), last, y, count, total], **options)
    for found, expected in zip((y, count, total), expected_rows(X.astype(np.float64), last)):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_threads_part_where_they_like(device):
    check_rows(block_dim=1, device=device)


@pytest.mark.cpu
@pytest.mark.parametrize("options", [{}, {"block_dim": 11}])
def test_in_the_dialect_launches_need_not_ask(dialect, options):
    check_rows(**options)


def test_python_means_blocks_of_256():
    with pytest.raises(wp.CompileError, match="some threads of a block"):
        check_rows()


@pytest.mark.cpu
def test_gradients_of_threads_that_part(dialect):
    last = ROWS - 2
    x, total = wp.array(X, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    y = wp.zeros((ROWS, N), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(odd_rows, ROWS, [x, last, y, wp.zeros(1, dtype=int), total])
    weights = np.array([1.0, 2.0, 4.0], dtype=np.float32)
    tape.backward(grads={total: wp.array(weights)})
    i = np.arange(ROWS)
    slopes = np.where(i <= last, weights[i % 3] * np.where(i % 2 == 1, 2, 1), 0)
    np.testing.assert_array_equal(x.grad.numpy(), np.repeat(slopes[:, None], N, axis=1))


@wp.kernel
def sizes(out: wp.array[int]):
    i = wp.tid()
    out[i] = wp.block_dim() * 1000 + int(wp.tile_sum(wp.tile(1))[0])


@pytest.mark.cpu
@pytest.mark.parametrize(
    "options, threads, size",
    [
        ({}, 512, 256),
        ({}, 500, 1),
        ({"block_dim": 4}, 500, 4),
        ({"block_dim": 64}, 500, 1),
        ({"block_dim": 64}, 640, 64),
    ],
)
def test_blocks_have_one_thread_where_the_launch_does_not_fill_those_it_asks_for(dialect, options, threads, size):
    out = wp.zeros(threads, dtype=int)
    wp.launch(sizes, threads, [out], **options)
    np.testing.assert_array_equal(out.numpy(), size * 1001)


@wp.kernel
def tiled_sizes(out: wp.array2d[int]):
    i, j = wp.tid()
    out[i, j] = wp.block_dim() * 1000 + int(wp.tile_sum(wp.tile(j))[0])


@pytest.mark.cpu
def test_a_launch_whose_rows_are_usual_blocks_is_tiled(dialect):
    out = wp.zeros((2, 256), dtype=int)
    wp.launch(tiled_sizes, (2, 256), [out])
    np.testing.assert_array_equal(out.numpy(), 256000 + 255 * 128)


@wp.kernel
def append_rows(x: wp.array2d[float], counts: wp.array[int], history: wp.array3d[float]):
    row = wp.tid()
    place = counts[row]
    wp.tile_store(history[row, place], wp.tile_load(x[row], shape=N))
    counts[row] = place + 1


@pytest.mark.cpu
def test_tiled_launches_whose_threads_part_have_blocks_of_one_in_the_dialect(dialect):
    counts, history = wp.zeros(ROWS, dtype=int), wp.zeros((ROWS, 2, N), dtype=float)
    for _ in range(2):
        wp.launch_tiled(append_rows, ROWS, [wp.array(X), counts, history], block_dim=64)
    np.testing.assert_array_equal(history.numpy(), np.stack([X, X], axis=1))
    assert counts.list() == [2] * ROWS


def test_tiled_launches_whose_threads_part_are_refused():
    counts, history = wp.zeros(ROWS, dtype=int), wp.zeros((ROWS, 2, N), dtype=float)
    with pytest.raises(wp.CompileError, match="differs between the threads of a block"):
        wp.launch_tiled(append_rows, ROWS, [wp.array(X), counts, history], block_dim=64)
