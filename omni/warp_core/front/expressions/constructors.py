"""Calling a type: conversions of scalars, and vectors, matrices, quaternions, transforms and structs from parts."""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ...lang.annotations import type_or_none
from ...lang.generics import spell
from ...lang.types import BOOL, F32, U64, Array, Mat, Packed, Quat, Scalar, Struct, Transform, Type, Vec
from ..calls.calls import CONSTRUCT, Call, handles
from ..context import Context, LoweringError
from ..limits import VECTOR
from ..values import Address, ElementRef, Front, Static, TupleValue, UntypedLiteral, spell_front


def construct(cx: Context, t: Type, c: Call) -> Front:
    """`t(...)`."""
    c.args = [cx.load(a, n) if isinstance(a, ElementRef) else a for a, n in zip(c.args, c.nodes)]
    if isinstance(t, Struct):
        return _struct(cx, t, c)
    if isinstance(t, Array):
        raise cx.error("unsupported", "arrays cannot be made inside a kernel", c.node)
    if isinstance(t, Scalar):
        return _scalar(cx, t, _in_order(cx, t, c))
    c = _named_dtype(c)
    if isinstance(t, Vec) and "dtype" in c.kwargs:  # wp.spatial_vector(..., dtype=wp.float64)
        t, c = Vec(t.count, _dtype(cx, c)), _without(c, "dtype")
    c = _in_order(cx, t, c)
    assert isinstance(t, Packed)
    return _packed(cx, t, c)


CONSTRUCT.append(construct)


def _scalar(cx: Context, t: Scalar, c: Call) -> Front:
    if len(c.args) > 1:
        raise cx.error("arguments", f"{spell(t)} takes one argument, {len(c.args)} given", c.node)
    if not c.args:
        return cx.at(c.node).const(0, t)
    x = c.args[0]
    if t is BOOL:
        return cx.as_bool(cx.truth(x, c.arg_node(0)))
    if isinstance(x, UntypedLiteral):
        if isinstance(x.value, int) and t.is_int:
            return cx.literal(x, t, c.node)
        made = cx.at(c.node).const(x.value, t)
        if t.is_int and abs(made.const - x.value) >= 1:
            cx.warn(f"wrap-around: {spell(t)}({x.value}) is {made.const}", c.node)
        return made
    if isinstance(x, Value) and isinstance(x.type, Scalar):
        return cx.at(c.node).op("cast", x, attr=t)
    if isinstance(x, Address) and t is U64:
        return x
    raise cx.error("type-mismatch", f"{spell_front(x)} cannot be converted to {spell(t)}", c.arg_node(0))


def component(cx: Context, x: Front, s: Scalar, node: ast.AST) -> Value:
    """One component of type `s`."""
    return cx.convert(x, s, node, "the component")


def _packed(cx: Context, t: Packed, c: Call) -> Value:
    b = cx.at(c.node)
    args = c.args
    if len(args) == 1 and isinstance(args[0], TupleValue):
        args = _flat(args[0])
        c = Call(c.node, args, [c.arg_node(0)] * len(args))
    if not args:
        return b.const(0, t)
    first = args[0]
    if len(args) == 1 and isinstance(first, Value) and isinstance(first.type, Packed):
        return _converted(cx, t, first, c)
    if len(args) == 1 and not isinstance(t, Quat):
        return b.op("splat", component(cx, first, t.scalar, c.arg_node(0)), attr=t)
    parts = _rows(cx, t, c) if isinstance(t, Mat) else _joined(cx, t, c)
    if parts is None:
        if len(args) != t.count:
            raise _wrong_count(cx, t, c)
        parts = [component(cx, x, t.scalar, c.arg_node(i)) for i, x in enumerate(args)]
    return cx.at(c.node).op("make", *parts, attr=t)


def _flat(x: TupleValue) -> list[Any]:
    return [leaf for i in x.items for leaf in (_flat(i) if isinstance(i, TupleValue) else [i])]


def _wrong_count(cx: Context, t: Packed, c: Call) -> LoweringError:
    forms = {
        Vec: f"{spell(t)} takes no, 1 or {t.count} numbers, or a vector of {t.count}",
        Mat: f"{spell(t)} takes no, 1 or {t.count} numbers, or a matrix of its shape",
        Quat: f"{spell(t)} takes no or 4 numbers, or a vector and a number",
        Transform: f"{spell(t)} takes no or 7 numbers, or a vector of 3, or that and a quaternion",
    }
    shown = ", ".join(map(spell_front, c.args))
    return cx.error(
        "arguments", f"{spell(t)} cannot be made of {len(c.args)} values ({shown})", c.node, help=forms[type(t)]
    )


