"""Bit operations beyond the operators."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import Int
from ..lang.registry import builtin
from ..lang.types import F32, I32, U32
from ..lang.values.scalars import float32, int32


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


@builtin(name="_next_after")
def next_after(x: float32, toward: float32) -> float32:
    """Return the float32 beside `x` in the direction of `toward`; `toward` itself where both are equal."""
    if x != x or toward != toward:
        return x + toward
    if x == toward:
        return toward
    if x == 0.0:
        return prim.bitcast(prim.bitcast(toward, U32) & 0x80000000 | 1, F32)
    step = prim.select((x < toward) == (x > 0.0), int32(1), int32(-1))
    return prim.bitcast(prim.bitcast(x, I32) + step, F32)
