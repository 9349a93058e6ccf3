"""Divide the components of a vector by one number as a multiplication by its reciprocal: the option `fast_math`.

In: any verified function, in place. Out: a `div` of floats by a `splat` became a `mul` by the splat of a scalar `div`.
Division takes as long as several multiplications, and a vector needs one for each component. The result has two
roundings in place of one. It is infinite or NaN where the reciprocal overflows, below 2.9e-39 in single precision.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region, Value
from ..lang.types import Packed, element


def use_reciprocals(function: Function) -> None:
    """Replace divisions of vectors, matrices and quaternions by numbers in `function`."""
    _visit(function.body)


def _visit(region: Region) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            _visit(inner)
        if op.code == "div" and _is_by_number(op):
            ops += _reciprocal(op)
        ops.append(op)
    region.ops = ops


def _is_by_number(op: Operation) -> bool:
    divisor = op.args[1].op
    t = op.result.type
    return isinstance(t, Packed) and element(t).is_float and divisor is not None and divisor.code == "splat"


def _reciprocal(division: Operation) -> list[Operation]:
    """Turn a division into a multiplication, and return the operations that give the factor."""
    splat = division.args[1].op
    assert splat is not None
    (number,) = splat.args
    one = _made("const", [], 1.0, number, division)
    inverse = _made("div", [one.result, number], None, number, division)
    factor = _made("splat", [inverse.result], splat.attr, splat.result, division)
    division.code, division.args = "mul", [division.args[0], factor.result]
    return [one, inverse, factor]


def _made(code: str, args: list[Value], attr: object, like: Value, at: Operation) -> Operation:
    op = Operation(code, args, attr, at.loc)
    op.results = (Value(like.type, op),)
    return op
