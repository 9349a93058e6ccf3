"""Random steps in a graph: at every replay all arrays and gradients have the bits that they have without a graph."""

import random

import numpy as np
import pytest

import omni.warp_core as wp

N, ROUNDS = 16, 3


@wp.kernel
def mix(x: wp.array(dtype=float), y: wp.array(dtype=float), by: float):
    i = wp.tid()
    y[i] = 0.5 * y[i] + by * x[i]


@wp.kernel
def bend(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] / (1.0 + x[i] * x[i])


@wp.kernel
def times(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * y[i] + x[i]


@wp.kernel
def turn(x: wp.array(dtype=float)):
    t = wp.thread_index()
    s = wp.shared_array(shape=wp.block_dim(), dtype=float)
    s[t] = x[wp.tid()]
    wp.syncthreads()
    x[wp.tid()] = 0.5 * s[wp.block_dim() - 1 - t] + 0.25 * s[0]


@wp.kernel
def new_keys(keys: wp.array(dtype=int), x: wp.array(dtype=float), by: int):
    i = wp.tid()
    keys[i] = (keys[i] * 7 + int(x[i] * 10.0) + by) & 31


@wp.kernel
def ask(x: wp.array(dtype=float), answer: wp.array(dtype=int)):
    answer[0] = int(x[0] > 0.1)


@wp.kernel
def less(left: wp.array(dtype=int)):
    left[0] = left[0] - 1


@wp.func
def blend(a: float, b: float):
    return a * b - 0.3 * a


class State:
    """What steps work on."""

    def __init__(self):
        self.x = [wp.array(np.linspace(-1, 1, N) * k, dtype=float, requires_grad=True) for k in (0.3, 0.6, 1.0)]
        self.keys = wp.array(np.arange(2 * N)[::-1] % 11, dtype=int)
        self.values = wp.array(np.arange(2 * N), dtype=int)
        self.runs, self.lengths = wp.zeros(N, dtype=int), wp.zeros(N, dtype=int)
        self.answer, self.number = wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
        self.total, self.wide = wp.zeros(1, dtype=float), wp.zeros(N, dtype=wp.float64)

    def numpy(self):
        arrays = [a for a in vars(self).values() if isinstance(a, wp.array)]
        return [a.numpy().copy() for a in [*arrays, *self.x, *(a.grad for a in self.x)]]


def of_keys(s, a, b, c, w, m):
    wp.launch(new_keys, dim=N, inputs=[s.keys[:N], a, m])
    wp.utils.radix_sort_pairs(s.keys, s.values, N)
    wp.utils.runlength_encode(s.keys[:N], s.runs, s.lengths, s.number)


def of_segments(s, a, b, c, w, m):
    wp.launch(new_keys, dim=N, inputs=[s.keys[:N], a, m])
    wp.utils.segmented_sort_pairs(s.keys, s.values, N, wp.array([0, m], dtype=int), wp.array([m, N], dtype=int))


def of_sums(s, a, b, c, w, m):
    wp.utils.array_scan(a, b, inclusive=m % 2 == 0)
    wp.launch(bend, dim=N, inputs=[b])
    (wp.utils.array_sum(a, out=s.total) if m % 3 else wp.utils.array_inner(a, b, out=s.total))
    wp.utils.array_cast(a, s.wide)


def of_new_arrays(s, a, b, c, w, m):
    made, same = wp.full(N, w, dtype=float), wp.clone(a)
    wp.launch(bend, dim=N, inputs=[a])
    wp.launch(mix, dim=N, inputs=[same, made, w])
    wp.copy(b, made + wp.array(np.linspace(-w, w, N), dtype=float) * wp.full_like(a, m / N))


def of_parts(s, a, b, c, w, m):
    wp.copy(a, b, dest_offset=m // 2, src_offset=N - m, count=1 + m // 2)
    a[m:].fill_(w)
    b[:m] = w
    b[m:] = c[: N - m]
    c[2:6] = np.arange(4, dtype=np.float32) * w
    a[::-1] = wp.clone(a)
    wp.launch(mix, dim=N // 2, inputs=[a[::2], b[::-1][: N // 2], w])


def of_products(s, a, b, c, w, m):
    wp.copy(c, (a.reshape((4, 4)) @ b.reshape((4, 4))).flatten())
    wp.map(blend, c, a, out=b)
    wp.launch(bend, dim=N, inputs=[c])
    b *= w


def of_blocks(s, a, b, c, w, m):
    wp.launch(turn, dim=N, inputs=[a], block_dim=8)


def of_gradients(s, a, b, c, w, m):
    tape = wp.Tape()
    with tape:
        out, loss = (wp.zeros(n, dtype=float, requires_grad=True) for n in (N, 1))
        wp.launch(times, dim=N, inputs=[a, b, out])
        if m % 3 == 0:
            wp.launch(bend, dim=N, inputs=[a])
        if m % 4 == 0:
            out = (out.reshape((4, 4)) @ b.reshape((4, 4))).flatten() * a + b
        wp.utils.array_inner(out, out, out=loss)
    if m % 2 == 0:
        wp.launch(bend, dim=N, inputs=[b], record_tape=False)
    tape.backward(loss)
    wp.launch(mix, dim=N, inputs=[a.grad, c, 0.01 * w])
    for x in s.x:
        wp.launch(mix, dim=N, inputs=[x.grad, x.grad, -0.45])


STEPS = (of_keys, of_segments, of_sums, of_new_arrays, of_parts, of_products, of_blocks, of_gradients)


def program(r, depth):
    """Steps with their numbers; at "if" and "while" with what is done there."""
    for _ in range(r.randint(2, 5)):
        step = r.choice([*STEPS, "if", "while"] if depth else STEPS)
        inside = [list(program(r, depth - 1)) for _ in range(2)] if isinstance(step, str) else []
        yield step, r.sample(range(3), 3), 2 * r.random() - 1, r.randrange(1, N), inside


def do(s, steps):
    for step, chosen, w, m, inside in steps:
        a, b, c = (s.x[i] for i in chosen)
        if step == "if":
            wp.launch(ask, dim=1, inputs=[a, s.answer])
            wp.capture_if(s.answer, *(lambda part=part: do(s, part) for part in inside))
        elif step == "while":
            left = wp.full(1, m % 4, dtype=int)
            wp.capture_while(left, lambda left=left, part=inside[0]: (do(s, part), wp.launch(less, 1, [left])))
        else:
            step(s, a, b, c, w, m)


@pytest.mark.parametrize("seed", range(24))
def test_random_steps(seed):
    r = random.Random(seed)
    steps = list(program(r, 2))
    inputs = [(r.randrange(3), np.linspace(-r.random(), r.random(), N)) for _ in range(ROUNDS)]
    plain, replayed = State(), State()
    before = replayed.numpy()
    with wp.ScopedCapture() as capture:
        do(replayed, steps)
    np.testing.assert_equal(replayed.numpy(), before)
    for which, values in inputs:
        for s in (plain, replayed):
            s.x[which].assign(values)
        do(plain, steps)
        wp.capture_launch(capture.graph)
        for was, now in zip(plain.numpy(), replayed.numpy(), strict=True):
            np.testing.assert_array_equal(now, was)
