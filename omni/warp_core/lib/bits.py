"""Bit operations beyond the operators."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import Int
from ..lang.registry import builtin
from ..lang.values.scalars import int32


@builtin
def bit_count(x: Int) -> int32:
    """Return the number of set bits of `x`.

    Args:
        x: an integer; negative ones count in two's complement.

    Returns:
        The count, an int32.

    Derivative: none.

    >>> wp.bit_count(255)
    8
    """
    return int32(prim.popcount(x))


@builtin(name="_trailing_zeros")
def trailing_zeros(x: Int) -> int32:
    """Return how many bits stand below the lowest set bit of `x`; all of its bits for 0."""
    return int32(prim.popcount(~x & (x - 1)))
