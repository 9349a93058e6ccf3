"""Butterflies: Fourier transforms of 2, 3, 4, 5 or 7 complex numbers, which are the rows of a matrix in registers.

Longer transforms consist of them; see tile_fourier.py. Start with `butterfly`.
"""

from __future__ import annotations

import math

from ...lang import prim
from ...lang.generics import F, M, Mat, Vec
from ...lang.registry import builtin

RADICES = (4, 2, 3, 5, 7)
_COSINES = tuple(tuple(math.cos(2 * math.pi * i / max(n, 1)) for i in range(n)) for n in range(8))
_SINES = tuple(tuple(math.sin(2 * math.pi * i / max(n, 1)) for i in range(n)) for n in range(8))


@builtin(name="_butterfly")
def butterfly(z: Mat[2, 2, F]) -> Mat[2, 2, F]:
    """Return the Fourier transform of the rows of `z`, each of which is (real part, imaginary part)."""
    return Mat[2, 2, F](z[0, 0] + z[1, 0], z[0, 1] + z[1, 1], z[0, 0] - z[1, 0], z[0, 1] - z[1, 1])


@builtin(name="_butterfly")
def _of_four(z: Mat[4, 2, F]) -> Mat[4, 2, F]:
    a, b = z[0] + z[2], z[1] + z[3]
    c, d = z[0] - z[2], z[1] - z[3]
    y, w = a + b, a - b
    return Mat[4, 2, F](y[0], y[1], c[0] + d[1], c[1] - d[0], w[0], w[1], c[0] - d[1], c[1] + d[0])


@builtin(name="_butterfly")
def _of_odd(z: Mat[M, 2, F]) -> Mat[M, 2, F]:
    """Rows p and M - p share the cosines of sums and the sines of differences."""
    half = M // 2
    y = z
    first = z[0]
    for p in range(half):
        first = first + (z[p + 1] + z[M - 1 - p])
    y[0] = first
    for p in range(half):
        even, odd = z[0], Vec[2, F]()
        for q in range(half):
            turn = (p + 1) * (q + 1) % M
            c, s = F(_COSINES[M][turn]), F(_SINES[M][turn])
            even = prim.fma(z[q + 1] + z[M - 1 - q], prim.splat(c, Vec[2, F]), even)
            odd = prim.fma(z[q + 1] - z[M - 1 - q], prim.splat(s, Vec[2, F]), odd)
        y[p + 1] = Vec[2, F](even[0] + odd[1], even[1] - odd[0])
        y[M - 1 - p] = Vec[2, F](even[0] - odd[1], even[1] + odd[0])
    return y
