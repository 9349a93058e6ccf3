"""Parameters that a function may change for its caller: `x: wp.ref[float]`.

A call copies the argument in and, when the function returns, out again; elements of arrays are reached in place. Which
arguments of a call that concerns is known before anything is typed: see `changed`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from .annotations import type_or_none
from .errors import CompileError
from .generics import Constant, Reference
from .kernel import Function
from .registry import Builtin

__all__ = ["ref"]


class ref:
    """`wp.ref[T]` annotates a parameter of a `@wp.func` that the function may change for its caller.

    What is passed must be a local, a component or field of one, an element of an array or a part of one, or another
    such parameter. At Python scope, where numbers cannot be changed, the function works on its own copy.
    """

    def __class_getitem__(cls, item: Any) -> Reference:
        t = type_or_none(item)
        if t is None or t is Constant or isinstance(t, Reference):
            raise TypeError(f"wp.ref[T] takes a type of the kernel language, not {item!r}")
        return Reference(t)


def changed(callee: Any, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """(parameter, argument) of what a call of a function or builtin may change.

    A builtin that `updates` changes the local it takes first, if it takes one there.
    """
    if isinstance(callee, Builtin) and callee.updates:
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "state")]
        return [("state", a) for a in given if isinstance(a, ast.Name)]
    found: dict[str, ast.expr] = {}
    for params in _signatures(callee):
        arguments = _arguments(params, call)
        for name, pattern, _ in params:
            if isinstance(pattern, Reference) and name in arguments:
                found.setdefault(name, arguments[name])
    return list(found.items())


def changes_arguments(callee: Any) -> bool:
    """True if some call of a function or builtin can change its arguments."""
    if isinstance(callee, Builtin) and callee.updates:
        return True
    return any(isinstance(pattern, Reference) for params in _signatures(callee) for _, pattern, _ in params)


def _signatures(callee: Any) -> Iterator[Sequence[tuple[str, Any, Any]]]:
    if isinstance(callee, Builtin) and callee.references:
        yield from (o.params for o in callee.overloads)
    if isinstance(callee, Function):
        try:
            yield from ([(p.name, t, p.default) for p, t in f._parameters] for f in callee.overloads)
        except CompileError:  # told where the function is lowered
            return


def _arguments(params: Sequence[tuple[str, Any, Any]], call: ast.Call) -> dict[str, ast.expr]:
    """The arguments by parameter; none if the call does not have this form."""
    names = [name for name, _, _ in params]
    given = dict(zip(names, call.args)) | {k.arg: k.value for k in call.keywords if k.arg}
    needed = {name for name, _, default in params if default is inspect.Parameter.empty}
    if len(call.args) > len(names) or not needed <= given.keys() <= set(names):
        return {}
    return given
