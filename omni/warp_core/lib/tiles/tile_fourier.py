"""Fourier transforms of rows that lie in memory of a block of threads.

Stockham's scheme has a pass for each factor of the length. A pass reads the elements in order, and combines transforms
of `span` elements, which the passes before have made. It writes where the next pass reads in order again. Lengths with
prime factors beyond 7 go through a convolution (tile_chirps.py). The inverse is the transform with real and imaginary
parts exchanged. Start with `fourier`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, F, Mat, Vec
from ...lang.registry import INTRINSICS, builtin
from .butterflies import RADICES, butterfly
from .unit_roots import unit_root

block_range = INTRINSICS["block_range"]

WIDE = 16  # elements of a transform from which on neighbouring iterations work on one transform alone


def factors(n: int) -> tuple[int, ...] | None:
    """Return the radix of each pass; None if `n` has prime factors beyond 7."""
    found = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


def passes(n: int) -> tuple[tuple[int, int, int], ...]:
    """Return (radix, span, place of its roots in the table) of each pass for a length that has `factors`."""
    found, span, place = [], 1, 0
    for radix in factors(n) or ():
        found.append((radix, span, place))
        place += span
        span *= radix
    return tuple(found)


def table_length(n: int) -> int:
    """Return how many roots of unity the passes take."""
    return max(1, sum(span for _, span, _ in passes(n)))


@builtin(name="_complex_product")
def complex_product(a: Vec[2, F], b: Vec[2, F]) -> Vec[2, F]:
    """Return the product of two complex numbers."""
    return Vec[2, F](prim.fma(a[0], b[0], prim.neg(a[1] * b[1])), prim.fma(a[0], b[1], a[1] * b[0]))


@builtin(name="_exchanged")
def exchanged(z: Vec[2, F], inverse: Constant) -> Vec[2, F]:
    """Return `z`, or for an inverse transform `z` with real and imaginary part exchanged."""
    return Vec[2, F](z[1], z[0]) if inverse else z


@builtin(name="_fill_root_table")
def fill_root_table(roots: Array[Vec[2, F]], n: Constant, parts: Constant) -> None:
    """Compute the roots of unity of all passes.

    Args:
        roots: memory for as many as `table_length` says.
        n: the length of the transforms.
        parts: the passes.
    """
    for e in block_range(roots.shape[0]):
        k, step = e, n
        for radix, span, place in parts:
            k = prim.select(e >= place, e - place, k)
            step = prim.select(e >= place, n // (radix * span), step)
        roots[e] = unit_root(k * step, n, F(0.0))


@builtin(name="_fourier_pass")
def fourier_pass(
    x: Array[Vec[2, F], 2],
    y: Array[Vec[2, F], 2],
    roots: Array[Vec[2, F]],
    shape: Constant,
    part: Constant,
    inverse: Constant,
) -> None:
    """Combine transforms of `span` elements to longer ones, from the rows of `x` into those of `y`.

    An iteration computes `radix` elements of the longer transforms: those that element `inner` of one `group` of
    transforms gives. Neighbours work on one group if `span` is wide, and so write neighbouring elements.
    """
    rows, n = shape
    radix, span, first = part
    numbers, count = Mat[radix, 2, F], n // radix
    width = span if span >= WIDE else count
    for row, block, place in block_range(rows, count // width, width):
        e = block * width + place
        group = block if span >= WIDE else place // span
        inner = place if span >= WIDE else place % span
        z = numbers()
        for q in range(radix):
            z[q] = exchanged(x[row, e + q * count], inverse)
        if span > 1:
            root = roots[first + inner]
            turn = root
            for q in range(1, radix):
                z[q] = complex_product(z[q], turn)
                turn = complex_product(turn, root)
        z = butterfly(z)
        for q in range(radix):
            y[row, (group * radix + q) * span + inner] = exchanged(z[q], inverse)


@builtin(name="_fourier")
def fourier(
    x: Array[Vec[2, F], 2],
    y: Array[Vec[2, F], 2],
    roots: Array[Vec[2, F]],
    shape: Constant,
    parts: Constant,
    inverse: Constant,
) -> None:
    """Compute the Fourier transform of each row of `x`, unnormalised.

    The passes go from `x` to `y` and back. So the result is in `y` if their number is odd, else in `x`.

    Args:
        x: rows of complex numbers.
        y: memory for as many.
        roots: the table that `fill_root_table` makes.
        shape: the number of rows, and of elements in each.
        parts: the passes.
        inverse: whether to compute the inverse transform, which is not divided by the length.

    Derivative: none yet.
    """
    for part in parts:
        fourier_pass(x, y, roots, shape, part, inverse)
        x, y = y, x
