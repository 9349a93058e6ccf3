"""Roots of unity: exp(-2 pi i k / n), to the last bits for every k.

A multiple of an eighth turn is split off in integers, so the polynomials see angles up to pi/4 that were rounded once.
Start with `unit_root`.
"""

from __future__ import annotations

import math

from ...lang import prim
from ...lang.generics import F, Vec
from ...lang.registry import builtin
from ...lang.values.scalars import float32, float64, int32

EIGHTH = math.pi / 4
# Taylor's series to where the next term is below half a unit of the last place at pi/4, highest power first.
_SINE = tuple((-1) ** i / math.factorial(2 * i + 1) for i in reversed(range(9)))
_COSINE = tuple((-1) ** i / math.factorial(2 * i) for i in reversed(range(10)))
_SINE_SINGLE, _COSINE_SINGLE = _SINE[-5:], _COSINE[-6:]


@builtin
def _sine_series(x: float32) -> float32:
    """sin(x) for 0 <= x <= pi/4."""
    p = float32(0.0)
    for i in range(len(_SINE_SINGLE)):
        p = prim.fma(p, x * x, float32(_SINE_SINGLE[i]))
    return p * x


@builtin(name="_sine_series")
def _sine_series_double(x: float64) -> float64:
    p = float64(0.0)
    for i in range(len(_SINE)):
        p = prim.fma(p, x * x, float64(_SINE[i]))
    return p * x


@builtin
def _cosine_series(x: float32) -> float32:
    """cos(x) for 0 <= x <= pi/4."""
    p = float32(0.0)
    for i in range(len(_COSINE_SINGLE)):
        p = prim.fma(p, x * x, float32(_COSINE_SINGLE[i]))
    return p


@builtin(name="_cosine_series")
def _cosine_series_double(x: float64) -> float64:
    p = float64(0.0)
    for i in range(len(_COSINE)):
        p = prim.fma(p, x * x, float64(_COSINE[i]))
    return p


@builtin(name="_unit_root")
def unit_root(k: int32, n: int32, like: F) -> Vec[2, F]:
    """Return (cos, sin) of -2 pi k / n for 0 <= k < n <= 2**28, of the type of `like`."""
    eighths = 8 * k // n
    rest = 8 * k - eighths * n
    rest = prim.select((eighths & 1) == 0, rest, n - rest)
    angle = F(rest) * (F(EIGHTH) / F(n))
    c, s = _cosine_series(angle), _sine_series(angle)
    swapped = ((eighths + 1) & 2) != 0
    x, y = prim.select(swapped, s, c), prim.select(swapped, c, s)
    x = prim.select(((eighths + 2) & 4) != 0, prim.neg(x), x)
    return Vec[2, F](x, prim.select(eighths < 4, prim.neg(y), y))
