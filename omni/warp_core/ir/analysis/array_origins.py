"""Which arrays of a launch the functions of a kernel access, as they stand: no call need be inlined for that.

An array that a callee gets may come from several calls, in a struct, or through branches and loops. So the answer names
every parameter of the kernel that it may belong to. Start with `AccessedArrays`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from ...lang.types import Array, Type, leaves
from ..nodes import Function, Operation, Value
from ..ops import OPS
from .alias import is_made_by, is_own, underlying_object

ACCESSES = ("load", "store", "atomic")


class Source(NamedTuple):
    """A parameter of the kernel, or None for arrays of another origin, and the type of an element of it."""

    origin: Value | None
    dtype: Type


def may_share(some: frozenset[Source], others: frozenset[Source]) -> bool:
    """True if an array of `some` may be one of `others`."""
    unknown = {dtype for origin, dtype in others if origin is None}
    types = {dtype for _, dtype in others}
    return any(s in others or s.dtype in (types if s.origin is None else unknown) for s in some)


class AccessedArrays:
    """Which arrays of the launch operations access, those in calls included."""

    def __init__(self, functions: Sequence[Function]):
        self.sources: dict[Value, list[Value]] = {}  # of parameters and results: where the values come from
        for op in (op for f in functions for op in f.body.walk()):
            if op.code == "call":
                returned = [r.args for r in op.attr.body.walk() if r.code == "return"]
                self._join(op.attr.params, [op.args])
                self._join(op.results, returned)
            else:
                self._carry(op)
        self.of_callee = cache(lambda function: self.by(function.body.walk()))
        self.origins = cache(self._origins)

    def _join(self, targets: Sequence[Value], given: Iterable[Sequence[Value]]) -> None:
        for values in given:
            for target, value in zip(targets, values):
                if _arrays(target.type):
                    self.sources.setdefault(target, []).append(value)

    def _carry(self, op: Operation) -> None:
        """Let what goes through the regions of an operation come from whatever of its type goes in or leaves them."""
        targets = (*op.results, *(p for region in op.regions for p in region.params)) if op.regions else ()
        if any(_arrays(t.type) for t in targets):
            exits = [e for region in op.regions for e in region.walk() if OPS[e.code].terminator]
            values = [v for by in (op, *exits) for v in by.args]
            for target in targets:
                self._join((target,), [(v,) for v in values if v.type is target.type])

    def by(self, operations: Iterable[Operation]) -> frozenset[Source]:
        """Return what `operations` access."""
        found: set[Source] = set()
        for op in operations:
            if op.code == "call":
                found |= self.of_callee(op.attr)
            elif op.code in ACCESSES:
                origins, dtype = self.origins(op.args[0]), op.args[0].type.dtype
                found.update(Source(o, dtype) for o in origins if o is None or dtype in _arrays(o.type))
        return frozenset(found)

    def _origins(self, array: Value) -> frozenset[Value | None]:
        """Return the parameters of the kernel that an array may belong to."""
        todo, seen, found = [array], set(), set()
        while todo:
            whole = underlying_object(todo.pop())
            if whole in seen or is_own(whole) or is_made_by(whole, "zero"):  # an array without memory
                continue
            seen.add(whole)
            if whole in self.sources:
                todo += self.sources[whole]
            elif whole.op is not None and whole.op.code in ("make", "insert", "select"):
                todo += [a for a in whole.op.args if _arrays(a.type)]
            else:
                found.add(whole if whole.op is None else None)
        return frozenset(found)


@cache
def _arrays(t: Type) -> frozenset[Type]:
    """Return the element types of the arrays that a value of type `t` holds."""
    return frozenset(leaf.dtype for _, leaf in leaves(t) if isinstance(leaf, Array))
