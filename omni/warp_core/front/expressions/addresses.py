"""Addresses of arrays: `wp.array(ptr=a.ptr + bytes, shape=..., dtype=...)` in a kernel is a view of the array `a`.

An address is an array and a number of bytes, and no number. So the compiler knows which array such a view may reach.
Functions return addresses, and locals keep them. Start with `view`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import I64, MAX_NDIM, FixedArray, Type
from ..values import Address, Front, TupleValue

if TYPE_CHECKING:
    from ..context import Context


def address_of(cx: Context, array: Value) -> Address:
    """`a.ptr`."""
    return Address(array, cx.b.const(0, I64))


def moved(cx: Context, symbol: str, left: Front, right: Front, node: ast.AST) -> Address:
    """The address some bytes behind or before another one."""
    base, by = (left, right) if isinstance(left, Address) else (right, left)
    if symbol not in ("+", "-") or isinstance(by, Address) or not isinstance(base, Address):
        raise cx.error("unsupported", "the address of an array takes `+` or `-` and a number of bytes only", node)
    if symbol == "-" and base is right:
        raise cx.error("unsupported", "an address cannot be taken from a number", node)
    bytes_ = cx.index_value(by, node, "the distance from an address")
    b = cx.at(node)
    code = "add" if symbol == "+" else "sub"
    return Address(base.array, b.op(code, base.offset, b.op("cast", bytes_, attr=I64)))


def view(cx: Context, at: Address, shape: Front, dtype: Type, node: ast.AST) -> Value:
    """The elements that lie at an address, in the order of rows."""
    extents = [
        cx.index_value(x, node, "an extent") for x in (shape.items if isinstance(shape, TupleValue) else [shape])
    ]
    if not 1 <= len(extents) <= MAX_NDIM:
        raise cx.error("arguments", f"the shape of a view is one to {MAX_NDIM} integers", node)
    if at.array.type.dtype is not dtype:
        text = f"a view of {spell(at.array.type)} has its dtype, not {spell(dtype)}"
        raise cx.error("unsupported", text, node, help="pass the array with the other dtype as well: `a.view(dtype)`")
    return cx.at(node).op("view_at", at.array, at.offset, *extents)


def local_view(cx: Context, at: Address, t: FixedArray, node: ast.AST) -> Value:
    """The elements of a local array from an address on, as an array that shares them."""
    whole = at.array.type
    offset = cx.constant(at.offset, node, "the bytes behind a local array")
    first, rest = divmod(offset, t.dtype.size)
    if whole.ndim != 1 or t.ndim != 1 or whole.dtype is not t.dtype or rest or first < 0:
        text = f"{spell(t)} at byte {offset} does not share elements of {spell(whole)}"
        raise cx.error("unsupported", text, node, help="a view has the dtype of the local array, and one dimension")
    if first + t.shape[0] > whole.shape[0]:
        text = f"{t.shape[0]} elements from element {first} on end behind {spell(whole)}"
        raise cx.error("index", text, node)
    b = cx.at(node)
    return b.op("slice", at.array, b.i32(first), b.i32(t.shape[0]), b.i32(1), attr="r")
