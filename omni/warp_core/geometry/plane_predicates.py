"""Predicates of points in the plane, in float64, that hold only if rounding cannot change the answer.

The bounds on rounding are those of J. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
predicates", Discrete and Computational Geometry 1997. They count as errors the differences of positions, too.
"""

from __future__ import annotations

from .. import abs, vec2
from ..lang.kernel import func
from ..lang.values.scalars import float64

_UNIT = 2.0**-53
_AREA_ERROR = (3.0 + 16.0 * _UNIT) * _UNIT
_CIRCLE_ERROR = (10.0 + 96.0 * _UNIT) * _UNIT


@func
def area_is_above(a: vec2, b: vec2, c: vec2, least: float64) -> bool:
    """True if the corners of a triangle run counter clockwise and its area exceeds a number."""
    left = (float64(a[0]) - float64(c[0])) * (float64(b[1]) - float64(c[1]))
    right = (float64(a[1]) - float64(c[1])) * (float64(b[0]) - float64(c[0]))
    return left - right > float64(2.0) * least + float64(_AREA_ERROR) * (abs(left) + abs(right))


@func
def reference_area(a: vec2, b: vec2, c: vec2) -> float64:
    """Return the area of a triangle that may run in either direction."""
    left = (float64(a[0]) - float64(c[0])) * (float64(b[1]) - float64(c[1]))
    right = (float64(a[1]) - float64(c[1])) * (float64(b[0]) - float64(c[0]))
    return float64(0.5) * abs(left - right)


@func
def is_inside_circle(a: vec2, b: vec2, c: vec2, d: vec2) -> bool:
    """True if a point d lies inside of the circle through a, b and c, which run counter clockwise."""
    ax, ay = float64(a[0]) - float64(d[0]), float64(a[1]) - float64(d[1])
    bx, by = float64(b[0]) - float64(d[0]), float64(b[1]) - float64(d[1])
    cx, cy = float64(c[0]) - float64(d[0]), float64(c[1]) - float64(d[1])
    a2, b2, c2 = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    value = a2 * (bx * cy - cx * by) + b2 * (cx * ay - ax * cy) + c2 * (ax * by - bx * ay)
    size = a2 * (abs(bx * cy) + abs(cx * by)) + b2 * (abs(cx * ay) + abs(ax * cy))
    size += c2 * (abs(ax * by) + abs(bx * ay))
    return value > float64(_CIRCLE_ERROR) * size
