"""Atomics in reverse.

Additions are linear. The extremum of floats belongs to the last value that was stored. Of all values that equal the
element after the launch, one takes the gradient over by exchanging it for zero. That comparison asks for the very bits
that the launch computed, so such a launch and its adjoint are compiled without fused multiply-adds.

Only its own thread sees a local array: atomics on it are a load, an operation and a store (`plain_local_atomics`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.analysis.alias import is_local, may_alias
from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import UPDATES
from ...lang.errors import NotDifferentiable
from ...lang.types import Packed
from ..analysis.leaves import Leaves, leaf_of, leaf_types

if TYPE_CHECKING:
    from .reverse_pass import Reverse

_PLAIN = ("add", "sub", "min", "max", "and", "or", "xor")
_EXTREMES = ("min", "max")


def plain_local_atomics(function: Function) -> Function:
    """The function with plain accesses for the atomics on local arrays; `function` itself where it has none."""
    return _PlainLocal().rewrite(function) if any(map(_is_plain, function.body.walk())) else function


def _is_plain(op: Operation) -> bool:
    """True if an operation is an atomic that plain accesses can do."""
    return op.code == "atomic" and op.attr[0] != "cas" and is_local(op.args[0])


class _PlainLocal(Rewriter):
    def visit_atomic(self, op: Operation) -> None:
        kind, path = op.attr
        if not _is_plain(op):
            self._copy(op)
            return
        *place, value = self.args(op)
        old = self.b.op("load", *place, attr=path)
        new = self.b.op(UPDATES.get(kind, kind), old, value) if kind in _PLAIN else value
        self.b.op("store", *place, new, attr=path)
        self.define(op, [old])


def reverse_atomic(reverse: Reverse, op: Operation) -> None:
    """Add to the adjoint of what an atomic stores."""
    kind, path = op.attr
    value, given = op.args[-1], reverse.take(op.results[0])
    if not value.type.is_differentiable:
        return
    if given is not None:
        raise NotDifferentiable(f"what an atomic {kind} found in memory depends on the order of threads", op)
    if kind in _EXTREMES:
        reverse.add(value, _extreme(reverse, op))
        return
    if kind not in ("add", "sub"):
        raise NotDifferentiable(f"an atomic {kind} of floating point numbers depends on the order of threads", op)
    _check_order(reverse, op)
    place = reverse.place(op, 1)
    (found,) = reverse.where_present(place, lambda: [reverse.b.op("load", *place, attr=path)], [value.type])
    leaves = [leaf_of(reverse.b, found, i) for i in range(len(leaf_types(value.type)))]
    reverse.add(value, [x if kind == "add" else reverse.b.op("neg", x) for x in leaves])


def _check_order(reverse: Reverse, op: Operation) -> None:
    """Refuse sums that all threads read while they add to them, so that what they read depends on their order."""
    function = reverse.function
    if not _is_uniform(op, function) or not any(o.code == "tid" for o in function.body.walk()):
        return
    for other in function.body.walk():
        same = other.code == "load" and may_alias(op.args[0], other.args[0], reverse.scopes.shared)
        if same and other.results[0].type.is_differentiable and _element(other) == _element(op):
            why = f"threads read this element while others {op.attr[0]}, so that it depends on their order"
            raise NotDifferentiable(f"{why}: write the result to another array", other)


def _element(op: Operation) -> list[object]:
    """Return a key that distinguishes elements: the indices, constants by their values."""
    return [i.const if i.is_const else i for i in _indices(op)]


def _indices(op: Operation) -> list[Value]:
    return op.args[1 : 1 + op.args[0].type.ndim]


def _is_uniform(op: Operation, function: Function) -> bool:
    """True if all threads provably access the same element."""
    return op.args[0] in function.params and all(i.is_const or i in function.params for i in _indices(op))


def _extreme(reverse: Reverse, op: Operation) -> Leaves:
    """The gradient of what an atomic minimum or maximum stores, which is zero where something else came through."""
    _check_alone(reverse, op)
    b, (_, path), t = reverse.b, op.attr, op.args[-1].type
    place = reverse.place(op, 1)
    value = reverse.scopes.primal(op.args[-1])
    held = [reverse.scopes.primal(a) for a in op.args[:-1]]

    def taken() -> list[Value]:
        final = b.op("load", *held, attr=path)
        assert final.op is not None
        reverse.final.add(final.op)
        return [_exchanged(reverse, place, op, i, value, final) for i in range(len(leaf_types(t)))]

    return list(reverse.where_present(place, taken, leaf_types(t)))


def _exchanged(reverse: Reverse, place: list[Value], op: Operation, leaf: int, value: Value, final: Value) -> Value:
    """One component of the gradient of the element, zero in its place, if that component of `value` is in it."""
    b, (_, path), t = reverse.b, op.attr, op.args[-1].type
    here = b.op("eq", leaf_of(b, value, leaf), leaf_of(b, final, leaf))
    scalar = leaf_types(t)[leaf]
    b.push()
    into = (*path, leaf) if isinstance(t, Packed) else path
    b.terminate("yield", [b.op("atomic", *place, b.const(0.0, scalar), attr=("exch", into))])
    then = b.pop()
    b.push()
    b.terminate("yield", [b.const(0.0, scalar)])
    return b.emit("if", [here], None, (then, b.pop()), [scalar])[0]


def _check_alone(reverse: Reverse, op: Operation) -> None:
    """Refuse elements whose final value may have come, or may be used, in another way."""
    kind, array = op.attr[0], op.args[0]
    for other in reverse.function.body.walk():
        if other.code not in ("load", "store", "atomic"):
            continue
        same = other.code == "atomic" and other.attr[0] == kind
        if same or not may_alias(array, other.args[0], reverse.scopes.shared) or _are_other_elements(op, other):
            continue
        if other.code == "load" and not other.results[0].type.is_differentiable:
            continue
        does = "reads" if other.code == "load" else "writes"
        why = f"an atomic {kind} has a gradient where the kernel does nothing else with the array"
        instead = "use another array here, or an atomic minimum or maximum of another element, at a constant index"
        raise NotDifferentiable(f"{why}; here it {does} it as well: {instead}", other)


def _are_other_elements(op: Operation, other: Operation) -> bool:
    """True if two atomic extrema of one array differ in a constant index."""
    if other.code != "atomic" or other.attr[0] not in _EXTREMES:
        return False
    array = op.args[0]
    pairs = zip(op.args[1 : 1 + array.type.ndim], other.args[1 : 1 + array.type.ndim])
    known = [(a.const, b.const) for a, b in pairs if a.is_const and b.is_const]
    return array is other.args[0] and any(a != b and min(a, b) >= 0 for a, b in known)  # below 0: from the end
