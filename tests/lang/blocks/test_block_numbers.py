"""Kernels that compute the number of their block, and the index in it, from the index of the thread. The number is the
same in all threads of a block, so collective operations may stand behind branches on it. The judge is NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

SIZE, BLOCKS = 64, 5
CODES = ["//", "/", ">>"]


@wp.func
def own_index(thread: int):
    return thread % SIZE


@wp.kernel
def by_floor(x: wp.array[float], counts: wp.array[int], most: int, out: wp.array[float]):
    t = wp.tid()
    block = t // SIZE
    if block >= most:
        return
    total = 0.0
    for r in range(counts[block]):
        total += wp.tile_sum(wp.tile(x[t] * float(r + 1)))[0]
    out[t] = total + float(own_index(t))


@wp.kernel
def by_quotient(x: wp.array[float], counts: wp.array[int], most: int, out: wp.array[float]):
    t = wp.tid()
    block = t / wp.block_dim()
    if block >= most:
        return
    total = 0.0
    for r in range(counts[block]):
        total += wp.tile_sum(wp.tile(x[t] * float(r + 1)))[0]
    out[t] = total + float(t % wp.block_dim())


@wp.kernel
def by_shift(x: wp.array[float], counts: wp.array[int], most: int, out: wp.array[float]):
    t = wp.tid()
    block = t >> 6
    if block >= most:
        return
    total = 0.0
    for r in range(counts[block]):
        total += wp.tile_sum(wp.tile(x[t] * float(r + 1)))[0]
    out[t] = total + float(t & 63)


def expected(x: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    sums = x.reshape(BLOCKS, SIZE).sum(1) * counts * (counts + 1) / 2
    out = sums[:, None] + np.arange(SIZE)
    out[most:] = 0.0
    return out.ravel()


def arguments() -> tuple[np.ndarray, np.ndarray, int]:
    x = np.random.default_rng(3).random(BLOCKS * SIZE).astype(np.float32)
    return x, np.array([2, 0, 3, 1, 4], np.int32), BLOCKS - 1


@pytest.mark.filterwarnings("ignore::omni.warp_core.KernelWarning")
@pytest.mark.parametrize("mode", ["release", "debug"])
@pytest.mark.parametrize("kernel", [by_floor, by_quotient, by_shift], ids=CODES)
def test_blocks_go_by_their_number(kernel, mode, monkeypatch, device):
    monkeypatch.setattr(wp.config, "mode", mode)
    x, counts, most = arguments()
    with wp.ScopedDevice(device):
        out = wp.zeros(x.size, dtype=float)
        wp.launch(kernel, x.size, [wp.array(x), wp.array(counts), most, out], block_dim=SIZE)
        np.testing.assert_allclose(out.numpy(), expected(x, counts, most), rtol=1e-5)


def test_gradients_of_blocks_that_go_by_their_number():
    x, counts, most = arguments()
    given, out = wp.array(x, requires_grad=True), wp.zeros(x.size, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(by_floor, x.size, [given, wp.array(counts), most, out], block_dim=SIZE)
    tape.backward(grads={out: wp.ones(x.size, dtype=float)})
    weights = (SIZE * counts * (counts + 1) / 2).repeat(SIZE)
    weights[most * SIZE :] = 0.0
    np.testing.assert_allclose(given.grad.numpy(), weights, rtol=1e-6)


def test_parts_of_a_block_part():
    x, counts, most = arguments()
    arrays = [wp.array(x), wp.array(counts), most, wp.zeros(x.size, dtype=float)]
    with pytest.raises(wp.CompileError, match="only some threads of a block may get here"):
        wp.launch(by_floor, x.size, arrays, block_dim=2 * SIZE)


def test_the_dialect_of_warp_lang_asks_for_each_size_of_blocks(monkeypatch):
    monkeypatch.setattr(wp.config, "dialect", "warp-lang")
    x, counts, most = arguments()
    for size in (160, SIZE, 160):
        out = wp.zeros(x.size, dtype=float)
        wp.launch(by_floor, x.size, [wp.array(x), wp.array(counts), most, out], block_dim=size)
        alone = expected(x, counts, most)
        if size != SIZE:  # threads part, so each is a block of its own
            steps = (counts * (counts + 1) / 2).repeat(SIZE)
            alone = np.where(np.arange(x.size) < most * SIZE, x * steps + np.arange(x.size) % SIZE, 0.0)
        np.testing.assert_allclose(out.numpy(), alone, rtol=1e-5)
