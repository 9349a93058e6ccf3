"""Builtins that assign their first argument (`wp.randf(state)`): which calls do so, and the assignment.

Loops and branches carry what is assigned inside them, so such calls are recognised in the syntax tree before anything
is lowered: by the builtin's own name, or by a parameter that a function was passed for.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..ir.nodes import Value
from ..lang.registry import Builtin
from .context import Context
from .liveness import updated_name


def recogniser(globals_: Mapping[str, Any], bound: Mapping[str, Any]) -> Callable[[ast.Call], bool]:
    """Whether a call is one of a builtin that updates its argument. `bound` names come before `globals_`."""

    def resolve(f: ast.expr) -> Any:
        if isinstance(f, ast.Name):
            return bound.get(f.id, globals_.get(f.id))
        home = resolve(f.value) if isinstance(f, ast.Attribute) else None
        return getattr(home, f.attr, None) if isinstance(home, types.ModuleType) else None  # type: ignore[attr-defined]

    def updates(call: ast.Call) -> bool:
        found = resolve(call.func) if updated_name(call) else None
        return isinstance(found, Builtin) and found.updates

    return updates


def write_back(cx: Context, builtin: Builtin, call: ast.AST, new: Value) -> None:
    """Let the local that is the first argument of `call` take its new value."""
    name = updated_name(call) if isinstance(call, ast.Call) else None
    if name is None or name not in cx.local_names:
        return
    if call not in cx.liveness.updating:
        raise cx.error(
            "unsupported",
            f"this call of `wp.{builtin.name}` cannot update `{name}`",
            call,
            help=f"write `wp.{builtin.name}({name}, ...)` by that name, outside of lambdas",
        )
    cx.env[name] = new
