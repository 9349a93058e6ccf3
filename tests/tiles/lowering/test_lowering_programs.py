"""Programs with tiles, launched: order of additions, memory that arrays share, control flow around tiles."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

f32 = np.float32
BLOCKS = (1, 32, 96)


def line_sum(line: np.ndarray) -> f32:
    """Add as the language promises: 16 partial sums, then by halves."""
    parts: list[f32] = []
    for k, x in enumerate(line):
        if k < 16:
            parts.append(f32(x))
        else:
            parts[k % 16] = f32(parts[k % 16] + x)
    half = 8
    while half:
        upper = parts[half:]
        parts = [f32(p + upper[i]) if i < len(upper) else p for i, p in enumerate(parts[:half])]
        half //= 2
    return parts[0]


def uneven(shape: tuple[int, ...], seed: int = 3) -> np.ndarray:
    """Numbers whose sum depends on the order of additions."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(f32)


def sums_of(shape: tuple[int, int]):
    m, n = shape

    @wp.kernel(module="unique")
    def sums(x: wp.array2d[float], all: wp.array[float], rows: wp.array[float], columns: wp.array[float]):
        t = wp.tile_load(x, (m, n))
        wp.tile_store(all, wp.tile_sum(t))
        wp.tile_store(rows, wp.tile_sum(t, axis=1))
        wp.tile_store(columns, wp.tile_sum(t * 1.0, axis=0))

    return sums


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 16), (2, 17), (7, 9), (40, 3), (33, 32), (5, 100), (16, 64)])
def test_order_of_additions_follows_from_the_shape(shape: tuple[int, int]) -> None:
    x, kernel = uneven(shape), sums_of(shape)
    for threads in BLOCKS:
        got = [wp.zeros(1), wp.zeros(shape[0]), wp.zeros(shape[1])]
        wp.launch_tiled(kernel, dim=(1,), inputs=[wp.array(x), *got], block_dim=threads)
        np.testing.assert_array_equal(got[0].numpy(), [line_sum(x.ravel())])
        np.testing.assert_array_equal(got[1].numpy(), [line_sum(row) for row in x])
        np.testing.assert_array_equal(got[2].numpy(), [line_sum(column) for column in x.T])


@wp.kernel
def shifted(x: wp.array[float], y: wp.array[float], by: int):
    wp.tile_store(y, wp.tile_load(x, 100, offset=by) * 2.0 + 1.0)


@wp.kernel
def turned(x: wp.array2d[float], y: wp.array2d[float]):
    wp.tile_store(y, wp.tile_transpose(wp.tile_load(x, (24, 24))))


@pytest.mark.parametrize("threads", BLOCKS)
def test_all_is_loaded_before_something_is_stored(threads: int) -> None:
    start = np.arange(120, dtype=f32)
    for first, second, by in ((0, 0, 0), (0, 0, 3), (1, 0, 0), (0, 1, 0), (0, 17, 0), (17, 0, 2), (0, 0, 20)):
        a = wp.array(start)
        wp.launch_tiled(
            shifted, dim=(1,), inputs=[a[first : first + 103], a[second : second + 103], by], block_dim=threads
        )
        expected = start.copy()
        loaded = start[first : first + 103][by : by + 100]
        expected[second : second + 100] = np.pad(loaded, (0, 100 - len(loaded))) * 2 + 1
        np.testing.assert_array_equal(a.numpy(), expected)


@pytest.mark.parametrize("threads", BLOCKS)
def test_an_array_is_transposed_in_place(threads: int) -> None:
    x = uneven((24, 24))
    a = wp.array(x)
    wp.launch_tiled(turned, dim=(1,), inputs=[a, a], block_dim=threads)
    np.testing.assert_array_equal(a.numpy(), x.T)


@wp.kernel
def loop_of_swaps(x: wp.array2d[float], y: wp.array2d[float], count: int):
    a = wp.tile_load(x[0], 40)
    b = wp.tile_load(x[1], 40)
    for k in range(count):
        c = a
        a = b + 1.0
        b = c
        if k % 3 == 1:
            a, b = b, a
    wp.tile_store(y[0], a)
    wp.tile_store(y[1], b)


@pytest.mark.parametrize("threads", BLOCKS)
def test_names_of_tiles_change_places_in_a_loop(threads: int) -> None:
    x = np.arange(80, dtype=f32).reshape(2, 40)
    for count in range(6):
        a, b = x
        for k in range(count):
            a, b = b + 1, a
            if k % 3 == 1:
                a, b = b, a
        y = wp.zeros((2, 40))
        wp.launch_tiled(loop_of_swaps, dim=(1,), inputs=[wp.array(x), y, count], block_dim=threads)
        np.testing.assert_array_equal(y.numpy(), [a, b])


