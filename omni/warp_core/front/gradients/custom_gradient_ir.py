"""Gradients and replays that users give for their functions (lang/custom_gradients.py), as IR beside the function's
own.

Start with `attach`. In the body of a gradient `wp.adjoint[x]` becomes a local of its own that the syntax does not
know: zero to begin with, given back in the end; for an array it is the array of its gradient.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...ir.nodes import Function as IrFunction
from ...lang import inference
from ...lang.custom_gradients import Gradient, Replay, adjoint
from ...lang.errors import CompileError
from ...lang.generics import spell, spell_pattern, unify
from ...lang.kernel import Definition, Function
from ...lang.types import Array, FixedArray, Type
from ..calls.inout_arguments import resolver
from ..calls.overload_resolution import Match
from ..context import Context, LoweringError
from ..names import captures_of
from ..values import Static, flatten, with_parameters
from .adjoint_params import has_adjoint
from .overwritten_arrays import overwritten

if TYPE_CHECKING:
    from ..session import Instance, Session

_NOTHING = flatten(Static(None))[0]

Pairs = list[tuple[str, Type]]


def attach(session: Session, f: Function, overload: Function, m: Match, instance: Instance) -> None:
    """Lower what the user gave for differentiating `overload`, one of the forms of `f`, unless that is done.

    Raises:
        Refused: it does not fit the function; what is wrong has been reported.
    """
    if instance.customised or not f.customs:
        return
    instance.customised = True
    try:
        for kind, lower in ((Gradient, _gradient), (Replay, _replay)):
            given = next((c for c in f.customs if isinstance(c, kind) and _fits(session, c, f, overload)), None)
            if given is not None:
                lower(session, given, overload, m, instance)
    except CompileError as e:
        for d in e.diagnostics:
            session.report(d)
        raise LoweringError from None


def _fits(session: Session, custom: Definition, f: Function, overload: Function) -> bool:
    """True if its first parameters are those of the overload. Raise if they do not fit any overload."""
    if not any(_begins(custom, o) for o in f.overloads):
        is_gradient = isinstance(custom, Gradient)
        rest = ["<the adjoint of each result>"] if is_gradient else []
        taken = [[*(f"{n}: {spell_pattern(t)}" for n, t in o.params), *rest] for o in f.overloads]
        shown = [f"{custom.name}({', '.join(params)})" for params in taken]
        wanted = f"the parameters of `{f.name}`" + (", then the adjoints" if is_gradient else "")
        raise _refusal(session, custom, "arguments", f"{custom.subject} takes {wanted}: it fits none", shown)
    return _begins(custom, overload)


def _begins(custom: Definition, overload: Function) -> bool:
    theirs = [t for _, t in overload.params]
    mine = [t for _, t in custom.params[: len(theirs)]]
    return len(mine) == len(theirs) and all(
        a == b or (inference.is_open(a) and inference.is_open(b)) for a, b in zip(mine, theirs)
    )


def _refusal(
    session: Session, custom: Definition, code: str, message: str, candidates: Sequence[str] = (), at: Any = None
) -> LoweringError:
    tree = custom.source.tree()
    cx = Context(session, custom.source, {}, {}, IrFunction("", []))
    if at is None:
        at = copy.copy(tree)
        at.end_lineno, at.end_col_offset = tree.lineno, tree.col_offset + len(f"def {tree.name}")
    return cx.error(code, message, at, candidates=candidates)


def _given(custom: Definition, overload: Function, m: Match) -> tuple[Pairs, list[tuple[str, Any]]]:
    """The run-time and compile-time arguments of a call under the names that the custom function has for them."""
    names = {theirs: mine for (theirs, _), (mine, _) in zip(overload.params, custom.params)}

    def renamed(parameter: str) -> str:
        name, bracket, item = parameter.partition("[")
        return f"{names[name]}{bracket}{item}"

    return [(renamed(n), t) for n, t, _ in m.values], [(names[n], with_parameters(x, renamed)) for n, x in m.statics]


def _lowered(session: Session, custom: Definition, pairs: Pairs, statics: list, m: Match, **more: Any) -> Instance:
    bindings: dict[str, Any] = dict(m.bindings)
    patterns = dict(custom.params)
    for name, t in pairs:
        if name in patterns:  # items of tuples have no pattern of their own
            unify(patterns[name], t, bindings)
    return session.lower(custom, Match(0, bindings, [(n, t, None) for n, t in pairs], statics, **more), False)


def _no_references(session: Session, custom: Definition, overload: Function, m: Match) -> None:
    if m.refs:
        text = f"`{overload.name}` changes its parameter `{next(iter(m.refs))}`"
        raise _refusal(
            session,
            custom,
            "unsupported",
            f"{text}: functions with such parameters cannot have a custom {_what(custom)}",
        )


def _what(custom: Definition) -> str:
    return type(custom).__name__.lower()


# -- replays --------------------------------------------------------------------------------------------------------


def _replay(session: Session, custom: Definition, overload: Function, m: Match, instance: Instance) -> None:
    _no_references(session, custom, overload, m)
    pairs, statics = _given(custom, overload, m)
    if len(custom.params) != len(overload.params):
        extra = custom.params[len(overload.params)][0]
        text = f"{custom.subject} takes the parameters of `{overload.name}`, but `{extra}` is not one of them"
        raise _refusal(session, custom, "arguments", text)
    made = _lowered(session, custom, pairs, statics, m)
    if made.shape != instance.shape:
        text = f"{custom.subject} returns another type than `{overload.name}`"
        raise _refusal(session, custom, "return-type", text)
    instance.function.replay = made.function


# -- gradients ------------------------------------------------------------------------------------------------------


def _gradient(session: Session, custom: Definition, overload: Function, m: Match, instance: Instance) -> None:
    _no_references(session, custom, overload, m)
    pairs, statics = _given(custom, overload, m)
    results = instance.function.results
    seeds = custom.params[len(overload.params) :]
    if len(seeds) != len(results):
        wanted = ", ".join(spell(t) for t in results) or "nothing"
        text = f"{custom.subject} takes the adjoint of each result of `{overload.name}` ({wanted}) after its parameters"
        raise _refusal(session, custom, "arguments", f"{text}; it takes {len(seeds)}")
    for (name, pattern), t in zip(seeds, results):
        if not unify(pattern, t, {}):
            at = _parameter(custom, name)
            text = f"`{name}` is the adjoint of a result of `{overload.name}`: it takes {spell(t)}"
            raise _refusal(session, custom, "arguments", text, at=at)
    tree, named = _with_locals(session, custom, pairs)
    made = _lowered(
        session, custom, [*pairs, *((n, t) for (n, _), t in zip(seeds, results))], statics, m, adjoints=named, tree=tree
    )
    if made.shape != _NOTHING:
        returns = next(n for n in ast.walk(tree) if isinstance(n, ast.Return))
        text = f"{custom.subject} returns nothing: it adds to `wp.adjoint[...]`"
        raise _refusal(session, custom, "return-type", text, at=returns)
    made.function.left = _left_behind(instance.function, made.function)
    instance.function.gradient = made.function


def _left_behind(function: IrFunction, gradient: IrFunction) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The arrays whose elements the function overwrites, and whose gradients its gradient does not clear."""
    cleared = {(at.param, at.members) for at in overwritten(gradient) if at.gradients == 1}
    set_ = {(at.param, at.members) for at in overwritten(function) if not at.gradients and at.element.is_differentiable}
    return tuple(sorted(set_ - cleared))


