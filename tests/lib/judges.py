"""Judges of the library: double-precision functions, mpmath, and the spacing of floating point."""

from __future__ import annotations

import re

import numpy as np
from scipy import special

# Good to about one unit of double precision, so they judge single precision to 2e-9 ULP.
UNARY = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": lambda x: np.arcsin(np.clip(x, -1.0, 1.0)),  # a cosine may be off by a rounding
    "acos": lambda x: np.arccos(np.clip(x, -1.0, 1.0)),
    "atan": np.arctan,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "cbrt": np.cbrt,
    "erf": special.erf,
    "erfc": special.erfc,
    "sqrt": np.sqrt,
}
BINARY = {"pow": np.power, "atan2": np.arctan2}

# bits of the significand, exponents of the smallest subnormal and of the first power of two beyond the range
_FORMATS = {
    "float64": (53, -1074, 1024),
    "float32": (24, -149, 128),
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
}


def spacing(exact: np.ndarray, dtype: str) -> np.ndarray:
    """The unit in the last place of the type of this name at the double `exact`."""
    bits, lowest, highest = _FORMATS[dtype]
    _, exponent = np.frexp(exact)
    return np.ldexp(1.0, np.clip(exponent, None, highest) - bits).clip(2.0**lowest)


def ulp_errors(found: np.ndarray, exact: np.ndarray, dtype: str = "") -> np.ndarray:
    """Errors of `found` in units in the last place, of the type of this name or of that of `found`.

    An infinity counts as the first number beyond the range, so that overflow a little early or late is a small error.
    Disagreement about NaN, or about the sign of a zero, is an infinite error.
    """
    dtype = dtype or found.dtype.name
    with np.errstate(all="ignore"):
        limit = 2.0 ** _FORMATS[dtype][2]
        y = found.astype(np.float64)
        y = np.where(np.isinf(y), np.copysign(limit, y), y)
        want = np.where(np.abs(exact) > limit, np.copysign(limit, exact), exact)
        errors = np.abs(y - want) / spacing(want, dtype)
    errors[np.isnan(found) & np.isnan(exact)] = 0.0
    errors[np.isnan(found) != np.isnan(exact)] = np.inf
    zeros = (found == 0.0) & (exact == 0.0)
    errors[zeros & (np.signbit(found) != np.signbit(exact))] = np.inf
    return errors


def gpu_bound(function) -> float:
    """Return the bound of a float64 function on a GPU, in ULP.

    libdevice has the bounds of the CUDA C++ Programming Guide. Functions that we compute from others have ours.
    """
    return max(5.0 if function.name == "erfc" else 2.0, stated_bound(function.__doc__, "float64"))


def stated_bound(doc: str, dtype: str = "float32") -> float:
    """The bound that a docstring gives for a scalar type, in ULP.

    Where it tells types apart, half precisions are rounded single precision.
    """
    if "Error: correctly rounded" in doc:
        return 0.5
    same = re.search(r"Error: ([0-9.]+) ULP", doc)
    if same:
        return float(same.group(1))
    if dtype in ("float16", "bfloat16"):
        return 0.5 + stated_bound(doc) * 2.0 ** (_FORMATS[dtype][0] - _FORMATS["float32"][0])
    found = re.search(rf"Error: .*{dtype} ([0-9.]+) ULP", doc)
    assert found, f"no {dtype} bound in {doc!r}"
    return float(found.group(1))


def reference(function, *args: np.ndarray) -> np.ndarray:
    """`function` of the arguments as doubles, silently."""
    with np.errstate(all="ignore"):
        return function(*(a.astype(np.float64) for a in args))


def dense_floats(count: int, seed: int = 7) -> np.ndarray:
    """Single-precision numbers of every magnitude and sign, then the special ones."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    near = np.concatenate(
        [rng.uniform(-r, r, count // 8).astype(np.float32) for r in (0.7, 1.2, 5.0, 40.0, 110.0, 7e4)]
    )
    ones = (np.array([0x3F800000], np.uint32) + np.arange(-2000, 2000, dtype=np.int64).astype(np.uint32)).view(
        np.float32
    )
    turns = (np.arange(1, 4000) * (np.pi / 2)).astype(np.float32)
    powers = np.ldexp(np.float32(1.0), np.arange(-149, 128))
    return np.concatenate([patterns, near, ones, -ones, turns, powers, SPECIAL])


_SPECIAL = """
0 -0 0.5 -0.5 1 -1 2 -2 3 -3 2.5 -2.5 65536 65536.004 1e10 -1e10 1e30 16777215 16777216 -16777217
1.1754944e-38 -1.1754944e-38 1e-45 -1e-45 3.4028235e38 -3.4028235e38 inf -inf nan
"""
SPECIAL = np.array(_SPECIAL.split(), dtype=np.float32)
