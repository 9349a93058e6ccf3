"""Stacks of a block: `s = wp.tile_stack(capacity, dtype)`.

A stack is a struct of two arrays in shared memory: its elements, and their number. Copies of it are the same stack.
"""

from __future__ import annotations

from ...ir.nodes import Operation, Value
from ...lang.types import I32, Array, FixedArray, Struct, Type, leaves
from ...lib.tiles import tile_stacks
from ...lib.tiles.tile_scans import reaches
from ..context import Context
from ..values import Front, Static, TupleValue, spell_front
from .tile_algorithms import call_library
from .tile_arguments import Arguments, tile_function

_NAME = "tile_stack"


def _stack_type(dtype: Type) -> Struct:
    return Struct(_NAME, (("data", Array(dtype)), ("count", Array(I32))))


def _parts(cx: Context, a: Arguments) -> tuple[Value, Value]:
    """The arrays of the stack that the call is given: its elements, and their number."""
    x = a["s"]
    t = getattr(x, "type", None)
    if not (isinstance(t, Struct) and t.name == _NAME):
        text = f"{a.function} takes a stack for `s`, not {spell_front(x)}"
        raise a.error("type-mismatch", text, "s", help="make one: s = wp.tile_stack(capacity=64, dtype=int)")
    stack, b = a.value("s"), cx.at(a.node)
    return b.op("extract", stack, attr=0), b.op("extract", stack, attr=1)


def shared_memory(cx: Context, a: Arguments, t: FixedArray) -> Value:
    """An array in shared memory, one for each call in the source."""
    op = Operation("shared", [], t, cx.loc(a.node))
    op.results = (Value(t.view, op),)
    cx.b.outermost.ops.insert(0, op)
    return op.result


@tile_function("tile_stack")
def _stack(cx: Context, a: Arguments) -> Front:
    capacity, dtype = a.constant("capacity"), a.dtype()
    if type(capacity) is not int or capacity < 1:
        raise a.error("shape", f"{a.function}: the capacity must be a positive integer, not {capacity!r}", "capacity")
    if dtype is None or any(isinstance(leaf, Array) for _, leaf in leaves(dtype)):
        text = f"{a.function} holds numbers, vectors, matrices, and structs without arrays"
        raise a.error("type-mismatch", text, "dtype")
    data, count = (shared_memory(cx, a, FixedArray(t, (n,))) for t, n in ((dtype, capacity), (I32, 1)))
    call_library(cx.at(a.node), tile_stacks.clear, count)
    return cx.b.op("make", data, count, attr=_stack_type(dtype))


@tile_function("tile_stack_clear")
def _clear(cx: Context, a: Arguments) -> Front:
    call_library(cx.at(a.node), tile_stacks.clear, _parts(cx, a)[1])
    return Static(None)


@tile_function("tile_stack_count")
def _count(cx: Context, a: Arguments) -> Front:
    return cx.at(a.node).op("load", _parts(cx, a)[1], cx.b.i32(0), attr=())


@tile_function("tile_stack_push")
def _push(cx: Context, a: Arguments) -> Front:
    data, count = _parts(cx, a)
    value = cx.convert(a["value"], data.type.dtype, a.where("value"), f"the value of {a.function}")
    has_value = cx.as_bool(cx.truth(a["has_value"], a.where("has_value")))
    size = cx.session.block_dim
    given = (data, count, value, has_value)
    return call_library(cx.at(a.node), tile_stacks.push, *given, size=size, steps=reaches(size))[0]


@tile_function("tile_stack_pop")
def _pop(cx: Context, a: Arguments) -> Front:
    data, count = _parts(cx, a)
    found = call_library(cx.at(a.node), tile_stacks.pop, data, count, size=cx.session.block_dim)
    return TupleValue(list(found))
