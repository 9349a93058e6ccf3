"""Calls: what is called, and with what.

`call` dispatches on the callee. Intrinsics and Python's own builtins have handlers in tables that the modules
`intrinsic_calls`, `constructors`, `printing` and `python_builtins` fill with `@handles(...)`. `overloads` picks the
form of a builtin or user function that fits.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ir.nodes import Value
from ...ir.ops import OpError
from ...lang import registry
from ...lang.annotations import type_or_none
from ...lang.custom_gradients import GradientOf
from ...lang.errors import CompileError
from ...lang.generics import spell, spell_pattern
from ...lang.kernel import Function, Kernel, static
from ...lang.prim import Prim
from ...lang.ref_params import changed
from ...lang.registry import INTRINSICS, Builtin, Intrinsic, intrinsic
from ...lang.types import FixedArray, Scalar, Type, element
from ...lang.values.struct_operators import StructOperator
from ..context import Context, LoweringError, lowers
from ..expressions import local_arrays
from ..limits import check_type
from ..messages import method_help
from ..names import PACKAGE
from ..statements.lvalues import argument, in_memory, tile_argument
from ..tiles.tile_names import tile_changes
from ..tiles.tile_regions import elementwise, is_tile
from ..tiles.tile_views import TAKE_VIEWS, of_expression
from ..values import Closure, ElementRef, Front, Static, TupleValue, UntypedLiteral, shape_types, spell_front, unflatten
from .inout_arguments import update, write_back
from .overload_resolution import Call, Match, adapt_values, choose
from .struct_calls import call_of, operator_of

if TYPE_CHECKING:
    from ..session import Instance

Handler = Callable[[Context, Call], Front]
HANDLERS: dict[Any, Handler] = {}  # of calls of Python objects
CONSTRUCT: list[Callable[[Context, Type, Call], Front]] = []  # filled by constructors
GRADIENT: list[Callable[[Context, Any, Call], Front]] = []  # filled by gradients


def handles(*callees: Any) -> Callable[[Handler], Handler]:
    """Decorator: the function lowers calls of these intrinsics (by name) or Python objects."""

    def enter(fn: Handler) -> Handler:
        for callee in callees:
            if isinstance(callee, str):
                intrinsic(callee).lower = fn
            else:
                HANDLERS[callee] = fn
        return fn

    return enter


# Functions beside the builtins of the library that work on the elements of tiles, too.
_OF_ELEMENTS = (abs, min, max, pow, round, INTRINSICS["where"], INTRINSICS["select"])
_TAKE_PLACES = (INTRINSICS["load"], INTRINSICS["store"])  # `wp.load(a[i])`: the first argument is not loaded before


@lowers(ast.Call)
def _call(cx: Context, node: ast.Call) -> Front:
    f = cx.expr(node.func)
    if isinstance(f, Static) and any(f.obj is s for s in (static, INTRINSICS["static"])):
        return INTRINSICS["static"].lower(cx, Call(node, [], list(node.args)))
    done = Call(node, [], [])
    places = {a for _, a in changed(f.obj, node)} if isinstance(f, Static) else ()
    tiles = {a for _, a in tile_changes(f.obj, node)} if cx.session.in_blocks and isinstance(f, Static) else set()
    keeps = isinstance(f, Static) and any(f.obj is g for g in _TAKE_PLACES)
    lowered = _lowered_by(f, tiles)
    for a in node.args:
        if isinstance(a, ast.Starred):
            items = HANDLERS[ast.Starred](cx, Call(a, [cx.rvalue(a.value)], [a.value]))
            assert isinstance(items, TupleValue)
            done.args += items.items
            done.nodes += [a] * len(items.items)
        else:
            is_place = keeps and not done.args
            done.args.append(argument(cx, a) if a in places else cx.expr(a) if is_place else lowered(cx, a))
            done.nodes.append(a)
    for k in node.keywords:
        if k.arg is None:
            raise cx.error("unsupported", "`**` arguments cannot be used in a kernel", k.value)
        value = argument(cx, k.value) if k.value in places else lowered(cx, k.value)
        done.kwargs[k.arg], done.kw_nodes[k.arg] = value, k.value
    return dispatch(cx, f, done, node.func)


def _lowered_by(f: Front, tiles: Collection[ast.expr]) -> Callable[[Context, ast.expr], Any]:
    """How the arguments of a call are lowered; `tiles` are those that it changes if they are tiles."""
    if isinstance(f, Static) and isinstance(f.obj, Intrinsic) and f.obj in TAKE_VIEWS:
        return of_expression
    return lambda cx, a: tile_argument(cx, a) if a in tiles else cx.rvalue(a)


def dispatch(cx: Context, f: Front, c: Call, func_node: ast.AST) -> Front:
    """Lower a call of anything that can be called."""
    if isinstance(f, Closure):
        return _inline(cx, f, c)
    called = call_of(f)
    if called is not None:
        return _call_function(cx, called, replace(c, args=[f, *c.args], nodes=[func_node, *c.nodes]))
    if not isinstance(f, Static):
        raise cx.error("not-callable", f"{spell_front(f)} is not a function", func_node, help=method_help(func_node))
    obj = getattr(f.obj, "__wc_intrinsic__", f.obj)
    if any(map(is_tile, c.args)) and (isinstance(obj, Builtin) or any(obj is g for g in _OF_ELEMENTS)):
        return elementwise(cx, c.args, c.node, lambda *xs: dispatch(cx, f, replace(c, args=[*xs]), func_node))
    if isinstance(obj, Intrinsic):
        return obj.lower(cx, c)
    if isinstance(obj, Builtin):
        return call_builtin(cx, obj, c.args, c.kwargs, c.node, c.nodes)
    if isinstance(obj, Prim):
        return _primitive(cx, obj, c)
    if isinstance(obj, Function):
        return _call_function(cx, obj, c)
    if isinstance(obj, StructOperator):
        found = operator_of(cx, obj, c)
        return _call_function(cx, found, c) if isinstance(found, Function) else Static(found)
    if isinstance(obj, GradientOf):
        return GRADIENT[0](cx, obj.of, c)
    try:
        handler = HANDLERS.get(obj)
    except TypeError:
        handler = None
    if handler is not None:
        return handler(cx, c)
    t = type_or_none(obj)
    if isinstance(t, Type):
        return CONSTRUCT[0](cx, t, c)
    same = registry.get(obj.__name__) if getattr(obj, "__module__", None) == "math" else None
    if same is not None and cx.session.follows_warp_lang:  # `math.sqrt(x)` is `wp.sqrt(x)`
        return call_builtin(cx, same, c.args, c.kwargs, c.node, c.nodes)
    raise _not_callable(cx, obj, func_node)


def _not_callable(cx: Context, obj: Any, node: ast.AST) -> LoweringError:
    name = getattr(obj, "__name__", repr(obj))
    if getattr(obj, "__module__", None) == "builtins" and name in _INSTEAD:
        return cx.error("not-callable", f"`{name}` cannot be called in a kernel", node, help=_INSTEAD[name])
    if isinstance(obj, Kernel):
        return cx.error(
            "not-callable", f"kernel `{name}` cannot be called", node, help="put the shared code into a @wp.func"
        )
    if isinstance(obj, type(ast)):
        return cx.error("not-callable", f"module `{name}` is not a function", node)
    if (getattr(obj, "__module__", None) or "").startswith(PACKAGE):
        text = f"`{name}` can be used outside of kernels only"
        return cx.error("not-callable", text, node, help=_OUTSIDE.get(name, ""))
    if inspect.isfunction(obj) or isinstance(obj, type):
        kind = "function" if inspect.isfunction(obj) else "class"
        helps = "decorate it with @wp.func" if kind == "function" else "decorate it with @wp.struct"
        return cx.error(
            "not-callable", f"`{name}` is a plain Python {kind}, which kernels cannot call", node, help=helps
        )
    known = cx.session.has_builtin(name)
    helps = f"use `wp.{name}`" if known else "kernels call functions of this package, @wp.func functions and lambdas"
    return cx.error("not-callable", f"`{name}` cannot be called in a kernel", node, help=helps)


_INSTEAD = {
    "str": 'kernels make no strings while they run: `print("n", i)` takes several values',
    "repr": 'kernels make no strings while they run: `print("n", i)` takes several values',
    "format": 'kernels make no strings while they run: `print("n", i)` takes several values',
    "dict": "use a @wp.struct, or an array",
    "set": "use bit operations or an array",
    "open": "kernels read arrays: load the file before the launch, and pass its data",
    "input": "kernels read arrays and numbers: pass what was typed as an argument",
    "breakpoint": "run the kernel as Python: `wp.launch(..., interpret=True)`, or wp.config.mode = 'interpret'",
}
_OUTSIDE = {"array": "pass arrays as arguments; `wp.zeros(shape, dtype)` makes one of the thread's own"}


# -- lambdas --------------------------------------------------------------------------------------------------------


def _inline(cx: Context, f: Closure, c: Call) -> Front:
    """Lower the body of a lambda in place, its parameters bound to the arguments."""
    a = f.node.args
    names = [p.arg for p in a.args]
    given = dict(zip(names, c.args), **c.kwargs)
    for p, d in zip(names[len(names) - len(a.defaults) :], a.defaults):
        if p not in given:
            given[p] = f.home.expr(d)
    if a.vararg or a.kwarg or a.kwonlyargs or len(c.args) > len(names) or set(given) != set(names):
        raise cx.error(
            "arguments", f"the lambda takes {len(names)} arguments, {len(c.args) + len(c.kwargs)} given", c.node
        )
    bound = {n: cx.load(x, c.node) if isinstance(x, ElementRef) else x for n, x in given.items()}
    if cx.session.depth > 50:
        raise cx.error("recursion", "this lambda calls itself", c.node)
    if f.home is not cx:
        return cx.session.foreign(cx, f, bound, c.node)
    saved, local = {n: cx.env.get(n) for n in names}, cx.local_names
    cx.env.update(bound)
    cx.local_names = local | frozenset(names)
    cx.session.depth += 1
    try:
        return cx.rvalue(f.node.body)
    finally:
        cx.session.depth -= 1
        cx.local_names = local
        for n, x in saved.items():
            cx.env.pop(n, None)
            if x is not None:
                cx.env[n] = x


# -- primitives -----------------------------------------------------------------------------------------------------


def _primitive(cx: Context, p: Prim, c: Call) -> Front:
    args = [cx.load(a, c.node) if isinstance(a, ElementRef) else a for a in c.args]
    attr: Any = None
    if p.name == "libm":
        attr, args = cx.constant(args[0], c.node, "the function"), args[1:]
    elif p.name in ("cast", "bitcast", "splat"):
        attr, args = type_or_none(cx.constant(args[1], c.node, "the type")), args[:1]
    elif p.name == "array_at":
        attr, args = type_or_none(cx.constant(args[2], c.node, "the type")), args[:2]
    elif p.name == "fail":
        attr, args = tuple(cx.constant(a, c.node, "the text") for a in args[:2]), args[2:]
    typed = next((a.type for a in args if isinstance(a, Value) and not (p.name == "select" and a is args[0])), None)
    if p.name == "splat":
        typed = element(attr)
    values = [_prim_operand(cx, a, typed, c.node) for a in args]
    try:
        return cx.at(c.node).op(p.name, *values, attr=attr)
    except OpError as e:
        raise cx.error("type-mismatch", f"prim.{p.name}: {e}", c.node) from None


def _prim_operand(cx: Context, a: Front, t: Type | None, node: ast.AST) -> Value:
    if isinstance(a, UntypedLiteral) and t is not None and not isinstance(a.value, bool):
        s = element(t)
        return cx.b.const(a.value, t) if isinstance(s, Scalar) else cx.materialise(a, node)
    return cx.materialise(a, node)


# -- builtins and user functions ------------------------------------------------------------------------------------


def call_builtin(
    cx: Context,
    builtin: Builtin,
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.AST,
    nodes: Sequence[ast.AST],
    shown: str = "",
) -> Front:
    """Call a library function."""
    instance, m, values = chosen_builtin(cx, builtin, Call(node, list(args), list(nodes), kwargs), shown)
    found = _emit(cx, instance, m, values, node, f"`wp.{builtin.name}`")
    if not builtin.updates:
        return found
    *kept, new = found.items
    update(cx, builtin, node, new)
    return kept[0] if len(kept) == 1 else TupleValue(kept)


def chosen_builtin(cx: Context, builtin: Builtin, c: Call, shown: str = "") -> tuple[Instance, Match, list[Value]]:
    """The form of a library function that a call means, and the arguments."""
    forms = [(o.params, f"wp.{o!r}") for o in builtin.overloads]
    i, m = choose(cx, shown or f"`wp.{builtin.name}`", forms, c)
    values = adapt_values(cx, m, c)
    for v in values:
        check_type(cx, v.type, c.node)
    try:
        return cx.session.builtin_instance(builtin, i, m, c.node), m, values
    except LoweringError as refused:
        why = refused.diagnostic.message if refused.diagnostic else "it cannot use these arguments"
        raise cx.error("arguments", f"`wp.{builtin.name}`: {why}", c.node, candidates=[f for _, f in forms]) from None


def _emit(cx: Context, instance: Instance, m: Match, values: list[Value], node: ast.AST, what: str) -> Any:
    """The call, and what it gives, after what it changed has been written back.

    Local arrays come back in memory that is passed for them, after the other arguments.
    """
    memory = [local_arrays.make(cx, p.type, node) for p in instance.function.params[len(values) :]]
    results = cx.at(node).emit("call", [*values, *memory], attr=instance.function, results=instance.function.results)
    count = len(results) - len(m.refs) + len(m.elements)
    write_back(cx, m, list(results[count:]), node, what)
    plain, arrays = iter(results), iter(memory)
    types = shape_types(instance.shape)
    return unflatten(instance.shape, [next(arrays if isinstance(t, FixedArray) else plain) for t in types])


def _call_function(cx: Context, f: Function, c: Call) -> Front:
    instance, m, values = chosen(cx, f, c)
    return _emit(cx, instance, m, values, c.node, f"`{f.name}`")


def chosen(cx: Context, f: Function, c: Call) -> tuple[Instance, Match, list[Value]]:
    """The form of a user function that a call means, lowered, and the arguments."""
    forms = []
    for g in f.overloads:
        try:
            params = [(p.name, t, p.default) for p, t in g._parameters]
        except CompileError as e:
            for d in e.diagnostics:
                cx.session.report(d)
            raise LoweringError from None
        forms.append((params, signature(g.name, params)))
    i, m = choose(cx, f"`{f.name}`", forms, c)
    in_memory(m)
    values = adapt_values(cx, m, c)
    instance = cx.session.instance(cx, f, f.overloads[i], m, c.node)
    return instance, m, values


def signature(name: str, params: Sequence[tuple[str, Any, Any]]) -> str:
    """A user function's signature in an error."""
    parts = []
    for p, t, default in params:
        tail = "" if default is inspect.Parameter.empty else f" = {default!r}"
        parts.append(f"{p}: {spell_pattern(t)}{tail}")
    return f"{name}({', '.join(parts)})"


