"""Arrays, indexed arrays and arrays of Fabric alike: their extents, and the place of an element or row.

An indexed array is a struct of the array and its index arrays (array_struct_types.py). A dimension whose index array is
null is used as it is; that is the same for all threads, so the choice costs a branch and no lanes.

The bucket of an element in Fabric is searched for.
"""

from __future__ import annotations

import ast

from ...ir.nodes import Value
from ...lang.array_structs.array_struct_types import fabric_parts, indexed, indexed_array
from ...lang.types import I32, Array, Struct, Type
from ...lib.search import lower_bound
from ..context import Context
from ..merges import conditional
from ..values import ElementRef

_INDEX = "<index>"


def array_type(t: Type | None) -> Array | None:
    """The type of the array that kernels see an array, an indexed array or one of Fabric as; None for anything else."""
    if isinstance(t, Array):
        return t
    parts = fabric_parts(t)
    return Array(*parts[:2]) if parts else indexed_array(t)


def extent(cx: Context, array: Value, dimension: int, node: ast.AST) -> Value:
    """Return the length of an array or indexed array."""
    b = cx.at(node)
    if isinstance(array.type, Array):
        return b.op("shape", array, attr=dimension)
    if fabric_parts(array.type):
        return _fabric_size(cx, array, dimension, node)
    data, indices = b.op("extract", array, attr=0), b.op("extract", array, attr=1 + dimension)
    own, given = b.op("shape", data, attr=dimension), b.op("shape", indices, attr=0)
    return b.op("select", b.op("is_null", indices), own, given)


def shape_of(cx: Context, array: Value, node: ast.AST) -> list[Value]:
    """Return the extents. An array of arrays has one: the others differ."""
    t = array_type(array.type)
    assert t is not None
    return [extent(cx, array, d, node) for d in range(1 if fabric_parts(array.type) else t.ndim)]


def size_of(cx: Context, array: Value, node: ast.AST) -> Value:
    """Return the number of elements of an array or indexed array."""
    b = cx.at(node)
    if isinstance(array.type, Array):
        return b.op("size", array)
    if fabric_parts(array.type):
        return extent(cx, array, 0, node)
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
    """The element of an indexed array or one of Fabric, or the array of fewer dimensions where indices are missing."""
    if fabric_parts(array.type):
        return _in_fabric(cx, array, indices, node)
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


# -- Fabric ---------------------------------------------------------------------------------------------------------


def _member(cx: Context, struct: Value, name: str, node: ast.AST) -> Value | None:
    """A field of a struct, None if it has no such field."""
    assert isinstance(struct.type, Struct)
    at = struct.type.index.get(name)
    return None if at is None else cx.at(node).op("extract", struct, attr=at)


def _fabric_size(cx: Context, array: Value, dimension: int, node: ast.AST) -> Value:
    """Return the number of elements, or of arrays in an array of arrays."""
    if dimension:
        help = "write `row = x[i]`, and take `row.shape[0]`"
        raise cx.error("unsupported", "each array in an array of arrays has a length of its own", node, help=help)
    b = cx.at(node)
    counted = _member(cx, array, "indices", node) or _member(cx, array, "rows", node)
    if counted is not None:
        return b.op("shape", counted, attr=0)
    starts = _member(cx, array, "starts", node)
    assert starts is not None
    return b.op("load", starts, b.op("sub", b.op("shape", starts, attr=0), b.i32(1)), attr=())


def _in_fabric(cx: Context, array: Value, indices: list[Value], node: ast.AST) -> Value | ElementRef:
    """The element of a fabric array; with one index into an array of arrays, the array."""
    b = cx.at(node)
    first, *rest = indices
    i = first if first.type is I32 else b.op("cast", first, attr=I32)
    places = _member(cx, array, "indices", node)
    if places is not None:
        i = b.op("load", places, i, attr=())
    starts, pieces = _member(cx, array, "starts", node), b.op("extract", array, attr=0)
    if starts is not None:
        find = cx.session.library_function(lower_bound, starts.type, I32)
        (after,) = b.emit("call", [starts, b.op("add", i, b.i32(1))], find, results=find.results)
        bucket = b.op("sub", after, b.i32(1))
        i, rest = bucket, [b.op("sub", i, b.op("load", starts, bucket, attr=()))]
    data = b.op("extract", b.op("load", pieces, i, attr=()), attr=0)
    assert isinstance(data.type, Array)
    return ElementRef(data, tuple(rest), data.type.dtype) if rest else data
