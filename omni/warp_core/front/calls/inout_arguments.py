"""Calls that change what is passed to them (`wp.randf(state)`, functions with `wp.ref[T]` parameters): which calls do
so, and the assignment.

Loops and branches carry what is assigned inside them, so such calls are recognised in the syntax tree before anything
is lowered: by the callee's own name, or by a parameter that a function was passed for.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from typing import Any

from ...ir.nodes import Value
from ...lang.kernel import Function
from ...lang.ref_params import changed
from ...lang.registry import Builtin
from ..context import Context
from ..statements.lvalues import Place
from .overload_resolution import Match

Resolve = Callable[[ast.expr], Any]


def resolver(globals_: Mapping[str, Any], bound: Mapping[str, Any]) -> Resolve:
    """Resolve a name, or a name in a module; None if unknown. `bound` come before `globals_`."""

    def resolve(f: ast.expr) -> Any:
        if isinstance(f, ast.Name):
            return bound.get(f.id, globals_.get(f.id))
        home = resolve(f.value) if isinstance(f, ast.Attribute) else None
        return getattr(home, f.attr, None) if isinstance(home, types.ModuleType) else None  # type: ignore[attr-defined]

    return resolve


def recogniser(globals_: Mapping[str, Any], bound: Mapping[str, Any]) -> Callable[[ast.Call], list[ast.expr]]:
    """The arguments that a call changes. `bound` names come before `globals_`."""
    resolve = resolver(globals_, bound)

    def changes(call: ast.Call) -> list[ast.expr]:
        callee = resolve(call.func)
        return [a for _, a in changed(callee, call)] if isinstance(callee, (Builtin, Function)) else []

    return changes


def write_back(cx: Context, m: Match, new: list[Value], call: ast.AST, what: str) -> None:
    """Give the places that were passed by reference the values that the function returned for them."""
    places = [(name, x) for name, x in m.refs.items() if name not in m.elements and x is not None]
    for (name, place), value in zip(places, new):
        if place.name and call not in cx.liveness.changed:
            raise _not_seen(cx, place, call, what)
        if any(place.overlaps(other) for n, other in places if n != name):
            shown = place.name or ast.unparse(place.node)
            raise cx.error("arguments", f"`{shown}` is passed twice to parameters that {what} changes", place.node)
        place.put(cx, value)


def update(cx: Context, builtin: Builtin, call: ast.AST, new: Value) -> None:
    """Let the local that `call` takes first have its new value."""
    taken = changed(builtin, call) if isinstance(call, ast.Call) else []
    for _, argument in taken:
        assert isinstance(argument, ast.Name)
        if argument.id in cx.local_names:
            place = Place(new, argument, argument.id)
            if call not in cx.liveness.changed:
                raise _not_seen(cx, place, call, f"`wp.{builtin.name}`")
            place.put(cx, new)


def _not_seen(cx: Context, place: Place, call: ast.AST, what: str) -> Exception:
    return cx.error(
        "unsupported",
        f"this call of {what} cannot update `{place.name}`",
        call,
        help=f"call it by its name, outside of lambdas: {what.rstrip('`')}({place.name}, ...)`",
    )
