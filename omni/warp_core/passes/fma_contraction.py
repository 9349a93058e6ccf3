"""Fuse a multiplication into the one addition or subtraction that uses it.

In place. In: any verified function. Out: f32 and f64 `mul` whose only use is an `add` or `sub` became `fma`, with `neg`
for the subtracted side; of two candidates the first operand goes. The rule looks at uses only, so the result does not
depend on lanes, inlining order or debug checks: a use that merely tests for NaN or reports a value does not count. The
dead multiplications are left for `dce`.

A difference of two products is not fused, as one of them would be rounded and the other not. So `cross(a, a)` is 0, and
not the error of that rounding. The same is true of determinants of equal rows.

An adjoint computes values of its kernel again, where it uses them otherwise: it would round them in another way, and
could take another branch than the launch did. So it is given the `FusionRecord` of the finished kernel, and what is a
sum there is fused here as it was there.
"""

from __future__ import annotations

from collections.abc import Hashable

from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import OPS
from ..lang.types import F32, F64, element

_FUSED = (F32, F64)
_ROUNDED_ONCE = ("add", "sub", "fma")

# A value up to its sign, by number; and that sign.
Term = tuple[int, bool]


class FusionRecord:
    """The sums of a finished function, and which product was fused into each; 0 if none was.

    Values are equal that are computed in the same way from the same parameters, constants and places in memory. What
    regions give, and are given, counts as equal if the types are.
    """

    def __init__(self, function: Function):
        self._numbers: dict[Hashable, int] = {}
        self._found: dict[int, set[int]] = {}
        self._collect(function, ValueNumbering(self._numbers, function))

    def _collect(self, function: Function, terms: ValueNumbering) -> None:
        for op in function.body.walk():
            if op.code == "call" and not op.attr.is_library:
                self._collect(op.attr, terms.enter(op))
            elif op.code in _ROUNDED_ONCE and element(op.results[0].type) in _FUSED:
                number, _ = terms.of(op.results[0])
                product = terms.product(op.args[0], op.args[1])[0] if op.code == "fma" else 0
                self._found.setdefault(number, set()).add(product)

    def terms(self, function: Function) -> ValueNumbering:
        """The values of another function, numbered as those of this one."""
        return ValueNumbering(self._numbers, function)

    def product(self, number: int) -> int | None:
        """The number of the product that went into a sum; None if there is no such sum, or it went both ways."""
        found = self._found.get(number, ())
        return next(iter(found)) if len(found) == 1 else None


class ValueNumbering:
    """The values of a function as numbers that equal values share."""

    def __init__(self, numbers: dict[Hashable, int], function: Function):
        self._numbers = numbers
        self._known: dict[Value, Term] = {p: (self._number(("param", i)), False) for i, p in enumerate(function.params)}

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def enter(self, call: Operation) -> ValueNumbering:
        """The values of a function that is called; an adjoint has it inline."""
        inside = ValueNumbering(self._numbers, call.attr)
        inside._known = {p: self.of(a) for p, a in zip(call.attr.params, call.args)}
        end = call.attr.body.terminator
        for result, value in zip(call.results, end.args if end.code == "return" else ()):
            self._known[result] = inside.of(value)
        return inside

    def of(self, value: Value) -> Term:
        """The number of a value, and whether it is its negative."""
        todo = [value]
        while todo:  # a stack rather than recursion: chains of operations are thousands long
            op = todo[-1].op
            missing = [] if op is None or op.regions else [a for a in op.args if a not in self._known]
            if todo[-1] not in self._known and missing:
                todo += missing
                continue
            v = todo.pop()
            if v not in self._known:
                self._known[v] = self._found(v)
        return self._known[value]

    def _found(self, v: Value) -> Term:
        op = v.op
        if op is None or op.regions:
            return self._number(("region", v.type)), False
        given = [self._known[a] for a in op.args]
        if op.code == "from_end":  # dropped in one function and not in another
            return given[0]
        if op.code == "neg":
            return given[0][0], not given[0][1]
        if op.code == "mul":
            return self.product(*op.args)
        if op.code == "const":
            return self._constant(op.attr, v)
        if op.code == "fma":
            return self._sum(self.product(op.args[0], op.args[1]), given[2])
        if op.code in ("add", "sub"):
            (a, b), minus = given, op.code == "sub"
            return self._sum(a, (b[0], b[1] != minus))
        return self._number((op.code, op.attr, v.index, v.type, *given)), False

    def _constant(self, attr: object, v: Value) -> Term:
        numbers = attr if isinstance(attr, tuple) else (attr,)
        negative = all(n < 0 for n in numbers)
        return self._number(("const", v.type, tuple(-n if negative else n for n in numbers))), negative

    def product(self, x: Value, y: Value) -> Term:
        """The product of two values."""
        (a, minus), (b, other) = self.of(x), self.of(y)
        return self._number(("mul", min(a, b), max(a, b))), minus != other

    def _sum(self, x: Term, y: Term) -> Term:
        (a, minus), (b, other) = sorted((x, y))
        return self._number(("sum", a, b, minus == other)), minus


