"""Calls of struct operators, and of struct values: the function that the type of the struct supplies."""

from __future__ import annotations

import ast

from ...ir.nodes import Value
from ...lang.errors import nearest
from ...lang.kernel import Function
from ...lang.types import Struct
from ...lang.values.struct_operators import CALL, StructOperator, refusals, supplied
from ..context import Context
from ..values import ElementRef, Front, spell_front
from .overload_resolution import Call


def operator_of(cx: Context, operator: StructOperator, c: Call) -> Function | type:
    """The function, or the type of numbers, that the first argument of a call supplies for an operator."""
    if not c.args:
        raise cx.error("arguments", f"`{operator.shown}` takes at least one argument", c.node)
    first = c.args[0]
    t = first.type if isinstance(first, (Value, ElementRef)) else None
    given = supplied(t) if isinstance(t, Struct) else {}
    if operator.name in given:
        return given[operator.name]
    node = c.arg_node(0)
    shown = f"`{ast.unparse(node)}`" if isinstance(node, ast.expr) else "the argument"
    why = refusals(t).get(operator.name, "") if isinstance(t, Struct) else ""
    text = f"{shown} is {spell_front(first)}, which has no `{operator.shown}`"
    raise cx.error("no-member", text, node, candidates=nearest(operator.name, given), help=why)


def call_of(x: Front) -> Function | None:
    """The function that calls of a value run, None if it cannot be called."""
    found = supplied(x.type).get(CALL) if isinstance(x, (Value, ElementRef)) else None
    return found if isinstance(found, Function) else None
