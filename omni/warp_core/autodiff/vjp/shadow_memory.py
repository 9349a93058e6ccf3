"""Gradients of arrays that a kernel makes for itself: other such arrays, which begin at zero."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.builder import Builder
from ...ir.nodes import Operation, Value
from ...lang.types import I32, FixedArray


def shadow(t: FixedArray) -> tuple[Value, list[Operation]]:
    """The gradient of a local array of type `t`, and the operations that make it.

    They stand on their own, with constants of their own, for they come before all others.
    """
    b = Builder()
    b.push()
    array = b.op("alloca", attr=t)
    _fill(b, array, t.shape, [], b.zero(t.dtype))
    return array, b.pop().ops


def _fill(b: Builder, array: Value, shape: Sequence[int], at: list[Value], value: Value) -> None:
    """Store `value` in every element, in loops over the dimensions that are left."""
    if not shape:
        b.op("store", array, *at, value, attr=())
        return
    bounds = [b.const(n, I32) for n in (0, shape[0], 1)]
    (index,) = b.push([I32])
    _fill(b, array, shape[1:], [*at, index], value)
    b.terminate("yield")
    b.emit("for", bounds, None, (b.pop(),))
