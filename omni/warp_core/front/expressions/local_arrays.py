"""Local arrays: `a = wp.zeros(shape=4, dtype=float)` gives the local `a` memory of the thread's own.

A local has one such memory, made at the top of the function; assigning copies the elements into it, as assigning a
vector copies its components. Functions are passed the memory itself. A function that returns a local array copies it
into memory of its caller's, an additional parameter. Start with `own`.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir.nodes import Operation, Value
from ...lang.types import I32, Array, FixedArray, Struct, Type, leaves
from ..values import Address, TupleValue

if TYPE_CHECKING:
    from ..context import Context

MEMORY = 1 << 19  # bytes of local arrays that one thread may have, in all functions of a kernel
UNROLLED = 32  # arrays of up to this many elements are filled and copied without a loop


def make(cx: Context, t: FixedArray, node: ast.AST) -> Value:
    """Memory for an array of type `t`, its elements not set."""
    cx.session.memory += t.bytes
    if cx.session.memory > MEMORY:
        raise cx.error(
            "too-large",
            f"the local arrays of a thread take {cx.session.memory} bytes with this one; the limit is {MEMORY}",
            node,
            help="use an array parameter with a row for each thread",
        )
    op = Operation("alloca", [], t, cx.loc(node))
    op.results = (Value(t, op),)
    cx.b.outermost.ops.insert(0, op)
    return op.result


def zeros(cx: Context, t: FixedArray, node: ast.AST) -> Value:
    """A new array of zeros."""
    array, b = make(cx, t, node), cx.at(node)
    zero = b.zero(t.dtype)
    _each(cx, t.shape, lambda at: cx.b.op("store", array, *at, zero, attr=()))
    return array


def own(cx: Context, name: str, x: Value, node: ast.AST) -> Value:
    """Return the value of the local `name` after it is assigned the array `x`: its own memory, with the elements of
    `x`.
    """
    memory = cx.memory.get(name)
    if memory is None:
        is_new = x.op is not None and x.op.code == "alloca" and x not in cx.memory.values()
        memory = cx.memory[name] = x if is_new else make(cx, x.type, node)
        memory.name = memory.name or name
    _copy(cx, x, memory, node)
    return memory


def detached(cx: Context, x: Any, node: ast.AST) -> Any:
    """A local's array in memory of its own, for when the local may be assigned before `x` is used."""
    if isinstance(x, Value) and x in cx.memory.values():
        memory = make(cx, x.type, node)
        _copy(cx, x, memory, node)
        return memory
    return x


def view(cx: Context, x: Value, t: Type) -> Value:
    """The array `x` as an argument for a parameter of type `t`."""
    return cx.b.op("slice", x, attr="") if isinstance(x.type, FixedArray) and x.type is not t else x


def _copy(cx: Context, source: Value, target: Value, node: ast.AST) -> None:
    if source is not target:
        b = cx.at(node)
        _each(cx, target.type.shape, lambda at: b.op("store", target, *at, b.op("load", source, *at, attr=()), attr=()))


def _each(cx: Context, shape: Sequence[int], do: Callable[[list[Value]], Any]) -> None:
    """Emit `do` for every index, written out or in loops."""
    if math.prod(shape) <= UNROLLED:
        for index in itertools.product(*map(range, shape)):
            do([cx.b.i32(i) for i in index])
    else:
        _nest(cx, shape, [], do)


def _nest(cx: Context, shape: Sequence[int], at: list[Value], do: Callable[[list[Value]], Any]) -> None:
    if not shape:
        do(at)
        return
    bounds = [cx.b.i32(0), cx.b.i32(shape[0]), cx.b.i32(1)]
    (index,) = cx.b.push([I32], ["index"])
    _nest(cx, shape[1:], [*at, index], do)
    cx.b.terminate("yield")
    cx.b.emit("for", bounds, regions=(cx.b.pop(),))


# -- out of the function --------------------------------------------------------------------------------------------


def returned(cx: Context, x: Any, node: ast.AST) -> Any:
    """The value of a `return` with local arrays copied into the caller's memory."""
    arrays: list[Value] = []

    def visit(x: Any) -> Any:
        if isinstance(x, TupleValue):
            return TupleValue([visit(i) for i in x.items])
        if isinstance(x, Address):
            refuse_escape(cx, x.array, node, "this returns the address of")
        if not isinstance(x, Value):
            return x
        if not isinstance(x.type, FixedArray):
            refuse_escape(cx, x, node, "this returns")
            return x
        memory = cx.result_memory(len(arrays), x.type)
        arrays.append(memory)
        _copy(cx, x, memory, node)
        return memory

    return visit(x)


def refuse_escape(cx: Context, x: Value, node: ast.AST, what: str) -> None:
    """Refuse to let a view of a local array outlive the function."""
    if _has_arrays(x.type) and _reaches_local(x, set()):
        raise cx.error(
            "unsupported",
            f"{what} a view of a local array, whose memory ends with the function",
            node,
            help="return the array as a whole, or write into an array that is passed as an argument",
        )


def _has_arrays(t: Type) -> bool:
    return isinstance(t, (Array, Struct)) and any(isinstance(leaf, Array) for _, leaf in leaves(t))


def _reaches_local(x: Value, seen: set[Value]) -> bool:
    """True if the arrays in `x` may be local memory of this function."""
    if x in seen or x.op is None or not _has_arrays(x.type):
        return False
    seen.add(x)
    op = x.op
    if op.code == "alloca":
        return True
    ends = [inner for region in op.regions for inner in region.walk() if inner.code in ("yield", "break", "continue")]
    return any(_reaches_local(a, seen) for source in (op, *ends) for a in source.args)
