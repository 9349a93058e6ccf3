"""Tangents of values in forward mode: how they are kept, and the rules of arithmetic and aggregates.

`tangent.py` adds calls, memory and control flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from ...ir.clone import Rewriter
from ...ir.nodes import Operation, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import Array, Type, element
from ..analysis.leaves import assemble, leaf_of, leaf_types, member_span
from ..rules import scalar_rules


class Unknown(NamedTuple):
    """Stands for a tangent that cannot be had. Using it raises."""

    reason: str
    op: Operation

    def refuse(self) -> NotDifferentiable:
        return NotDifferentiable(self.reason, self.op)


Tangents = list["Value | Unknown | None"]  # None where it is known to be zero


def carries(t: Type) -> bool:
    """True if values of a type have tangents. Arrays do, as parameters take those of their elements along."""
    return any(has_tangent(leaf) for leaf in leaf_types(t))


def has_tangent(leaf: Type) -> bool:
    if isinstance(leaf, Array):
        return leaf.dtype.is_differentiable
    return leaf.is_differentiable


def numbered_leaves(value: Value) -> list[tuple[int, Type]]:
    return list(enumerate(leaf_types(value.type)))


def slot_types(t: Type) -> list[Type]:
    """The types of the leaves of a type that may have tangents."""
    return [leaf for leaf in leaf_types(t) if has_tangent(leaf)]


class ValueTangents(Rewriter):
    """Rebuilds operations on values with those on their tangents beside them. `tangents` has those of old values."""

    _takes_bits: bool

    def __init__(self) -> None:
        super().__init__()
        self.tangents: dict[Value, Tangents] = {}

    # -- tangents ---------------------------------------------------------------------------------------------------

    def _set(self, value: Value, given: Tangents) -> None:
        if any(x is not None for x in given):
            self.tangents[value] = given

    def _of(self, value: Value) -> Tangents:
        """The tangent of a value of the old function."""
        return self.tangents.get(value) or [None] * len(leaf_types(value.type))

    def _is_moving(self, value: Value) -> bool:
        return value in self.tangents

    def _known(self, given: Tangents) -> list[Value | None]:
        for x in given:
            if isinstance(x, Unknown):
                raise x.refuse()
        return given  # type: ignore[return-value]

    def _whole(self, value: Value) -> Value:
        """The tangent of a value as one value of its type."""
        return assemble(self.b, value.type, self._known(self._of(value)))

    def _dense(self, values: Iterable[Value]) -> list[Value]:
        """The tangents of all leaves that may have one, zeros included."""
        return [
            self._or_zero(x, t)
            for v in values
            for x, (_, t) in zip(self._known(self._of(v)), numbered_leaves(v))
            if has_tangent(t)
        ]

    def _or_zero(self, x: Value | None, t: Type) -> Value:
        return self.b.zero(t) if x is None else x

    def _spread(self, values: Sequence[Value], given: Sequence[Value]) -> None:
        """Take what `_dense` gave for values like these."""
        rest = iter(given)
        for v in values:
            self._set(v, [next(rest) if has_tangent(t) else None for _, t in numbered_leaves(v)])

    # -- operations -------------------------------------------------------------------------------------------------

    def _copy(self, op: Operation) -> None:
        super()._copy(op)
        if not carries(op.result.type):
            return
        rule = getattr(self, f"_{op.code}", None)
        if rule is not None:
            self._set(op.result, rule(op))
        elif any(map(self._is_moving, op.args)):
            self._set(op.result, self._arithmetic(op))

    def _arithmetic(self, op: Operation) -> Tangents:
        if op.code in scalar_rules.ELEMENTWISE:
            return self._componentwise(op, scalar_rules.ELEMENTWISE[op.code])
        return self._unknown(op.result, f"`{op.code}` has no derivative", op)

    def _unknown(self, value: Value, reason: str, op: Operation) -> Tangents:
        return [Unknown(reason, op) if has_tangent(t) else None for _, t in numbered_leaves(value)]

    def _componentwise(self, op: Operation, rule: scalar_rules.Rule) -> Tangents:
        moving = [self._known(self._of(a)) for a in op.args]
        args, result = self.args(op), self.values[op.result]
        out: Tangents = []
        for i, _ in numbered_leaves(op.result):
            parts = []
            for k, leaves in enumerate(moving):
                t = leaves[i]
                if t is None:
                    continue
                x = rule(self.b, [leaf_of(self.b, a, i) for a in args], leaf_of(self.b, result, i), t)[k]
                if x is not None:
                    parts.append(x)
            out.append(self._sum(parts))
        return out

    def _sum(self, parts: Sequence[Value]) -> Value | None:
        return reduce(lambda a, b: self.b.op("add", a, b), parts) if parts else None

    def _unless_zero(self, t: Value, x: Value) -> Value:
        """`x`, or zero where `t` is: the slope beside it may be infinite, or no number."""
        zero = self.b.const(0.0, t.type)
        return self.b.op("select", self.b.op("eq", t, zero), self.b.const(0.0, x.type), x)

    def _select(self, op: Operation) -> Tangents:
        condition, *_ = self.args(op)
        sides = zip(self._of(op.args[1]), self._of(op.args[2]), numbered_leaves(op.result))
        return [self._choice(condition, x, y, t, op) for x, y, (_, t) in sides]

    def _choice(
        self, condition: Value, x: Value | Unknown | None, y: Value | Unknown | None, t: Type, op: Operation
    ) -> Value | Unknown | None:
        if x is None and y is None:
            return None
        for side in (x, y):
            if isinstance(side, Unknown):
                return side
        return self.b.op("select", condition, self._or_zero(x, t), self._or_zero(y, t))  # type: ignore[arg-type]

    def _cast(self, op: Operation) -> Tangents:
        if not element(op.args[0].type).is_float:
            return [None] * len(leaf_types(op.attr))
        given = self._known(self._of(op.args[0]))
        return [x and self.b.op("cast", x, attr=element(op.attr)) for x in given]

    def _bitcast(self, op: Operation) -> Tangents:
        if self._is_moving(op.args[0]) or (self._takes_bits and not op.args[0].is_const):
            return self._unknown(op.result, "bits taken as a number have no derivative", op)
        return [None]

    def _make(self, op: Operation) -> Tangents:
        return [x for a in op.args for x in self._of(a)]

    def _splat(self, op: Operation) -> Tangents:
        return self._of(op.args[0]) * op.attr.count

    def _extract(self, op: Operation) -> Tangents:
        first, end = member_span(op.args[0].type, op.attr)
        return self._of(op.args[0])[first:end]

    def _insert(self, op: Operation) -> Tangents:
        whole, (first, end) = self._of(op.args[0]), member_span(op.args[0].type, op.attr)
        return [*whole[:first], *self._of(op.args[1]), *whole[end:]]

    def _extract_dyn(self, op: Operation) -> Tangents:
        if not self._is_moving(op.args[0]):
            return [None]
        return [self.b.op("extract_dyn", self._whole(op.args[0]), self.values[op.args[1]])]

    def _insert_dyn(self, op: Operation) -> Tangents:
        whole, part, index = op.args
        if not (self._is_moving(whole) or self._is_moving(part)):
            return [None] * len(leaf_types(op.result.type))
        made = self.b.op("insert_dyn", self._whole(whole), self._whole(part), self.values[index])
        return [leaf_of(self.b, made, i) for i, _ in numbered_leaves(op.result)]

    def _grad(self, op: Operation) -> Tangents:
        return self._unknown(op.result, "gradients of arrays have no tangent", op)

    def visit_stash(self, op: Operation) -> None:
        raise NotDifferentiable("the gradient of a function with loops, by wp.grad, has no tangent", op)
