"""The bounds that docstrings state, checked on compiled kernels: all half-precision numbers, dense samples of others.

`tools/sweep.py` does the same for every single-precision number there is. Functions of vectors and rotations are in
test_bounds.py.
"""

from __future__ import annotations

import math
import sys

import mpmath
import numpy as np
import pytest

import omni.warp_core as wp
from tests.lib.judges import BINARY, SPECIAL, UNARY, dense_floats, gpu_bound, reference, stated_bound, ulp_errors


def unary_kernel(function, dtype=wp.float32):
    @wp.kernel
    def apply(x: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = function(x[i])

    return apply


def binary_kernel(function, dtype=wp.float32):
    @wp.kernel
    def apply(a: wp.array(dtype=dtype), b: wp.array(dtype=dtype), y: wp.array(dtype=dtype)):
        i = wp.tid()
        y[i] = function(a[i], b[i])

    return apply


def run(kernel, *inputs):
    out = np.empty_like(inputs[0])
    wp.launch(kernel, dim=len(out), inputs=[*inputs, out])
    return out


def check(function, found, exact, *inputs, dtype=""):
    dtype = dtype or found.dtype.name
    errors = ulp_errors(found, exact, dtype)
    worst = int(np.argmax(errors))
    where = ", ".join(repr(x[worst]) for x in inputs)
    message = f"{function.name}({where}) = {found[worst]!r}, exactly {exact[worst]!r}: {errors[worst]:.4f} ULP"
    assert errors[worst] <= stated_bound(function.__doc__, dtype), message


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_keep_their_bound_over_all_floats(name):
    x = dense_floats(200_000)
    function = getattr(wp, name)
    check(function, run(unary_kernel(function), x), reference(UNARY[name], x), x)


def special_pairs():
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


def test_pow_keeps_its_bound():
    rng = np.random.default_rng(3)
    x = np.exp2(rng.uniform(-149, 128, 150_000)).astype(np.float32)
    x[::3] = (1.0 + rng.uniform(-1, 1, 50_000) * 10.0 ** rng.uniform(-7, -0.3, 50_000)).astype(np.float32)
    with np.errstate(all="ignore"):
        y = (rng.uniform(-152, 130, 150_000) / np.log2(x.astype(np.float64))).astype(np.float32)  # results of all sizes
    y[::7] = rng.integers(-30, 30, len(y[::7]))
    x[::14] *= -1.0
    specials = special_pairs()
    x, y = np.concatenate([x, specials[0]]), np.concatenate([y, specials[1]])
    exact = reference(np.power, x, y)
    check(wp.pow, run(binary_kernel(wp.pow), x, y), exact, x, y)


def test_atan2_keeps_its_bound():
    a, b = dense_floats(150_000, 1), dense_floats(150_000, 2)
    rng = np.random.default_rng(5)
    specials = special_pairs()
    y = np.concatenate([a, rng.uniform(-9, 9, 100_000).astype(np.float32), specials[0]])
    x = np.concatenate([b, rng.uniform(-9, 9, 100_000).astype(np.float32), specials[1]])
    check(wp.atan2, run(binary_kernel(wp.atan2), y, x), reference(BINARY["atan2"], y, x), y, x)


def bfloats(values):
    """Numbers with the upper 16 bits of single precision."""
    return (values.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("name", UNARY)
def test_half_precisions_keep_their_bound_over_all_numbers(name):
    function, patterns = getattr(wp, name), np.arange(65536, dtype=np.uint16)
    x = patterns.view(np.float16)
    check(function, run(unary_kernel(function, wp.float16), x), reference(UNARY[name], x), x)
    x, out = bfloats(patterns), wp.zeros(65536, dtype=wp.bfloat16)
    wp.launch(unary_kernel(function, wp.bfloat16), dim=65536, inputs=[wp.array(x, dtype=wp.bfloat16), out])
    check(function, bfloats(out.numpy()), reference(UNARY[name], x), x, dtype="bfloat16")


@pytest.mark.parametrize("name", BINARY)
def test_half_precision_of_two_arguments_keeps_its_bound(name):
    rng = np.random.default_rng(19)
    a, b = rng.integers(0, 65536, (2, 200_000), dtype=np.uint16).view(np.float16)
    near = rng.uniform(-5, 5, (2, 50_000)).astype(np.float16)
    a, b = np.concatenate([a, near[0]]), np.concatenate([b, near[1]])
    function = getattr(wp, name)
    check(function, run(binary_kernel(function, wp.float16), a, b), reference(BINARY[name], a, b), a, b)


def clamped(v):
    return min(max(v, mpmath.mpf(-1)), mpmath.mpf(1))


EXACT = {
    "exp2": lambda v: mpmath.mpf(2) ** v,
    "log2": lambda v: mpmath.log(v, 2),
    "cbrt": lambda v: mpmath.sign(v) * mpmath.cbrt(abs(v)),
    "pow": mpmath.power,
    "asin": lambda v: mpmath.asin(clamped(v)),
    "acos": lambda v: mpmath.acos(clamped(v)),
}


def exactly(name, *args):
    """A function of doubles to 30 digits beyond those that cancel; NaN where the result is not real or not finite."""
    function = EXACT.get(name) or getattr(mpmath, name)
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 300):
        y = function(*map(mpmath.mpf, args))
        return mpmath.nan if isinstance(y, mpmath.mpc) else y


def check_doubles(function, found, *inputs):
    bound = stated_bound(function.__doc__, "float64") if wp.get_device().is_cpu else gpu_bound(function)
    for y, *args in zip(found.tolist(), *(x.tolist() for x in inputs)):
        want = exactly(function.name, *args)
        if mpmath.isnan(want):
            assert math.isnan(y), (function.name, args)
        elif abs(want) > sys.float_info.max or math.isinf(y):
            assert math.isinf(y), (function.name, args)
            assert abs(want) >= sys.float_info.max, (function.name, args)
        else:
            with mpmath.workprec(300):
                error = abs(want - y) / mpmath.mpf(math.ulp(float(want)))
            assert error <= bound, f"{function.name}({args}) = {y!r}: {float(error):.4f} ULP"


def doubles(rng, count, widest):
    """Double-precision numbers of every magnitude, dense where functions change, and around multiples of pi / 2."""
    patterns = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    near = [rng.uniform(-r, r, count) for r in (0.7, 1.2, 5.0, 40.0, 750.0)]
    ones = 1.0 + rng.uniform(-1, 1, count) * 2.0 ** -rng.integers(1, 50, count)
    x = np.concatenate([patterns, *near, ones, np.arange(1, count) * (np.pi / 2)])
    return x[np.abs(x) <= widest]  # no NaN


WIDEST = dict.fromkeys(("exp", "exp2", "sinh", "cosh", "tanh", "erf", "erfc"), 2000.0)  # what mpmath takes its time for


@pytest.mark.parametrize("name", UNARY)
def test_double_precision_keeps_its_bound(name):
    x = doubles(np.random.default_rng(11), 80, WIDEST.get(name, np.inf))
    function = getattr(wp, name)
    check_doubles(function, run(unary_kernel(function, wp.float64), x), x)
    special = SPECIAL.astype(np.float64)
    found, judged = run(unary_kernel(function, wp.float64), special), reference(UNARY[name], special)
    np.testing.assert_allclose(found, judged, rtol=2e-15)
    np.testing.assert_array_equal(np.signbit(found[found == 0.0]), np.signbit(judged[found == 0.0]))


@pytest.mark.parametrize("name", BINARY)
def test_double_precision_of_two_arguments_keeps_its_bound(name):
    rng, function = np.random.default_rng(13), getattr(wp, name)
    a, b = doubles(rng, 80, np.inf), rng.permutation(doubles(rng, 80, 1e3))
    a, b = a[: len(b)], b[: len(a)]
    if name == "pow":
        a = np.abs(a)
        b = np.where(np.abs(b * np.log2(a)) > 1074, 1000.0 / np.log2(a), b)
    check_doubles(function, run(binary_kernel(function, wp.float64), a, b), a, b)
    a, b = (x.astype(np.float64) for x in special_pairs())
    found, judged = run(binary_kernel(function, wp.float64), a, b), reference(BINARY[name], a, b)
    np.testing.assert_allclose(found, judged, rtol=2e-15)
    np.testing.assert_array_equal(np.signbit(found[found == 0.0]), np.signbit(judged[found == 0.0]))
