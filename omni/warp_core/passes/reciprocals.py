"""Use reciprocals and reciprocal square roots in divisions: the option `fast_math`.

In: any verified function, in place. Out: a `div` of floats by a `splat` became a `mul` by the splat of one scalar
reciprocal. A reciprocal of a square root, or of a product with one, became an `rsqrt`, in scalar divisions too.
Division takes as long as several multiplications, and a vector needs one for each component. The result has a few
roundings in place of one. It is infinite or NaN where the reciprocal overflows, below 2.9e-39 in single precision.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region, Value
from ..lang.types import F32, Packed, element


def use_reciprocals(function: Function) -> None:
    """Replace divisions by multiplications in `function`, where one reciprocal serves several or is a root's."""
    _visit(function.body)


def _visit(region: Region) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            _visit(inner)
        if op.code == "div":
            ops += _Division(op).replace()
        ops.append(op)
    region.ops = ops


def _root_of(number: Value) -> Value | None:
    """What `number` is the square root of, in single precision."""
    op = number.op
    return op.args[0] if op is not None and op.code == "sqrt" and number.type is F32 else None


class _Division:
    """One division, and the operations that it needs before it."""

    def __init__(self, op: Operation):
        self.op = op
        self.before: list[Operation] = []

    def replace(self) -> list[Operation]:
        """Turn the division into a multiplication where that pays, and return the operations that give the factor."""
        op = self.op
        divisor, t = op.args[1], op.result.type
        if isinstance(t, Packed) and element(t).is_float and divisor.op is not None and divisor.op.code == "splat":
            (number,) = divisor.op.args
            factor = self._made("splat", [self._reciprocal(number)], divisor.op.attr, divisor)
        elif t is F32 and self._has_root(divisor):
            factor = self._reciprocal(divisor)
        else:
            return []
        op.code, op.args = "mul", [op.args[0], factor]
        return self.before

    def _has_root(self, number: Value) -> bool:
        return _root_of(number) is not None or any(_root_of(part) is not None for part in self._parts(number))

    def _parts(self, number: Value) -> list[Value]:
        """The factors of a product."""
        return list(number.op.args) if number.op is not None and number.op.code == "mul" else []

    def _reciprocal(self, number: Value) -> Value:
        square = _root_of(number)
        if square is not None:
            return self._made("rsqrt", [square], None, number)
        if not self._has_root(number):
            return self._made("div", [self._made("const", [], 1.0, number), number], None, number)
        a, b = self._parts(number)
        first = self._reciprocal(a if _root_of(a) is not None else b)
        other, square = (b, _root_of(a)) if _root_of(a) is not None else (a, _root_of(b))
        if other is square:  # 1 / (x * sqrt(x)), as in every law of inverse squares
            second = self._made("mul", [first, first], None, number)
        else:
            second = self._reciprocal(other)
        return self._made("mul", [second, first], None, number)

    def _made(self, code: str, args: list[Value], attr: object, like: Value) -> Value:
        op = Operation(code, args, attr, self.op.loc)
        op.results = (Value(like.type, op),)
        self.before.append(op)
        return op.result
