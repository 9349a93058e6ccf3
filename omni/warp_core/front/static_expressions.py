"""The `wp.static` expressions of a function, for the content hash: their values, where they can be computed before the
function is compiled, else the objects that they read. Start with `static_expressions`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..lang.kernel import Definition, static

MISSING = object()


class StaticExpression(NamedTuple):
    """One expression: its value, or MISSING and the outer objects that it reads, with their names."""

    value: Any
    reads: list[tuple[str, Any]]


def outer(func: FunctionType | Any, name: str) -> Any:
    """What a name stands for where a function was defined, or MISSING."""
    if name not in func.__code__.co_freevars:
        return func.__globals__.get(name, MISSING)
    try:
        return (func.__closure__ or ())[func.__code__.co_freevars.index(name)].cell_contents
    except ValueError:  # nothing yet
        return MISSING


class _Syntax:
    """What of the text of a function matters here, whatever its names stand for.

    Attributes:
        stores: how often each name is assigned.
        assigned: the assignments.
        targets: of values of assignments, by their ids: what they are assigned to.
        calls: the calls with one argument in the order in which they stand.
        codes: arguments of calls as code to evaluate, once they were evaluated.
    """

    def __init__(self, tree: ast.AST):
        nodes = list(ast.walk(tree))
        self.stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self.assigned = [n for n in nodes if isinstance(n, ast.Assign)]
        self.targets = {id(n.value): n.targets for n in self.assigned}
        calls = [n for n in nodes if isinstance(n, ast.Call) and len(n.args) == 1]
        self.calls = sorted(calls, key=lambda n: (n.lineno, n.col_offset))
        self.codes: dict[ast.expr, CodeType] = {}


_syntax: WeakKeyDictionary[ast.AST, _Syntax] = WeakKeyDictionary()  # of trees that were read before


def _syntax_of(d: Definition) -> _Syntax:
    tree = d.source.tree()
    if tree not in _syntax:
        _syntax[tree] = _Syntax(tree)
    return _syntax[tree]


def static_expressions(d: Definition) -> Iterator[StaticExpression]:
    """The expressions in the order in which they stand.

    One that reads a local can be computed if the local is the value of an earlier one, and of nothing else.
    """
    syntax, code = _syntax_of(d), d.func.__code__
    known: dict[str, Any] = {n: x for n in code.co_freevars if (x := outer(d.func, n)) is not MISSING}
    aliases = _aliases(d, syntax)
    for call in (n for n in syntax.calls if _is_static(d, n, aliases)):
        expression = call.args[0]
        value = MISSING
        if not [n for n in _names(expression) if n in (*code.co_varnames, *code.co_cellvars) and n not in known]:
            value = _evaluated(d, expression, known, syntax.codes)
        if value is MISSING:
            yield StaticExpression(value, list(_reads(d, expression)))
            continue
        yield StaticExpression(value, [])
        for target in syntax.targets.get(id(call), ()):
            if isinstance(target, ast.Name) and syntax.stores[target.id] == 1:
                known[target.id] = value


def _is_static(d: Definition, call: ast.Call, aliases: set[str]) -> bool:
    return (isinstance(call.func, ast.Name) and call.func.id in aliases) or _resolved(d, call.func) is static


def _aliases(d: Definition, syntax: _Syntax) -> set[str]:
    """The locals that are other names of `wp.static`."""
    assigned = [n for n in syntax.assigned if _resolved(d, n.value) is static]
    return {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}


def _resolved(d: Definition, node: ast.AST) -> Any:
    """The object that an outer name, or an attribute of one, stands for; or MISSING."""
    if isinstance(node, ast.Name):
        return outer(d.func, node.id)
    if not isinstance(node, ast.Attribute) or (owner := _resolved(d, node.value)) is MISSING:
        return MISSING
    try:
        return getattr(owner, node.attr, MISSING)
    except Exception:
        return MISSING


def _names(expression: ast.expr) -> set[str]:
    """The names that an expression reads and does not bind itself."""
    names = [n for n in ast.walk(expression) if isinstance(n, ast.Name)]
    bound = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in ast.walk(expression) if isinstance(n, ast.arg)}
    return {n.id for n in names} - bound


def _evaluated(d: Definition, expression: ast.expr, known: dict[str, Any], codes: dict[ast.expr, CodeType]) -> Any:
    try:
        if expression not in codes:
            codes[expression] = compile(ast.Expression(expression), d.source.filename, "eval")
        return eval(codes[expression], d.func.__globals__, known)  # the user's own expression
    except Exception:
        return MISSING


def _reads(d: Definition, node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The objects at the ends of attributes of attributes of outer names."""
    if isinstance(node, (ast.Name, ast.Attribute)) and (found := _resolved(d, node)) is not MISSING:
        yield ast.unparse(node), found
        return
    for child in ast.iter_child_nodes(node):
        yield from _reads(d, child)
