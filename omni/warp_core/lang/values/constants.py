"""Mathematical constants: plain Python numbers, so in a kernel they take the type of what they are combined with."""

import math

__all__ = [  # noqa: RUF022 - by what they are
    "E",
    "PI",
    "TAU",
    "HALF_PI",
    "PHI",
    "LN2",
    "LN10",
    "LOG2E",
    "LOG10E",
    "INF",
    "NAN",
    "e",
    "pi",
    "tau",
    "half_pi",
    "phi",
    "ln2",
    "ln10",
    "log2e",
    "log10e",
    "inf",
    "nan",
]

E = e = math.e
PI = pi = math.pi
TAU = tau = 2.0 * math.pi
HALF_PI = half_pi = 0.5 * math.pi
PHI = phi = 0.5 * (1.0 + math.sqrt(5.0))  # the golden ratio
LN2 = ln2 = math.log(2.0)
LN10 = ln10 = math.log(10.0)
LOG2E = log2e = math.log2(math.e)
LOG10E = log10e = math.log10(math.e)
INF = inf = math.inf
NAN = nan = math.nan
