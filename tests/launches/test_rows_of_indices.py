"""Indices read from arrays that happen to name neighbours in a row: loads, stores and sums at them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu

N = 70_000
ELEMENTS = {
    "float": (wp.float32, np.float32, ()),
    "double": (wp.float64, np.float64, ()),
    "half": (wp.float16, np.float16, ()),
    "vec2": (wp.vec2, np.float32, (2,)),
    "vec3": (wp.vec3, np.float32, (3,)),
    "vec3d": (wp.vec3d, np.float64, (3,)),
    "vec3h": (wp.vec3h, np.float16, (3,)),
    "vec4": (wp.vec4, np.float32, (4,)),
    "mat33": (wp.mat33, np.float32, (3, 3)),
}
SIZES = [(N, 3000, 400), (5000, 90, 40), (333, 5000, 333)]  # threads, elements, the longest row


@pytest.fixture(params=[1, 2, 4])
def threads(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(wp.config, "num_threads", request.param)
    return request.param


@pytest.fixture(params=ELEMENTS)
def element(request: Any) -> tuple[Any, Any, tuple[int, ...]]:
    return ELEMENTS[request.param]


@wp.kernel
def add(x: wp.array(dtype=Any), to: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@wp.kernel
def subtract_some(
    x: wp.array(dtype=Any), to: wp.array(dtype=int), chosen: wp.array(dtype=bool), out: wp.array(dtype=Any)
):
    i = wp.tid()
    if chosen[i]:
        wp.atomic_sub(out, to[i], x[i])


@wp.kernel
def exchange(x: wp.array(dtype=Any), a: wp.array(dtype=int), b: wp.array(dtype=int), out: wp.array(dtype=Any)):
    i = wp.tid()
    d = x[a[i]] - x[b[i]]
    wp.atomic_sub(out, a[i], d)
    wp.atomic_add(out, b[i], d)


@wp.kernel
def copy_some(x: wp.array(dtype=Any), at: wp.array(dtype=int), chosen: wp.array(dtype=bool), out: wp.array(dtype=Any)):
    i = wp.tid()
    if chosen[i]:
        out[at[i]] = x[at[i]]


def _rows(r: Any, n: int, bins: int, longest: int) -> np.ndarray:
    """Indices that count up for a while, from either end, and now and then stay or are all over the place."""
    found: list[np.ndarray] = []
    while sum(map(len, found)) < n:
        length = int(r.integers(1, min(longest, bins)))
        start = int(r.integers(-bins, bins - length))
        kinds = [start + np.arange(length)] * 4 + [np.full(length, start), r.integers(-bins, bins, length)]
        found.append(kinds[r.integers(len(kinds))])
    return np.concatenate(found)[:n].astype(np.int32)


def _some(r: Any, n: int) -> np.ndarray:
    return np.repeat(r.random(n // 50 + 1) < 0.6, 50)[:n]


def _numbers(r: Any, n: int, number: Any, shape: tuple[int, ...]) -> np.ndarray:
    return r.normal(size=(n, *shape)).astype(number)


@pytest.mark.parametrize("n, bins, longest", SIZES)
def test_sums_in_order(n: int, bins: int, longest: int, element: Any, threads: int) -> None:
    kind, *numbers = element
    for seed in range(3):
        r = np.random.default_rng(seed)
        x, to, expected = _numbers(r, n, *numbers), _rows(r, n, bins, longest), _numbers(r, bins, *numbers)
        out = wp.array(expected, dtype=kind)
        wp.launch(add, n, [wp.array(x, dtype=kind), wp.array(to, dtype=(int, wp.int64)[seed % 2]), out])
        np.add.at(expected, to, x)
        np.testing.assert_array_equal(out.numpy(), expected)
        chosen = _some(r, n)
        wp.launch(subtract_some, n, [wp.array(x, dtype=kind), to, chosen, out])
        np.subtract.at(expected, to[chosen], x[chosen])
        np.testing.assert_array_equal(out.numpy(), expected)


def test_the_end_of_numbers(threads: int) -> None:
    """The row wraps around where the numbers do."""
    x, out = wp.array(np.arange(40.0), dtype=float), wp.zeros(20, dtype=float)
    to = np.arange(-20, 20, dtype=np.int32)
    wp.launch(add, 40, [x, to, out])
    np.testing.assert_array_equal(out.numpy(), np.arange(20) * 2.0 + 20)


@pytest.mark.parametrize("identity", [True, False])
def test_two_sums_to_one_array(identity: bool, element: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One addition runs in rows, the other meets it everywhere; and so do those of the adjoint."""
    kind, number, shape = element
    r = np.random.default_rng(5)
    n, bins = 40_000, 41_000
    a = np.arange(n, dtype=np.int32) if identity else _rows(r, n, bins, 600)
    b = (np.arange(n) + r.integers(1, 64, n)).astype(np.int32)
    x = r.integers(-2, 3, (bins, *shape)).astype(number)
    seed = r.integers(-2, 3, (bins, *shape)).astype(number)
    expected, gradient = np.zeros_like(x), np.zeros_like(x)
    for out, given in ((expected, x), (gradient, seed)):  # the map is linear and symmetric
        d = given[a] - given[b]
        np.subtract.at(out, a, d)
        np.add.at(out, b, d)
    for count in (1, 2, 4):
        monkeypatch.setattr(wp.config, "num_threads", count)
        start, out = wp.array(x, dtype=kind, requires_grad=True), wp.zeros(bins, dtype=kind, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(exchange, n, [start, wp.array(a), wp.array(b), out])
        np.testing.assert_array_equal(out.numpy(), expected)
        tape.backward(grads={out: wp.array(seed, dtype=kind)})
        np.testing.assert_array_equal(start.grad.numpy(), gradient)


@pytest.mark.parametrize("n, bins, longest", SIZES)
def test_loads_and_stores(n: int, bins: int, longest: int, element: Any, threads: int) -> None:
    kind, *numbers = element
    r = np.random.default_rng(9)
    x, at, chosen = _numbers(r, bins, *numbers), _rows(r, n, bins, longest), _some(r, n)
    for some in (np.ones(n, bool), chosen):
        out = wp.zeros(bins, dtype=kind)
        wp.launch(copy_some, n, [wp.array(x, dtype=kind), at, some, out])
        expected = np.zeros_like(x)
        expected[at[some]] = x[at[some]]
        np.testing.assert_array_equal(out.numpy(), expected)
