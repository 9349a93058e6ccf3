"""Where paths meet: which locals differ between them, and the results a structured operation needs for those.

`conditional` builds `if` operations for statements and expressions alike; `join` turns the locals at several exits of a
region operation into its results. A region whose operations are all pure is not kept: it moves in front and `select`
picks the results.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from ..ir.nodes import Loc, Operation, Region, Value
from ..ir.ops import OPS
from ..lang.types import BOOL, Tile, Type
from .context import Context, Exit
from .values import POISON, Poison, Undefined, flatten, shape_types, spell_shape, unflatten

SELECT_LIMIT = 16  # operations that are cheaper to compute than to branch around


def terminate(cx: Context, code: str, attr: Any = None) -> Exit:
    """Close the open region; the operands follow when the target is complete."""
    op = Operation(code, [], attr, cx.b.loc)
    cx.b.region.ops.append(op)
    exit = Exit(op, cx.b.region, dict(cx.env))
    cx.dead = True
    return exit


class Join:
    """The merge of `names` where `exits` meet: results to make, bindings to set."""

    def __init__(self, cx: Context, exits: list[Exit], names: Iterable[str], before: dict[str, Any], node: ast.AST):
        self.cx, self.exits, self.node = cx, exits, node
        self.set: dict[str, Any] = {}
        self.constants: list[tuple[str, Value]] = []
        self.merged: list[tuple[str, Any]] = []
        self.types: list[Type] = []
        for name in sorted(names) if exits else ():
            self._add(name, [e.env.get(name) for e in exits], before.get(name))

    def _add(self, name: str, bindings: list[Any], before: Any) -> None:
        if before is not None and all(x is before for x in bindings):
            self.set[name] = before
            return
        if any(isinstance(x, Poison) for x in bindings):
            self.set[name] = POISON
            return
        if any(x is None or isinstance(x, Undefined) for x in bindings):
            self.set[name] = self._unset(name, bindings)
            return
        if all(x is self.cx.memory.get(name) for x in bindings):
            self.set[name] = bindings[0]
            return
        if _one_constant(bindings):
            self.constants.append((name, bindings[0]))
            return
        shapes = [flatten(x)[0] for x in bindings]
        if any(shape != shapes[0] for shape in shapes[1:]):
            self._differ(name, shapes)
            return
        self.merged.append((name, shapes[0]))
        self.types += shape_types(shapes[0])

    def _unset(self, name: str, bindings: list[Any]) -> Any:
        """None when no path assigns it, else the reason a later read will be told."""
        known = next((x for x in bindings if isinstance(x, Undefined)), None)
        if known is not None:
            return known
        if all(x is None for x in bindings):
            return None
        found = self.cx.assigned_within(name, self.node)
        return Undefined(self.cx.loc(found) if found is not None else None, "it is assigned here, on some paths only")

    def _differ(self, name: str, shapes: list[Any]) -> None:
        self.set[name] = POISON
        kinds = list(dict.fromkeys(spell_shape(s) for s in shapes))
        shown = "the value" if name.startswith("<") else f"`{name}`"
        text = (
            f"{shown} would be {' on one path and '.join(kinds)} on the other"
            if len(kinds) > 1
            else (f"{shown} is a compile-time value and cannot differ between paths")
        )
        self.cx.report("branch-types", text, self.node)

    def fill(self) -> None:
        """Give every exit its operands."""
        for e in self.exits:
            for name, _ in self.merged:
                e.op.args += flatten(e.env[name])[1]

    def bind(self, results: Iterable[Value]) -> None:
        """Rebind the names after the operation was appended."""
        env, values = self.cx.env, list(results)
        for name, x in self.set.items():
            if x is None:
                env.pop(name, None)
            else:
                env[name] = x
        for name, v in self.constants:
            env[name] = self.cx.b.const(v.const, v.type)
        for name, shape in self.merged:
            env[name] = unflatten(shape, values)


def _one_constant(bindings: list[Any]) -> bool:
    """True if all are the same constant (0.0 and -0.0 differ)."""
    if not all(isinstance(x, Value) and x.is_const for x in bindings):
        return False
    first = bindings[0]
    return all(x.type is first.type and repr(x.const) == repr(first.const) for x in bindings)


def conditional(
    cx: Context,
    cond: Value,
    then: Callable[[], None],
    other: Callable[[], None],
    names: Callable[[], Iterable[str]],
    node: ast.AST,
    settle: Callable[[list[Exit]], None] | None = None,
    swapped: bool = False,
) -> None:
    """Lower two alternatives and merge `names`, asked for afterwards. Short pure alternatives become selects.

    `then` is lowered first; with `swapped` it is the alternative for a false condition. `settle` may complete the
    locals at the exits before they are merged.
    """
    loc: Loc | None = cx.b.loc
    before, exits, regions = dict(cx.env), [], []
    for body in (then, other):
        cx.env, cx.dead = dict(before), False
        cx.b.push()
        body()
        if not cx.dead:
            exits.append(terminate(cx, "yield"))
        regions.append(cx.b.pop())
    if swapped:
        exits.reverse()
        regions.reverse()
    cx.env = dict(before)
    cx.dead = not exits
    cx.b.loc = loc
    if cx.dead:
        cx.b.emit("if", [cond], regions=tuple(regions))
        cx.b.terminate("unreachable")
        return
    if settle:
        settle(exits)
    joined = Join(cx, exits, names(), before, node)
    joined.fill()
    has_tiles = any(isinstance(t, Tile) for t in joined.types)
    if len(exits) == 2 and all(map(_is_cheap, regions)) and not has_tiles:
        joined.bind(_select(cx, cond, regions))
    else:
        joined.bind(cx.b.emit("if", [cond], regions=tuple(regions), results=joined.types))


def _is_cheap(region: Region) -> bool:
    return len(region.ops) <= SELECT_LIMIT and all(OPS[op.code].pure for op in region.ops[:-1])


def _select(cx: Context, cond: Value, regions: list[Region]) -> list[Value]:
    for region in regions:
        cx.b.region.ops += _used(region)
    a, b = (region.terminator.args for region in regions)
    return [_choice(cx, cond, x, y) for x, y in zip(a, b)]


def _used(region: Region) -> list[Operation]:
    """The operations that the results of a region come from. Others would count as computed on both paths."""
    wanted, kept = set(region.terminator.args), []
    for op in reversed(region.ops[:-1]):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.args)
            kept.append(op)
    return kept[::-1]


def _choice(cx: Context, cond: Value, x: Value, y: Value) -> Value:
    if x.type is BOOL and y.is_const and not y.const:
        return cx.b.op("and", cond, x)
    if y.type is BOOL and x.is_const and x.const:
        return cx.b.op("or", cond, y)
    return cx.b.op("select", cond, x, y)
