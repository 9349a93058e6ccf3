"""Which locals of a function may share a tile, and what statements may change.

Both are found in the syntax tree, before types are known.

`v = t[1]` and `v = wp.tile_view(t, ...)` may make `v` a view of the tile in `t`. Then `v += u` changes `t`, and so does
`f(v)` if the function `f` changes the tile that it is passed. Loops and branches carry what is changed inside of them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from ...lang.kernel import Function
from ...lang.registry import Intrinsic
from ..calls.inout_arguments import Resolve, resolver
from ..liveness import Names, base_name
from ..names import captures_of
from ..syntax_walk import walk

_VIEWS = frozenset(f"tile_{name}" for name in ("view", "transpose", "broadcast", "reshape", "squeeze"))
# Functions that change tiles they are given, and the parameters that take these.
CHANGES: dict[str, tuple[str, ...]] = {}


def own_name(parameter: str) -> str:
    """The name of the tile that a function was passed for a parameter, which the parameter itself may leave."""
    return f"{parameter}.tile"


class TileNames:
    """The locals of one function. `parameters` are those that are passed as places of tiles."""

    def __init__(self, body: Sequence[ast.stmt], resolve: Resolve, parameters: Iterable[str] = ()):
        self._body, self._resolve = body, resolve
        self._passed = {own_name(p) for p in parameters}
        self._groups: dict[str, set[str]] = {}
        for p in parameters:
            self._join(p, own_name(p))
        for node in self._walk():
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                source = _viewed(node.value)
                if source:
                    self._join(node.targets[0].id, source)

    def _walk(self) -> Iterator[ast.AST]:
        for statement in self._body:
            yield from walk(statement)

    def _join(self, a: str, b: str) -> None:
        group = self._groups.get(a, {a}) | self._groups.get(b, {b})
        self._groups.update(dict.fromkeys(group, group))

    def related(self, names: Iterable[str]) -> Names:
        """The names, and all that may share a tile with one of them."""
        return frozenset(self._passed.union(*[self._groups.get(name, {name}) for name in names]))

    def changed(self, nodes: Iterable[ast.AST]) -> Names:
        """Locals whose tile may be changed in place by the nodes."""
        found: set[str] = set()
        for root in nodes:
            for node in walk(root):
                found.update(name for name in map(base_name, self._places(node)) if name)
        return frozenset(name for n in found for name in self._groups.get(n, {n}))

    @cached_property
    def in_place(self) -> Names:
        """Locals whose tile may be changed in place somewhere in the function."""
        return self.changed(self._body)

    def _places(self, node: ast.AST) -> Sequence[ast.expr]:
        """What a node by itself may change a part of."""
        if isinstance(node, ast.AugAssign):
            return [node.target]
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            return [node]
        if isinstance(node, ast.Call):
            return [argument for _, argument in tile_changes(self._resolve(node.func), node)]
        return []


def _viewed(value: ast.expr) -> str | None:
    """The local of whose tile an expression may be a view."""
    is_view = False
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Subscript):
            value, is_view = value.value, True
        elif isinstance(value, ast.Call) and _last_name(value.func) in _VIEWS:
            tiles = [*value.args[:1], *(k.value for k in value.keywords if k.arg in ("t", "a"))]
            if not tiles:
                return None
            value, is_view = tiles[0], True
        else:
            return None
    return value.id if is_view else None


def _last_name(f: ast.expr) -> str:
    return f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""


# -- calls ------------------------------------------------------------------------------------------------------------


def tile_changes(callee: Any, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """(parameter, argument) of the tiles that a call may change."""
    callee = getattr(callee, "__wc_intrinsic__", callee)
    if isinstance(callee, Intrinsic):
        names = CHANGES.get(callee.name)
        return _given(list(inspect.signature(callee.described).parameters), names, call) if names else []
    if not isinstance(callee, Function):
        return []
    found: dict[str, ast.expr] = {}
    for f in callee.overloads:
        found |= _given(_parameters(f), changed_parameters(f), call)
    return list(found.items())


def _parameters(f: Function) -> list[str]:
    a = f.source.tree().args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def _given(parameters: Sequence[str], changed: Iterable[str], call: ast.Call) -> list[tuple[str, ast.expr]]:
    if any(isinstance(a, ast.Starred) for a in call.args):
        return []
    given = dict(zip(parameters, call.args)) | {k.arg: k.value for k in call.keywords if k.arg}
    return [(p, given[p]) for p in parameters if p in changed and p in given]


_known: WeakKeyDictionary[Function, Names] = WeakKeyDictionary()


def changed_parameters(f: Function) -> Names:
    """The parameters of a function whose tile it may change for its caller."""
    if f not in _known:
        _known[f] = frozenset()  # a function that calls itself is refused elsewhere
        names = TileNames(f.source.tree().body, resolver(f.func.__globals__, captures_of(f.func)))
        _known[f] = names.in_place & frozenset(_parameters(f))
    return _known[f]
