"""Gradients of noise against the definition in double precision, which complex steps differentiate exactly."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.autodiff.vjp.adjoint import adjoint_kernel
from omni.warp_core.front.gradients.library_rules import library_gradient
from omni.warp_core.front.lower import lower_kernel
from omni.warp_core.ir.printer import reachable
from omni.warp_core.lib.noise import PRIMES, SECOND_FIELD, THIRD_FIELD
from omni.warp_core.passes import pipeline

STATE = 2032329983
PERIODS = (3, 5, 2, 7)
TYPES = {1: wp.float32, 2: wp.vec2, 3: wp.vec3, 4: wp.vec4}
STEP = 1e-30
UNIT = 2.0**-23


def pcg(x: int) -> int:
    s = (x * 747796405 + 2891336453) % 2**32
    word = (((s >> ((s >> 28) + 4)) ^ s) * 277803737) % 2**32
    return (word >> 22) ^ word


def stream(seed: int, offset: int) -> int:
    return pcg((seed + pcg(offset)) % 2**32)


def direction(h: int, n: int) -> np.ndarray:
    out = np.empty(n)
    for i in range(n):
        h = pcg(h)
        out[i] = (h >> 8) * 2.0**-23 - 1.0
    return out if n == 1 else out / np.linalg.norm(out)


def noise(state: int, x: np.ndarray, periods: tuple[int, ...] | None = None) -> complex:
    """The blend of all corners of the cell that `x` is in."""
    n, total = len(x), 0.0
    low = np.floor(x.real)
    t = x - low
    blend = t**3 * (t * (t * 6.0 - 15.0) + 10.0)
    for corner in np.ndindex((2,) * n):
        at = [int(np.fmod(low[i], periods[i])) if periods else int(low[i]) for i in range(n)]
        at = [a + c for a, c in zip(at, corner)]
        at = [int(np.fmod(a, p)) for a, p in zip(at, periods)] if periods else at
        keys = [a * p % 2**32 for a, p in zip(at, PRIMES)]
        keys[-1 if n != 2 else 1] = (keys[-1] + state) % 2**32
        h = 0
        for k in keys:
            h ^= k
        weight = np.prod([b if c else 1.0 - b for b, c in zip(blend, corner)])
        total = total + weight * np.dot(direction(h, n), t - np.array(corner))
    return total


def slopes(state: int, x: np.ndarray, periods: tuple[int, ...] | None = None) -> np.ndarray:
    """The derivative by complex steps."""
    return np.array([noise(state, x + 1j * STEP * e, periods).imag / STEP for e in np.eye(len(x))])


def curl(state: int, x: np.ndarray) -> np.ndarray:
    if len(x) == 2:
        s = slopes(state, x)
        return np.array([-s[1], s[0]])
    second = stream(state, SECOND_FIELD)
    a, b, c = (slopes(s, x) for s in (state, second, stream(second, THIRD_FIELD)))
    return np.array([c[1] - b[2], a[2] - c[0], b[0] - a[1]])


def points(n: int) -> np.ndarray:
    """Some inside of cells, one on the border of cells, one at a corner."""
    x = np.random.default_rng(n).uniform(-4, 20, (6, n)).astype(np.float32)
    x[4, 0], x[5] = 3.0, np.arange(1, n + 1)
    return x


def gradients(function, n: int, x: np.ndarray, *extra: int, out: type = wp.float32) -> np.ndarray:
    """Values, and the gradient of each component of the result."""

    @wp.kernel
    def apply(x: wp.array(dtype=TYPES[n]), y: wp.array(dtype=out)):
        i = wp.tid()
        y[i] = function(wp.uint32(STATE), x[i], *extra)

    given = wp.array(x.reshape(-1) if n == 1 else x, dtype=TYPES[n], requires_grad=True)
    y = wp.zeros(len(x), dtype=out, requires_grad=True)
    tape, found = wp.Tape(), []
    with tape:
        wp.launch(apply, len(x), inputs=[given, y])
    for component in np.eye(len(np.atleast_1d(y.numpy()[0]))):
        tape.zero()
        tape.backward(
            grads={
                y: wp.array(
                    np.broadcast_to(component, y.numpy().reshape(len(x), -1).shape).reshape(y.numpy().shape), dtype=out
                )
            }
        )
        found.append(given.grad.numpy().reshape(x.shape).astype(float))
    return y.numpy().reshape(len(x), -1), np.stack(found, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("function", [wp.noise, wp.pnoise], ids=["noise", "pnoise"])
def test_noise(function, n):
    periods = PERIODS[:n] if function is wp.pnoise else ()
    x = points(n)
    value, found = gradients(function, n, x, *periods)
    for p, v, g in zip(x.astype(float), value, found):
        assert abs(v[0] - noise(STATE, p.astype(complex), periods).real) <= 8 * UNIT
        np.testing.assert_allclose(g[0], slopes(STATE, p.astype(complex), periods), rtol=0, atol=32 * UNIT)


def test_values_are_not_computed_again():
    """The gradient makes the slope alone."""

    @wp.kernel
    def apply(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.pnoise(wp.uint32(7), x[i], 3, 4, 5)

    adjoint = pipeline.run(adjoint_kernel(lower_kernel(apply), library_gradient).function)
    called = {function.name.partition("#")[0] for function in reachable([adjoint])}
    assert "_plane_slope" in called
    assert "_plane" not in called


@pytest.mark.parametrize("n", [2, 3, 4])
def test_curlnoise(n):
    x, size = points(n), min(n, 3)
    value, found = gradients(wp.curlnoise, n, x, out=TYPES[size])
    for p, v, jacobian in zip(x.astype(float), value, found):
        np.testing.assert_allclose(v, curl(STATE, p.astype(complex)), rtol=0, atol=64 * UNIT)
        for i, e in enumerate(np.eye(n)):
            h = 1e-7
            up, down = (curl(STATE, (p + s * e).astype(complex)) for s in (h, -h))
            np.testing.assert_allclose(jacobian[:, i], (up - down) / (2 * h), rtol=0, atol=256 * UNIT)