def _converted(cx: Context, t: Packed, x: Value, c: Call) -> Value:
    """A copy, with another scalar type where they differ; a transform also from a translation or seven components."""
    if isinstance(t, Transform) and x.type is Vec(3, t.scalar):
        still = cx.b.const((0, 0, 0, 1), Quat(t.scalar))
        return _packed(cx, t, Call(c.node, [x, still], c.nodes * 2))
    if isinstance(t, Transform) and x.type is Vec(7, t.scalar):
        return cx.at(c.node).op("make", *(cx.b.op("extract", x, attr=i) for i in range(7)), attr=t)
    same = type(x.type) is type(t) and x.type.count == t.count
    if isinstance(t, Mat) and same:
        same = isinstance(x.type, Mat) and x.type.rows == t.rows
    if not same:
        raise _wrong_count(cx, t, c)
    return cx.at(c.node).op("cast", x, attr=t)


def _rows(cx: Context, t: Mat, c: Call) -> list[Value] | None:
    """The components of a matrix given by row vectors."""
    if not all(isinstance(x, Value) and isinstance(x.type, Vec) for x in c.args):
        return None
    raise cx.error(
        "arguments",
        f"{spell(t)} of vectors does not say whether they are rows or columns",
        c.node,
        help="use wp.matrix_from_rows(...) or wp.matrix_from_cols(...)",
    )


def _pieces(t: Type) -> tuple[tuple[str, Type], ...]:
    """Name and type of the parts that together give all components, where there are such."""
    if not isinstance(t, Packed):
        return ()
    v = Vec(3, t.scalar)
    if isinstance(t, Quat):
        return ("", v), ("", t.scalar)
    if isinstance(t, Transform):
        return ("p", v), ("q", Quat(t.scalar))
    return (("w", v), ("v", v)) if t is Vec(6, t.scalar) else ()


def _in_order(cx: Context, t: Type, c: Call) -> Call:
    """The call with its named parts by position."""
    names = [name for name, _ in _pieces(t)]
    args, nodes = list(c.args), list(c.nodes)
    for k, x in c.kwargs.items():
        node = c.kw_nodes.get(k, c.node)
        if k == "dtype" and isinstance(t, Packed) and type_or_none(cx.constant(x, node, "dtype")) is t.scalar:
            continue
        if k not in names or len(args) > names.index(k):
            why = "has no parameter" if k not in names else "is given twice the parameter"
            raise cx.error("arguments", f"{spell(t)} {why} `{k}`", node)
    for k in names[len(args) :]:
        if k in c.kwargs:
            args.append(cx.materialise(c.kwargs[k], c.kw_nodes.get(k, c.node)))
            nodes.append(c.kw_nodes.get(k, c.node))
    return Call(c.node, args, nodes)


def _joined(cx: Context, t: Packed, c: Call) -> list[Value] | None:
    """The components of a value given by its parts: a quaternion by vector and real part, a transform, ..."""
    pieces = [u for _, u in _pieces(t)]
    if len(c.args) != len(pieces):
        return None
    parts: list[Value] = []
    for i, (x, u) in enumerate(zip(c.args, pieces)):
        if isinstance(u, Scalar):
            parts.append(component(cx, x, u, c.arg_node(i)))
        elif isinstance(x, Value) and x.type is u and isinstance(u, Packed):
            parts += [cx.b.op("extract", x, attr=k) for k in range(u.count)]
        else:
            raise _wrong_count(cx, t, c)
    return parts


def _struct(cx: Context, t: Struct, c: Call) -> Value:
    b = cx.at(c.node)
    if not c.args and not c.kwargs:
        return b.zero(t)
    names = [n for n, _ in t.fields]
    if len(c.args) > len(names):
        raise cx.error("arguments", f"struct {t.name} has {len(names)} fields, {len(c.args)} values given", c.node)
    given = dict(zip(names, zip(c.args, c.nodes)))
    for k, x in c.kwargs.items():
        node = c.kw_nodes.get(k, c.node)
        if k not in t.index:
            raise cx.error("no-member", f"struct {t.name} has no field `{k}`", node, candidates=names)
        given[k] = (x, node)
    parts = []
    for name, ft in t.fields:
        x, node = given.get(name, (None, c.node))
        parts.append(b.zero(ft) if x is None else cx.convert(x, ft, node, f"field `{name}`"))
    return cx.at(c.node).op("make", *parts, attr=t)


# -- types named by their parameters: wp.vector(...), wp.matrix(...), ... -------------------------------------------


def _dtype(cx: Context, c: Call, fallback: Scalar = F32) -> Scalar:
    """The scalar type of an anonymous constructor: `dtype=`, else that of the first typed argument."""
    if "dtype" in c.kwargs:
        node = c.kw_nodes.get("dtype", c.node)
        t = type_or_none(cx.constant(c.kwargs["dtype"], node, "dtype"))
        if not isinstance(t, Scalar):
            raise cx.error("arguments", "dtype must be a scalar type", node)
        return t
    for x in (*c.args, *c.kwargs.values()):
        if isinstance(x, (Value, ElementRef)) and isinstance(x.type, (Scalar, Packed)):
            return x.type.scalar if isinstance(x.type, Packed) else x.type
    lits = [x for x in c.args if isinstance(x, UntypedLiteral)]
    if lits:
        return F32 if any(isinstance(x.value, float) for x in lits) else lits[0].type
    return fallback


