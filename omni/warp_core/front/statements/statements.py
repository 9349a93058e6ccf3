"""Simple statements: assignments of every form, expression statements, assert, pass, del."""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ...lang.annotations import type_or_none
from ...lang.generics import spell
from ...lang.types import Array, Packed, Scalar, Struct, Type
from ...lang.types import element as scalar_of
from ..calls.intrinsic_calls import unpacked_tid
from ..context import Context, lowers
from ..expressions.local_arrays import detached
from ..expressions.member_access import descend, replace
from ..expressions.operators import TABLE, binary
from ..messages import cast_help, misfit
from ..tiles import tile_places
from ..tiles.tile_places import TilePlace
from ..tiles.tile_regions import is_tile
from ..values import ElementRef, Front, Static, TileView, TupleValue, UntypedLiteral, spell_front
from .iteration import items_of
from .lvalues import Run, place_of, put

ATOMIC = {ast.Add: "add", ast.Sub: "sub", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}


@lowers(ast.Assign)
def _assign(cx: Context, node: ast.Assign) -> None:
    if isinstance(node.targets[0], (ast.Tuple, ast.List)) and len(node.targets) == 1:
        tid = unpacked_tid(cx, node.value, len(node.targets[0].elts))
        if tid is not None:
            assign(cx, node.targets[0], tid, node.value)
            return
    is_name = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    x = cx.expr(node.value)
    x = tile_places.kept(cx, x, node.value) if is_name else x
    x = x if is_name and isinstance(x, TileView) else cx.loaded(x, node.value)
    if len(node.targets) > 1 and not isinstance(x, UntypedLiteral):
        x = cx.bindable(x, node.value)
    for target in node.targets:
        assign(cx, target, x, node.value)


@lowers(ast.AnnAssign)
def _annotated(cx: Context, node: ast.AnnAssign) -> None:
    wanted = cx.expr(node.annotation) if not isinstance(node.annotation, ast.Constant) else Static(None)
    t = wanted.obj if isinstance(wanted, Static) else None
    t = type_or_none(t)
    if not isinstance(t, Type):
        raise cx.error("annotation", "this is not a type that kernels know", node.annotation)
    if node.value is None:
        return
    what = f"`{ast.unparse(node.target)}`"
    assign(cx, node.target, cx.convert(cx.rvalue(node.value), t, node.value, what), node.value)


def assign(cx: Context, target: ast.expr, x: Front, node: ast.AST) -> None:
    """`target = x` for every kind of target."""
    if isinstance(target, ast.Name):
        cx.bind(target.id, cx.bindable(cx.adapted(target.id, x), node), target)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(cx, target, x, node)
    elif isinstance(target, (ast.Subscript, ast.Attribute)):
        _store_into(cx, target, x, node)
    else:
        raise cx.error("unsupported", "cannot assign to this expression", target)


def _unpack(cx: Context, target: ast.Tuple | ast.List, x: Front, node: ast.AST) -> None:
    items = items_of(cx, x, node, "unpacking")
    stars = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    names = len(target.elts)
    if stars:
        i = stars[0]
        if len(items) < names - 1:
            raise cx.error("unpack", f"cannot unpack {len(items)} values, at least {names - 1} are needed", node)
        tail = len(items) - (names - i - 1)
        items = (*items[:i], TupleValue(items[i:tail]), *items[tail:])
    if len(items) != names:
        raise cx.error("unpack", f"cannot unpack {len(items)} values into {names} names", target)
    # all values exist before the first name is bound: a, b = b, a swaps
    items = tuple(detached(cx, cx.bindable(i, node), node) if not isinstance(i, UntypedLiteral) else i for i in items)
    for t, item in zip(target.elts, items):
        assign(cx, t.value if isinstance(t, ast.Starred) else t, item, node)


def _store_into(cx: Context, target: ast.Subscript | ast.Attribute, x: Front, node: ast.AST) -> None:
    place = place_of(cx, target)
    if isinstance(place, TilePlace):
        tile_places.assign(cx, place, x, node, target)
        return
    if not isinstance(place, tuple):
        value = _fitting(cx, x, place.type, node, target)
        put(cx, place, value, target)
        return
    name, whole, steps = place
    if not steps:
        raise cx.error(
            "unsupported", "a view of an array cannot be assigned as a whole", target, help="assign its elements"
        )
    value = _fitting(cx, x, steps[-1].type, node, target)
    cx.env[name] = replace(cx, whole, steps, value, target)


def _fitting(cx: Context, x: Front, t: Type, node: ast.AST, target: ast.expr) -> Value:
    """The value to store, of the type of the place."""
    if isinstance(x, UntypedLiteral) and x.fits(t):
        return cx.b.const(x.value, t)
    if isinstance(x, (Value, ElementRef)) and x.type is t:
        return cx.materialise(x, node)
    if isinstance(x, TupleValue) and isinstance(t, Packed) and len(x.items) == t.count:
        return cx.at(node).op("make", *(cx.convert(i, t.scalar, node, "a component") for i in x.items), attr=t)
    raise cx.error(
        "type-mismatch",
        f"`{ast.unparse(target)}` holds {spell(t)}, {misfit(x, t)}",
        node,
        help=cast_help(x, t, node),
    )


