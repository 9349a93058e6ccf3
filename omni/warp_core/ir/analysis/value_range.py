"""Range analysis of integers, from the operations that compute them. Start with `upper_bound`."""

from __future__ import annotations

from collections.abc import Callable

from ...lang.semantics import int_range
from ...lang.types import Scalar
from ..nodes import Operation, Value

_DEPTH = 4  # operations looked back


def upper_bound(value: Value, depth: int = _DEPTH) -> int | None:
    """The largest number that integer `value` can be, or None if it may be negative or nothing is known."""
    t = value.type
    if not isinstance(t, Scalar) or not t.is_int:
        return None
    if value.is_const:
        return value.const if value.const >= 0 else None
    op = value.op
    largest = _RULES[op.code](op, depth - 1) if op is not None and depth and op.code in _RULES else None
    if largest is not None and largest <= int_range(t)[1]:
        return largest
    return None if t.is_signed else int_range(t)[1]


def _shifted_right(op: Operation, depth: int) -> int | None:
    number, count = upper_bound(op.args[0], depth), op.args[1]
    if number is None or not count.is_const or count.const < 0:
        return number
    return number >> count.const


def _masked(op: Operation, depth: int) -> int | None:
    return min((b for b in _bounds(op, depth) if b is not None), default=None)


def _combined(combine: Callable[[int, int], int]) -> Callable[[Operation, int], int | None]:
    def rule(op: Operation, depth: int) -> int | None:
        a, b = _bounds(op, depth)
        return combine(a, b) if a is not None and b is not None else None

    return rule


def _remainder(op: Operation, depth: int) -> int | None:
    number, divisor = _bounds(op, depth)
    return min(number, max(divisor - 1, 0)) if number is not None and divisor is not None else None


def _bounds(op: Operation, depth: int) -> list[int | None]:
    return [upper_bound(a, depth) for a in op.args]


_RULES: dict[str, Callable[[Operation, int], int | None]] = {
    "shr": _shifted_right,
    "and": _masked,
    "add": _combined(int.__add__),
    "mul": _combined(int.__mul__),
    "max": _combined(max),
    "rem": _remainder,
    "cast": lambda op, depth: upper_bound(op.args[0], depth),
}
