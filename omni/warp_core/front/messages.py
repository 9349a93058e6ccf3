"""Words for errors: of syntax that kernels do not have and what to do instead, and of values that do not fit."""

from __future__ import annotations

import ast
from typing import Any

from ..lang.generics import spell
from ..lang.registry import is_builtin
from ..lang.types import BOOL, Mat, Scalar, Struct, Tile, Type, Vec
from .values import Static, UntypedLiteral, spell_brief, spell_front

WORDS: dict[type, str] = {
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.DictComp: "a dict comprehension",
    ast.SetComp: "a set comprehension",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.Starred: "`*` unpacking",
    ast.Try: "`try`",
    ast.Raise: "`raise`",
    ast.With: "`with`",
    ast.Import: "`import`",
    ast.ImportFrom: "`import`",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.FunctionDef: "a nested function",
    ast.ClassDef: "a class",
    ast.Delete: "`del`",
    ast.Slice: "a slice",
    ast.AsyncFor: "`async for`",
    ast.AsyncWith: "`async with`",
    ast.AsyncFunctionDef: "an async function",
}
ADVICE: dict[type, str] = {
    ast.FunctionDef: "define it outside and decorate it with @wp.func, or use a lambda",
    ast.Import: "import outside the kernel",
    ast.ImportFrom: "import outside the kernel",
    ast.Raise: "use `assert` (checked in debug mode), or write an error code to an array",
    ast.Try: "kernels have no exceptions: test for the condition instead",
    ast.With: "kernels have no contexts; timers and devices belong around the launch",
    ast.Dict: "use a @wp.struct, or an array",
    ast.Set: "use bit operations or an array",
    ast.Global: "kernels only read globals, as compile-time constants",
    ast.Nonlocal: "kernels only read outer names, as compile-time constants",
}


def misfit(x: Any, t: Type) -> str:
    """Return, after a comma, why `x` does not fit where type `t` is needed."""
    if isinstance(x, UntypedLiteral) and isinstance(x.value, int) and isinstance(t, Scalar) and t.is_int:
        return f"whose range does not include {spell_brief(x)}"
    return f"but this is {spell_front(x)}{', as of a function without `return`' if is_none(x) else ''}"


def condition_help(t: Type) -> str:
    """What to write instead where a value of type `t` is used as a condition."""
    if isinstance(t, Tile):
        return (
            "join tiles of bool by `&` and `|`, such as (0.0 < t) & (t < 2.0), and turn one round by `~`. "
            "wp.where(condition, a, b) chooses elements. A branch depends on one element, such as t[0]"
        )
    fields = t.fields if isinstance(t, Struct) else ()
    return next((f"ask for its field `.{name}`" for name, field in fields if field is BOOL), "compare a number")


def is_none(x: Any) -> bool:
    """True for the value of a function that returns nothing."""
    return isinstance(x, Static) and x.obj is None


def cast_help(x: Any, t: Type, node: ast.AST | None) -> str:
    """Return how to make a `t` of the number `x`: convert it, or use it for every component."""
    if not isinstance(x, UntypedLiteral) and not isinstance(getattr(x, "type", None), Scalar):
        return ""
    text = ast.unparse(node) if isinstance(node, ast.expr) else ""
    text = text if 0 < len(text) <= 60 else "..."
    if isinstance(t, Scalar):
        short = {"int32": "int", "float32": "float", "bool": "bool"}.get(spell(t), f"wp.{spell(t)}")
        return f"use `{short}(...)`" if text == "..." else f"convert it: `{short}({text})`"
    fits = isinstance(t, (Vec, Mat)) and (isinstance(x, UntypedLiteral) or x.type is t.scalar)
    if fits and spell(t).isidentifier():
        return f"write `wp.{spell(t)}({text})`, which has the number in every component"
    return ""


def method_help(node: ast.AST) -> str:
    """Return the replacement for `v.normalize()`, or for `v.length()`, which calls the number of components."""
    if isinstance(node, ast.Attribute) and is_builtin(node.attr):
        return f"values have no methods: write `wp.{node.attr}({ast.unparse(node.value)})`"
    return ""
