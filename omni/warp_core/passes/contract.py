"""Fuse a multiplication into the one addition or subtraction that uses it.

In place. In: any verified function. Out: f32 and f64 `mul` whose only use is an `add` or `sub` became `fma`, with `neg`
for the subtracted side; of two candidates the first operand goes. The rule looks at uses only, so the result does not
depend on lanes, inlining order or debug checks: a use that merely tests for NaN or reports a value does not count. The
dead multiplications are left for `dce`.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import OPS
from ..lang.types import F32, F64, element

_FUSED = (F32, F64)


def contract(function: Function) -> None:
    """Form fused multiply-adds in `function`."""
    _visit(function.body, _uses(function))


def _uses(function: Function) -> dict[Value, int]:
    """How often each value is used for something that counts."""
    uses: dict[Value, int] = {}
    for op in reversed(list(function.body.walk())):
        if op.code == "fail" or (op.code == "ne" and op.args[0] is op.args[1]):
            continue
        if OPS[op.code].pure and not uses.get(op.results[0]):
            continue
        for arg in op.args:
            uses[arg] = uses.get(arg, 0) + 1
    return uses


def _visit(region: Region, uses: dict[Value, int]) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        if op.code in ("add", "sub") and element(op.args[0].type) in _FUSED:
            _fuse(op, ops, uses)
        for inner in op.regions:
            _visit(inner, uses)
        ops.append(op)
    region.ops = ops


def _fuse(op: Operation, before: list[Operation], uses: dict[Value, int]) -> None:
    """Turn `op` into `fma` if one of its operands is a multiplication used here only."""
    for i, product in enumerate(op.args):
        if product.op is not None and product.op.code == "mul" and uses.get(product) == 1:
            a, b = product.op.args
            c = op.args[1 - i]
            if op.code == "sub" and i == 0:
                c = _negated(c, op, before)
            elif op.code == "sub":
                a = _negated(a, op, before)
            op.code, op.args = "fma", [a, b, c]
            return


def _negated(x: Value, user: Operation, before: list[Operation]) -> Value:
    if x.is_const:
        negative = tuple(-n for n in x.const) if isinstance(x.const, tuple) else -x.const
        op = Operation("const", [], negative, user.loc)
    else:
        op = Operation("neg", [x], None, user.loc)
    op.results = (Value(x.type, op),)
    before.append(op)
    return op.results[0]
