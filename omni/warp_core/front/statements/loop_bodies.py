"""Parts of all kinds of loops: the locals that a body assigns, exits in it, and blocks that exits leave."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...ir.nodes import Value
from ...lang.types import Array, Struct, Type
from ..context import Context, Frame
from ..expressions.array_indexing import array_type
from ..liveness import base_name
from ..merges import Join, terminate
from ..syntax_walk import walk


def assigned(cx: Context, nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Locals the nodes assign; stores into arrays, and into arrays that are fields of structs, assign nothing. Nor does
    assigning a local array, whose memory stays the same.
    """
    names = (n for n in cx.liveness.changes_within(nodes) if n not in cx.memory or cx.env.get(n) is not cx.memory[n])
    return frozenset(n for n in names if _changes(cx, n, nodes))


def _changes(cx: Context, name: str, nodes: Sequence[ast.AST]) -> bool:
    x = cx.env.get(name)
    if not isinstance(x, Value) or not isinstance(x.type, (Array, Struct)):
        return True
    t = x.type
    return any(_reaches(t, n) for n in _stores(cx, nodes) if base_name(n) == name)


def _stores(cx: Context, nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    for root in nodes:
        for n in walk(root):
            if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store):
                yield n
            elif isinstance(n, ast.Call):
                yield from cx.liveness.changed.get(n, ())


def _reaches(t: Type, target: ast.expr) -> bool:
    """True if a store to `target`, a local of type `t` or a part of it, passes no array on its way."""
    steps = []
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        steps.append(target)
        target = target.value
    for step in reversed(steps):
        if array_type(t):
            return False
        if isinstance(t, Struct) and isinstance(step, ast.Attribute) and step.attr in t.index:
            t = t.fields[t.index[step.attr]][1]
        else:
            return True
    return True


def leaves(body: Sequence[ast.stmt], kind: type) -> bool:
    """True if a `break` or `continue` among the statements belongs to the loop around them."""
    for s in body:
        if isinstance(s, kind):
            return True
        if isinstance(s, (ast.For, ast.While)):
            if leaves(s.orelse, kind):
                return True
        elif isinstance(s, ast.Match):
            if any(leaves(c.body, kind) for c in s.cases):
                return True
        elif leaves(getattr(s, "body", []), kind) or leaves(getattr(s, "orelse", []), kind):
            return True
    return False


class Block:
    """A `block` operation that a `break` or `continue` of an unrolled body leaves."""

    def __init__(self, cx: Context, node: ast.stmt, wanted: frozenset[str]):
        self.cx, self.node, self.wanted = cx, node, wanted
        self.frame = Frame()
        self.before = dict(cx.env)
        cx.frames.append(self.frame)
        cx.b.push()

    def close(self) -> None:
        cx = self.cx
        exits = self.frame.breaks
        if not cx.dead:
            exits = [*exits, terminate(cx, "yield")]
        region = cx.b.pop()
        cx.frames.pop()
        cx.env, cx.dead = dict(self.before), not exits
        joined = Join(cx, exits, assigned(cx, [self.node]) & self.wanted, self.before, self.node)
        joined.fill()
        results = cx.b.emit("block", regions=(region,), results=joined.types)
        if cx.dead:
            cx.b.terminate("unreachable")
        else:
            joined.bind(results)
