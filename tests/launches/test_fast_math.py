"""The option `fast_math`: divisions by a number have two roundings, and without it they have one."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

N = 1000


def divide(v: wp.array(dtype=wp.vec3), s: wp.array(dtype=float), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = v[i] / s[i]


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(N, 3)).astype(np.float32), rng.uniform(0.1, 9.0, N).astype(np.float32)


def quotients(kernel: wp.Kernel) -> np.ndarray:
    v, s = numbers()
    out = wp.zeros(N, dtype=wp.vec3)
    wp.launch(kernel, N, [wp.array(v, dtype=wp.vec3), s, out])
    return out.numpy()


def in_ulp(found: np.ndarray) -> np.ndarray:
    """The error of quotients, in units in the last place of what is right."""
    v, s = (a.astype(np.float64) for a in numbers())
    right = v / s[:, None]
    return np.abs(found - right) / np.spacing(np.abs(right).astype(np.float32))


def test_without_it_quotients_are_rounded_once():
    v, s = numbers()
    np.testing.assert_array_equal(quotients(wp.kernel(divide)), v / s[:, None])


def test_with_it_they_are_rounded_twice():
    found = quotients(wp.kernel(divide, module_options={"fast_math": True}))
    v, s = numbers()
    np.testing.assert_array_equal(found, v * (np.float32(1.0) / s)[:, None])
    assert in_ulp(found).max() < 2.0


def test_the_configuration_counts_and_may_change():
    kernel = wp.kernel(divide)
    exact = quotients(kernel)
    wp.config.fast_math = True
    try:
        assert (quotients(kernel) != exact).any()
    finally:
        wp.config.fast_math = False
    np.testing.assert_array_equal(quotients(kernel), exact)


def test_it_is_true_or_false():
    with pytest.raises(ValueError, match="fast_math"):
        wp.config.fast_math = "fastest"


def test_the_gradient_is_that_of_the_quotient():
    @wp.kernel(module_options={"fast_math": True})
    def pull(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        total = wp.vec3(0.0, 0.0, 0.0)
        for j in range(x.shape[0]):
            d = x[j] - x[i]
            r = wp.dot(d, d) + 0.5
            if r < 2.0:
                total += d / (r * wp.sqrt(r))
        out[i] = total

    points = np.random.default_rng(6).random((7, 3)).astype(np.float32)
    x = wp.array(points, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(7, dtype=wp.vec3, requires_grad=True)
    seeds = np.random.default_rng(7).normal(size=(7, 3))
    with wp.Tape() as tape:
        wp.launch(pull, 7, [x, out])
    tape.backward(grads={out: wp.array(seeds.astype(np.float32), dtype=wp.vec3)})

    def weighted(p: np.ndarray) -> float:
        d = p[None] - p[:, None]
        r = (d**2).sum(-1) + 0.5
        return float((seeds * (d / (r * np.sqrt(r))[..., None] * (r < 2.0)[..., None]).sum(1)).sum())

    for k in np.ndindex(7, 3):
        step = np.zeros((7, 3))
        step[k] = 1e-6
        slope = (weighted(points + step) - weighted(points - step)) / 2e-6
        assert x.grad.numpy()[k] == pytest.approx(slope, rel=1e-4, abs=1e-4)
