"""The option `fast_math`: divisions by a number have two roundings, and without it they have one.

Those by square roots are multiplications by reciprocal roots, right to the last few bits.
"""

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


def by_root(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 3.0 / wp.sqrt(x[i])


def by_root_and_factor(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 3.0 / (x[i] * wp.sqrt(x[i] + 1.0))


def by_power(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 3.0 / (wp.sqrt(x[i]) * x[i])


ROOTS = {
    by_root: lambda x: 3.0 / np.sqrt(x),
    by_root_and_factor: lambda x: 3.0 / (x * np.sqrt(x + 1.0)),
    by_power: lambda x: 3.0 / (x * np.sqrt(x)),
}


def root_quotients(function, x: np.ndarray, lanes: int) -> np.ndarray:
    out = wp.zeros(len(x))
    kernel = wp.kernel(function, lanes=lanes, module_options={"fast_math": True})
    wp.launch(kernel, len(x), [wp.array(x, dtype=float), out])
    return out.numpy()


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
@pytest.mark.parametrize("function", ROOTS, ids=lambda f: f.__name__)
def test_quotients_by_roots_are_right_to_the_last_bits(function, lanes):
    x = np.exp(np.random.default_rng(8).uniform(-20.0, 20.0, N)).astype(np.float32)
    right = ROOTS[function](x.astype(np.float64))
    error = np.abs(root_quotients(function, x, lanes) - right) / np.spacing(right.astype(np.float32))
    assert error.max() < 10.0


@pytest.mark.parametrize("lanes", [1, 4, 16, 32])
def test_roots_of_zero_infinity_and_negative_numbers(lanes):
    x = np.tile(np.array([0.0, np.inf, -1.0, np.nan, 4.0, 1e-37, 3e38], np.float32), 10)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(root_quotients(by_root, x, lanes), ROOTS[by_root](x), rtol=1e-6)


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
