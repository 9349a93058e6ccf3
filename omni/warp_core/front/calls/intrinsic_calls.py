"""Functions the front end itself understands: thread index, memory, atomics, selection, printing, operators by name,
and Python's own builtins (sum, min, len, ...). Each handler is one entry of the table in `calls`.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ...ir.nodes import Value
from ...ir.ops import OpError
from ...lang import registry
from ...lang.annotations import type_or_none
from ...lang.generics import spell
from ...lang.kernel import constant as constant_function
from ...lang.types import BOOL, MAX_NDIM, Array, FixedArray, Packed, Scalar, Struct, Type
from ..context import Context
from ..expressions import addresses, local_arrays
from ..expressions.array_indexing import array_type, locate
from ..expressions.member_access import array_index, store
from ..expressions.operators import binary, unary
from ..names import captured
from ..values import Address, Closure, ElementRef, Front, Static, TupleValue, UntypedLiteral, spell_front
from .calls import Call, count_arguments, handles, loaded, same_type

# -- threads --------------------------------------------------------------------------------------------------------


@handles("tid")
def _tid(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 0, 0, "wp.tid")
    return cx.at(c.node).op("tid", attr=(0, 1))


def unpacked_tid(cx: Context, node: ast.expr, count: int) -> TupleValue | None:
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
    return TupleValue([cx.at(node).op("tid", attr=(i, count)) for i in range(count)])


# -- memory ---------------------------------------------------------------------------------------------------------


def _element(cx: Context, c: Call, extra: int, name: str) -> ElementRef:
    """The array element named by the leading arguments; `extra` arguments follow."""
    array = cx.materialise(c.args[0], c.arg_node(0)) if c.args else None
    t = array_type(array.type) if array is not None else None
    if array is None or t is None:
        shown = spell_front(array) if array is not None else "nothing"
        raise cx.error("arguments", f"`{name}` works on an array, not on {shown}", c.arg_node(0))
    given = len(c.args) - 1 - extra
    if given != t.ndim or c.kwargs:
        total = 1 + t.ndim + extra
        raise cx.error(
            "arguments", f"`{name}` on {spell(array.type)} takes {total} arguments, {len(c.args)} given", c.node
        )
    indices = [array_index(cx, array, i, x, c.arg_node(i + 1)) for i, x in enumerate(c.args[1 : 1 + given])]
    found = locate(cx, array, indices, c.node) if array.type is not t else ElementRef(array, tuple(indices), t.dtype)
    assert isinstance(found, ElementRef)
    return found


@handles("load")
def _load(cx: Context, c: Call) -> Front:
    """`wp.load(a, i)`, or `wp.load(a[i])`."""
    place = c.args[0] if len(c.args) == 1 and not c.kwargs else None
    return cx.load(place if isinstance(place, ElementRef) else _element(cx, c, 0, "wp.load"), c.node)


@handles("store")
def _store(cx: Context, c: Call) -> Front:
    """`wp.store(a, i, x)`, or `wp.store(a[i], x)`."""
    place = c.args[0] if len(c.args) == 2 and not c.kwargs else None
    return _write(cx, c, place if isinstance(place, ElementRef) else _element(cx, c, 1, "wp.store"))


@handles("array_store")
def _array_store(cx: Context, c: Call) -> Front:
    return _write(cx, c, _element(cx, c, 1, "wp.array_store"))


def _write(cx: Context, c: Call, place: ElementRef) -> Front:
    node = c.arg_node(len(c.args) - 1)
    store(cx, place, cx.convert(c.args[-1], place.type, node, "the element"), c.node)
    return Static(None)


@handles("address")
def _address(cx: Context, c: Call) -> Front:
    return _element(cx, c, 0, "wp.address")


@handles("view")
def _view(cx: Context, c: Call) -> Front:
    array = cx.materialise(c.args[0], c.arg_node(0)) if c.args else None
    if array is None or not isinstance(array.type, Array) or not 1 < len(c.args) <= array.type.ndim or c.kwargs:
        text = "`wp.view` takes an array and indices, fewer than it has dimensions"
        raise cx.error("arguments", text, c.node, help="for an element write a[i]")
    indices = [array_index(cx, array, i, x, c.arg_node(i + 1)) for i, x in enumerate(c.args[1:])]
    return cx.at(c.node).op("slice", array, *indices)


@handles("zeros")
def _zeros(cx: Context, c: Call) -> Front:
    return local_arrays.zeros(cx, fixed_array(cx, c, "wp.zeros", "a local array"), c.node)


@handles("array")
def _array(cx: Context, c: Call) -> Front:
    """`wp.array(ptr=a.ptr + bytes, shape=n, dtype=t)`, a view of the array `a`."""
    at = c.kwargs.get("ptr")
    if not isinstance(at, Address):
        text = (
            "`wp.array` can be used outside of kernels only, but for views `wp.array(ptr=a.ptr, ...)` of an array `a`"
        )
        helps = "pass arrays as arguments; `wp.zeros(shape, dtype)` makes one of the thread's own"
        raise cx.error("not-callable", text, getattr(c.node, "func", c.node), help=helps)
    rest = replace(c, kwargs={name: x for name, x in c.kwargs.items() if name != "ptr"})
    if isinstance(at.array.type, FixedArray):
        return addresses.local_view(cx, at, fixed_array(cx, rest, "wp.array", "a view"), c.node)
    shape, shape_node, dtype = _shape_and_dtype(cx, rest, "wp.array", "a view")
    return addresses.view(cx, at, shape, dtype, shape_node)


def fixed_array(cx: Context, c: Call, name: str, what: str) -> FixedArray:
    """The type of the array that a call makes, from its shape and dtype."""
    shape, shape_node, t = _shape_and_dtype(cx, c, name, what)
    shape_of = f"the shape of {what}"
    extents = cx.constant(cx.load(shape, shape_node) if isinstance(shape, ElementRef) else shape, shape_node, shape_of)
    extents = extents if isinstance(extents, tuple) else (extents,)
    if not 1 <= len(extents) <= MAX_NDIM or not all(type(n) is int and n > 0 for n in extents):
        text = f"{shape_of} is one to {MAX_NDIM} positive integers"
        raise cx.error("arguments", text, shape_node)
    return FixedArray(t, extents)


def _shape_and_dtype(cx: Context, c: Call, name: str, what: str) -> tuple[Front, ast.AST, Type]:
    """The shape and dtype of the array that a call makes, and where the shape is written."""
    given = dict(zip(("shape", "dtype"), zip(c.args, c.nodes)), **{k: (x, c.kw_nodes[k]) for k, x in c.kwargs.items()})
    shapes = [given.pop(name) for name in ("shape", "n", "length") if name in given]
    dtype, dtype_node = given.pop("dtype", (Static(float), c.node))
    if len(shapes) != 1 or len(c.args) > 2 or given:
        raise cx.error("arguments", f"in a kernel, `{name}` takes a shape and a dtype", c.node)
    t = type_or_none(cx.constant(dtype, dtype_node, "the dtype"))
    if not isinstance(t, Type) or isinstance(t, Array):
        raise cx.error("arguments", f"the dtype of {what} is a scalar, vector, matrix or struct type", dtype_node)
    return *shapes[0], t


@handles("address_of")
def _address_of(cx: Context, c: Call) -> Front:
    raise cx.error("unsupported", "a kernel cannot take addresses", c.node, help="pass the array and the index")


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
    return isinstance(x, UntypedLiteral) and isinstance(t, Packed) and x.fits(t.scalar)


def _fill(cx: Context, x: UntypedLiteral, ref: ElementRef) -> Value:
    assert isinstance(ref.type, Packed)
    return cx.b.const(x.value, ref.type)


for _kind in ("add", "sub", "min", "max", "and", "or", "xor", "exch", "cas"):
    handles(f"atomic_{_kind}")(_atomic(_kind))


# -- selection and conversion ---------------------------------------------------------------------------------------


def _choose(cx: Context, cond: Any, x: Front, y: Front, c: Call) -> Front:
    ok = cx.truth(cond, c.arg_node(0))
    if isinstance(ok, bool) and isinstance(x, (UntypedLiteral, TupleValue, Static, Closure)):
        return x if ok else y
    a, b = same_type(cx, [x, y], [c.arg_node(1), c.arg_node(2)], c.node)
    return cx.at(c.node).op("select", cx.as_bool(ok), a, b)


@handles("where")
def _where(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 3, 3, "wp.where")
    cond, x, y = loaded(cx, c)
    return _choose(cx, cond, x, y, c)


@handles("select")
def _select(cx: Context, c: Call) -> Front:
    """The older spelling: the value for false comes first."""
    count_arguments(cx, c, 3, 3, "wp.select")
    cond, if_false, if_true = loaded(cx, c)
    swapped = Call(c.node, c.args, [c.arg_node(0), c.arg_node(2), c.arg_node(1)])
    return _choose(cx, cond, if_true, if_false, swapped)


@handles("cast")
def _cast(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 2, 2, "wp.cast")
    t = type_or_none(cx.constant(c.args[1], c.arg_node(1), "the type"))
    if not isinstance(t, Type):
        raise cx.error("arguments", "the second argument of wp.cast is a type", c.arg_node(1))
    v = cx.materialise(c.args[0], c.arg_node(0))
    if isinstance(v.type, Scalar) and isinstance(t, Scalar) and v.type.size == t.size:
        truth = v.type is not t and BOOL in (v.type, t)  # a byte in memory
        return cx.at(c.node).op("cast" if truth else "bitcast", v, attr=t)
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
        if isinstance(e, NameError) and e.name in cx.env:  # `len(v)` of a vector is known, too
            known = cx.attempt(lambda: cx.rvalue(node), None)
            if isinstance(known, UntypedLiteral):
                return known.value
        raise cx.error(
            "static", f"this expression raised {type(e).__name__}: {e}", node, help="wp.static runs in plain Python"
        ) from None


@handles("constant", constant_function)
def _constant(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "wp.constant")
    return c.args[0]


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
        count_arguments(cx, c, 2, 2, f"wp.{name}")
        x, y = loaded(cx, c)
        quiet, cx.session.quiet = cx.session.quiet, True  # who names the function means what it does
        try:
            return binary(cx, kind, x, y, c.node, c.arg_node(0), c.arg_node(1))
        finally:
            cx.session.quiet = quiet


def _unary_operator(name: str, symbol: str) -> None:
    @handles(name)
    def handler(cx: Context, c: Call) -> Front:
        count_arguments(cx, c, 1, 1, f"wp.{name}")
        return unary(cx, symbol, loaded(cx, c)[0], c.node)


for _name, _ast in _BINARY.items():
    _operator(_name, _ast)
for _name, _symbol in _UNARY.items():
    _unary_operator(_name, _symbol)


@handles("unot")
def _unot(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "wp.unot")
    ok = cx.truth(c.args[0], c.arg_node(0))
    return UntypedLiteral(not ok) if isinstance(ok, bool) else cx.at(c.node).op("not", ok)
