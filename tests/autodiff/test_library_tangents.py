"""The tangent of every library function: against central differences at random points, and against its gradient at
singular ones.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from omni.warp_core.ir.interp import interp
from omni.warp_core.ir.interp.array_memory import MemArray
from omni.warp_core.lang.errors import NotDifferentiable
from omni.warp_core.lang.types import F64
from tests.autodiff.test_library_gradients import POINTS, TABLE, Case, case_of


def tangent(case: Case, x: list[float], along: list[float]) -> np.ndarray:
    arrays = [MemArray(F64, (len(v),), list(v)) for v in (x, [0.0] * case.outputs, along, [0.0] * case.outputs)]
    interp.run_kernel(case.tangent, arrays, 1)
    np.testing.assert_array_equal(arrays[1].values(), case.value(x))
    return np.array(arrays[3].values())


def slope(case: Case, x: list[float], along: list[float]) -> np.ndarray:
    """Central differences along a direction, extrapolated from two steps."""
    step = 2.0**-7 if case.single else 2.0**-12

    def difference(h: float) -> np.ndarray:
        up, down = ([a + s * d for a, d in zip(x, along)] for s in (h, -h))
        return (case.value(up) - case.value(down)) / (2.0 * h)

    return (4.0 * difference(step / 2) - difference(step)) / 3.0


def judged(row: str) -> str:
    """right, refused, or what is wrong."""
    r = random.Random(row)
    case = case_of(row)
    for _ in range(3):
        x = case.sample(r)
        along = [r.uniform(-1, 1) for _ in x]
        try:
            found = tangent(case, x, along)
        except NotDifferentiable:
            return "refused"
        expected = slope(case, x, along)
        loose = 3e-3 if case.single else 2e-6
        if not np.allclose(found, expected, rtol=loose, atol=loose * (1 + np.abs(expected).max())):
            return f"at {x} along {along}: {found} instead of {expected}"
    return "right"


@pytest.mark.parametrize("row", TABLE)
def test_at_random_points(row, record_property):
    kind = judged(row)
    record_property("tangent", kind)
    assert kind == "right"


@pytest.mark.parametrize("row, x, expected", POINTS)
def test_at_singular_points(row, x, expected):
    """The sums of tangents along each input are the gradient of the sum of results."""
    case = case_of(row)
    x = [float(v) for v in x]
    found = [tangent(case, x, list(along)).sum() for along in np.eye(case.inputs)]
    gradient = case.gradient(x, [1.0] * case.outputs)
    assert np.isfinite(found).all(), found
    np.testing.assert_allclose(found, gradient, rtol=1e-5, atol=1e-6)
