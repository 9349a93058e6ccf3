"""Tiles of random numbers, and of the value of one thread."""

from __future__ import annotations

import math
from typing import Any

from ...ir.nodes import Operation, Value
from ...ir.tile_builder import unflattened
from ...lang import registry
from ...lang.types import F32, I32, U32, Scalar, Tile
from ..calls.calls import chosen_builtin
from ..calls.overload_resolution import Call
from ..context import Context
from ..values import Front, Static
from .tile_arguments import Arguments, tile_function
from .tile_making import of_threads
from .tile_regions import At, each, get, tile_map, uniform_index


def block_memory(cx: Context, tile: Tile, node: Any) -> Value:
    """Memory of the block for the elements of a tile."""
    op = Operation("shared", [], tile.memory, cx.loc(node))
    op.results = (Value(tile.memory.view, op),)
    cx.b.outermost.ops.insert(0, op)
    return op.result


def _random(name: str, builtin: str, t: Scalar) -> None:
    @tile_function(name)
    def handler(cx: Context, a: Arguments) -> Front:
        a.storage()
        shape, tile = a.shape(), Tile(t, a.shape())
        rng = cx.convert(a["rng"], U32, a.where("rng"), f"`rng` of {a.function}")
        bounds = [
            cx.convert(a[n], t, a.where(n), f"`{n}` of {a.function}") for n in ("min", "max") if not _missing(a, n)
        ]
        if len(bounds) == 1:
            raise a.error("arguments", f"{a.function} takes both `min` and `max`, or none of them")
        memory, size, stride = block_memory(cx, tile, a.node), math.prod(shape), cx.session.block_dim

        def draws(at: At) -> None:
            state = cx.b.op("add", rng, cx.b.op("cast", at[0], attr=U32))
            _, state = _draw(cx, a, builtin, state, bounds)
            span = [at[0], cx.b.i32(size), cx.b.i32(stride)]
            number, state_now = cx.b.push([I32, U32], ["number", "state"])
            value, state_next = _draw(cx, a, builtin, state_now, bounds)
            cx.b.op("store", memory, *unflattened(cx.b, number, shape), value, attr=())
            cx.b.terminate("yield", [state_next])
            cx.b.emit("for", [*span, state], None, (cx.b.pop(),), (U32,))

        each(cx, (min(size, stride),), a.node, draws)
        return cx.b.op("tile_from_memory", memory, attr=tile)


def _missing(a: Arguments, name: str) -> bool:
    x = a[name]
    return isinstance(x, Static) and x.obj is None


def _draw(cx: Context, a: Arguments, name: str, state: Value, bounds: list[Value]) -> tuple[Value, ...]:
    """A number, and the state behind it."""
    builtin = registry.get(name)
    assert builtin is not None
    given: list[Any] = [state, *bounds]
    instance, _, values = chosen_builtin(cx, builtin, Call(a.node, given, [a.node] * len(given)))
    return cx.at(a.node).emit("call", values, instance.function, (), instance.function.results)


_random("tile_randi", "randi", I32)
_random("tile_randf", "randf", F32)


@tile_function("tile_from_thread")
def _from_thread(cx: Context, a: Arguments) -> Front:
    a.storage()
    values = of_threads(cx, a.value("value"), a.node)
    thread = uniform_index(cx, a["thread_idx"], a.where("thread_idx"), "`thread_idx`")
    return tile_map(cx, a.shape(), a.node, lambda at: get(cx, values, [thread]))
