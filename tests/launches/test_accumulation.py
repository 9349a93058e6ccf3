"""Sums that launches add to arrays, against NumPy: any number of threads, overlapping arrays, concurrent launches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.arrays import accumulate

pytestmark = pytest.mark.cpu

THREADS = [1, 2, 4]
N = 70_000


@pytest.fixture(params=THREADS)
def threads(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(wp.config, "num_threads", request.param)
    return request.param


@pytest.fixture
def deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "deterministic", True)


@wp.kernel
def scatter(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@wp.kernel
def scatter_some(x: wp.array(dtype=wp.vec3), to: wp.array(dtype=int), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    if x[i][0] > 0.0:
        wp.atomic_sub(out, to[i], x[i])


@wp.kernel
def neighbours(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    out[i] += x[i]
    out[i + 1] -= x[i]


@wp.kernel
def halves(x: wp.array(dtype=wp.float16), to: wp.array(dtype=int), out: wp.array(dtype=wp.float16)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@wp.kernel
def rows(x: wp.array2d(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i, j = wp.tid()
    for k in range(3):
        wp.atomic_add(out, to[j] + k, x[i, j])


@wp.kernel
def loss(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * x[i])


def _data(n: int = N, bins: int = 999) -> tuple[Any, Any]:
    r = np.random.default_rng(7)
    return r.normal(size=n).astype(np.float32), r.integers(0, bins, n).astype(np.int32)


def _in_turn(to: np.ndarray, x: np.ndarray, bins: int) -> np.ndarray:
    """Sums in single precision, one after the other."""
    out = np.zeros(bins, np.float32)
    np.add.at(out, to, x)
    return out


def test_sums_are_those_of_the_threads_in_order(threads: int) -> None:
    x, to = _data()
    expected = _in_turn(to, x, 999)
    np.testing.assert_allclose(expected, np.bincount(to, x.astype(float)), atol=1e-4)
    for _ in range(3):
        out = wp.zeros(999, dtype=float)
        wp.launch(scatter, N, [x, to, out])
        np.testing.assert_array_equal(out.numpy(), expected)


def test_sums_of_indices_that_lie_close_together(threads: int) -> None:
    n = 8 * N  # chunks that await their turn
    r = np.random.default_rng(3)
    x, to = r.random(n, dtype=np.float32), np.arange(n) + r.integers(-60, 60, n)
    to %= N // 2
    out = wp.zeros(N // 2, dtype=float)
    wp.launch(scatter, n, [x, to.astype(np.int32), out])
    np.testing.assert_array_equal(out.numpy(), _in_turn(to, x, N // 2))


@pytest.mark.parametrize("n", [0, 1, 3, 17, 64, 1000])
def test_small_launches(n: int, threads: int) -> None:
    x, to = _data()
    for _ in range(3):
        out = wp.zeros(999, dtype=float)
        wp.launch(scatter, n, [x, to, out])
        np.testing.assert_array_equal(out.numpy(), _in_turn(to[:n], x[:n], 999))


def test_vectors_of_some_threads(threads: int) -> None:
    r = np.random.default_rng(8)
    x, to = r.normal(size=(N, 3)).astype(np.float32), r.integers(0, 50, N).astype(np.int32)
    out = wp.zeros(50, dtype=wp.vec3)
    wp.launch(scatter_some, N, [wp.array(x, dtype=wp.vec3), to, out])
    expected = np.zeros((50, 3))
    np.subtract.at(expected, to[x[:, 0] > 0], x[x[:, 0] > 0].astype(float))
    np.testing.assert_allclose(out.numpy(), expected, atol=2e-3)


def test_neighbours(threads: int) -> None:
    x = np.random.default_rng(9).integers(-1000, 1000, N).astype(float)
    out = wp.zeros(N + 1, dtype=wp.float64)
    wp.launch(neighbours, N, [x, out])
    np.testing.assert_array_equal(out.numpy(), np.append(x, 0) - np.append(0, x))


@wp.kernel
def scatter_often(to: wp.array(dtype=int), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(n):
        wp.atomic_add(out, to[(i + k) % len(to)], 1.0)


def test_a_thread_that_adds_more_than_a_chunk_should(threads: int) -> None:
    to, out = wp.array(np.random.default_rng(5).permutation(64), dtype=int), wp.zeros(64, dtype=float)
    for _ in range(3):  # the first launch finds out how much a thread adds
        wp.launch(scatter_often, dim=37, inputs=[to, 64_000, out])
    assert out.list() == [3 * 37 * 1000.0] * 64


def test_half_precision(threads: int) -> None:
    x, to = np.ones(N, np.float16), np.arange(N, dtype=np.int32) % 1000
    out = wp.zeros(1000, dtype=wp.float16)
    wp.launch(halves, N, [x, to, out])
    np.testing.assert_array_equal(out.numpy(), np.full(1000, N // 1000))


@pytest.mark.parametrize("shape", [(300, 200), (1000, 7), (3, 20_000)])
def test_two_dimensions(shape: tuple[int, int], threads: int) -> None:
    r = np.random.default_rng(10)
    x, to = r.integers(-9, 9, shape).astype(np.float32), r.integers(0, 50, shape[1]).astype(np.int32)
    out = wp.zeros(52, dtype=float)
    wp.launch(rows, shape, [x, to, out])
    expected = np.zeros(52)
    for k in range(3):
        np.add.at(expected, np.broadcast_to(to + k, shape), x)
    np.testing.assert_array_equal(out.numpy(), expected)


# -- arrays that are seen in another way, too -------------------------------------------------------------------------


@wp.kernel
def add_then_read(
    a: wp.array(dtype=float), b: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)
):
    i = wp.tid()
    wp.atomic_add(a, to[i], 2.0)
    out[i] = b[i]


@wp.kernel
def add_then_read_components(
    a: wp.array(dtype=wp.vec3), b: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)
):
    i = wp.tid()
    wp.atomic_add(a, to[i], wp.vec3(2.0, 3.0, 4.0))
    out[i] = b[3 * i + 1]


def test_two_parameters_show_the_same_memory(threads: int) -> None:
    to = np.arange(N, dtype=np.int32)
    for others in (False, True):
        a, out = wp.zeros(N, dtype=float), wp.zeros(N, dtype=float)
        b = wp.zeros(N, dtype=float) if others else a
        wp.launch(add_then_read, N, [a, b, to, out])
        assert set(out.list()) == {0.0 if others else 2.0}
        assert set(a.list()) == {2.0}
    part = wp.zeros(2 * N, dtype=float)
    wp.launch(add_then_read, N, [part[: N + 1], part[1 : N + 1], to, out])
    assert set(part.list()[:N]) == {2.0}


def test_as_other_elements(threads: int) -> None:
    memory = np.zeros((N, 3), np.float32)
    out = wp.zeros(N, dtype=float)
    a, b = wp.array(memory, dtype=wp.vec3, copy=False), wp.array(memory.ravel(), dtype=float, copy=False)
    wp.launch(add_then_read_components, N, [a, b, np.arange(N, dtype=np.int32), out])
    assert set(out.list()) == {3.0}


@wp.kernel
def take_tickets(counter: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.atomic_add(counter, 0, 1.0)


def test_what_an_atomic_found(threads: int) -> None:
    counter, out = wp.zeros(1, dtype=float), wp.zeros(N, dtype=float)
    wp.launch(take_tickets, N, [counter, out])
    assert sorted(out.list()) == list(range(N))


# -- arrays whose elements follow the threads ------------------------------------------------------------------------


@wp.kernel
def around(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < x.shape[0] - 1 and j < x.shape[1] - 1:
        out[i - 1, j] += x[i, j]
        out[i + 1, j] -= 0.5 * x[i, j]
        wp.atomic_add(out, i, j - 1, 0.25 * x[i, j])
        wp.atomic_add(out, i, j + 1, 3.0 * x[i, j])
    out[i, j] += x[i, j]


@wp.kernel
def parts_of_neighbours(x: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i][0] += x[i]
    out[i + 1][2] += x[i]
    wp.atomic_add(out, i + 2, wp.vec3(x[i], 2.0 * x[i], 0.0))


@wp.kernel
def in_rows(x: wp.array2d(dtype=float), out: wp.array(dtype=wp.vec2)):
    i, j = wp.tid()
    wp.atomic_add(out, i, wp.vec2(x[i, j], 1.0))
    wp.atomic_sub(out, i + 1, wp.vec2(x[i, j], 1.0))


@wp.kernel
def both(x: wp.array(dtype=float), a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    a[i] += x[i]
    a[i + 1] += x[i]
    b[i] -= x[i]
    b[i + 1] += 2.0 * x[i]


def _around(x: np.ndarray) -> np.ndarray:
    out, inner = x.astype(float), x[1:-1, 1:-1].astype(float)
    out[:-2, 1:-1] += inner
    out[2:, 1:-1] -= 0.5 * inner
    out[1:-1, :-2] += 0.25 * inner
    out[1:-1, 2:] += 3 * inner
    return out


SHAPES = [(300, 200), (2000, 37), (30_000, 3), (3, 30_000), (1, 70_000), (70_000, 1), (640, 64)]


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_in_two_dimensions(shape: tuple[int, int], any_threads: None) -> None:
    x = np.random.default_rng(13).normal(size=shape).astype(np.float32)

    def make() -> tuple:
        return [x], wp.zeros(shape, dtype=float)

    (bits,) = _bits(around, shape, make)
    np.testing.assert_allclose(np.frombuffer(bits, np.float32).reshape(shape), _around(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[:, ::-1], np.s_[::2], np.s_[:, 100:400]], ids=str)
def test_neighbours_in_views(view: Any, any_threads: None) -> None:
    memory = wp.zeros((500, 500), dtype=float)
    shape = memory[view].shape
    x = np.random.default_rng(14).integers(-9, 9, shape).astype(np.float32)
    for count in THREADS:
        wp.config.num_threads = count
        memory.zero_()
        wp.launch(around, shape, [x, memory[view]])
        np.testing.assert_array_equal(memory[view].numpy(), _around(x))


def test_neighbours_in_transposed_arrays(threads: int) -> None:
    x = np.random.default_rng(15).integers(-9, 9, (300, 400)).astype(np.float32)
    out = wp.zeros((400, 300), dtype=float)
    wp.launch(around, x.shape, [x, out.transpose()])
    np.testing.assert_array_equal(out.numpy().T, _around(x))


def test_parts_of_neighbours(any_threads: None) -> None:
    x = np.random.default_rng(16).normal(size=N).astype(np.float32)
    (bits,) = _bits(parts_of_neighbours, N, lambda: ([x], wp.zeros(N + 2, dtype=wp.vec3)))
    expected = np.zeros((N + 2, 3))
    expected[:-2, 0] += x
    expected[1:-1, 2] += x
    expected[2:, :2] += np.outer(x, [1, 2])
    np.testing.assert_allclose(np.frombuffer(bits, np.float32).reshape(-1, 3), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_rows(shape: tuple[int, int], any_threads: None) -> None:
    x = np.random.default_rng(17).integers(-9, 9, shape).astype(np.float32)
    (bits,) = _bits(in_rows, shape, lambda: ([x], wp.zeros(shape[0] + 1, dtype=wp.vec2)))
    sums = np.stack([x.sum(axis=1), np.full(shape[0], shape[1])], axis=1)
    expected = np.append(sums, [[0, 0]], axis=0) - np.append([[0, 0]], sums, axis=0)
    np.testing.assert_array_equal(np.frombuffer(bits, np.float32).reshape(-1, 2), expected)


@pytest.mark.parametrize("apart", [0, 1, 5, N // 2, 2 * N])
def test_two_followers_of_the_same_memory(apart: int, any_threads: None) -> None:
    x = np.random.default_rng(18).normal(size=N).astype(np.float32)

    def make() -> tuple:
        memory = wp.zeros(4 * N, dtype=float)
        return [x, memory[: N + 1]], memory[apart : apart + N + 1]

    (bits,) = _bits(both, N, make)
    expected, own, other = np.zeros(4 * N), np.zeros(N + 1), np.zeros(N + 1)
    own[:-1] += x
    own[1:] += x
    other[:-1] -= x
    other[1:] += 2.0 * x
    expected[: N + 1] += own
    expected[apart : apart + N + 1] += other
    found = np.frombuffer(bits, np.float32)
    np.testing.assert_allclose(found, expected[apart : apart + N + 1], rtol=1e-4, atol=1e-4)


# -- launches at the same time ----------------------------------------------------------------------------------------


@wp.kernel
def highest(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float), top: wp.array(dtype=float)):
    i = wp.tid()
    top[i % 8] = wp.atomic_add(out, to[i], x[i])


@pytest.mark.parametrize("kinds", [(scatter,), (scatter, loss), (scatter, highest)], ids=len)
def test_concurrent_launches_on_one_array(kinds: tuple, threads: int) -> None:
    ones, to, out = np.ones(N, np.float32), np.arange(N, dtype=np.int32) % 100, wp.zeros(100, dtype=float)
    top = wp.zeros(8, dtype=float)
    rounds = 12
    given = {"scatter": [ones, to, out], "loss": [ones, out], "highest": [ones, to, out, top]}

    def run(kernel: Any) -> None:
        for _ in range(rounds):
            wp.launch(kernel, N, given[kernel.key])

    pool = [threading.Thread(target=run, args=(kinds[i % len(kinds)],)) for i in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    expected = np.zeros(100)
    for i in range(4):
        expected += rounds * N * np.eye(100)[0] if kinds[i % len(kinds)] is loss else np.full(100, rounds * N / 100)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_small_launches_beside_long_ones(threads: int) -> None:
    ones, to, out = np.ones(N, np.float32), np.arange(N, dtype=np.int32) % 10, wp.zeros(10, dtype=float)
    wp.launch(scatter, 10, [ones, to, out])
    sizes = (N, 10, 20, N, 10, 3000)

    def run(n: int) -> None:
        for _ in range(40):
            wp.launch(scatter, n, [ones, to, out])

    pool = [threading.Thread(target=run, args=(n,)) for n in sizes]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    np.testing.assert_array_equal(out.numpy(), np.full(10, 1 + 40 * sum(sizes) / 10))


@wp.kernel
def slowly(out: wp.array(dtype=float), to: wp.array(dtype=int)):
    i = wp.tid()
    s = 0.0
    for k in range(100_000):  # long enough for an alarm to go off meanwhile
        s += wp.sin(float(k + i))
    wp.atomic_add(out, to[i], 1.0 + 0.0 * s)


@pytest.fixture
def alarm() -> Iterator[list]:
    seen: list = []
    old = signal.signal(signal.SIGALRM, lambda *_: [act() for act in seen])
    yield seen
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


@pytest.mark.parametrize("same", [True, False])
def test_a_signal_handler_that_launches(same: bool, alarm: list, threads: int) -> None:
    n = 2_000
    out, other, to = wp.zeros(n, dtype=float), wp.zeros(n, dtype=float), np.arange(n, dtype=np.int32)
    wp.launch(slowly, 64, [other, to])
    wp.launch(scatter, n, [np.ones(n, np.float32), to, other])
    other.zero_()
    done: list = []

    def act() -> None:
        wp.launch(scatter, n, [np.ones(n, np.float32), to, out if same else other])
        done.append(1)
        if same:  # that was before the launch began
            signal.setitimer(signal.ITIMER_REAL, 0.005)

    alarm.append(act)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    if same:
        with pytest.raises(RuntimeError, match="signal handler launched a kernel that adds"):
            wp.launch(slowly, n, [out, to])
    else:
        wp.launch(slowly, n, [out, to])
        assert done
        assert set(out.list()) == set(other.list()) == {1.0}


@wp.kernel
def slowly_at_own_index(out: wp.array(dtype=float)):
    i = wp.tid()
    s = 0.0
    for k in range(100_000):
        s += wp.sin(float(k + i))
    out[i] += 1.0 + 0.0 * s


@wp.kernel
def at_own_index(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, i, x[i])


@pytest.mark.parametrize(
    "adding",
    [
        lambda ones, out: wp.launch(at_own_index, out.size, [ones, out]),
        lambda ones, out: accumulate.add(out, ones),
        lambda ones, out: accumulate.add(out[::2], ones[::2]),  # by NumPy
    ],
    ids=["launch", "native", "numpy"],
)
def test_additions_at_own_indices_reserve_their_memory(adding: Any, alarm: list, threads: int) -> None:
    """An addition in the middle of a launch that adds there finds the memory reserved; that of a signal handler cannot
    wait.
    """
    n = 2_000
    ones, out, other = wp.ones(n, dtype=float), wp.zeros(n, dtype=float), wp.zeros(n, dtype=float)
    wp.launch(slowly_at_own_index, 64, [other])
    adding(ones, other)

    def act() -> None:
        adding(ones, out)
        signal.setitimer(signal.ITIMER_REAL, 0.005)  # that was before the launch began

    alarm.append(act)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    with pytest.raises(RuntimeError, match="signal handler launched a kernel that adds"):
        wp.launch(slowly_at_own_index, n, [out])


def test_gradients_of_several_python_threads_add_up() -> None:
    w, seed, rounds = wp.ones(100_000, dtype=float, requires_grad=True), wp.ones(100_000, dtype=float), 30

    def train() -> None:
        for _ in range(rounds):
            y = wp.zeros(100_000, dtype=float, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch(tripled, w.size, [w, y])
            tape.backward(grads={y: seed})

    pool = [threading.Thread(target=train) for _ in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    np.testing.assert_array_equal(w.grad.numpy(), np.full(100_000, 4 * rounds * 3.0, np.float32))


@wp.kernel
def tripled(w: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * w[i]


# -- deterministic ----------------------------------------------------------------------------------------------------


def _bits(kernel: Any, dim: Any, make: Any) -> set[bytes]:
    found = set()
    for count in THREADS:
        wp.config.num_threads = count
        for _ in range(4):
            args, out = make()
            wp.launch(kernel, dim, [*args, out])
            found.add(out.numpy().tobytes())
    return found


@pytest.fixture
def any_threads() -> Iterator[None]:
    before = wp.config.num_threads
    yield
    wp.config.num_threads = before


@wp.kernel
def mixed_up(x: wp.array2d(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(out, 0, x[i, j])
    if x[i, j] > 0.0:
        wp.atomic_add(out, to[j], x[i, j])
    for k in range(2):
        wp.atomic_sub(out, to[j] + k, x[i, j] * 0.1)


@wp.kernel
def read_and_added(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, to[i], out[to[i]] * 0.001 + x[i])


@wp.kernel
def last_one_wins(x: wp.array(dtype=float), to: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_exch(out, to[i], x[i])


@pytest.mark.parametrize("kernel", [scatter, read_and_added, last_one_wins, loss, take_tickets], ids=lambda k: k.key)
def test_deterministic(kernel: Any, deterministic: None, any_threads: None) -> None:
    x, to = _data()
    given = {"loss": [x], "take_tickets": [wp.zeros(1, dtype=float)]}.get(kernel.key, [x, to])

    def make() -> tuple:
        if kernel is take_tickets:
            given[0].zero_()
        return given, wp.zeros(N, dtype=float)

    assert len(_bits(kernel, N, make)) == 1


@wp.kernel
def together_and_apart(x: wp.array(dtype=float), to: wp.array(dtype=int), n: int, out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    for k in range(n):
        wp.atomic_add(out, to[k], wp.vec2(x[i] * float(k + 1), x[i]))
        if x[i] > 0.0:
            wp.atomic_sub(out, to[k + 1], wp.vec2(1.0, x[i]))
            out[i] += wp.vec2(x[i], 0.1)
        wp.atomic_add(out, to[i], wp.vec2(0.1, x[i]))


@pytest.mark.parametrize("ordered", [False, True])
def test_all_lanes_add_to_elements_that_others_add_to(
    ordered: bool, any_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wp.config, "deterministic", ordered)
    n = 5000
    x, to = _data(n, n)
    repeats = 50
    found = _bits(together_and_apart, n, lambda: ([x, to, repeats], wp.zeros(n, dtype=wp.vec2)))
    assert len(found) == 1
    wide, wanted = x.astype(float), np.zeros((n, 2))
    above = wide > 0
    for k in range(repeats):
        wanted[to[k]] += wide.sum() * (k + 1), wide.sum()
        wanted[to[k + 1]] -= above.sum(), wide[above].sum()
        wanted[above] += np.stack([wide[above], np.full(above.sum(), 0.1)], 1)
        np.add.at(wanted, to, np.stack([np.full(n, 0.1), wide], 1))
    (bits,) = found
    np.testing.assert_allclose(np.frombuffer(bits, np.float32).reshape(n, 2), wanted, rtol=1e-3, atol=1e-2)


@wp.kernel
def together_in_one_and_apart_in_another(
    x: wp.array(dtype=float), to: wp.array(dtype=int), n: int, a: wp.array(dtype=float), b: wp.array(dtype=float)
):
    i = wp.tid()
    for k in range(n):
        wp.atomic_add(a, k, x[i] * float(k + 1))
        wp.atomic_add(b, to[i], x[i] * 0.37)


@pytest.mark.parametrize("ordered", [False, True])
def test_all_lanes_add_to_elements_that_others_add_to_by_another_name(
    ordered: bool, any_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wp.config, "deterministic", ordered)
    x, to = _data(bins=3)

    def make() -> tuple:
        out = wp.zeros(4, dtype=float)
        return [x, to, 4, out], out

    (bits,) = _bits(together_in_one_and_apart_in_another, N, make)
    wanted = x.sum(dtype=float) * np.arange(1, 5)
    np.add.at(wanted, to, 4 * 0.37 * x.astype(float))
    np.testing.assert_allclose(np.frombuffer(bits, np.float32), wanted, rtol=1e-3, atol=0.1)


@pytest.mark.parametrize("shape", [(70, 1000), (1000, 77), (9000, 9)])
def test_deterministic_in_two_dimensions(shape: tuple[int, int], deterministic: None, any_threads: None) -> None:
    r = np.random.default_rng(12)
    x, to = r.normal(size=shape).astype(np.float32), r.integers(0, 40, shape[1]).astype(np.int32)
    assert len(_bits(mixed_up, shape, lambda: ([x, to], wp.zeros(50, dtype=float)))) == 1


def test_deterministic_on_overlapping_arrays(deterministic: None, any_threads: None) -> None:
    x, to = _data(bins=N // 2)

    def make() -> tuple:
        shared = wp.zeros(N, dtype=float)
        wp.copy(shared, wp.array(x))
        return [shared, to], shared

    assert len(_bits(scatter, N // 2, make)) == 1


def test_deterministic_loss_is_the_sum(deterministic: None, threads: int) -> None:
    x, _ = _data()
    for n in (1, 63, 5000, N):
        out = wp.zeros(1, dtype=float)
        wp.launch(loss, n, [x, out])
        np.testing.assert_allclose(out.numpy()[0], np.sum(x[:n].astype(float) ** 2), rtol=1e-5)
