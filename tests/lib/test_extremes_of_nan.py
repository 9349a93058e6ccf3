"""Minima, maxima and limits where a number is NaN, as fmin and fmax of C and NumPy have them, however they are run."""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp

NAN = float("nan")
RNG = np.random.default_rng(5)
COUNT = 67  # full vectors, and a rest


def numbers(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """Numbers of which each third is NaN."""
    found = RNG.normal(size=shape).astype(dtype)
    found[RNG.random(shape) < 0.3] = NAN
    return found


@wp.kernel
def of_two(a: wp.array[float], b: wp.array[float], c: wp.array[float], out: wp.array2d[float]):
    i = wp.tid()
    x, y, z = a[i], b[i], c[i]
    v, w = wp.vec3(x, y, z), wp.vec3(z, x, y)
    out[i, 0], out[i, 1] = wp.min(x, y), wp.max(x, y)
    out[i, 2], out[i, 3] = min(x, y, z), max(x, y, z)
    out[i, 4], out[i, 5] = wp.min(v), wp.max(v)
    low, high = wp.min(v, w), wp.max(v, w)
    out[i, 6], out[i, 7] = low[0], high[2]
    out[i, 8] = wp.clamp(x, -0.5, 0.5)
    out[i, 9] = wp.clamp(x, y, z)


@pytest.mark.parametrize("interpret", [False, True])
def test_kernels(interpret: bool) -> None:
    x, y, z = numbers(3, COUNT)
    out = wp.zeros((COUNT, 10), dtype=float)
    wp.launch(of_two, dim=COUNT, inputs=[wp.array(row, dtype=float) for row in (x, y, z)] + [out], interpret=interpret)
    columns = [np.fmin(x, y), np.fmax(x, y)] + [f(f(x, y), z) for f in (np.fmin, np.fmax)] * 2
    columns += [np.fmin(x, z), np.fmax(z, y)]
    columns += [np.fmin(np.fmax(x, low), high) for low, high in ((np.float32(-0.5), np.float32(0.5)), (y, z))]
    np.testing.assert_array_equal(out.numpy(), np.stack(columns, axis=1))


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64])
def test_eager_calls(dtype: type) -> None:
    for x, y in numbers(20, 2, dtype=np.dtype(dtype.__name__).type).tolist():
        np.testing.assert_array_equal(float(wp.min(dtype(x), dtype(y))), np.fmin(x, y))
        np.testing.assert_array_equal(float(wp.max(dtype(x), dtype(y))), np.fmax(x, y))


def test_the_index_of_an_extreme_is_of_a_number() -> None:
    for v in ((NAN, 1.0, 2.0), (1.0, NAN, 2.0), (NAN, NAN, 2.0), (2.0, 1.0, NAN), (1.0, 1.0, NAN)):
        assert int(wp.argmin(wp.vec3(*v))) == np.nanargmin(v)
        assert int(wp.argmax(wp.vec3(*v))) == np.nanargmax(v)
    assert int(wp.argmin(wp.vec3(NAN, NAN, NAN))) == 0


@wp.kernel
def gathered(x: wp.array[float], to: wp.array[int], one: wp.array[float], many: wp.array2d[float]):
    i = wp.tid()
    wp.atomic_min(one, 0, x[i])
    wp.atomic_max(one, 1, x[i])
    wp.atomic_min(many, 0, to[i], x[i])
    wp.atomic_max(many, 1, to[i], x[i])


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("start", [NAN, 0.0])
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0], ids=["few", "many", "all"])
def test_atomics(share: float, start: float, interpret: bool) -> None:
    """No number is lost beside a NaN, whichever lane has it."""
    x, to = RNG.normal(size=COUNT).astype(np.float32), RNG.integers(0, 9, COUNT).astype(np.int32)
    x[RNG.random(COUNT) < share] = NAN
    one, many = wp.full(2, start, dtype=float), wp.full((2, 9), start, dtype=float)
    wp.launch(gathered, dim=COUNT, inputs=[wp.array(x), wp.array(to), one, many], interpret=interpret)
    expected = np.full((2, 9), start, dtype=np.float32)
    np.fmin.at(expected[0], to, x)
    np.fmax.at(expected[1], to, x)
    np.testing.assert_array_equal(many.numpy(), expected)
    np.testing.assert_array_equal(one.numpy(), [np.fmin.reduce(x, initial=start), np.fmax.reduce(x, initial=start)])


@wp.kernel
def own(x: wp.array2d[float], low: wp.array[float]):
    i = wp.tid()
    for j in range(x.shape[1]):
        wp.atomic_min(low, i, x[i, j])  # no other thread reaches the element


def test_atomics_that_are_plain_minima() -> None:
    x, low = numbers(COUNT, 5), wp.full(COUNT, 0.25, dtype=float)
    wp.launch(own, dim=COUNT, inputs=[wp.array(x, dtype=float), low])
    np.testing.assert_array_equal(low.numpy(), np.fmin.reduce(x, axis=1, initial=0.25))


@wp.kernel
def slopes(x: wp.array[float], y: wp.array[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = 2.0 * wp.min(x[i], y[i]) + 3.0 * wp.max(x[i], y[i]) + 5.0 * wp.clamp(x[i], y[i], 2.5)


def test_the_gradient_goes_to_the_number() -> None:
    a, b = [NAN, 1.0, 1.0, 2.0, 1.0, 3.0], [1.0, NAN, 2.0, 1.0, 1.0, NAN]
    x, y = (wp.array(v, dtype=float, requires_grad=True) for v in (a, b))
    out = wp.zeros(6, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(slopes, dim=6, inputs=[x, y, out])
    tape.backward(grads={out: wp.ones(6, dtype=float)})
    assert x.grad.list() == [0.0, 10.0, 2.0, 8.0, 0.0, 5.0]
    assert y.grad.list() == [10.0, 0.0, 8.0, 2.0, 10.0, 0.0]
