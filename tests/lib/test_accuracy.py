"""The bounds that docstrings state, checked on compiled kernels over a dense sample of all single-precision numbers.

`tools/sweep.py` does the same for every number there is.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import omni.warp_core as wp
from tests.lib.judges import BINARY, SPECIAL, UNARY, dense_floats, reference, stated_bound, ulp_errors


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


def check(function, found, exact, *inputs):
    errors = ulp_errors(found, exact)
    worst = int(np.argmax(errors))
    where = ", ".join(repr(x[worst]) for x in inputs)
    message = f"{function.name}({where}) = {found[worst]!r}, exactly {exact[worst]!r}: {errors[worst]:.4f} ULP"
    assert errors[worst] <= stated_bound(function.__doc__), message


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


@pytest.mark.parametrize("name", UNARY)
def test_half_precision_is_single_precision_rounded(name):
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    found = run(unary_kernel(getattr(wp, name), wp.float16), x)
    errors = ulp_errors(found, reference(UNARY[name], x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 0.502, f"{name}({x[worst]!r}) = {found[worst]!r}: {errors[worst]:.4f} ULP"


@pytest.mark.parametrize("name", UNARY)
def test_double_precision_is_as_good_as_the_c_library_says(name):
    mpmath.mp.prec = 200
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.uniform(-0.99, 0.99, 200), rng.uniform(0.0, 30.0, 200)])
    found = run(unary_kernel(getattr(wp, name), wp.float64), x)
    judge = {"exp2": lambda v: mpmath.mpf(2) ** v, "log2": lambda v: mpmath.log(v, 2), "cbrt": mpmath_cbrt}
    judge |= {f: lambda v, f=f: getattr(mpmath, f)(min(v, mpmath.mpf(1))) for f in ("asin", "acos")}
    exact = judge.get(name) or getattr(mpmath, name)
    units = 4.0 if name == "cbrt" else 2.0  # what the manual of the C library gives
    for v, y in zip(x.tolist(), found.tolist()):
        want = exact(mpmath.mpf(v))
        if isinstance(want, mpmath.mpc):
            assert np.isnan(y)
        else:
            assert abs(want - y) <= units * np.spacing(abs(float(want))), (name, v)


def mpmath_cbrt(v):
    return mpmath.sign(v) * mpmath.cbrt(abs(v))
