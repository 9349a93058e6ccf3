"""Gradients with any number of threads: equal to rounding, and equal to the last bit in deterministic mode."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp
from tests.autodiff import reference_gradients
from tests.autodiff.corpus import random_programs

LOW, HIGH = map(int, os.environ.get("OMNI_WARP_PROGRAMS", "0:4").split(":"))  # random programs
THREADS = (1, 2, 4)
RUNS = 2


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    before = wp.config.num_threads
    yield
    wp.config.num_threads, wp.config.deterministic = before, False


def _gradients(run: Callable[[], list[Any]], deterministic: bool) -> list[list[np.ndarray]]:
    """What `run` gives, for all numbers of threads, several times."""
    wp.config.deterministic = deterministic
    found = []
    for threads in THREADS:
        wp.config.num_threads = threads
        found += [[a.grad.numpy() for a in run()] for _ in range(RUNS)]
    return found


def _agree(run: Callable[[], list[Any]], tolerance: float) -> list[np.ndarray]:
    loose, exact = (_gradients(run, deterministic) for deterministic in (False, True))
    for gradients in (*loose, *exact):
        for a, b in zip(gradients, exact[0]):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max(initial=0)))
    assert len({b"".join(g.tobytes() for g in gradients) for gradients in exact}) == 1
    return exact[0]


@pytest.mark.cpu
@pytest.mark.parametrize("module", ["unique", None])
def test_one_kernel_of_many(module: str | None) -> None:
    @wp.kernel(module=module, module_options={"deterministic": wp.DeterministicMode.RUN_TO_RUN})
    def numbered(count: wp.array[int], found: wp.array[int]):
        found[wp.tid()] = wp.atomic_add(count, 0, 1)

    found = wp.zeros(100_000, dtype=int)
    wp.config.num_threads = 4
    wp.launch(numbered, dim=found.shape, inputs=[wp.zeros(1, dtype=int), found])
    np.testing.assert_array_equal(found.numpy(), np.arange(100_000))


@wp.kernel
def rows_of_different_length(length: wp.array[int], end: wp.array[int], first: wp.array[int], place: wp.array[int]):
    i = wp.tid()
    if length[i] == 0:
        return
    if (length[i] & 1) == 0:
        first[i] = wp.atomic_add(end, 0, length[i])
    else:
        first[i] = wp.atomic_add(end, 0, length[i] + 1)
    place[i] = wp.atomic_add(end, 1, 1)


@pytest.mark.cpu
def test_threads_take_numbers_in_their_order() -> None:
    wp.config.deterministic, wp.config.num_threads = True, 4
    length = np.random.default_rng(1).integers(0, 5, 10_000).astype(np.int32)
    first, place = (wp.zeros(length.shape, dtype=int) for _ in range(2))
    wp.launch(rows_of_different_length, length.shape, [length, wp.zeros(2, dtype=int), first, place])
    taken, some = length + length % 2, length > 0
    np.testing.assert_array_equal(first.numpy(), np.where(some, np.cumsum(taken) - taken, 0))
    np.testing.assert_array_equal(place.numpy(), np.where(some, np.cumsum(some) - some, 0))


@pytest.mark.cpu
@pytest.mark.parametrize("seed", range(LOW, HIGH))
@pytest.mark.filterwarnings("ignore::omni.warp_core.lang.errors.KernelWarning")
def test_random_programs(seed: int) -> None:
    kernel = reference_gradients.kernel_of(random_programs.text(seed), f"<in order {seed}>")
    n = 3000
    r = np.random.default_rng(seed)
    values = [r.uniform(-1, 1.5, 4 * n), r.uniform(-1, 1, 2 * n), r.uniform(-1, 1, n)]
    weights = [r.uniform(-1, 1, len(v)) for v in values[1:]]

    def run() -> list[Any]:
        x, y, z = (wp.array(v, dtype=wp.float64, requires_grad=True) for v in values)
        tape = wp.Tape()
        with tape:
            wp.launch(kernel, n, inputs=[x, reference_gradients.N, y, z])
        tape.backward(grads={a: wp.array(w, dtype=wp.float64) for a, w in zip((y, z), weights)})
        return [x, y, z]

    _agree(run, 1e-9)


@wp.kernel
def springs(
    x: wp.array(dtype=wp.vec3),
    ends: wp.array(dtype=wp.vec2i),
    rest: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec3),
):
    k = wp.tid()
    i, j = ends[k][0], ends[k][1]
    d = x[i] - x[j]
    f = d * (10.0 * (wp.length(d) - rest[k]))
    wp.atomic_sub(force, i, f)
    wp.atomic_add(force, j, f)


@wp.kernel
def energy(force: wp.array(dtype=wp.vec3), stiffness: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, wp.dot(force[i], force[i]) * stiffness[0])


def _springs(r: Any, n: int, m: int) -> tuple:
    x = r.normal(size=(n, 3)).astype(np.float32)
    ends = r.integers(0, n, (m, 2)).astype(np.int32)
    ends[:, 1] = (ends[:, 0] + 1 + ends[:, 1] % (n - 1)) % n
    return x, ends, r.random(m).astype(np.float32)


@pytest.mark.cpu
def test_springs() -> None:
    n, m = 500, 40_000
    x, ends, rest = _springs(np.random.default_rng(5), n, m)

    def run() -> list[Any]:
        made = [wp.array(x, dtype=wp.vec3, requires_grad=True), wp.array(rest, dtype=float, requires_grad=True)]
        force = wp.zeros(n, dtype=wp.vec3, requires_grad=True)
        stiffness, out = (wp.array([1.0], dtype=float, requires_grad=True) for _ in range(2))
        tape = wp.Tape()
        with tape:
            wp.launch(springs, m, inputs=[made[0], wp.array(ends, dtype=wp.vec2i), made[1], force])
            wp.launch(energy, n, inputs=[force, stiffness, out])
        tape.backward(out)
        return [*made, stiffness]

    found = _agree(run, 1e-4)
    i, j = ends.T
    d = x[i].astype(float) - x[j]
    length = np.linalg.norm(d, axis=1, keepdims=True)
    stretch = length - rest[:, None]
    force = np.zeros((n, 3))
    np.subtract.at(force, i, 10.0 * d * stretch)
    np.add.at(force, j, 10.0 * d * stretch)
    seed = 2.0 * force
    s = seed[j] - seed[i]
    along = np.sum(s * d, axis=1, keepdims=True)
    share = 10.0 * (s * stretch + d * along / length)
    gradient = np.zeros((n, 3))
    np.add.at(gradient, i, share)
    np.subtract.at(gradient, j, share)
    for a, b in zip(found, (gradient, -10.0 * along[:, 0], [np.sum(force**2)])):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4 * np.abs(b).max())