def _parameter(custom: Definition, name: str) -> ast.AST:
    return next(a for a in ast.walk(custom.source.tree().args) if isinstance(a, ast.arg) and a.arg == name)


def _with_locals(session: Session, custom: Definition, pairs: Pairs) -> tuple[ast.FunctionDef, dict[str, str]]:
    """The syntax with a local for each `wp.adjoint[x]`, and which parameter each such local is for."""
    types = dict(pairs)
    named = {f"wp.adjoint[{n}]": n for n, t in pairs if has_adjoint(t) and not isinstance(t, FixedArray)}
    resolve = resolver(custom.func.__globals__, captures_of(custom.func))

    class Named(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            if resolve(node.value) is not adjoint:
                return self.generic_visit(node)
            local = f"wp.adjoint[{ast.unparse(node.slice)}]"
            if local not in named:
                raise self._unknown(node.slice)
            if isinstance(node.ctx, ast.Store) and isinstance(types[named[local]], Array):
                text = f"`{local}` is a gradient array and cannot be assigned: add to its elements"
                raise _refusal(session, custom, "type-mismatch", text, at=node)
            return ast.copy_location(ast.Name(local, node.ctx), node)

        def _unknown(self, at: ast.expr) -> LoweringError:
            name = ast.unparse(at)
            names = [f"wp.adjoint[{n}]" for n in named.values()]
            if isinstance(at, ast.Name) and name in types:
                text = f"`{name}` is {spell(types[name])}, which has no adjoint"
                return _refusal(session, custom, "type-mismatch", text, names, at)
            text = f"`{name}` is not a parameter of `{custom.name}` with an adjoint"
            return _refusal(session, custom, "undefined-name", text, names, at)

    tree = Named().visit(copy.deepcopy(custom.source.tree()))
    return tree, named
