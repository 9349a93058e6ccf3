"""Which locals a statement assigns, and which are still wanted after it: decides what loops and branches carry.

`Liveness` runs once per function over the syntax tree. Component stores (`v[0] = x`, `s.field = x`) count as
assignments of their base name, since values are updated functionally; the lowering drops arrays from them. So do calls
that change their arguments (`wp.randf(state)`, functions with `wp.ref[T]` parameters).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .syntax_walk import child_fields, walk

if TYPE_CHECKING:
    from .tiles.tile_names import TileNames

Names = frozenset[str]
NONE: Names = frozenset()


def base_name(node: ast.expr) -> str | None:
    """The local at the bottom of `v[0].x`, or None."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class Liveness:
    """The results: live names after each statement and at the head of each loop, and assigned names per node.

    `changes` gives the arguments that a call assigns; `results` are the locals that the function gives back. `tiles`
    gives the locals that may share tiles, once the function has tiles.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        changes: Callable[[ast.Call], Sequence[ast.expr]],
        results: Names = NONE,
        tiles: Callable[[], TileNames | None] = lambda: None,
    ):
        self.changes, self._results, self.tiles = changes, results, tiles
        self.changed: dict[ast.Call, Sequence[ast.expr]] = {}  # what calls outside of lambdas assign
        self.after: dict[int, Names] = {}
        self.head: dict[int, Names] = {}
        self._effects: dict[int, tuple[Names, Names]] = {}
        self.locals: set[str] = set()  # names assigned as a whole, which makes them locals of the function
        self._always: set[str] = set()  # read inside lambdas: wanted wherever the lambda might be called
        self._exposed: dict[int, Names] = {}  # by loop: what an iteration may read before it assigns it
        self._keep = True  # off while only the result of the analysis is asked for
        self.writes(body)
        self._block(body, results, NONE, NONE)

    def writes(self, nodes: Iterable[ast.AST]) -> Names:
        """Locals that the nodes assign, wholly or in part."""
        return NONE.union(*[self._of(node)[1] for node in nodes])

    def changes_within(self, nodes: Sequence[ast.AST]) -> Names:
        """Locals that the nodes assign or change, through other names for the same tile, too."""
        tiles = self.tiles()
        return self.writes(nodes) | tiles.changed(nodes) if tiles else self.writes(nodes)

    def reads(self, node: ast.AST | None) -> Names:
        """Locals (and globals) whose value the node may use."""
        return NONE if node is None else self._of(node)[0]

    def _of(self, node: ast.AST) -> tuple[Names, Names]:
        """(read, written) names of a node, computed once."""
        found = self._effects.get(id(node))
        if found is None:
            reads: set[str] = set()
            writes: set[str] = set()
            _scan(node, reads, writes, self)
            found = self._effects[id(node)] = frozenset(reads), frozenset(writes)
        return found

    def capture(self, names: Names) -> None:
        """Names read inside a lambda."""
        self._always |= names

    def wanted(self, node: ast.stmt) -> Names:
        """Locals that may be read after the statement."""
        return self._with_tiles(self.reads_after(node))

    def reads_after(self, node: ast.stmt) -> Names:
        """Locals that may be read after the statement by their own names."""
        return self.after.get(id(node), NONE) | self._always

    def at_head(self, node: ast.stmt) -> Names:
        """Locals that may be read when an iteration of the loop begins."""
        return self._with_tiles(self.reads_at_head(node))

    def reads_at_head(self, node: ast.stmt) -> Names:
        """Locals that may be read when an iteration of the loop begins, by their own names."""
        return self.head.get(id(node), NONE) | self._always

    def _with_tiles(self, names: Names) -> Names:
        tiles = self.tiles()
        return names | tiles.related(names) if tiles else names

    # Backward analysis: each method returns what is live before its part.

    def _block(self, body: Sequence[ast.stmt], live: Names, at_break: Names, at_continue: Names) -> Names:
        for node in reversed(body):
            if self._keep:
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
            return self.reads(node) | self._results
        if isinstance(node, ast.Break):
            return at_break
        if isinstance(node, ast.Continue):
            return at_continue
        return (live - _replaced(node)) | self.reads(node)

    def _loop(self, node: ast.For | ast.While, live: Names, at_break: Names, at_continue: Names) -> Names:
        done = self._block(node.orelse, live, at_break, at_continue)
        head = done | live | self._reads_first(node)
        if self._keep:
            self.head[id(node)] = head
            self._block(node.body, head, live, head)
        return head if isinstance(node, ast.While) else head | self.reads(node.iter)

    def _reads_first(self, node: ast.For | ast.While) -> Names:
        """Return the names that an iteration may read before it assigns them. The result is cached, so that nested
        loops take linear time.
        """
        if id(node) not in self._exposed:
            saved, self._keep = self._keep, False
            body = self._block(node.body, NONE, NONE, NONE)
            self._keep = saved
            target = NONE if isinstance(node, ast.While) else frozenset(_names_of(node.target))
            test = self.reads(node.test) if isinstance(node, ast.While) else NONE
            self._exposed[id(node)] = (body - target) | test
        return self._exposed[id(node)]


def _names_of(target: ast.AST) -> list[str]:
    return [n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _replaced(node: ast.stmt) -> Names:
    """Names a simple statement surely assigns as a whole."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    return frozenset(name for t in targets for name in _names_of(t))


def _scan(root: ast.AST, reads: set[str], writes: set[str], results: Liveness) -> None:
    """Add the names that `root` reads and writes; nested statements come from their own cached results."""
    stack = [root]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is ast.Load:  # type: ignore[attr-defined]
                reads.add(node.id)  # type: ignore[attr-defined]
            else:
                writes.add(node.id)  # type: ignore[attr-defined]
                results.locals.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind is ast.Constant:
            continue
        if node is not root and isinstance(node, ast.stmt):
            inner = results._of(node)
            reads |= inner[0]
            writes |= inner[1]
            continue
        if kind is ast.AugAssign and type(node.target) is ast.Name:  # type: ignore[attr-defined]
            reads.add(node.target.id)  # type: ignore[attr-defined]
        elif (kind is ast.Subscript or kind is ast.Attribute) and type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
            name = base_name(node)  # type: ignore[arg-type]
            if name is not None:
                writes.add(name)
        elif kind is ast.MatchAs and node.name:  # type: ignore[attr-defined]
            writes.add(node.name)  # type: ignore[attr-defined]
            results.locals.add(node.name)  # type: ignore[attr-defined]
        elif kind is ast.comprehension:  # its targets are names of its own
            stack += [node.iter, *node.ifs]  # type: ignore[attr-defined]
            continue
        elif kind is ast.Call:
            changed = results.changes(node)  # type: ignore[arg-type]
            if changed:
                writes.update(name for name in map(base_name, changed) if name is not None)
                results.changed[node] = changed  # type: ignore[index]
        elif kind is ast.Lambda:
            inner = results._of(node.body)  # type: ignore[attr-defined]
            results.capture(inner[0])
            for inside in walk(node):
                results.changed.pop(inside, None)  # type: ignore[call-overload]
            reads |= inner[0]
            writes |= inner[1]
            stack.append(node.args)  # type: ignore[attr-defined]
            continue
        for name in child_fields(kind):  # type: ignore[arg-type]
            child = getattr(node, name, None)
            if type(child) is list:
                stack += [c for c in child if isinstance(c, ast.AST)]
            elif isinstance(child, ast.AST):
                stack.append(child)
