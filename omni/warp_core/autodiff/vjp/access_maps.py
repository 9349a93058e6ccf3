"""Access maps: the way from the coordinates of a map to the indices of an element that it gets, where that way can be
turned round.

Each index is `step * coordinate + first`, with one coordinate at most, which no other index of the access has. So an
element of the tile has one coordinate or none of those that count, and all of the others: it gets the sum over these of
what each sends. Slices, transposed tiles, views at an offset and broadcast tiles are such maps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...ir.builder import Builder
from ...ir.nodes import Operation, Value
from ...ir.tile_builder import tile_map
from ...lang.types import Tile
from .tile_values import select, summed


@dataclass(frozen=True)
class Index:
    """One index: `step * coordinate + first`, or `first` alone. `first` is a constant of the kernel plus values."""

    coordinate: int | None
    step: int
    first: int
    offset: tuple[Value, ...] = ()  # from outside of the region, to be added


@dataclass(frozen=True)
class AccessMap:
    """The indices of an access, for coordinates within `shape`."""

    shape: tuple[int, ...]
    indices: tuple[Index, ...]

    def is_identity(self, t: Tile) -> bool:
        """True if each coordinate is the index of its own dimension, and all of the tile is gone through."""
        own = (Index(d, 1, 0) for d in range(t.ndim))
        return self.shape == t.shape and self.indices == tuple(own)

    def at(self, b: Builder, coordinates: Sequence[Value]) -> list[Value]:
        """The indices at some coordinates."""
        return [_value(b, i, coordinates) for i in self.indices]

    def among(self, primal: Callable[[Value], Value]) -> AccessMap:
        """The same way, from values of the reverse code."""
        indices = (replace(i, offset=tuple(map(primal, i.offset))) for i in self.indices)
        return replace(self, indices=tuple(indices))


def _value(b: Builder, index: Index, coordinates: Sequence[Value]) -> Value:
    found = b.i32(index.first)
    if index.coordinate is not None:
        found = b.op("add", b.op("mul", coordinates[index.coordinate], b.i32(index.step)), found)
    for offset in index.offset:
        found = b.op("add", found, offset)
    return found


def access_map(get: Operation, owner: Operation) -> AccessMap | None:
    """The way to the indices of a `tile_get` in the region of `owner`; None if it cannot be turned round."""
    params = owner.regions[0].params
    inside = set(params).union(*(op.results for op in owner.regions[0].ops))
    found = [_index(a, params, inside) for a in get.args[1:]]
    used = [i.coordinate for i in found if i is not None and i.coordinate is not None]
    if None in found or len(set(used)) != len(used):
        return None
    return AccessMap(owner.attr.shape, tuple(i for i in found if i is not None))


def _index(value: Value, params: Sequence[Value], inside: set[Value]) -> Index | None:
    if value.is_const:
        return Index(None, 0, value.const)
    if value in params:
        return Index(params.index(value), 1, 0)
    if value not in inside:
        return Index(None, 0, 0, (value,))
    op = value.op
    if op is None or op.code not in ("add", "mul"):
        return None
    first, second = (_index(a, params, inside) for a in op.args)
    if first is None or second is None:
        return None
    return _plus(first, second) if op.code == "add" else _times(first, second)


def _plus(a: Index, b: Index) -> Index | None:
    if a.coordinate is not None and b.coordinate is not None:
        return None
    at, step = (a.coordinate, a.step) if a.coordinate is not None else (b.coordinate, b.step)
    return Index(at, step, a.first + b.first, a.offset + b.offset)


def _times(a: Index, b: Index) -> Index | None:
    """The product of an index and a constant."""
    if a.coordinate is None and not a.offset:
        a, b = b, a
    if b.coordinate is not None or b.offset or a.offset or b.first == 0:
        return None
    return Index(a.coordinate, a.step * b.first, a.first * b.first)


def gathered(b: Builder, sent: Value, to: AccessMap, t: Tile) -> Value:
    """The tile of type `t` of what its elements get, where `sent` has what each coordinate sends to its element."""
    if to.is_identity(t):
        return sent
    used = sorted(i.coordinate for i in to.indices if i.coordinate is not None)
    for axis in reversed(range(len(to.shape))):
        if axis not in used:
            sent = summed(b, sent, axis)

    def element(at: Sequence[Value]) -> Value:
        coordinates = dict.fromkeys(used, b.i32(0))
        here = b.bool(True)
        for index, position, extent in zip(to.indices, at, t.shape):
            if extent == 1:  # there is one element, and it is in bounds
                continue
            away = b.op("sub", position, b.i32(index.first))
            for offset in index.offset:
                away = b.op("sub", away, offset)
            if index.coordinate is None:
                fits = b.op("eq", away, b.i32(0))
            else:
                coordinates[index.coordinate], fits = _divided(b, away, index.step, to.shape[index.coordinate])
            here = b.op("and", here, fits)
        found = b.op("tile_get", sent, *(coordinates.values() or [b.i32(0)]))
        return found if here.is_const else select(b, here, found)

    return tile_map(b, t, element)


def _divided(b: Builder, away: Value, step: int, extent: int) -> tuple[Value, Value]:
    """The coordinate that leads `away` from the first index, in bounds, and whether there is one."""
    by = b.i32(step)
    place = away if step == 1 else b.op("div", away, by)
    fits = b.op("and", b.op("ge", place, b.i32(0)), b.op("lt", place, b.i32(extent)))
    if step not in (1, -1):
        fits = b.op("and", fits, b.op("eq", b.op("mul", place, by), away))
    return b.op("max", b.i32(0), b.op("min", place, b.i32(extent - 1))), fits
