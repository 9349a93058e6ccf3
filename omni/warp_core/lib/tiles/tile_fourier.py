"""Fourier transforms of rows that lie in memory of a block of threads.

Stockham's scheme: a pass for each prime factor (and for 4) reads the elements in order, combines the transforms of
`span` elements that the passes before have made, and writes them where the next pass reads in order again. Lengths
with other factors go through a convolution of a length without them (Bluestein, "A linear filtering approach to the
computation of discrete Fourier transform", 1970). The inverse is the transform with real and imaginary parts
exchanged. Start with `fourier`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, F, Mat, Vec
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32
from .butterflies import RADICES, butterfly
from .unit_roots import unit_root

block_range, shared_array = INTRINSICS["block_range"], INTRINSICS["shared_array"]


def passes(n: int) -> tuple[int, ...] | None:
    """Return the radix of each pass; None if `n` has other factors."""
    found = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


def convolution_length(n: int) -> int:
    """Return the shortest length with factors of `RADICES` alone that holds a convolution of two rows of `n`."""
    length = 2 * n - 1
    while passes(length) is None:
        length += 1
    return length


@builtin(name="_complex_product")
def complex_product(a: Vec[2, F], b: Vec[2, F]) -> Vec[2, F]:
    """Return the product of two complex numbers."""
    return Vec[2, F](a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


@builtin(name="_exchanged")
def exchanged(z: Vec[2, F], inverse: Constant) -> Vec[2, F]:
    """Return `z`, or for an inverse transform `z` with real and imaginary part exchanged."""
    return Vec[2, F](z[1], z[0]) if inverse else z


@builtin(name="_fourier_pass")
def fourier_pass(
    x: Array[Vec[2, F], 2], y: Array[Vec[2, F], 2], shape: Constant, span: Constant, radix: Constant, inverse: Constant
) -> None:
    """Combine transforms of `span` elements to longer ones, from `x` into `y`.

    Args:
        x: rows of complex numbers.
        y: rows of results.
        shape: the number of rows, and of elements in each.
        span: product of the radices of the passes before.
        radix: how many of them one of the results consists of.
        inverse: whether this is an inverse transform.
    """
    rows, n = shape
    numbers = Mat[radix, 2, F]
    for row, e in block_range(rows, n // radix):
        inner = e % span
        z = numbers()
        for q in range(radix):
            z[q] = exchanged(x[row, e + q * (n // radix)], inverse)
        if span > 1:
            root = unit_root(inner, span * radix, z[0, 0])
            turn = root
            for q in range(1, radix):
                z[q] = complex_product(z[q], turn)
                turn = complex_product(turn, root)
        z = butterfly(z)
        first = (e - inner) * radix + inner
        for q in range(radix):
            y[row, first + q * span] = exchanged(z[q], inverse)


@builtin(name="_fourier")
def fourier(
    x: Array[Vec[2, F], 2], y: Array[Vec[2, F], 2], shape: Constant, radices: Constant, inverse: Constant
) -> None:
    """Compute the Fourier transform of each row of `x`, unnormalised.

    The passes go from `x` to `y` and back. So the result is in `y` if their number is odd, else in `x`.

    Args:
        x: rows of complex numbers.
        y: memory for as many.
        shape: the number of rows, and of elements in each.
        radices: those of the passes, from `passes`.
        inverse: whether to compute the inverse transform, which is not divided by the length.

    Derivative: none yet.
    """
    span = 1
    for radix in radices:
        fourier_pass(x, y, shape, span, radix, inverse)
        x, y = y, x
        span *= radix


@builtin(name="_chirp")
def chirp(k: int32, n: int32, like: F) -> Vec[2, F]:
    """Return exp(-pi i k**2 / n) for 0 <= k < n <= 2**15, of the type of `like`."""
    return unit_root(k * k % (2 * n), 2 * n, like)


@builtin(name="_fourier_by_convolution")
def fourier_by_convolution(
    x: Array[Vec[2, F], 2], shape: Constant, length: Constant, radices: Constant, inverse: Constant
) -> None:
    """Compute the Fourier transform of each row of `x` in place, unnormalised, for any number of elements.

    As 2 k q = k**2 + q**2 - (k - q)**2, a transform is a convolution with a chirp between two products with one.

    Args:
        x: rows of complex numbers.
        shape: the number of rows, and of elements in each.
        length: from `convolution_length`.
        radices: those of the passes for that length.
        inverse: whether to compute the inverse transform, which is not divided by the length.

    Derivative: none yet.
    """
    rows, n = shape
    first, second = (shared_array(shape=(1, length), dtype=Vec[2, F]) for _ in range(2))
    z, w = (shared_array(shape=(1, length), dtype=Vec[2, F]) for _ in range(2))
    for k in block_range(length):
        distance = prim.min(k, length - k)
        value = Vec[2, F]()
        if distance < n:
            c = chirp(distance, n, value[0])
            value = Vec[2, F](c[0], prim.neg(c[1]))
        first[0, k] = value
    fourier(first, second, (1, length), radices, False)
    spectrum, y, back = (second, w, z) if len(radices) % 2 == 1 else (first, z, w)
    for row in range(rows):
        for k in block_range(length):
            value = Vec[2, F]()
            if k < n:
                value = complex_product(exchanged(x[row, k], inverse), chirp(k, n, value[0]))
            z[0, k] = value
        fourier(z, w, (1, length), radices, False)
        for k in block_range(length):
            y[0, k] = complex_product(y[0, k], spectrum[0, k])
        fourier(y, back, (1, length), radices, True)
        for k in block_range(n):
            value = complex_product(z[0, k], chirp(k, n, F(0.0))) * (F(1.0) / F(length))
            x[row, k] = exchanged(value, inverse)
