"""Which form of a function fits a call.

Every typed argument must unify with its parameter, literals adapt, and the form that changes fewest literals wins.
Start with `choose`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import Any as AnyType
from ...lang.generics import (
    Constant,
    Pattern,
    Reference,
    TuplePattern,
    TypeVar,
    admits,
    passed,
    spell,
    spell_pattern,
    substitute,
    unify,
)
from ...lang.types import F32, Array, Packed, Scalar, Type
from ..context import Context
from ..expressions.local_arrays import view
from ..names import captured
from ..statements.lvalues import Place, TileArgument
from ..values import Closure, ElementRef, PassedItem, Static, TupleValue, UntypedLiteral, spell_brief, spell_front


@dataclass
class Call:
    """A call being lowered: its arguments and the nodes they came from."""

    node: ast.AST
    args: list[Any]
    nodes: list[ast.AST]
    kwargs: dict[str, Any] = field(default_factory=dict)
    kw_nodes: dict[str, ast.AST] = field(default_factory=dict)

    def arg_node(self, i: int) -> ast.AST:
        """Return the syntax node of positional argument `i`."""
        return self.nodes[i] if i < len(self.nodes) else self.node


@dataclass
class Match:
    """The match between the arguments of a call and one signature."""

    score: int
    bindings: dict[str, Any]
    values: list[tuple[str, Type, Any]]  # run-time parameters: name, type, argument
    statics: list[tuple[str, Any]]  # compile-time parameters: name, front value
    refs: dict[str, Place | None] = field(default_factory=dict)  # parameters that the function changes, what is passed
    elements: dict[str, tuple] = field(default_factory=dict)  # those of them passed in memory, see `places.in_memory`
    tiles: tuple[str, ...] = ()  # those of them that are passed as places of tiles
    adjoints: dict[str, str] = field(default_factory=dict)  # locals that are adjoints of parameters, see `custom`
    tree: ast.FunctionDef | None = None  # the syntax of the body, if it is not as the source has it


def match(cx: Context, params: Sequence[tuple[str, Any, Any]], c: Call) -> Match | str:
    """The arguments fitted to a signature, or the reason why they do not fit."""
    given = _arrange(cx, params, c)
    if isinstance(given, str):
        return given
    tuples = {name: x for name, pattern, x in given if isinstance(x, TupleValue) and _is_spread(pattern, x)}
    given = _spread(given)
    if isinstance(given, str):
        return given
    m = Match(0, {}, [], [])
    types: dict[str, Type] = {}
    # typed arguments decide the type variables, then decimal literals, then integers; None takes the type that is left
    for pass_ in range(4):
        for name, pattern, x in given:
            if _pass_of(x) == pass_:
                reason = _fit(m, types, name, pattern, x)
                if reason:
                    return reason
    for name, pattern, x in given:
        if isinstance(x, TileArgument):
            m.tiles = (*m.tiles, name)
        if isinstance(pattern, Reference) or isinstance(x, TileArgument):
            m.refs[name] = x
        if name in types:
            m.values.append((name, types[name], x))
        else:
            m.statics.append((name, x))
    for name, x in tuples.items():
        _bundle(cx, m, name, x, c)
    return m


# -- tuples ---------------------------------------------------------------------------------------------------------


def _item(name: str, i: int) -> str:
    """The name of the parameter that brings an item of a tuple."""
    return f"{name}[{i}]"


def _is_spread(pattern: Any, x: TupleValue) -> bool:
    """True if the items of a tuple are passed one by one."""
    return isinstance(pattern, TuplePattern) or (pattern is AnyType and not _is_known(x))


def _is_known(x: Any) -> bool:
    """True if a value is known when the kernel compiles."""
    if isinstance(x, TupleValue):
        return all(map(_is_known, x.items))
    return isinstance(x, (Static, UntypedLiteral, Closure)) or (isinstance(x, Value) and x.is_const)


def _spread(given: list[tuple[str, Any, Any]]) -> list[tuple[str, Any, Any]] | str:
    """The arguments with the items of tuples in the place of the tuples, or the reason why one does not fit."""
    out: list[tuple[str, Any, Any]] = []
    for name, pattern, x in given:
        if not isinstance(x, TupleValue) or not _is_spread(pattern, x):
            out.append((name, pattern, x))
            continue
        count = len(x.items)
        patterns = pattern.items_for(count) if isinstance(pattern, TuplePattern) else (pattern,) * count
        if patterns is None:
            return f"`{name}` takes {spell_pattern(pattern)}, not {spell_front(x)}"
        inner = _spread([(_item(name, i), p, item) for i, (p, item) in enumerate(zip(patterns, x.items))])
        if isinstance(inner, str):
            return inner
        out += inner
    return out


def _bundle(cx: Context, m: Match, name: str, x: TupleValue, c: Call) -> None:
    """Let the function see a tuple again whose items are passed one by one: those that are not known already."""
    types = {n: t for n, t, _ in m.values}
    known = dict(m.statics)

    def again(n: str, item: Any) -> Any:
        if n in types and isinstance(item, UntypedLiteral):
            known[n] = cx.literal(item, types[n], c.node)
        if n in known:
            return known[n]
        if n in types:
            return PassedItem(n)
        return TupleValue([again(_item(n, i), y) for i, y in enumerate(item.items)])

    bundle = again(name, x)
    m.values = [value for value in m.values if value[0] not in known]
    m.statics = [(n, y) for n, y in m.statics if not n.startswith(f"{name}[")] + [(name, bundle)]


def _arrange(cx: Context, params: Sequence[tuple[str, Any, Any]], c: Call) -> list[tuple[str, Any, Any]] | str:
    if len(c.args) > len(params):
        return f"takes {len(params)} arguments, {len(c.args)} given"
    out, names = [], [p[0] for p in params]
    for k in c.kwargs:
        if k not in names:
            return f"has no parameter `{k}`"
    for i, (name, pattern, default) in enumerate(params):
        if i < len(c.args):
            if name in c.kwargs:
                return f"`{name}` is given twice"
            x = c.args[i]
        elif name in c.kwargs:
            x = c.kwargs[name]
        elif default is not inspect.Parameter.empty:
            x = captured(cx, default, c.node)
        else:
            return f"`{name}` is missing"
        keeps = isinstance(pattern, Reference) or isinstance(x, TileArgument)
        out.append((name, pattern, x.value if isinstance(x, Place) and not keeps else x))
    return out


def _pass_of(x: Any) -> int:
    if isinstance(x, UntypedLiteral):
        return 2 if isinstance(x.value, int) else 1
    return 3 if _is_none(x) else 0


def _is_none(x: Any) -> bool:
    return isinstance(x, Static) and x.obj is None


def _fit(m: Match, types: dict[str, Type], name: str, pattern: Any, x: Any) -> str:
    """Fit one argument; the reason if it does not."""
    if isinstance(pattern, Reference):
        return _fit_reference(m, types, name, pattern, x)
    if pattern is Constant:
        constant = isinstance(x, (Static, UntypedLiteral, Closure, TupleValue)) or (isinstance(x, Value) and x.is_const)
        return "" if constant else f"`{name}` must be a compile-time value"
    if isinstance(x, TileArgument):
        x = x.value
    if isinstance(x, (Value, ElementRef)):
        types[name] = passed(x.type, pattern)
        return "" if unify(pattern, types[name], m.bindings) else _misfit(m, name, pattern, x)
    if isinstance(x, UntypedLiteral):
        return _fit_literal(m, types, name, pattern, x)
    if pattern is AnyType and isinstance(x, (Static, Closure, TupleValue)):
        return ""
    if _is_none(x):
        return _fit_none(m, types, name, pattern, x)
    return _misfit(m, name, pattern, x)


def _fit_reference(m: Match, types: dict[str, Type], name: str, pattern: Reference, x: Any) -> str:
    if not isinstance(x, Place):
        shown = "an expression" if isinstance(x, (Value, ElementRef)) else spell_front(x)
        shown = "a tuple" if isinstance(x, TupleValue) else shown
        return f"`{name}` takes a local, a part of one, or an array element, for it is changed; this is {shown}"
    types[name] = x.type
    return "" if unify(pattern.pattern, x.type, m.bindings) else _misfit(m, name, pattern.pattern, x.value)


def _misfit(m: Match, name: str, pattern: Any, x: Any) -> str:
    wanted = substitute(pattern, m.bindings)
    among = wanted.among if isinstance(wanted, TypeVar) else ()
    takes = f"one of {', '.join(map(spell, among))}" if among else spell_pattern(wanted)
    return f"`{name}` takes {takes}, not {spell_front(x)}"


def _fit_none(m: Match, types: dict[str, Type], name: str, pattern: Any, x: Static) -> str:
    """None is the null array of a parameter that takes arrays of one type, as for kernels."""
    t = substitute(pattern, m.bindings)
    if isinstance(t, Pattern) and t.head == "Array":
        return f"`{name}` takes {spell_pattern(t)}, and None does not say which elements"
    if not isinstance(t, Array):
        return _misfit(m, name, pattern, x)
    m.score += 1  # a form without the parameter fits better
    types[name] = t
    return ""


def _fit_literal(m: Match, types: dict[str, Type], name: str, pattern: Any, x: UntypedLiteral) -> str:
    t = substitute(pattern, m.bindings)
    if isinstance(t, TypeVar):
        found = next((s for s in (x.type, F32) if admits(t, s) and x.fits(s)), None)
        if found is None:
            return _misfit(m, name, pattern, x)
        if not pattern.free:
            m.bindings[pattern.name] = found
        t = found
    if isinstance(t, (Pattern, Packed)) or not x.fits(t):
        fits_later = isinstance(t, Scalar) and t is x.type  # out of range: warned of when it becomes a constant
        if not fits_later:
            return _misfit(m, name, pattern, x)
    m.score += t is not x.type
    types[name] = t
    return ""


Params = Sequence[tuple[str, Any, Any]]


def choose(cx: Context, name: str, forms: Sequence[tuple[Params, str]], c: Call) -> tuple[int, Match]:
    """The overload that fits best and how; refuses with all forms as candidates when none does."""
    best: tuple[int, Match] | None = None
    reasons = []
    for i, (params, _) in enumerate(forms):
        found = match(cx, params, c)
        if isinstance(found, str):
            reasons.append(found)
        elif best is None or found.score < best[1].score:
            best = i, found
    if best is not None:
        return best
    shown = ", ".join([*map(_brief, c.args), *(f"{k}={_brief(x)}" for k, x in c.kwargs.items())])
    labels = [label for _, label in forms]
    if len(forms) == 1:
        node = _guilty(forms[0][0], reasons[0], c)
        raise cx.error("no-overload", f"{name} cannot be called with ({shown}): {reasons[0]}", node, candidates=labels)
    raise cx.error("no-overload", f"{name} has no form for ({shown})", c.node, candidates=labels)


def _brief(x: Any) -> str:
    return spell_brief(x.value if isinstance(x, Place) else x)


def _guilty(params: Sequence[tuple[str, Any, Any]], reason: str, c: Call) -> ast.AST:
    """The argument a reason speaks of, else the whole call."""
    for i, (name, _, _) in enumerate(params):
        if reason.startswith((f"`{name}` takes ", f"`{name}` must ")):
            return c.kw_nodes.get(name) or (c.arg_node(i) if i < len(c.args) else c.node)
    return c.node


def adapt_values(cx: Context, m: Match, c: Call) -> list[Value]:
    """The run-time arguments as IR values of their parameters' types."""
    out = []
    for _, t, x in m.values:
        x = x.value if isinstance(x, Place) else x
        node = next((n for a, n in zip(c.args, c.nodes) if a is x), c.node)
        if isinstance(x, UntypedLiteral):
            out.append(cx.literal(x, t, node))
        elif _is_none(x):
            out.append(cx.at(node).zero(t))
        else:
            out.append(view(cx, cx.materialise(x, node), t))
    return out
