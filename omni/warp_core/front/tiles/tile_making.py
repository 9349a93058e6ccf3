"""Tiles of constants, of the values of threads, and of what a function makes of the elements of others."""

from __future__ import annotations

import math
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.semantics import convert, int_range
from ...lang.types import F32, I32, Mat, Packed, Quat, Scalar, Struct, Tile, Type, Vec, element
from ..calls.calls import Call, dispatch
from ..context import Context
from ..values import Front, UntypedLiteral, spell_front
from .tile_arguments import Arguments, tile_function
from .tile_regions import At, elementwise, get, is_tile, tile_map

# -- constants --------------------------------------------------------------------------------------------------------


def filled(cx: Context, a: Arguments, value: Value) -> Value:
    """A tile of the shape that is asked for, with one value everywhere."""
    a.storage()
    return tile_map(cx, a.shape(), a.node, lambda at: value)


@tile_function("tile_zeros", "tile_empty")
def _zeros(cx: Context, a: Arguments) -> Front:
    t = a.dtype() or F32
    return filled(cx, a, cx.b.zero(t))


@tile_function("tile_ones")
def _ones(cx: Context, a: Arguments) -> Front:
    t = a.dtype() or F32
    if isinstance(t, Struct):
        raise a.error("type-mismatch", f"{a.function}: there is no one of struct {spell(t)}", "dtype")
    return filled(cx, a, _one(cx, t))


def _one(cx: Context, t: Type) -> Value:
    return cx.b.const((1, 0, 0, 0) if isinstance(t, Quat) else 1, t)


@tile_function("tile_full")
def _full(cx: Context, a: Arguments) -> Front:
    t = a.dtype()
    return filled(cx, a, as_type(cx, a, a["value"], t) if t else a.value("value"))


def as_type(cx: Context, a: Arguments, x: Front, t: Type) -> Value:
    """A value as type `t`: scalars convert, others must fit."""
    if isinstance(t, Scalar):
        v = x.value if isinstance(x, UntypedLiteral) else cx.materialise(x, a.where("value"))
        if not isinstance(v, Value):
            return cx.b.const(v, t)
        if isinstance(v.type, Scalar):
            return cx.at(a.node).op("cast", v, attr=t)
    return cx.convert(x, t, a.where("value"), f"the value of {a.function}")


