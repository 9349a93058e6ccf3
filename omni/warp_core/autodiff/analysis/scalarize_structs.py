"""Carry the members of structs one by one where structs hold arrays, and leave arrays that nothing changes outside.

A struct whose numbers change in a loop is carried as a whole, and the arrays in it with it: no one could tell any more
which arrays they are. In: any verified function. Out: a new function with the same meaning, in which

* `if`, `for`, `loop`, `block` and `select` give, and loops carry, the members of structs that hold arrays;
* arrays that all iterations hand on as they were, and those that all ways out agree on, are no longer among these.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.builder import Builder
from ...ir.clone import Rewriter, exits
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.types import Array, Struct, Type, members
from .leaves import leaf_types


def scalarize(function: Function) -> Function:
    """The rewritten function; `function` itself where it merges no structs with arrays."""
    merged = (
        v.type
        for op in function.body.walk()
        if op.regions or op.code == "select"
        for v in (*op.results, *(p for region in op.regions for p in region.params))
    )
    return _Scalarizer().rewrite(function) if any(map(_holds_arrays, merged)) else function


def _holds_arrays(t: Type) -> bool:
    return isinstance(t, Struct) and any(isinstance(leaf, Array) for leaf in leaf_types(t))


def _types(t: Type) -> list[Type]:
    """The types of what stands for a value of type `t`."""
    return [x for m in members(t) for x in _types(m)] if _holds_arrays(t) else [t]


def _parts(b: Builder, value: Value) -> list[Value]:
    """Return the values that replace a value."""
    if not _holds_arrays(value.type):
        return [value]
    return [x for i in range(len(members(value.type))) for x in _parts(b, b.op("extract", value, attr=i))]


def _whole(b: Builder, t: Type, parts: list[Value]) -> Value:
    """The value of type `t` that the first of `parts` stand for, which are taken away."""
    if not _holds_arrays(t):
        return parts.pop(0)
    return b.op("make", *(_whole(b, m, parts) for m in members(t)), attr=t)


class _Scalarizer(Rewriter):
    def _split(self, values: Sequence[Value]) -> list[Value]:
        return [x for v in values for x in _parts(self.b, v)]

    def rebuild(self, region: Region) -> Region:
        params = region.params
        new = self.b.push([x for p in params for x in _types(p.type)])
        rest = list(new)
        for p in params:
            value = self.values[p] = _whole(self.b, p.type, rest)
            value.name = value.name or p.name
        self.visit_ops(region.ops)
        return self.b.pop()

    def visit_select(self, op: Operation) -> None:
        condition, x, y = self.args(op)
        chosen = [self.b.op("select", condition, *pair) for pair in zip(_parts(self.b, x), _parts(self.b, y))]
        self.define(op, [_whole(self.b, op.result.type, chosen)])

    def _terminator(self, op: Operation) -> None:
        args = self.args(op)
        self.b.terminate(op.code, args if op.code == "return" else self._split(args), op.attr)

    def visit_break(self, op: Operation) -> None:
        depth = self._level - self._targets[-1 - (op.attr or 0)]
        self.b.terminate(op.code, self._split(self.args(op)), depth)

    visit_continue = visit_break

    def _emit(self, op: Operation, regions: tuple[Region, ...]) -> None:
        self.b.loc = self.place(op.loc)
        args = self._split(self.args(op))
        types = [x for v in op.results for x in _types(v.type)]
        agreed = _handed_on(op.code, args, regions[0]) if op.code in ("for", "loop") else {}
        if op.code != "for":
            agreed = _agreed(regions, _ends(op.code, regions), types)
        kept = [k for k in range(len(types)) if k not in agreed]
        found = self.b.emit(op.code, args, op.attr, regions, [types[k] for k in kept])
        given = {**agreed, **dict(zip(kept, found))}
        rest = [given[k] for k in range(len(types))]
        self.define(op, [_whole(self.b, v.type, rest) for v in op.results])


def _handed_on(code: str, args: list[Value], region: Region) -> dict[int, Value]:
    """The arrays that every iteration of a loop hands on as they were, by their place among the carried values. They
    are taken out of these: the iterations use them from outside.
    """
    bounds, first = (3, 1) if code == "for" else (0, 0)
    ends = [op for op in exits(region) if code == "for" or op.code == "continue"]
    if region.terminator.code == "yield":
        ends.append(region.terminator)
    carried = region.params[first:]
    found = {
        k: args[bounds + k]
        for k, p in enumerate(carried)
        if isinstance(p.type, Array) and all(end.args[k] is p for end in ends)
    }
    region.params[first:] = [p for k, p in enumerate(carried) if k not in found]
    for values, start in ((args, bounds), *((end.args, 0) for end in ends)):
        values[start:] = [v for k, v in enumerate(values[start:]) if k not in found]
    outside = {carried[k]: v for k, v in found.items()}
    for op in region.walk() if outside else ():
        op.args = [outside.get(a, a) for a in op.args]
    return found


def _ends(code: str, regions: Sequence[Region]) -> list[Operation]:
    """The terminators that give the results of an operation."""
    if code == "if":
        return [r.terminator for r in regions if r.terminator.code == "yield"]
    (region,) = regions
    found = [op for op in exits(region) if op.code == "break"]
    return [*found, region.terminator] if code == "block" and region.terminator.code == "yield" else found


def _agreed(regions: Sequence[Region], ends: Sequence[Operation], types: Sequence[Type]) -> dict[int, Value]:
    """The results that are one array from outside, whichever way out is taken. The ways no longer give them."""
    if not ends:
        return {}
    inside = {v for r in regions for v in r.params} | {v for r in regions for op in r.walk() for v in op.results}
    found = {
        k: ends[0].args[k]
        for k, t in enumerate(types)
        if isinstance(t, Array) and len({end.args[k] for end in ends}) == 1 and ends[0].args[k] not in inside
    }
    for end in ends:
        end.args = [a for k, a in enumerate(end.args) if k not in found]
    return found
