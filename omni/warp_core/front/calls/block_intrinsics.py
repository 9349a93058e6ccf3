"""Threads that work together in blocks: where a thread is, shared memory, barriers, and warps.

Each handler is one entry of the table in `calls`. That all threads of a block come to the collective operations is
checked by passes/barriers.py.
"""

from __future__ import annotations

import ast

from ...ir.nodes import Operation, Value
from ...ir.ops import OpError
from ...lang.generics import spell
from ...lang.launch_constants import WARP
from ...lang.types import I32
from ..context import Context
from ..values import Front, Static
from .calls import Call, count_arguments, handles
from .intrinsic_calls import fixed_array


def in_blocks(cx: Context, node: ast.AST) -> Context:
    """The context at `node`, whose kernel works in blocks."""
    cx.session.in_blocks = True
    cx.at(node)
    return cx


@handles("block_dim")
def _block_dim(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 0, 0, "wp.block_dim")
    return in_blocks(cx, c.node).b.i32(cx.session.block_dim)


def _index(name: str) -> None:
    @handles(name)
    def handler(cx: Context, c: Call) -> Front:
        count_arguments(cx, c, 0, 0, f"wp.{name}")
        return in_blocks(cx, c.node).b.op(name)


_index("thread_index")
_index("block_index")


@handles("lane")
def _lane(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 0, 0, "wp.lane")
    b = in_blocks(cx, c.node).b
    return b.op("and", b.op("thread_index"), b.i32(WARP - 1))


@handles("shared_array")
def _shared_array(cx: Context, c: Call) -> Front:
    t = fixed_array(cx, c, "wp.shared_array", "a shared array")
    in_blocks(cx, c.node)
    op = Operation("shared", [], t, cx.loc(c.node))
    op.results = (Value(t.view, op),)
    cx.b.outermost.ops.insert(0, op)
    return op.result


@handles("syncthreads")
def _syncthreads(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 0, 0, "wp.syncthreads")
    in_blocks(cx, c.node).b.op("barrier")
    return Static(None)


def _shuffle(name: str, kind: str, what: str) -> None:
    @handles(name)
    def handler(cx: Context, c: Call) -> Front:
        count_arguments(cx, c, 2, 2, f"wp.{name}")
        value = cx.materialise(c.args[0], c.arg_node(0))
        by = cx.convert(c.args[1], I32, c.arg_node(1), what)
        try:
            return in_blocks(cx, c.node).b.op("shuffle", value, by, attr=kind)
        except OpError:
            text = f"`wp.{name}` works on scalars, vectors, matrices and structs without arrays, not on"
            raise cx.error("arguments", f"{text} {spell(value.type)}", c.arg_node(0)) from None


for _name, _kind, _what in (
    ("shuffle", "lane", "the lane"),
    ("shuffle_up", "up", "the number of lanes"),
    ("shuffle_down", "down", "the number of lanes"),
    ("shuffle_xor", "xor", "the mask"),
):
    _shuffle(_name, _kind, _what)


@handles("ballot")
def _ballot(cx: Context, c: Call) -> Front:
    count_arguments(cx, c, 1, 1, "wp.ballot")
    said = cx.as_bool(cx.truth(c.args[0], c.arg_node(0)))
    return in_blocks(cx, c.node).b.op("ballot", said)
