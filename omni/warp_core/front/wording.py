"""Words for syntax that kernels do not have, and what to do instead."""

from __future__ import annotations

import ast

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
    ast.Dict: "use a @wp.struct, or an array",
    ast.Set: "use bit operations or an array",
    ast.Global: "kernels only read globals, as compile-time constants",
    ast.Nonlocal: "kernels only read outer names, as compile-time constants",
}
