"""Which locals a statement assigns, and which are still wanted after it: decides what loops and branches carry.

`analyse` runs once per function over the syntax tree. Component stores (`v[0] = x`, `s.field = x`) count as
assignments of their base name, since values are updated functionally; the lowering drops arrays from them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

Names = frozenset[str]
NONE: Names = frozenset()


def base_name(node: ast.expr) -> str | None:
    """The local at the bottom of `v[0].x`, or None."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class Liveness:
    """The results: live names after each statement and at the head of each loop, and assigned names per node."""

    def __init__(self, body: Sequence[ast.stmt]):
        self.after: dict[int, Names] = {}
        self.head: dict[int, Names] = {}
        self._reads: dict[int, Names] = {}
        self._writes: dict[int, Names] = {}
        self._always = self._captured(body)
        self._block(body, NONE, NONE, NONE)

    @staticmethod
    def _captured(body: Sequence[ast.stmt]) -> Names:
        """Names read inside lambdas: wanted wherever the lambda might be called."""
        lambdas = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Lambda)]
        return frozenset(n.id for f in lambdas for n in ast.walk(f.body) if isinstance(n, ast.Name))

    def writes(self, nodes: Iterable[ast.AST]) -> Names:
        """Locals that the nodes assign, wholly or in part."""
        out: set[str] = set()
        for node in nodes:
            found = self._writes.get(id(node))
            if found is None:
                found = self._writes[id(node)] = frozenset(_written(node))
            out |= found
        return frozenset(out)

    def reads(self, node: ast.AST | None) -> Names:
        """Locals (and globals) whose value the node may use."""
        if node is None:
            return NONE
        found = self._reads.get(id(node))
        if found is None:
            found = self._reads[id(node)] = frozenset(_read(node))
        return found

    def wanted(self, node: ast.stmt) -> Names:
        """Locals that may be read after the statement."""
        return self.after.get(id(node), NONE) | self._always

    def at_head(self, node: ast.stmt) -> Names:
        """Locals that may be read when an iteration of the loop begins."""
        return self.head.get(id(node), NONE) | self._always

    # Backward analysis: each method returns what is live before its part.

    def _block(self, body: Sequence[ast.stmt], live: Names, at_break: Names, at_continue: Names) -> Names:
        for node in reversed(body):
            self.after[id(node)] = live
            live = self._statement(node, live, at_break, at_continue)
        return live

    def _statement(self, node: ast.stmt, live: Names, at_break: Names, at_continue: Names) -> Names:
        if isinstance(node, ast.If):
            taken = self._block(node.body, live, at_break, at_continue)
            other = self._block(node.orelse, live, at_break, at_continue)
            return taken | other | self.reads(node.test)
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, live, at_break, at_continue)
        if isinstance(node, ast.Match):
            arms = [self._block(c.body, live, at_break, at_continue) | self.reads(c.guard) for c in node.cases]
            return frozenset().union(live, *arms, self.reads(node.subject))
        if isinstance(node, ast.Return):
            return self.reads(node)
        if isinstance(node, ast.Break):
            return at_break
        if isinstance(node, ast.Continue):
            return at_continue
        return (live - _replaced(node)) | self.reads(node)

    def _loop(self, node: ast.For | ast.While, live: Names, at_break: Names, at_continue: Names) -> Names:
        done = self._block(node.orelse, live, at_break, at_continue)
        if isinstance(node, ast.While):
            entry, replaced = done | self.reads(node.test), NONE
        else:
            entry, replaced = done, frozenset(_names_of(node.target))
        head = entry
        for _ in range(2):  # structured loops settle in two passes
            head = entry | (self._block(node.body, head, live, head) - replaced) | head
        self.head[id(node)] = head
        return head if isinstance(node, ast.While) else head | self.reads(node.iter)


def _names_of(target: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _replaced(node: ast.stmt) -> Names:
    """Names a simple statement surely assigns as a whole."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return frozenset(name for t in targets for name in _names_of(t))


def _written(node: ast.AST) -> list[str]:
    out = []
    for n in ast.walk(node):
        if isinstance(n, ast.Name):
            if not isinstance(n.ctx, ast.Load):
                out.append(n.id)
        elif isinstance(n, (ast.Subscript, ast.Attribute)) and isinstance(n.ctx, ast.Store):
            name = base_name(n)
            if name is not None:
                out.append(name)
        elif isinstance(n, ast.MatchAs) and n.name:
            out.append(n.name)
    return out


def _read(node: ast.AST) -> list[str]:
    out = []
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            out.append(n.id)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            out.append(n.target.id)
    return out
