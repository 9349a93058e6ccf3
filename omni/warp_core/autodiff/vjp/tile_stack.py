"""Tiles on the value stack: element e is kept by thread e modulo the size of the block, in as many cells as it takes.

So all threads of a block must be there, which a barrier says: launches refuse to end with a part of a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir.builder import Builder
from ...ir.nodes import Value
from ...ir.tile_builder import unflattened
from ...lang.types import I32, Tile
from .tile_values import as_memory

Element = Callable[[Value], Value]


def cells_of(t: Tile, block_dim: int) -> int:
    """How many elements of a tile each thread keeps."""
    return -(-math.prod(t.shape) // block_dim)


def push_tile(b: Builder, tile: Value, block_dim: int, keep: Callable[[Value, Value], None]) -> None:
    """Let each thread `keep` its elements: their number among its own, and the element."""

    def iteration(k: Value, number: Value) -> None:
        last = b.i32(math.prod(tile.type.shape) - 1)
        keep(k, b.op("tile_get", tile, *unflattened(b, b.op("min", number, last), tile.type.shape)))

    b.op("barrier")
    _own(b, tile.type, block_dim, iteration)


def pop_tile(b: Builder, t: Tile, block_dim: int, kept: Element) -> Value:
    """The tile of what threads have kept."""
    memory = as_memory(b, t)

    def iteration(k: Value, number: Value) -> None:
        inside = b.op("lt", number, b.i32(math.prod(t.shape)))
        b.push()
        b.op("store", memory, *unflattened(b, number, t.shape), kept(k), attr=())
        b.terminate("yield")
        then = b.pop()
        b.push()
        b.terminate("yield")
        b.emit("if", [inside], None, (then, b.pop()))

    _own(b, t, block_dim, iteration)
    return b.op("tile_from_memory", memory, attr=t)


def _own(b: Builder, t: Tile, block_dim: int, iteration: Callable[[Value, Value], None]) -> None:
    """A loop over the elements of a thread."""
    bounds = [b.i32(n) for n in (0, cells_of(t, block_dim), 1)]
    thread = b.op("thread_index")
    (k,) = b.push([I32])
    iteration(k, b.op("add", b.op("mul", k, b.i32(block_dim)), thread))
    b.terminate("yield")
    b.emit("for", bounds, None, (b.pop(),))


def of_first_thread(b: Builder, value: Value, block_dim: int) -> Value:
    """A value that all threads have alike, as one that is known to be so."""
    tile = b.op("tile_of_threads", value, attr=Tile(value.type, (block_dim,)))
    return b.op("tile_get", tile, b.i32(0))
