"""Scalar functions against NumPy, Python and the values that the documentation promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

import omni.warp_core as wp
from tests.lib.judges import SPECIAL, spacing, stated_bound
from tests.lib.test_accuracy import binary_kernel, run, unary_kernel

FLOATS = [(wp.float16, np.float16), (wp.float32, np.float32), (wp.float64, np.float64)]
inf, nan = math.inf, math.nan


def half_away(x):
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "abs": np.abs, "round": half_away}


@pytest.mark.parametrize(("dtype", "numpy_type"), FLOATS)
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_functions(name, dtype, numpy_type):
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        x = np.concatenate([SPECIAL, np.arange(-9, 9, 0.25), rng.normal(0, 100, 500)]).astype(numpy_type)
    with np.errstate(invalid="ignore"):
        expected = ROUNDING[name](x).astype(numpy_type)
    np.testing.assert_array_equal(run(unary_kernel(getattr(wp, name), dtype), x), expected)


def test_copysign_moves_the_sign_of_zeros_and_nan():
    for dtype, numpy_type in FLOATS:
        with np.errstate(over="ignore"):
            a, b = (g.ravel().astype(numpy_type) for g in np.meshgrid(SPECIAL, SPECIAL))
        found = run(binary_kernel(wp.copysign, dtype), a, b)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(b))
        np.testing.assert_array_equal(np.abs(found), np.abs(a))
    assert wp.copysign(wp.bfloat16(2.0), wp.bfloat16(-0.0)) == wp.bfloat16(-2.0)


CASES = [
    ("sign", (0.0,), 1.0),
    ("sign", (-0.0,), 1.0),
    ("sign", (nan,), 1.0),
    ("sign", (-2,), -1),
    ("step", (-1.0,), 1.0),
    ("step", (0.0,), 0.0),
    ("nonzero", (2.0,), 1.0),
    ("nonzero", (-0.0,), 0.0),
    ("nonzero", (7,), 1),
    ("frac", (-1.25,), -0.25),
    ("frac", (1.25,), 0.25),
    ("clamp", (5.0, 0.0, 1.0), 1.0),
    ("clamp", (0.5, 1.0, 0.0), 0.0),
    ("clamp", (nan, 1.0, 2.0), 1.0),
    ("clamp", (-5, -3, 9), -3),
    ("min", (nan, 1.0), 1.0),
    ("max", (nan, 1.0), 1.0),
    ("min", (3, -4), -4),
    ("max", (3, -4), 3),
    ("smoothstep", (0.0, 1.0, 0.25), 0.15625),
    ("smoothstep", (1.0, 0.0, 0.25), 0.84375),
    ("smoothstep", (1.0, 1.0, 1.0), 0.0),
    ("lerp", (1.0, 3.0, 0.25), 1.5),
    ("bit_count", (-1,), 32),
    ("bit_count", (wp.uint8(255),), 8),
    ("bit_count", (wp.int64(-1),), 64),
    ("isfinite", (inf,), False),
    ("isfinite", (nan,), False),
    ("isfinite", (3.0e38,), True),
    ("isnan", (nan,), True),
    ("isnan", (inf,), False),
    ("isinf", (-inf,), True),
    ("isinf", (nan,), False),
    ("sqrt", (wp.float64(2.0),), math.sqrt(2.0)),
    ("cbrt", (-27.0,), -3.0),
]


@pytest.mark.parametrize(("name", "args", "expected"), CASES, ids=lambda x: str(x))
def test_values(name, args, expected):
    assert getattr(wp, name)(*args) == expected


@pytest.mark.parametrize("dtype", [wp.int8, wp.int16, wp.int32, wp.int64, wp.uint8, wp.uint16, wp.uint32, wp.uint64])
def test_integers_keep_their_type(dtype):
    assert wp.min(dtype(3), dtype(5)) == dtype(3)
    assert wp.clamp(dtype(9), dtype(3), dtype(5)) == dtype(5)
    assert wp.abs(dtype(3)) == dtype(3)


@pytest.mark.parametrize(("dtype", "numpy_type"), FLOATS)
@pytest.mark.parametrize(("name", "judge"), [("degrees", np.degrees), ("radians", np.radians)])
def test_angles_keep_their_bound(name, judge, dtype, numpy_type):
    function = getattr(wp, name)
    x = np.concatenate([np.linspace(-720.0, 720.0, 1001), np.geomspace(1e-3, 1e3, 1001)]).astype(numpy_type)
    found, exact = run(unary_kernel(function, dtype), x), judge(x.astype(np.longdouble))
    errors = np.abs(found - exact) / spacing(exact.astype(np.float64), found.dtype.name)
    assert errors.max() <= stated_bound(function.__doc__, found.dtype.name)


POW = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, inf, -inf, nan, 1e-45, -1e-45, 3e38, 16777217.0]


@pytest.mark.parametrize("x", POW)
def test_pow_has_the_special_cases_of_c(x):
    exponents = np.array(POW, dtype=np.float32)
    with np.errstate(all="ignore"):
        judged = np.power(np.full(len(POW), np.float32(x), np.float64), exponents.astype(np.float64)).astype(np.float32)
    for y, exact in zip(POW, judged.tolist()):
        found = wp.pow(x, y)
        if math.isnan(exact):
            assert math.isnan(found), (x, y)
        else:
            assert found == pytest.approx(exact, rel=1e-6), (x, y)
            assert math.copysign(1.0, found) == math.copysign(1.0, exact), (x, y)


def test_sine_and_cosine_of_one_angle_stay_on_the_circle():
    x = np.concatenate([np.linspace(-1e5, 1e5, 100_001), np.logspace(0, 38, 1000)]).astype(np.float32)
    s, c = (run(unary_kernel(f), x).astype(np.float64) for f in (wp.sin, wp.cos))
    assert np.abs(s * s + c * c - 1.0).max() < 3e-7
    np.testing.assert_array_equal(run(unary_kernel(wp.sin), -x), -s.astype(np.float32))
    np.testing.assert_array_equal(run(unary_kernel(wp.cos), -x), c.astype(np.float32))


def test_exact_results():
    n = np.arange(-149, 128)
    powers = np.ldexp(np.float32(1.0), n)
    np.testing.assert_array_equal(run(unary_kernel(wp.exp2), n.astype(np.float32)), powers)
    np.testing.assert_array_equal(run(unary_kernel(wp.log2), powers), n.astype(np.float32))
    cubes = np.arange(-200, 201, dtype=np.float32)
    np.testing.assert_array_equal(run(unary_kernel(wp.cbrt), cubes**3), cubes)
    assert (wp.cos(0.0), wp.exp(0.0), wp.log(1.0), wp.pow(10.0, 3.0)) == (1.0, 1.0, 0.0, 1000.0)