def contract(function: Function, like: FusionRecord | None = None) -> None:
    """Form fused multiply-adds in `function`; where it has the sums of another one, those that this has."""
    _Contraction(function, like).visit(function.body)


class _Contraction:
    def __init__(self, function: Function, like: FusionRecord | None):
        self.uses, self.like = _uses(function), like
        self.terms = like.terms(function) if like is not None else None

    def visit(self, region: Region) -> None:
        ops: list[Operation] = []
        for op in region.ops:
            if op.code in ("add", "sub") and element(op.args[0].type) in _FUSED:
                self._fuse(op, ops)
            for inner in op.regions:
                self.visit(inner)
            ops.append(op)
        region.ops = ops

    def _fuse(self, op: Operation, before: list[Operation]) -> None:
        """Turn `op` into `fma` if one of its operands is a multiplication to fuse."""
        for i in self._candidates(op):
            a, b = op.args[i].op.args  # type: ignore[union-attr]
            c = op.args[1 - i]
            if op.code == "sub" and i == 0:
                c = _negated(c, op, before)
            elif op.code == "sub":
                a = _negated(a, op, before)
            op.code, op.args = "fma", [a, b, c]
            return

    def _candidates(self, op: Operation) -> list[int]:
        products = [i for i, x in enumerate(op.args) if x.op is not None and x.op.code == "mul"]
        if products and self.like is not None and self.terms is not None:
            wanted = self.like.product(self.terms.of(op.results[0])[0])
            if wanted is not None:
                return [i for i in products if self.terms.of(op.args[i])[0] == wanted]
        return [] if _subtracts_products(op) else [i for i in products if self.uses.get(op.args[i]) == 1]


def _subtracts_products(op: Operation) -> bool:
    """True if a sum or difference takes one product away from another."""
    signs = [_sign_of_product(x) for x in op.args]
    return None not in signs and signs[0] != (signs[1] if op.code == "add" else not signs[1])


def _sign_of_product(x: Value) -> bool | None:
    """True if a value is the negative of a product, as its operations say; None if it is no product."""
    negative = False
    while x.op is not None and x.op.code == "neg":
        x, negative = x.op.args[0], not negative
    if x.op is None or x.op.code != "mul":
        return None
    return negative ^ _is_negated(x.op.args[0]) ^ _is_negated(x.op.args[1])


def _is_negated(x: Value) -> bool:
    if x.is_const:
        return not isinstance(x.const, tuple) and x.const < 0
    return x.op is not None and x.op.code == "neg"


def _uses(function: Function) -> dict[Value, int]:
    """Return how often each value has a live use."""
    uses: dict[Value, int] = {}
    for op in reversed(list(function.body.walk())):
        if op.code == "fail" or (op.code == "ne" and op.args[0] is op.args[1]):
            continue
        if OPS[op.code].pure and not uses.get(op.results[0]):
            continue
        for arg in op.args:
            uses[arg] = uses.get(arg, 0) + 1
    return uses


def _negated(x: Value, user: Operation, before: list[Operation]) -> Value:
    if x.is_const:
        negative = tuple(-n for n in x.const) if isinstance(x.const, tuple) else -x.const
        op = Operation("const", [], negative, user.loc)
    else:
        op = Operation("neg", [x], None, user.loc)
    op.results = (Value(x.type, op),)
    before.append(op)
    return op.results[0]
