"""Fourier transforms of lengths with prime factors beyond 7, in memory of a block of threads.

As 2 k q = k**2 + q**2 - (k - q)**2, a transform is a convolution with a chirp between two products with one. Transforms
of a length without such factors compute the convolution. See Bluestein, "A linear filtering approach to the computation
of discrete Fourier transform", 1970. Start with `fourier_of_any_length`.
"""

from __future__ import annotations

from ...lang import prim
from ...lang.generics import Array, Constant, F, Vec
from ...lang.registry import INTRINSICS, builtin
from ...lang.values.scalars import int32
from .tile_fourier import complex_product, exchanged, factors, fill_root_table, fourier
from .unit_roots import unit_root

block_range, shared_array = INTRINSICS["block_range"], INTRINSICS["shared_array"]


def convolution_length(n: int) -> int:
    """Return the shortest length that has `factors` and holds a convolution of two rows of `n` elements."""
    length = 2 * n - 1
    while factors(length) is None:
        length += 1
    return length


@builtin(name="_fill_chirp")
def fill_chirp(chirp: Array[Vec[2, F]], n: Constant) -> None:
    """Compute exp(-pi i k**2 / n) for each k below `n`, which is at most 2**15."""
    for k in block_range(n):
        chirp[k] = unit_root(k * k % (2 * n), 2 * n, F(0.0))


@builtin(name="_fill_filter")
def fill_filter(z: Array[Vec[2, F], 2], chirp: Array[Vec[2, F]], n: Constant, length: Constant) -> None:
    """Set `z` to the conjugate chirp, forwards and backwards from the first element on, with zeros in between."""
    for k in block_range(length):
        distance, value = prim.min(k, length - k), Vec[2, F]()
        if distance < n:
            value = Vec[2, F](chirp[distance][0], prim.neg(chirp[distance][1]))
        z[0, k] = value


@builtin(name="_fill_row")
def fill_row(
    x: Array[Vec[2, F], 2],
    z: Array[Vec[2, F], 2],
    row: int32,
    chirp: Array[Vec[2, F]],
    n: Constant,
    length: Constant,
    inverse: Constant,
) -> None:
    """Set `z` to the product of a row of `x` and the chirp, and zeros behind it."""
    for k in block_range(length):
        value = Vec[2, F]()
        if k < n:
            value = complex_product(exchanged(x[row, k], inverse), chirp[k])
        z[0, k] = value


@builtin(name="_fourier_of_any_length")
def fourier_of_any_length(
    x: Array[Vec[2, F], 2], n: Constant, length: Constant, parts: Constant, table: Constant, inverse: Constant
) -> None:
    """Compute the Fourier transform of each row of `x` in place, unnormalised.

    Args:
        x: rows of complex numbers.
        n: the number of elements in each.
        length: from `convolution_length`.
        parts: the passes for that length.
        table: the length of their table of roots.
        inverse: whether to compute the inverse transform, which is not divided by the length.

    Derivative: none yet.
    """
    chirp, roots = shared_array(shape=n, dtype=Vec[2, F]), shared_array(shape=table, dtype=Vec[2, F])
    spectrum = shared_array(shape=length, dtype=Vec[2, F])
    z, w = (shared_array(shape=(1, length), dtype=Vec[2, F]) for _ in range(2))
    found = w if len(parts) % 2 == 1 else z
    fill_chirp(chirp, n)
    fill_root_table(roots, length, parts)
    for step in range(2 * x.shape[0] + 1):  # the chirp itself, then each row there and back
        row = (step - 1) // 2
        if step == 0:
            fill_filter(z, chirp, n, length)
        elif step % 2 == 1:
            fill_row(x, z, row, chirp, n, length, inverse)
        else:
            for k in block_range(length):
                z[0, k] = exchanged(complex_product(found[0, k], spectrum[k]), True)
        fourier(z, w, roots, (1, length), parts, False)
        if step == 0:
            for k in block_range(length):
                spectrum[k] = found[0, k]
        elif step % 2 == 0:
            for k in block_range(n):
                value = complex_product(exchanged(found[0, k], True), chirp[k]) * (F(1.0) / F(length))
                x[row, k] = exchanged(value, inverse)