def _named_dtype(c: Call) -> Call:
    """The call with a scalar type that comes last as `dtype=`: `wp.quat(x, y, z, w, wp.float32)`."""
    last = c.args[-1] if c.args else None
    if not (isinstance(last, Static) and isinstance(type_or_none(last.obj), Scalar)):
        return c
    n = len(c.args) - 1
    kwargs, kw_nodes = {**c.kwargs, "dtype": last}, {**c.kw_nodes, "dtype": c.arg_node(n)}
    return Call(c.node, c.args[:n], c.nodes[:n], kwargs, kw_nodes)


def _number(cx: Context, c: Call, name: str, least: int = 1) -> int | None:
    if name not in c.kwargs:
        return None
    node = c.kw_nodes.get(name, c.node)
    n = cx.constant(c.kwargs[name], node, f"`{name}`")
    if not isinstance(n, int) or n < least:
        raise cx.error("arguments", f"`{name}` must be an integer from {least} on", node)
    if n > VECTOR:
        raise cx.error("too-large", f"`{name}` is more than {VECTOR}, the longest that kernels compute with", node)
    return n


def _without(c: Call, *names: str) -> Call:
    return Call(c.node, c.args, c.nodes, {k: x for k, x in c.kwargs.items() if k not in names}, c.kw_nodes)


@handles("vector")
def _vector(cx: Context, c: Call) -> Front:
    s = _dtype(cx, c)
    length = _number(cx, c, "length", least=0)
    if length is None:
        single = c.args[0] if len(c.args) == 1 else None
        length = (
            single.type.count
            if isinstance(single, (Value, ElementRef)) and isinstance(single.type, Vec)
            else len(c.args)
        )
        if length == 0:
            raise cx.error("arguments", "wp.vector needs its components or `length=`", c.node)
    return construct(cx, Vec(length, s), _without(c, "length", "dtype"))


@handles("matrix")
def _matrix(cx: Context, c: Call) -> Front:
    s = _dtype(cx, c)
    if "shape" not in c.kwargs:
        single = c.args[0] if len(c.args) == 1 else None
        if isinstance(single, (Value, ElementRef)) and isinstance(single.type, Mat):
            return construct(cx, Mat(single.type.rows, single.type.cols, s), _without(c, "dtype"))
        raise cx.error("arguments", "wp.matrix needs `shape=(rows, columns)`", c.node)
    node = c.kw_nodes.get("shape", c.node)
    shape = cx.constant(c.kwargs["shape"], node, "`shape`")
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(n, int) and n > 0 for n in shape)):
        raise cx.error("arguments", "shape must be (rows, columns)", node)
    return construct(cx, Mat(*shape, s), _without(c, "shape", "dtype"))


@handles("quaternion")
def _quaternion(cx: Context, c: Call) -> Front:
    c = _named_dtype(c)
    return construct(cx, Quat(_dtype(cx, c)), _without(c, "dtype"))


@handles("transformation")
def _transformation(cx: Context, c: Call) -> Front:
    c = _named_dtype(c)
    return construct(cx, Transform(_dtype(cx, c)), _without(c, "dtype"))


@handles("identity")
def _identity(cx: Context, c: Call) -> Front:
    c = _named_dtype(c)
    if c.args and "n" not in c.kwargs:
        c = Call(c.node, [], [], {**c.kwargs, "n": c.args[0]}, c.kw_nodes)
    n = _number(cx, c, "n")
    if n is None:
        raise cx.error("arguments", "wp.identity needs `n=`", c.node)
    ones = tuple(float(i == j) for i in range(n) for j in range(n))
    return cx.at(c.node).const(ones, Mat(n, n, _dtype(cx, c)))


def _vectors(cx: Context, c: Call, what: str) -> list[Value]:
    args = c.args
    if len(args) == 1 and isinstance(args[0], TupleValue):
        args = list(args[0].items)
    values = [cx.materialise(a, c.node) for a in args]
    if not values or not all(isinstance(v.type, Vec) and v.type is values[0].type for v in values):
        raise cx.error("arguments", f"{what} takes vectors of one type", c.node)
    return values


@handles("matrix_from_rows")
def _from_rows(cx: Context, c: Call) -> Front:
    vs = _vectors(cx, c, "wp.matrix_from_rows")
    n, s = vs[0].type.count, vs[0].type.scalar
    parts = [cx.b.op("extract", v, attr=j) for v in vs for j in range(n)]
    return cx.at(c.node).op("make", *parts, attr=Mat(len(vs), n, s))


@handles("matrix_from_cols")
def _from_cols(cx: Context, c: Call) -> Front:
    vs = _vectors(cx, c, "wp.matrix_from_cols")
    n, s = vs[0].type.count, vs[0].type.scalar
    parts = [cx.b.op("extract", v, attr=i) for i in range(n) for v in vs]
    return cx.at(c.node).op("make", *parts, attr=Mat(n, len(vs), s))
