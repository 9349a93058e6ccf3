"""Derives the polynomial coefficients of `omni/warp_core/lib/maths.py`: run it and it prints every table.

`minimax` finds the polynomial with the least largest weighted error.
`float_coefficients` then rounds to single precision one coefficient at a time, lowest power first. It fits the rest
again after each, so that later coefficients make up for the rounding of earlier ones. Start with `TABLES`, one row per
polynomial: what is approximated, on which interval, with which powers, and how errors count.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import linprog

mp.prec = 160
GRID = 400

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Table:
    """Approximate `target` on [low, high] by the sum of c[i] * x**powers[i]; errors count `weight` times."""

    name: str
    target: Real
    low: float
    high: float
    powers: Sequence[int]
    weight: Real = lambda x: mpf(1)


def _grid(t: Table) -> list[mpf]:
    """Chebyshev-spaced points, dense at the ends where the extremes crowd; without 0, where many targets are 0/0."""
    middle, half = (mpf(t.high) + mpf(t.low)) / 2, (mpf(t.high) - mpf(t.low)) / 2
    points = (middle - half * mp.cos(mp.pi * i / GRID) for i in range(GRID + 1))
    return [x for x in points if abs(x) > 1e-9]


def minimax(xs: list[mpf], fs: list[mpf], ws: list[mpf], powers: Sequence[int]) -> list[mpf]:
    """Coefficients with the least largest weighted error over the sample points.

    A linear programme in double precision, repeated on what the last one left: each round adds some ten digits.
    """
    reach = max(abs(x) for x in xs)
    basis = np.array([[float(w * (x / reach) ** p) for p in powers] for x, w in zip(xs, ws)])
    limits = np.vstack([np.c_[basis, -np.ones(len(xs))], np.c_[-basis, -np.ones(len(xs))]])
    cost = np.r_[np.zeros(len(powers)), 1.0]
    c = [mpf(0)] * len(powers)
    for _ in range(3):
        left = [w * (f - sum(k * (x / reach) ** p for k, p in zip(c, powers))) for x, f, w in zip(xs, fs, ws)]
        scale = max(abs(e) for e in left)
        rhs = np.array([float(e / scale) for e in left])
        found = linprog(cost, limits, np.r_[rhs, -rhs], bounds=(None, None)).x
        c = [k + mpf(d) * scale for k, d in zip(c, found)]
    return [k / reach**p for k, p in zip(c, powers)]


def to_float(x: mpf) -> float:
    """The single-precision number nearest to `x`."""
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def float_coefficients(t: Table) -> tuple[list[float], mpf]:
    """Single-precision coefficients of `t` in the order of its powers, and the largest weighted error they leave."""
    xs = _grid(t)
    fs, ws = [t.target(x) for x in xs], [abs(t.weight(x)) for x in xs]
    left, done = list(fs), []
    for i, p in enumerate(t.powers):
        done.append(to_float(minimax(xs, left, ws, t.powers[i:])[0]))
        left = [f - done[-1] * x**p for f, x in zip(left, xs)]
    return done, max(abs(w * f) for f, w in zip(left, ws))


def shortest(x: float) -> str:
    """The shortest decimal that reads back as the same single-precision number."""
    for digits in range(6, 18):
        text = f"{x:.{digits}g}"
        if to_float(mpf(float(text))) == x:
            return text if "e" in text or "." in text else text + ".0"
    return repr(x)


def _odd(f: Real) -> Real:
    """(f(x) - x) / x**3 as a function of z = x**2, for odd f with f'(0) = 1."""

    def g(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return (f(x) - x) / (x * z)

    return g


def _odd_weight(f: Real) -> Real:
    """Turns an error of `_odd(f)` into the relative error of f."""
    return lambda z: z * mp.sqrt(z) / f(mp.sqrt(z))


def odd(name: str, f: Real, high: float, count: int) -> Table:
    """A table for x + x**3 * P(x**2) on [0, high] with `count` coefficients, least relative error."""
    return Table(name, _odd(f), 0.0, high * high, range(count), _odd_weight(f))


def _log_tail(f: mpf) -> mpf:
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def _pow_tail(z: mpf) -> mpf:
    """(2 / ln 2) * (atanh(s) - s - s**3 / 3) / s**5 with z = s**2."""
    s = mp.sqrt(z)
    return 2 / mp.log(2) * (mp.atanh(s) - s - s**3 / 3) / s**5


def _erf_over_x(z: mpf) -> mpf:
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z)


def _erfc_tail(u: mpf) -> mpf:
    """Scaled complementary error function over u, for u = 3 / (3 + x)."""
    x = 3 * (1 - u) / u
    return mp.exp(x * x) * mp.erfc(x) / u


TABLES: list[Table] = [
    odd("sin", mp.sin, 0.7875, 4),
    Table("cos", lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0.0, 0.7875**2, range(3), lambda z: z**2),
    odd("tan", mp.tan, 0.7875, 7),
    Table("exp", lambda x: (mp.exp(x) - 1 - x) / x**2, -0.3470, 0.3470, range(5), lambda x: x**2 / mp.exp(x)),
    Table("exp2", lambda x: (2**x - 1) / x, -0.5, 0.5, range(6), lambda x: x / 2**x),
    Table(
        "log", lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, -0.2930, 0.4143, range(8), lambda f: f**3 / mp.log1p(f)
    ),
    odd("asin, to 1/2", mp.asin, 0.5, 5),
    odd("atan", mp.atan, 1.0, 9),
    odd("tanh", mp.tanh, 0.65, 5),
    odd("sinh", mp.sinh, 1.0, 4),
    Table("pow, tail of log2", _pow_tail, 0.0, 0.02945, range(3), lambda z: z**2),
    Table("erf", lambda z: _erf_over_x(z) - 1, 0.0, 0.9**2, range(6), lambda z: 1 / _erf_over_x(z)),
    Table("erf, tail", lambda x: mp.log(mp.erfc(x), 2), 0.9, 4.0, range(7), mp.erfc),
    Table("erfc", _erfc_tail, 3 / 13.1, 1.0, range(10), lambda u: 1 / _erfc_tail(u)),
]


def main() -> None:
    """Print the tables named on the command line, or all."""
    wanted = sys.argv[1:]
    for t in TABLES:
        if wanted and t.name.split(",")[0] not in wanted:
            continue
        c, worst = float_coefficients(t)
        print(f"{t.name}: [{t.low:.4g}, {t.high:.4g}], largest error 2**{float(mp.log(worst, 2)):.2f}")
        for k, p in zip(c, t.powers):
            print(f"    x**{p}: {shortest(k)}")


if __name__ == "__main__":
    main()
