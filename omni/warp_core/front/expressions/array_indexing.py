"""Arrays and indexed arrays alike: their extents, and the place of an element or row.

An indexed array is a struct of the array and its index arrays (`lang.types.indexed`). A dimension whose index array is
null is used as it is; that is the same for all threads, so the choice costs a branch and no lanes.
"""

from __future__ import annotations

import ast

from ...ir.nodes import Value
from ...lang.types import I32, Array, Type, indexed, indexed_array
from ..context import Context
from ..merges import conditional
from ..values import ElementRef

_INDEX = "<index>"


def array_type(t: Type | None) -> Array | None:
    """The type of the array that an array or indexed array is, None for anything else."""
    return t if isinstance(t, Array) else indexed_array(t)


def extent(cx: Context, array: Value, dimension: int, node: ast.AST) -> Value:
    """Return the length of an array or indexed array."""
    b = cx.at(node)
    if isinstance(array.type, Array):
        return b.op("shape", array, attr=dimension)
    data, indices = b.op("extract", array, attr=0), b.op("extract", array, attr=1 + dimension)
    own, given = b.op("shape", data, attr=dimension), b.op("shape", indices, attr=0)
    return b.op("select", b.op("is_null", indices), own, given)


def size_of(cx: Context, array: Value, node: ast.AST) -> Value:
    """Return the number of elements of an array or indexed array."""
    b = cx.at(node)
    if isinstance(array.type, Array):
        return b.op("size", array)
    data = b.op("extract", array, attr=0)
    assert isinstance(data.type, Array)
    if data.type.ndim == 1:
        return extent(cx, array, 0, node)
    total, whole = b.i32(1), b.bool(True)
    for d in range(data.type.ndim):
        total = b.op("mul", total, extent(cx, array, d, node))
        whole = b.op("and", whole, b.op("is_null", b.op("extract", array, attr=1 + d)))
    return b.op("select", whole, b.op("size", data), total)  # launches see to `size`


def locate(cx: Context, array: Value, indices: list[Value], node: ast.AST) -> Value | ElementRef:
    """The element of an indexed array, or the indexed array of fewer dimensions where indices are missing."""
    data = cx.at(node).op("extract", array, attr=0)
    t = data.type
    assert isinstance(t, Array)
    places = [_through(cx, array, d, i, node) for d, i in enumerate(indices)]
    if len(places) == t.ndim:
        return ElementRef(data, tuple(places), t.dtype)
    b = cx.at(node)
    rest = [b.op("extract", array, attr=1 + d) for d in range(len(places), t.ndim)]
    row = b.op("slice", data, *places)
    assert isinstance(row.type, Array)
    return b.op("make", row, *rest, attr=indexed(row.type))


def _through(cx: Context, array: Value, dimension: int, index: Value, node: ast.AST) -> Value:
    """The place in its dimension that an index stands for."""
    b = cx.at(node)
    indices = b.op("extract", array, attr=1 + dimension)

    def same() -> None:
        cx.env[_INDEX] = index if index.type is I32 else cx.at(node).op("cast", index, attr=I32)

    def looked_up() -> None:
        cx.env[_INDEX] = cx.at(node).op("load", indices, index, attr=())

    conditional(cx, b.op("is_null", indices), same, looked_up, lambda: [_INDEX], node)
    found = cx.env.pop(_INDEX)
    assert isinstance(found, Value)
    return found
