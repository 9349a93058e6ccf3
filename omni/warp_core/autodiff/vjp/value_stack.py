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
from ...lang.types import BOOL, I32, SCALAR_BY_KEY, U32, U64, Scalar, Type
from ..analysis.factor_escape import leave_if
from ..analysis.leaves import assemble, leaf_of, leaf_types

CELLS = (U32, U64)
_REPORT = ("gradient-memory", "a loop keeps {0} values for its gradient, more than there is memory for")


def cell_kind(t: Type) -> int:
    """Return the value stack of a leaf."""
    return int(t.size > 4)


@dataclass(frozen=True)
class ValueFrame:
    """The cells of one iteration: each value with (stash, offset) of its leaves, and the sizes."""

    places: tuple[tuple[Value, tuple[tuple[int, int], ...]], ...]
    sizes: tuple[int, int]

    @classmethod
    def of(cls, values: Iterable[Value]) -> ValueFrame:
        """The frame that holds `values`."""
        sizes = [0, 0]
        places = []
        for v in values:
            cells = []
            for t in leaf_types(v.type):
                kind = cell_kind(t)
                cells.append((kind, sizes[kind]))
                sizes[kind] += 1
            places.append((v, tuple(cells)))
        return cls(tuple(places), (sizes[0], sizes[1]))


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
        for i, (kind, offset) in enumerate(cells):
            cell = _to_cell(b, leaf_of(b, value, i), CELLS[kind])
            b.op("store", stashes[kind], _offset(b, top[kind], offset), cell, attr=())
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
        found = []
        for t, (kind, offset) in zip(leaf_types(value.type), cells):
            cell = b.op("load", stashes[kind], _offset(b, base[kind], offset), attr=())
            found.append(_from_cell(b, cell, t))
        values.append(assemble(b, value.type, found))
    return values, base


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
