"""Other precisions of functions that are written for single precision."""

from __future__ import annotations

from ..lang import prim
from ..lang.generics import F
from ..lang.registry import Builtin, builtin
from ..lang.values.scalars import float32, float64


def in_all_precisions(function: Builtin) -> Builtin:
    """Decorator: in double precision the function of this name in the C library; half precisions compute in single and
    round.
    """
    name = function.name

    @builtin(name=name)
    def double(x: float64) -> float64:
        return prim.libm(name, x)

    @builtin(name=name)
    def half(x: F) -> F:
        return F(function(float32(x)))

    return function