@lowers(ast.AugAssign)
def _augmented(cx: Context, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        old = cx.read(node.target.id, node.target)
        if isinstance(old, ElementRef):
            _augment_element(cx, old.run or old, node)
            return
        if is_tile(old):
            _augment_tile(cx, place_of(cx, node.target), node)
            return
        new = binary(cx, type(node.op), old, cx.rvalue(node.value), node, node.target, node.value)
        assign(cx, node.target, new, node)
        return
    place = place_of(cx, node.target)
    if isinstance(place, TilePlace):
        _augment_tile(cx, place, node)
        return
    if not isinstance(place, tuple):
        _augment_element(cx, place, node)
        return
    name, whole, steps = place
    if not steps:
        raise cx.error("unsupported", "a view of an array cannot be changed as a whole", node.target)
    old = whole
    for step in steps:
        old = descend(cx, old, step, node.target)
    new = binary(cx, type(node.op), old, cx.rvalue(node.value), node, node.target, node.value)
    # the right side may have changed the local itself
    whole = cx.read(name, node.target)
    cx.env[name] = replace(cx, whole, steps, _fitting(cx, new, steps[-1].type, node, node.target), node.target)


def _augment_tile(cx: Context, place: Any, node: ast.AugAssign) -> None:
    def operator(old: Front, x: Front) -> Front:
        return binary(cx, type(node.op), old, x, node, node.target, node.value)

    tile_places.augment(cx, place, cx.rvalue(node.value), type(node.op), operator, node)


def _augment_element(cx: Context, place: ElementRef | Run, node: ast.AugAssign) -> None:
    """`a[i] += x` is atomic, as are -=, &=, |= and ^=; the other operators read, compute and write. So is `v += x`
    where `v` is a `wp.ref[T]` parameter that such an element was passed to.
    """
    kind = ATOMIC.get(type(node.op))
    x = cx.rvalue(node.value)
    scalar = scalar_of(place.type)
    plain = kind in ("add", "sub") and isinstance(scalar, Scalar) and (scalar.is_int or scalar.is_float)
    plain = plain or (kind in ("and", "or", "xor") and isinstance(scalar, Scalar) and scalar.is_int)
    if kind and plain and not isinstance(place.type, (Struct, Array)):
        _augment_atomically(cx, kind, place, _operand(cx, x, place, node), node)
        return
    old: Value = cx.load(place.as_ref() if isinstance(place, Run) else place, node.target)
    new = binary(cx, type(node.op), old, x, node, node.target, node.value)
    put(cx, place, _fitting(cx, new, place.type, node, node.target), node.target)


def _augment_atomically(cx: Context, kind: str, place: ElementRef | Run, value: Value, node: ast.AugAssign) -> None:
    if isinstance(place, ElementRef):
        cx.at(node).op("atomic", *place.operands, value, attr=(kind, place.path))
        return
    for i, part in enumerate(place.parts(cx)):
        _augment_atomically(cx, kind, part, cx.at(node).op("extract", value, attr=i), node)


def _operand(cx: Context, x: Front, place: ElementRef | Run, node: ast.AugAssign) -> Value:
    if isinstance(x, UntypedLiteral) and x.fits(place.type):
        return cx.b.const(x.value, place.type)
    if isinstance(x, (Value, ElementRef)) and x.type is place.type:
        return cx.materialise(x, node.value)
    symbol = TABLE[type(node.op)].symbol
    raise cx.error(
        "type-mismatch",
        f"`{symbol}=` cannot combine {spell(place.type)} and {spell_front(x)}",
        node,
        help=cast_help(x, place.type, node.value),
    )


@lowers(ast.Expr)
def _expression(cx: Context, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):  # a docstring
        return
    cx.discarded = node.value
    cx.rvalue(node.value)


@lowers(ast.Assert)
def _assert(cx: Context, node: ast.Assert) -> None:
    c = cx.condition(node.test)
    message = ast.unparse(node.test)
    if node.msg is not None:
        x = cx.rvalue(node.msg)
        if not (isinstance(x, Static) and isinstance(x.obj, str)):
            raise cx.error("not-constant", "the message of an assert must be a compile-time string", node.msg)
        message = x.obj
    if c is not True:
        cx.at(node).op("assert", cx.as_bool(c), attr=message)


@lowers(ast.Pass)
def _pass(cx: Context, node: ast.Pass) -> None:
    pass


@lowers(ast.Delete)
def _delete(cx: Context, node: ast.Delete) -> None:
    for t in node.targets:
        if not isinstance(t, ast.Name):
            raise cx.error("unsupported", "only locals can be deleted", t)
        cx.env.pop(t.id, None)
