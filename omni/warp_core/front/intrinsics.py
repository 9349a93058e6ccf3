"""Functions the front end itself understands: thread index, memory, atomics, selection, printing, operators by name,
and Python's own builtins (sum, min, len, ...). Each handler is one entry of the table in `calls`.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from ..ir.nodes import Value
from ..ir.ops import OpError
from ..lang import registry
from ..lang.annotations import type_or_none
from ..lang.generics import spell
from ..lang.kernel import constant as constant_function
from ..lang.types import BOOL, I32, Array, Packed, Scalar, Struct, Type, Vec, element
from .calls import Call, handles
from .context import Context
from .iteration import items_of
from .operators import any_of, binary, compare, unary
from .resolve import captured
from .values import Closure, Front, Lit, Ref, Static, Text, Tup, spell_front


def _count(cx: Context, c: Call, low: int, high: int, name: str) -> None:
    if not low <= len(c.args) <= high or c.kwargs:
        takes = str(low) if low == high else f"{low} to {high}"
        given = len(c.args) + len(c.kwargs)
        raise cx.error("arguments", f"`{name}` takes {takes} arguments, {given} given", c.node)


def _args(cx: Context, c: Call) -> list[Any]:
    return [cx.load(a, n) if isinstance(a, Ref) else a for a, n in zip(c.args, c.nodes)]


# -- threads --------------------------------------------------------------------------------------------------------


@handles("tid")
def _tid(cx: Context, c: Call) -> Front:
    _count(cx, c, 0, 0, "wp.tid")
    return cx.at(c.node).op("tid", attr=(0, 1))


def unpacked_tid(cx: Context, node: ast.expr, count: int) -> Tup | None:
    """`i, j = wp.tid()`: as many indices as there are names."""
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    if (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) != "tid":
        return None
    f = cx.expr(node.func)
    if not (isinstance(f, Static) and f.obj is registry.INTRINSICS["tid"]):
        return None
    if count > 4:
        raise cx.error("arguments", f"a launch has at most 4 dimensions, not {count}", node)
    return Tup([cx.at(node).op("tid", attr=(i, count)) for i in range(count)])


@handles("block_dim")
def _block_dim(cx: Context, c: Call) -> Front:
    raise cx.error("unsupported", "wp.block_dim() has no meaning on this device", c.node)


# -- memory ---------------------------------------------------------------------------------------------------------


def _element(cx: Context, c: Call, extra: int, name: str) -> Ref:
    """The array element named by the leading arguments; `extra` arguments follow."""
    array = cx.materialise(c.args[0], c.arg_node(0)) if c.args else None
    if array is None or not isinstance(array.type, Array):
        shown = spell_front(array) if array is not None else "nothing"
        raise cx.error("arguments", f"`{name}` works on an array, not on {shown}", c.arg_node(0))
    t = array.type
    given = len(c.args) - 1 - extra
    if given != t.ndim or c.kwargs:
        total = 1 + t.ndim + extra
        raise cx.error("arguments", f"`{name}` on {spell(t)} takes {total} arguments, {len(c.args)} given", c.node)
    indices = tuple(cx.index_value(x, c.arg_node(i + 1)) for i, x in enumerate(c.args[1 : 1 + given]))
    return Ref(array, indices, t.dtype)


@handles("load")
def _load(cx: Context, c: Call) -> Front:
    return cx.load(_element(cx, c, 0, "wp.load"), c.node)


@handles("store")
def _store(cx: Context, c: Call) -> Front:
    ref = _element(cx, c, 1, "wp.store")
    value = cx.convert(c.args[-1], ref.type, c.arg_node(len(c.args) - 1), "the element")
    cx.at(c.node).op("store", *ref.operands, value, attr=())
    return Static(None)


@handles("address_of")
def _address(cx: Context, c: Call) -> Front:
    raise cx.error("unsupported", "addresses cannot be taken in a kernel", c.node, help="pass the array and the index")


def _atomic(kind: str) -> Any:
    name = f"wp.atomic_{kind}"

    def handler(cx: Context, c: Call) -> Front:
        extra = 2 if kind == "cas" else 1
        ref = _element(cx, c, extra, name)
        first = len(c.args) - extra
        values = [
            cx.convert(x, ref.type, c.arg_node(first + i), "the element")
            if not _fills(x, ref.type)
            else _fill(cx, x, ref)
            for i, x in enumerate(c.args[first:])
        ]
        if isinstance(ref.type, Struct):
            raise cx.error("type-mismatch", f"`{name}` does not work on struct {spell(ref.type)}", c.node)
        try:
            return cx.at(c.node).op("atomic", *ref.operands, *values, attr=(kind, ()))
        except OpError:
            raise cx.error("type-mismatch", f"`{name}` does not work on {spell(ref.type)}", c.node) from None

    return handler


def _fills(x: Any, t: Type) -> bool:
    return isinstance(x, Lit) and isinstance(t, Packed) and x.fits(t.scalar)


def _fill(cx: Context, x: Lit, ref: Ref) -> Value:
    assert isinstance(ref.type, Packed)
    return cx.b.const(x.value, ref.type)


for _kind in ("add", "sub", "min", "max", "and", "or", "xor", "exch", "cas"):
    handles(f"atomic_{_kind}")(_atomic(_kind))


# -- selection and conversion ---------------------------------------------------------------------------------------


def _choose(cx: Context, cond: Any, x: Front, y: Front, c: Call) -> Front:
    ok = cx.truth(cond, c.arg_node(0))
    if isinstance(ok, bool) and isinstance(x, (Lit, Tup, Static, Closure)):
        return x if ok else y
    a, b = same_type(cx, [x, y], [c.arg_node(1), c.arg_node(2)], c.node)
    return cx.at(c.node).op("select", cx.as_bool(ok), a, b)


@handles("where")
def _where(cx: Context, c: Call) -> Front:
    _count(cx, c, 3, 3, "wp.where")
    cond, x, y = _args(cx, c)
    return _choose(cx, cond, x, y, c)


@handles("select")
def _select(cx: Context, c: Call) -> Front:
    """The older spelling: the value for false comes first."""
    _count(cx, c, 3, 3, "wp.select")
    cond, if_false, if_true = _args(cx, c)
    swapped = Call(c.node, c.args, [c.arg_node(0), c.arg_node(2), c.arg_node(1)])
    return _choose(cx, cond, if_true, if_false, swapped)


def same_type(cx: Context, xs: list[Any], nodes: list[ast.AST], node: ast.AST) -> list[Value]:
    """Values brought to one type: literals adapt to the typed ones, or to float when one literal is a float."""
    typed = next((x.type for x in xs if isinstance(x, (Value, Ref))), None)
    if typed is None and any(isinstance(x, Lit) and isinstance(x.value, float) for x in xs):
        typed = Lit(0.0).type
    out = []
    for x, n in zip(xs, nodes):
        if isinstance(x, Lit) and typed is not None and x.fits(typed):
            out.append(cx.b.const(x.value, typed))
        else:
            out.append(cx.materialise(x, n))
    for v, n in zip(out[1:], nodes[1:]):
        if v.type is not out[0].type:
            raise cx.error("type-mismatch", f"one value is {spell(out[0].type)}, the other {spell(v.type)}", n)
    return out


@handles("cast")
def _cast(cx: Context, c: Call) -> Front:
    _count(cx, c, 2, 2, "wp.cast")
    t = type_or_none(cx.constant(c.args[1], c.arg_node(1), "the type"))
    if not isinstance(t, Type):
        raise cx.error("arguments", "the second argument of wp.cast is a type", c.arg_node(1))
    v = cx.materialise(c.args[0], c.arg_node(0))
    if isinstance(v.type, Scalar) and isinstance(t, Scalar) and v.type.bits == t.bits:
        return cx.at(c.node).op("bitcast", v, attr=t)
    raise cx.error(
        "type-mismatch", f"wp.cast reinterprets bits and needs equal sizes, not {spell(v.type)} and {spell(t)}", c.node
    )


# -- compile time ---------------------------------------------------------------------------------------------------


@handles("static")
def _static(cx: Context, c: Call) -> Front:
    if len(c.nodes) != 1:
        raise cx.error("arguments", "wp.static takes one expression", c.node)
    expression: Any = c.nodes[0]
    return captured(cx, evaluate_static(cx, expression), expression)


def evaluate_static(cx: Context, node: ast.expr) -> Any:
    """The value of a `wp.static` expression, evaluated by Python among the globals, cells and constant locals."""
    names = {**cx.cells}
    for name, x in cx.env.items():
        if isinstance(x, Value) and x.is_const:
            names[name] = x.const
        elif isinstance(x, Static):
            names[name] = x.obj
    try:
        code = compile(ast.Expression(node), cx.source.filename, "eval")
        return eval(code, cx.globals, names)  # the user's own expression, as Python would run it
    except Exception as e:
        raise cx.error(
            "static", f"this expression raised {type(e).__name__}: {e}", node, help="wp.static runs in plain Python"
        ) from None


@handles("constant", constant_function)
def _constant(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "wp.constant")
    return c.args[0]


# -- printing -------------------------------------------------------------------------------------------------------


def _spec(t: Scalar) -> str:
    if t is BOOL:
        return "%s"
    return "%g" if t.is_float else "%d" if t.kind == "int" else "%u"


def _printed(cx: Context, x: Any, node: ast.AST) -> tuple[str, list[Value]]:
    """Format text and operands that show a value as Python does."""
    if isinstance(x, Static):
        return str(x.obj).replace("%", "%%"), []
    if isinstance(x, Tup):
        parts = [_printed(cx, i, node) for i in x.items]
        text = "".join(p for p, _ in parts) if isinstance(x, Text) else f"({', '.join(p for p, _ in parts)})"
        return text, [v for _, vs in parts for v in vs]
    v = cx.materialise(x, node, "something to print")
    t = v.type
    if isinstance(t, Scalar):
        return _spec(t), [v]
    if isinstance(t, (Packed, Struct)):
        types = [t.scalar] * t.count if isinstance(t, Packed) else [ft for _, ft in t.fields]
        parts = [_printed(cx, cx.at(node).op("extract", v, attr=i), node) for i in range(len(types))]
        return f"[{', '.join(p for p, _ in parts)}]", [w for _, ws in parts for w in ws]
    raise cx.error("type-mismatch", f"{spell(t)} cannot be printed", node, help="print its elements")


@handles("print", builtins.print)
def _print(cx: Context, c: Call) -> Front:
    options = {"sep": " ", "end": "\n"}
    for k, x in c.kwargs.items():
        if k not in options:
            raise cx.error("unsupported", f"print in a kernel has no `{k}`", c.kw_nodes.get(k, c.node))
        options[k] = str(cx.constant(x, c.kw_nodes.get(k, c.node), f"`{k}`"))
    parts = [_printed(cx, x, n) for x, n in zip(c.args, c.nodes)]
    text = options["sep"].join(p for p, _ in parts) + options["end"]
    cx.at(c.node).op("printf", *(v for _, vs in parts for v in vs), attr=text)
    return Static(None)


_FORMAT = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?([a-zA-Z]))")
_KINDS = {**dict.fromkeys("di", "int"), **dict.fromkeys("uxXo", "int"), **dict.fromkeys("feEgG", "float"), "s": "bool"}


@handles("printf")
def _printf(cx: Context, c: Call) -> Front:
    text = cx.constant(c.args[0], c.arg_node(0), "the format") if c.args else None
    if not isinstance(text, str):
        raise cx.error("arguments", "wp.printf takes a compile-time format string first", c.node)
    kinds = [m.group(1) for m in _FORMAT.finditer(text) if m.group(1)]
    args = _args(cx, c)[1:]
    if len(kinds) != len(args):
        raise cx.error("arguments", f"the format shows {len(kinds)} values, {len(args)} given", c.node)
    values = []
    for i, (kind, x) in enumerate(zip(kinds, args)):
        if isinstance(x, Static) and isinstance(x.obj, str) and kind == "s":
            raise cx.error("unsupported", "put strings into the format itself", c.arg_node(i + 1))
        values.append(_checked(cx, kind, cx.materialise(x, c.arg_node(i + 1)), c.arg_node(i + 1)))
    cx.at(c.node).op("printf", *values, attr=text)
    return Static(None)


def _checked(cx: Context, kind: str, v: Value, node: ast.AST) -> Value:
    wanted = _KINDS.get(kind)
    if wanted is None:
        raise cx.error(
            "arguments", f"the format `%{kind}` is not supported", node, help="use %d, %u, %x, %f, %e, %g or %s"
        )
    t = v.type
    fits = isinstance(t, Scalar) and (t.is_int if wanted == "int" else t.is_float if wanted == "float" else t is BOOL)
    if t is BOOL and wanted == "int":
        return cx.b.op("cast", v, attr=I32)
    if not fits:
        raise cx.error("type-mismatch", f"`%{kind}` shows {wanted} values, not {spell(t)}", node)
    return v


@handles("expect_eq")
def _expect_eq(cx: Context, c: Call) -> Front:
    _count(cx, c, 2, 2, "wp.expect_eq")
    a, b = _args(cx, c)
    same = compare(cx, ast.Eq, a, b, c.node, c.arg_node(0), c.arg_node(1))
    if same is not True:
        cx.at(c.node).op("assert", cx.as_bool(same), attr="expect_eq")
    return Static(None)


# -- operators as functions -----------------------------------------------------------------------------------------

_BINARY = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "mod": ast.Mod,
    "floordiv": ast.FloorDiv,
    "bit_and": ast.BitAnd,
    "bit_or": ast.BitOr,
    "bit_xor": ast.BitXor,
    "lshift": ast.LShift,
    "rshift": ast.RShift,
}
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def _operator(name: str, kind: type) -> None:
    @handles(name)
    def handler(cx: Context, c: Call) -> Front:
        _count(cx, c, 2, 2, f"wp.{name}")
        x, y = _args(cx, c)
        return binary(cx, kind, x, y, c.node, c.arg_node(0), c.arg_node(1))


def _unary_operator(name: str, symbol: str) -> None:
    @handles(name)
    def handler(cx: Context, c: Call) -> Front:
        _count(cx, c, 1, 1, f"wp.{name}")
        return unary(cx, symbol, _args(cx, c)[0], c.node)


for _name, _ast in _BINARY.items():
    _operator(_name, _ast)
for _name, _symbol in _UNARY.items():
    _unary_operator(_name, _symbol)


@handles("unot")
def _unot(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "wp.unot")
    ok = cx.truth(c.args[0], c.arg_node(0))
    return Lit(not ok) if isinstance(ok, bool) else cx.at(c.node).op("not", ok)


# -- Python's builtins ----------------------------------------------------------------------------------------------


@handles("len", builtins.len)
def _len(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "len")
    x = c.args[0]
    if isinstance(x, Tup):
        return Lit(len(x.items))
    if isinstance(x, Static) and isinstance(x.obj, (str, range)):
        return Lit(len(x.obj))
    t = getattr(x, "type", None)
    if isinstance(t, Array):
        return cx.at(c.node).op("shape", cx.materialise(x, c.arg_node(0)), attr=0)
    if isinstance(t, Packed):
        return Lit(getattr(t, "rows", t.count))
    raise cx.error("type-mismatch", f"{spell_front(x)} has no length", c.arg_node(0))


def _items(cx: Context, c: Call, name: str) -> tuple[Any, ...]:
    return items_of(
        cx, cx.load(c.args[0], c.node) if isinstance(c.args[0], Ref) else c.args[0], c.arg_node(0), f"`{name}`"
    )


@handles(builtins.sum)
def _sum(cx: Context, c: Call) -> Front:
    if not 1 <= len(c.args) <= 2:
        raise cx.error("arguments", "`sum` takes 1 or 2 arguments", c.node)
    items = list(_items(cx, c, "sum"))
    start = c.args[1] if len(c.args) == 2 else c.kwargs.get("start")
    total: Any = start if start is not None else Lit(0)
    if start is None and items:
        total = items.pop(0)
    for x in items:
        total = binary(cx, ast.Add, total, x, c.node, c.arg_node(0), c.arg_node(0))
    return total


def _extreme(name: str, code: str) -> Any:
    def handler(cx: Context, c: Call) -> Front:
        items = _items(cx, c, name) if len(c.args) == 1 else tuple(_args(cx, c))
        if not items or c.kwargs:
            raise cx.error(
                "arguments",
                f"`{name}` needs at least one value" if not items else f"`{name}` has no keywords here",
                c.node,
            )
        best: Any = items[0]
        for x in items[1:]:
            best = _better(cx, name, code, best, x, c)
        return best

    return handler


def _better(cx: Context, name: str, code: str, a: Any, b: Any, c: Call) -> Front:
    if isinstance(a, Lit) and isinstance(b, Lit):
        return Lit(min(a.value, b.value) if code == "min" else max(a.value, b.value))
    x, y = same_type(cx, [a, b], [c.arg_node(0), c.node], c.node)
    if not isinstance(element(x.type), Scalar) or element(x.type) is BOOL:
        raise cx.error("type-mismatch", f"`{name}` does not work on {spell(x.type)}", c.node)
    return cx.at(c.node).op(code, x, y)


handles(builtins.min)(_extreme("min", "min"))
handles(builtins.max)(_extreme("max", "max"))


def _quantified(name: str, code: str) -> Any:
    def handler(cx: Context, c: Call) -> Front:
        _count(cx, c, 1, 1, name)
        found = any_of(cx, [cx.truth(x, c.node) for x in _items(cx, c, name)], code, c.node)
        return Lit(found) if isinstance(found, bool) else found

    return handler


handles(builtins.any)(_quantified("any", "or"))
handles(builtins.all)(_quantified("all", "and"))


@handles(builtins.abs)
def _abs(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "abs")
    x = _args(cx, c)[0]
    if isinstance(x, Lit):
        return Lit(abs(x.value))
    v = cx.materialise(x, c.arg_node(0))
    if not isinstance(v.type, (Scalar, Vec)) or element(v.type) is BOOL:
        raise cx.error("type-mismatch", f"`abs` does not work on {spell(v.type)}", c.arg_node(0))
    return cx.at(c.node).op("abs", v)


@handles(builtins.round)
def _round(cx: Context, c: Call) -> Front:
    """To the nearest integer, halves to even; the result is an int, as in Python."""
    _count(cx, c, 1, 1, "round")
    x = _args(cx, c)[0]
    if isinstance(x, Lit):
        return Lit(round(x.value))
    v = cx.materialise(x, c.arg_node(0))
    if not isinstance(v.type, Scalar) or v.type is BOOL:
        raise cx.error("type-mismatch", f"`round` does not work on {spell(v.type)}", c.arg_node(0))
    if v.type.is_int:
        return v
    return cx.at(c.node).op("cast", cx.b.op("rint", v), attr=I32)


@handles(builtins.pow)
def _pow(cx: Context, c: Call) -> Front:
    _count(cx, c, 2, 2, "pow")
    x, y = _args(cx, c)
    return binary(cx, ast.Pow, x, y, c.node, c.arg_node(0), c.arg_node(1))


@handles(builtins.divmod)
def _divmod(cx: Context, c: Call) -> Front:
    _count(cx, c, 2, 2, "divmod")
    x, y = _args(cx, c)
    nodes = c.node, c.arg_node(0), c.arg_node(1)
    q = binary(cx, ast.FloorDiv, x, y, *nodes)
    return Tup((q, binary(cx, ast.Sub, x, binary(cx, ast.Mult, q, y, *nodes), *nodes)))


@handles(builtins.tuple, builtins.list)
def _tuple(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "tuple")
    return Tup(_items(cx, c, "tuple"))


@handles("*")
def _starred(cx: Context, c: Call) -> Front:
    return Tup(items_of(cx, c.args[0], c.node, "`*`"))


def _iterator(f: Any) -> None:
    @handles(f)
    def handler(cx: Context, c: Call) -> Any:
        assert isinstance(c.node, ast.expr)
        return cx.session.iterate(cx, c.node)


for _f in (builtins.range, builtins.enumerate, builtins.zip, builtins.reversed, builtins.map):
    _iterator(_f)


@handles(builtins.isinstance)
def _isinstance(cx: Context, c: Call) -> Front:
    _count(cx, c, 2, 2, "isinstance")
    t = type_or_none(cx.constant(c.args[1], c.arg_node(1), "the type"))
    return Lit(getattr(c.args[0], "type", None) is t)


@handles(builtins.type)
def _type(cx: Context, c: Call) -> Front:
    _count(cx, c, 1, 1, "type")
    return Static(cx.materialise(c.args[0], c.arg_node(0)).type)