# -- helpers of handlers ----------------------------------------------------------------------------------------------


def count_arguments(cx: Context, c: Call, low: int, high: int, name: str) -> None:
    """Refuse a call with too few or too many arguments."""
    if not low <= len(c.args) <= high or c.kwargs:
        takes = str(low) if low == high else f"{low} to {high}"
        given = len(c.args) + len(c.kwargs)
        raise cx.error("arguments", f"`{name}` takes {takes} arguments, {given} given", c.node)


def loaded(cx: Context, c: Call) -> list[Any]:
    """The arguments of a call, array elements read."""
    return [cx.load(a, n) if isinstance(a, ElementRef) else a for a, n in zip(c.args, c.nodes)]


def same_type(cx: Context, xs: list[Any], nodes: list[ast.AST], node: ast.AST) -> list[Value]:
    """Values brought to one type: literals adapt to the typed ones, or to float when one literal is a float."""
    typed = next((x.type for x in xs if isinstance(x, (Value, ElementRef))), None)
    if typed is None and any(isinstance(x, UntypedLiteral) and isinstance(x.value, float) for x in xs):
        typed = UntypedLiteral(0.0).type
    out = []
    for x, n in zip(xs, nodes):
        if isinstance(x, UntypedLiteral) and typed is not None and x.fits(typed):
            out.append(cx.b.const(x.value, typed))
        else:
            out.append(cx.materialise(x, n))
    for v, n in zip(out[1:], nodes[1:]):
        if v.type is not out[0].type:
            raise cx.error(
                "type-mismatch", f"the values must have one type, got {spell(out[0].type)} and {spell(v.type)}", n
            )
    return out
