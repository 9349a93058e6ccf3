"""Elements of every size that threads add at any index, against NumPy in the order of the threads, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu

N, BINS = 5_003, 61
FLOATS = (
    [wp.vec2, wp.vec3, wp.vec4]
    + [wp.types.vector(n, float) for n in (5, 6, 7, 8)]
    + [wp.mat22, wp.mat33, wp.mat44, wp.types.matrix((4, 5), float)]
)
DOUBLES = [wp.vec2d, wp.vec3d, wp.vec4d, wp.types.vector(5, wp.float64), wp.mat33d]


@wp.kernel
def scatter(x: wp.array(dtype=Any), to: wp.array(dtype=int), out: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(out, to[i], x[i])


@wp.kernel
def scatter_some(x: wp.array(dtype=Any), to: wp.array(dtype=int), out: wp.array(dtype=Any)):
    i = wp.tid()
    if (to[i] & 3) != 0:
        wp.atomic_add(out, to[i], x[i])


@pytest.mark.parametrize("lanes", [0, 1, 2, 4])
@pytest.mark.parametrize("t", [*FLOATS, *DOUBLES], ids=lambda t: t.__name__)
def test_all_lanes_and_some(t: Any, lanes: int) -> None:
    real = np.float64 if t in DOUBLES else np.float32
    r = np.random.default_rng(3)
    x = r.normal(size=(N, *wp.zeros(1, dtype=t).numpy().shape[1:])).astype(real)
    to = r.integers(0, BINS, N).astype(np.int32)
    for given, taken in ((scatter, to >= 0), (scatter_some, (to & 3) != 0)):
        kernel = wp.kernel(given.func, lanes=lanes) if lanes else given
        expected = np.zeros((BINS, *x.shape[1:]), real)
        np.add.at(expected, to[taken], x[taken])
        for _ in range(2):  # the second launch is a small one, on the calling thread
            out = wp.zeros(BINS, dtype=t)
            wp.launch(kernel, N, [wp.array(x, dtype=t), to, out])
            np.testing.assert_array_equal(out.numpy(), expected)