@tile_function("tile_arange")
def _arange(cx: Context, a: Arguments) -> Front:
    a.storage()
    t = a.dtype() or F32
    if not isinstance(t, Scalar):
        raise a.error("type-mismatch", f"{a.function}: element type must be scalar, not {spell(t)}", "dtype")
    start, stop, step = (_bound(cx, a, name, x, node, t) for name, x, node in _bounds(a))
    if step == 0:
        raise a.error("shape", f"{a.function}: step cannot be zero")
    count = -((start - stop) // step)
    if not count >= 1:
        text = f"{a.function} requires a non-empty range, but start={start}, stop={stop}, step={step} has no elements"
        raise a.error("shape", text)
    if not count <= int_range(I32)[1]:
        raise a.error("shape", f"{a.function}: {count:g} elements is out of range for a tile")
    count = int(count)
    first, by = cx.b.const(start, t), cx.b.const(step, t)

    def at_index(at: At) -> Value:
        return cx.b.op("add", first, cx.b.op("mul", cx.b.op("cast", at[0], attr=t), by))

    return tile_map(cx, (count,), a.node, at_index)


def _bounds(a: Arguments) -> list[tuple[str, Front, Any]]:
    """start, stop and step with their places."""
    given = a.rest("args")
    if not 1 <= len(given) <= 3:
        raise a.error("arguments", f"{a.function} takes one to three numbers, {len(given)} given")
    named = dict(zip(("start", "stop", "step") if len(given) > 1 else ("stop",), given))
    default = {"start": (UntypedLiteral(0), a.node), "step": (UntypedLiteral(1), a.node)}
    return [(name, *(named.get(name) or default[name])) for name in ("start", "stop", "step")]


def _bound(cx: Context, a: Arguments, name: str, x: Front, node: Any, t: Scalar) -> Any:
    constant = isinstance(x, UntypedLiteral) or (isinstance(x, Value) and x.is_const)
    if not constant:
        text = f"{a.function}: start, stop and step must be compile time constants, but {name} is not"
        raise cx.error("not-constant", text, node)
    v = x.value if isinstance(x, UntypedLiteral) else x.const  # type: ignore[union-attr]
    if not isinstance(v, (int, float)):
        raise cx.error("arguments", f"{a.function}: {name} must be a number, not {spell_front(x)}", node)
    if t.is_float and math.isfinite(convert(v, t)):
        return convert(v, t)
    if t.is_float or not math.isfinite(v):
        raise cx.error("shape", f"{a.function}: {name}={v} is out of range for {spell(t)}", node)
    if int(v) != v:
        text = f"{a.function}: {name}={v} has a fractional part, which elements of type {spell(t)} cannot have"
        raise cx.error("shape", text, node)
    low, high = int_range(t)
    if not low <= v <= high:
        raise cx.error("shape", f"{a.function}: {name}={v} is out of range for {spell(t)}", node)
    return int(v)


def convertible(old: Type, new: Type) -> bool:
    """True if elements differ in their scalar type alone."""
    if not all(isinstance(element(t), Scalar) for t in (old, new)) or type(old) is not type(new):
        return False
    if isinstance(old, Mat):
        return (old.rows, old.cols) == (new.rows, new.cols)  # type: ignore[attr-defined]
    return not isinstance(old, Packed) or old.count == new.count  # type: ignore[attr-defined]


# -- values of threads ------------------------------------------------------------------------------------------------


def of_threads(cx: Context, value: Value, node: Any) -> Value:
    """The tile whose element i is thread i's value."""
    cx.session.in_blocks = True
    return cx.at(node).op("tile_of_threads", value, attr=Tile(value.type, (cx.session.block_dim,)))


@tile_function("tile")
def _tile(cx: Context, a: Arguments) -> Front:
    x = a.value("x")
    whole = of_threads(cx, x, a.node)
    inner = _components(x.type)
    if not inner or a.flag("preserve_type"):
        return whole

    def component(at: At) -> Value:
        i = at[0] if len(inner) == 1 else cx.b.op("add", cx.b.op("mul", at[0], cx.b.i32(inner[1])), at[1])
        return cx.b.op("extract_dyn", get(cx, whole, at[-1:]), i)

    return tile_map(cx, (*inner, cx.session.block_dim), a.node, component)


def _components(t: Type) -> tuple[int, ...]:
    if isinstance(t, Mat):
        return t.rows, t.cols
    return (t.count,) if isinstance(t, Vec) else ()


@tile_function("untile")
def _untile(cx: Context, a: Arguments) -> Front:
    tile = a.tile("a")
    t = tile.type
    assert isinstance(t, Tile)
    if t.shape[-1] != cx.session.block_dim:
        text = f"{a.function}: the last axis of {spell(t)} must have an element for each of the block's"
        raise a.error("shape", f"{text} {cx.session.block_dim} threads", "a")
    thread = cx.at(a.node).op("thread_index")
    if t.ndim == 1:
        return get(cx, tile, [thread])
    if t.ndim > 3 or not isinstance(t.dtype, Scalar):
        raise a.error("shape", f"{a.function} makes vectors and matrices of scalars, not of {spell(t)}", "a")
    made: Packed = Vec(t.shape[0], t.dtype) if t.ndim == 2 else Mat(t.shape[0], t.shape[1], t.dtype)
    places = [divmod(i, t.shape[1]) if t.ndim == 3 else (i,) for i in range(made.count)]
    parts = [get(cx, tile, [*map(cx.b.i32, place), thread]) for place in places]
    return cx.b.op("make", *parts, attr=made)


# -- elements of other tiles ------------------------------------------------------------------------------------------


@tile_function("tile_astype")
def _astype(cx: Context, a: Arguments) -> Front:
    tile, t = a.tile("t"), a.dtype() or F32
    if not convertible(tile.type.dtype, t):
        raise a.error("type-mismatch", f"{a.function}: {spell(tile.type)} cannot be converted to {spell(t)}", "dtype")
    return elementwise(cx, [tile], a.node, lambda x: cx.b.op("cast", x, attr=t))


@tile_function("tile_map")
def _map(cx: Context, a: Arguments) -> Front:
    function = a["op"]
    given = [(a["a"], a.where("a")), *a.rest("args")]
    first = a.tile("a").type
    for x, node in given:
        if is_tile(x) and x.type.shape != first.shape:  # type: ignore[union-attr]
            text = f"{a.function}: shapes do not match, got {spell(first)} and {spell(x.type)}"  # type: ignore[union-attr]
            raise cx.error("shape", text, node)
    nodes = [node for _, node in given]
    where = a.where("op")

    def apply(*elements: Front) -> Front:
        return dispatch(cx, function, Call(a.node, list(elements), nodes), where)

    return elementwise(cx, [x for x, _ in given], a.node, apply)
