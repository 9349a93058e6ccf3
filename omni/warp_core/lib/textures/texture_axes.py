"""Coordinates of textures: `Axis` says which two texels of an axis lie around one."""

from __future__ import annotations

from ...lang import prim
from ...lang.registry import builtin
from ...lang.values.scalars import float32, int32
from ...lang.values.structs import struct
from .texture_types import BORDER, CLAMP, LINEAR, MIRROR

OUTSIDE = -1  # in place of a texel beyond the border


@struct
class Axis:
    """A coordinate along an axis of a level of detail.

    Attributes:
        low: the texel at or before the coordinate, or OUTSIDE.
        high: the one behind it, or OUTSIDE.
        weight: of `high`. It is NaN for a coordinate that is NaN, or that is infinite and repeats.
        size: texels along the axis.
    """

    low: int32
    high: int32
    weight: float32
    size: int32


@builtin(name="_texture_remainder")
def _remainder(x: float32, period: float32) -> float32:
    """A whole number modulo a period, also where the quotient was rounded to a whole number too many."""
    rest = prim.fma(prim.neg(prim.floor(x / period)), period, x)
    rest = prim.select(rest < 0.0, rest + period, rest)
    rest = prim.select(rest >= period, rest - period, rest)
    return prim.max(prim.min(rest, period - 1.0), 0.0)


@builtin(name="_texture_mirrored")
def _mirrored(i: int32, size: int32) -> int32:
    """The texel at a place of a texture and its mirror image behind it."""
    return prim.min(i, 2 * size - 1 - i)


@builtin(name="_texture_around")
def around(u: float32, scale: float32, size: int32, mode: int32, filter: int32) -> Axis:
    """The texels around a coordinate.

    Args:
        u: the coordinate.
        scale: what it is multiplied by to count texels.
        size: texels along the axis.
        mode: the address mode.
        filter: CLOSEST for the texel that the coordinate lies in.
    """
    n = float32(size)
    x = u * scale - prim.select(filter == LINEAR, float32(0.5), float32(0.0))
    if mode == CLAMP:  # of two numbers, one NaN, min and max give the second
        x = prim.max(float32(0.0), prim.min(n - 1.0, x))
    elif mode == BORDER:
        x = prim.max(float32(-2.0), prim.min(n, x))
    low = prim.floor(x)
    weight = x - low
    i, j = OUTSIDE, OUTSIDE
    if mode == CLAMP:
        i = int32(prim.min(low, n - 1.0))
        j = prim.min(i + 1, size - 1)
    elif mode == BORDER:
        at = int32(prim.min(low, n))
        i = prim.select(at >= 0 and at < size, at, OUTSIDE)
        j = prim.select(at >= -1 and at < size - 1, at + 1, OUTSIDE)
    else:
        period = prim.select(mode == MIRROR, 2 * size, size)
        i = int32(_remainder(low, float32(period)))
        j = prim.select(i + 1 == period, 0, i + 1)
        if mode == MIRROR:
            i, j = _mirrored(i, size), _mirrored(j, size)
    return Axis(i, j, weight, size)
