"""Value stack: cells of a thread in which the primal pass of a loop leaves values for the reverse pass.

There is one stash of 32-bit cells and one of 64-bit cells, each an array with no end that matters. A value takes one
cell for each leaf. `top` are the numbers of the next free cell in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.builder import Builder
from ...ir.nodes import Value
from ...lang.types import BOOL, I32, SCALAR_BY_KEY, U32, U64, Scalar, Tile, Type
from ..analysis.factor_escape import leave_if
from ..analysis.leaves import assemble, leaf_of, leaf_types
from .tile_stack import cells_of, pop_tile, push_tile

CELLS = (U32, U64)
Cells = tuple[tuple[int, int], ...]
_REPORT = ("gradient-memory", "a loop keeps {0} values for its gradient, more than there is memory for")


def cell_kind(t: Type) -> int:
    """Return the value stack of a leaf."""
    return int(t.size > 4)


@dataclass(frozen=True)
class ValueFrame:
    """The cells of one iteration: each value with (stash, offset) of its leaves, and the sizes.

    A tile has the leaves of its elements, each in the cells that a thread of a block of `block_dim` threads needs.
    """

    places: tuple[tuple[Value, Cells], ...]
    sizes: tuple[int, int]
    block_dim: int

    @classmethod
    def of(cls, values: Iterable[Value], block_dim: int) -> ValueFrame:
        """The frame that holds `values`."""
        sizes = [0, 0]
        places = []
        for v in values:
            cells = []
            count = cells_of(v.type, block_dim) if isinstance(v.type, Tile) else 1
            for t in leaf_types(_kept(v.type)):
                kind = cell_kind(t)
                cells.append((kind, sizes[kind]))
                sizes[kind] += count
            places.append((v, tuple(cells)))
        return cls(tuple(places), (sizes[0], sizes[1]), block_dim)


def _offset(b: Builder, at: Value, offset: int) -> Value:
    return b.op("add", at, b.const(offset, I32))


def push(b: Builder, frame: ValueFrame, top: Sequence[Value], values: Sequence[Value]) -> list[Value]:
    """Store the values of a frame; returns the new top."""
    stashes = [b.op("stash", attr=cell) for cell in CELLS]
    after = [_offset(b, t, size) for t, size in zip(top, frame.sizes)]
    for stash, end, size in zip(stashes, after, frame.sizes):
        if size:
            _ensure(b, end, stash)
    for value, (_, cells) in zip(values, frame.places):

        def keep(k: Value, x: Value, cells: Cells = cells) -> None:
            for i, (kind, offset) in enumerate(cells):
                cell = _to_cell(b, leaf_of(b, x, i), CELLS[kind])
                b.op("store", stashes[kind], b.op("add", _offset(b, top[kind], offset), k), cell, attr=())

        if isinstance(value.type, Tile):
            push_tile(b, value, frame.block_dim, keep)
        else:
            keep(b.i32(0), value)
    return after


def _ensure(b: Builder, end: Value, stash: Value) -> None:
    """Leave with a report if the stash is full."""
    full = b.op("gt", end, b.op("shape", stash, attr=0))
    leave_if(b, full, _REPORT, end)


def pop(b: Builder, frame: ValueFrame, top: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Take the topmost frame: its values, and the top below it."""
    stashes = [b.op("stash", attr=cell) for cell in CELLS]
    base = [b.op("sub", t, b.const(size, I32)) for t, size in zip(top, frame.sizes)]
    values = []
    for value, cells in frame.places:

        def kept(k: Value, value: Value = value, cells: Cells = cells) -> Value:
            t, found = _kept(value.type), []
            for leaf, (kind, offset) in zip(leaf_types(t), cells):
                place = b.op("add", _offset(b, base[kind], offset), k)
                found.append(_from_cell(b, b.op("load", stashes[kind], place, attr=()), leaf))
            return assemble(b, t, found)

        is_tile = isinstance(value.type, Tile)
        values.append(pop_tile(b, value.type, frame.block_dim, kept) if is_tile else kept(b.i32(0)))
    return values, base


def _kept(t: Type) -> Type:
    """The type of what a cell, or some, are for: elements of tiles are kept one by one."""
    return t.dtype if isinstance(t, Tile) else t


def _bits(t: Scalar) -> Scalar:
    return SCALAR_BY_KEY[f"u{t.bits}"]


def _to_cell(b: Builder, leaf: Value, cell: Scalar) -> Value:
    t = leaf.type
    if t is BOOL:
        return b.op("cast", leaf, attr=cell)
    bits = leaf if t is _bits(t) else b.op("bitcast", leaf, attr=_bits(t))
    return bits if bits.type is cell else b.op("cast", bits, attr=cell)


def _from_cell(b: Builder, cell: Value, t: Any) -> Value:
    if t is BOOL:
        return b.op("ne", cell, b.const(0, cell.type))
    bits = cell if cell.type is _bits(t) else b.op("cast", cell, attr=_bits(t))
    return bits if bits.type is t else b.op("bitcast", bits, attr=t)