@wp.kernel
def newton(x: wp.array[float], y: wp.array[float], steps: wp.array[int]):
    i, lane = wp.block_index(), wp.thread_index()
    goal = wp.tile_load(x, 32, offset=i * 32)
    root = goal + 1.0
    count = 0
    while count < 100:
        better = (root + goal / root) * 0.5
        change = wp.tile_max(wp.tile_map(wp.abs, better - root))
        root = better
        count += 1
        if change[0] < 1e-5:
            break
    wp.tile_store(y, root, offset=i * 32)
    if lane == 0:
        steps[i] = count


@pytest.mark.parametrize("threads", BLOCKS)
def test_a_tile_decides_when_its_loop_ends(threads: int) -> None:
    x = np.concatenate([np.linspace(1, 2, 32), np.linspace(1, 5000, 32)]).astype(f32)
    y, steps = wp.zeros(64), wp.zeros(2, dtype=int)
    wp.launch_tiled(newton, dim=(2,), inputs=[wp.array(x), y, steps], block_dim=threads)
    np.testing.assert_allclose(y.numpy(), np.sqrt(x.astype(float)), rtol=1e-6)
    assert 1 < steps.numpy()[0] < steps.numpy()[1] < 30


@wp.kernel
def set_by_some(x: wp.array[float], y: wp.array2d[float], limit: int):
    lane = wp.thread_index()
    t = wp.tile_load(x, 64)
    old = t
    if lane < limit:
        for k in range(lane, 64, wp.block_dim()):
            t[k] = old[k] + t[63 - k] * 0.0 + float(k)
            if (k & 1) == 1:
                t[k] += 100.0
    wp.tile_store(y[0], t)
    wp.tile_store(y[1], old)


@pytest.mark.parametrize("threads", BLOCKS)
def test_some_threads_set_elements(threads: int) -> None:
    x = uneven((64,))
    for limit in (0, 1, 20, 64):
        y = wp.zeros((2, 64))
        wp.launch_tiled(set_by_some, dim=(1,), inputs=[wp.array(x), y, limit], block_dim=threads)
        k = np.arange(64)
        new = np.where(k % 2 == 1, (x + k.astype(f32)) + f32(100), x + k.astype(f32))
        np.testing.assert_array_equal(y.numpy(), [np.where(k % threads < limit, new, x), x])


@wp.func
def softened(t: wp.tile[float, 1, 50]):
    top = wp.tile_max(t)
    e = wp.tile_map(wp.exp, t - top[0])
    total = wp.tile_sum(e)
    return e / total[0]


@wp.kernel
def softmax(x: wp.array2d[float], y: wp.array2d[float]):
    i = wp.block_index()
    wp.tile_store(y, softened(wp.tile_load(x, (1, 50), offset=(i, 0))), offset=(i, 0))


@pytest.mark.parametrize("threads", BLOCKS)
def test_softmax(threads: int) -> None:
    x = np.random.default_rng(5).standard_normal((9, 50)).astype(f32) * 8
    y = wp.zeros(x.shape)
    wp.launch_tiled(softmax, dim=(9,), inputs=[wp.array(x), y], block_dim=threads)
    e = np.exp((x - x.max(axis=1, keepdims=True)).astype(float))  # the difference is rounded to float32
    np.testing.assert_allclose(y.numpy(), e / e.sum(axis=1, keepdims=True), rtol=2e-6)


@wp.kernel
def in_part_of_a_block(x: wp.array[float], y: wp.array[float], z: wp.array[float]):
    first, thread = wp.block_index() * 64, wp.thread_index()
    squared = x[first + thread] * x[first + thread]
    t = wp.tile_map(wp.sqrt, wp.tile_load(x, 64, offset=first) * 4.0)
    wp.tile_store(y, t / wp.tile_broadcast(wp.tile_sum(t), 64), offset=first)
    z[first + thread] = squared + y[first]


def test_tiles_do_not_need_all_threads_of_a_block() -> None:
    x = np.linspace(1, 2, 128).astype(f32)
    y, z = wp.zeros(128), wp.zeros(128)
    wp.launch(in_part_of_a_block, dim=100, inputs=[wp.array(x), y, z], block_dim=64)
    roots = np.sqrt(4 * x.astype(float)).reshape(2, 64)
    expected = (roots / roots.sum(axis=1, keepdims=True)).ravel()
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(
        z.numpy()[:100], (x.astype(float) ** 2 + np.repeat(expected[[0, 64]], 64))[:100], rtol=1e-6
    )
    np.testing.assert_array_equal(z.numpy()[100:], 0)
