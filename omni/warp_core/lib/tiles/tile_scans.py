"""Running sums, maxima and minima of elements that lie in memory of a block of threads.

In step after step each element takes in the one 1, 2, 4, ... places before it (Hillis and Steele, "Data parallel
algorithms", 1986). The order of additions depends on the number of elements alone. Start with `scan`.
"""

from __future__ import annotations

from ...lang.generics import Array, Constant, S
from ...lang.registry import INTRINSICS, builtin

block_range = INTRINSICS["block_range"]


def reaches(n: int) -> tuple[int, ...]:
    """Return how far back the steps of a scan of `n` elements look."""
    return tuple(1 << k for k in range((n - 1).bit_length()))


@builtin(name="_scan")
def scan(x: Array[S], y: Array[S], n: Constant, steps: Constant, combine: Constant) -> None:
    """Combine each element with all before it.

    The steps go from `x` to `y` and back. So the result is in `y` if their number is odd, else in `x`.

    Args:
        x: `n` elements.
        y: memory for as many.
        n: the number of elements.
        steps: from `reaches`.
        combine: an associative function of two elements.

    Derivative: none yet.
    """
    for reach in steps:
        for i in block_range(n):
            value = x[i]
            if i >= reach:
                value = combine(x[i - reach], value)
            y[i] = value
        x, y = y, x


@builtin(name="_move_up")
def move_up(x: Array[S], y: Array[S], n: Constant) -> None:
    """Set each element of `y` to the one of `x` before it, and the first to zero."""
    for i in block_range(n):
        value = S()
        if i > 0:
            value = x[i - 1]
        y[i] = value
