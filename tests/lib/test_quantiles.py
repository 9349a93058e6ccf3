"""erfinv and erfcinv against SciPy and mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import special

import omni.warp_core as wp
from tests.lib.judges import dense_floats, reference, stated_bound
from tests.lib.test_accuracy import check, run, unary_kernel


def test_erfinv_keeps_its_bound():
    rng = np.random.default_rng(1)
    x = dense_floats(100_000)
    x = np.concatenate([x[x != 0.0], rng.uniform(-1, 1, 200_000).astype(np.float32)])
    x = np.concatenate([x, (1 - np.logspace(-7, 0, 20_000)).astype(np.float32)])
    check(wp.erfinv, run(unary_kernel(wp.erfinv), x), reference(special.erfinv, x), x)


def test_erfcinv_keeps_its_bound():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 2, 3000), np.logspace(-45, 0, 3000), 2.0 - np.logspace(-7, 0, 300)])
    x = x.astype(np.float32)
    x = x[x != 1.0]  # where SciPy gives -0.0
    check(wp.erfcinv, run(unary_kernel(wp.erfcinv), x), reference(special.erfcinv, x), x)


def test_double_precision_against_mpmath():
    rng = np.random.default_rng(3)
    inner = np.concatenate([rng.uniform(-1, 1, 100), 1 - np.logspace(-16, -1, 30), np.logspace(-300, -1, 20)])
    outer = np.concatenate([rng.uniform(0, 2, 100), np.logspace(-300, -1, 40)])
    with mpmath.workprec(150):
        for function, forward, sign, points in (
            (wp.erfinv, mpmath.erf, 1, inner),
            (wp.erfcinv, mpmath.erfc, -1, outer),
        ):
            for x, y in zip(points.tolist(), run(unary_kernel(function, wp.float64), points).tolist()):
                slope = sign * 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(mpmath.mpf(y) ** 2))
                error = (forward(mpmath.mpf(y)) - mpmath.mpf(x)) / slope
                assert abs(error) <= stated_bound(function.__doc__, "float64") * np.spacing(abs(y)), (x, y)


@pytest.mark.parametrize(("function", "judge"), [(wp.erfinv, special.erfinv), (wp.erfcinv, special.erfcinv)])
def test_half_precision_is_rounded(function, judge):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    x = x[(np.abs(x) < 2.0) & (x != 0.0) & (x != 1.0)]  # SciPy differs in the sign of zeros
    check(function, run(unary_kernel(function, wp.float16), x), reference(judge, x), x)


def test_ends():
    assert (wp.erfinv(1.0), wp.erfinv(-1.0), wp.erfinv(0.0)) == (math.inf, -math.inf, 0.0)
    assert (wp.erfcinv(0.0), wp.erfcinv(2.0), wp.erfcinv(1.0)) == (math.inf, -math.inf, 0.0)
    for dtype in (wp.float16, wp.float32, wp.float64):
        assert all(wp.isnan(wp.erfinv(dtype(x))) for x in (1.5, -2.0, math.nan))
        assert all(wp.isnan(wp.erfcinv(dtype(x))) for x in (-0.5, 2.5, math.nan))
