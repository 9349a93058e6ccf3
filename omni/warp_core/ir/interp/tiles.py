"""Tiles as the interpreter sees them, and operations on them.

A tile is a list of its elements that nothing changes, and the updates by one thread that the other threads have not
seen yet. All threads of a block meet at operations of the block (block_runner.py). There the updates of all threads are
joined, the first thread does the operation, and all get its result. At a `tile_get` or `tile_set` they meet only if all
come to it; in divergent code each thread goes on with its own updates. Start with `together_at`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...lang import semantics
from ...lang.types import Scalar, Tile, element
from ..nodes import Operation
from .array_memory import MemArray, Trap

ALONE = frozenset(("tile_get", "tile_set"))  # what a thread may do where others do not come
PARTS = 16  # partial results of a reduction
_SET = "set"
Region = Callable[..., tuple]


class TileValue:
    """A tile: its elements in row-major order, and the `updates` by this thread: (index, kind, value)."""

    __slots__ = ("elements", "type", "updates")

    def __init__(self, t: Tile, elements: list, updates: tuple[tuple[int, str, Any], ...] = ()):
        self.type, self.elements, self.updates = t, elements, updates

    def locate(self, at: Sequence[int]) -> int:
        """The number of an element. Raises `Trap` when out of range."""
        index = 0
        for i, n in zip(at, self.type.shape):
            if not 0 <= i < n:
                raise Trap(f"element {tuple(at)} of a tile of shape {self.type.shape}")
            index = index * n + i
        return index

    def get(self, *at: int) -> Any:
        """The element at coordinates, as this thread sees it."""
        index = self.locate(at)
        value = self.elements[index]
        for where, kind, given in self.updates:
            if where == index:
                value = _updated(self.type, kind, value, given)
        return value

    def set(self, kind: str, *operands: Any) -> TileValue:
        """The tile after this thread has updated an element; operands are its coordinates and the value."""
        *at, value = operands
        return TileValue(self.type, self.elements, (*self.updates, (self.locate(at), kind, value)))


def _updated(t: Tile, kind: str, old: Any, value: Any) -> Any:
    if kind == _SET:
        return value
    rule, s = semantics.BINARY[kind], element(t.dtype)
    return rule(s, old, value) if isinstance(t.dtype, Scalar) else tuple(rule(s, a, b) for a, b in zip(old, value))


def joined(tiles: Sequence[TileValue]) -> TileValue:
    """One tile with the updates of all threads. Raises `Trap` if two threads race, or have different tiles."""
    first = tiles[0]
    if not any(t.updates for t in tiles):
        return first
    if any(t.elements is not first.elements for t in tiles):
        raise Trap("threads of a block have different tiles")
    elements, by_whom = list(first.elements), {}  # type: ignore[var-annotated]
    for thread, tile in enumerate(tiles):
        for index, kind, value in tile.updates:
            other, how, given = by_whom.setdefault(index, (thread, kind, value))
            clash = given != value if how == kind == _SET else how != kind and {how, kind} != {"add", "sub"}
            if other != thread and clash:
                raise Trap(f"threads {other} and {thread} of a block race for element {index} of a tile: {how}, {kind}")
            elements[index] = _updated(first.type, kind, elements[index], value)
    return TileValue(first.type, elements)


Request = tuple  # operation, time, tiles that it uses, and for operations on tiles: region, other operands


def together_at(requests: Sequence[Request]) -> list[Any]:
    """The answers to all threads of a block, which have come to one operation: the tiles that it uses. In front of them
    stands the result of an operation on tiles.
    """
    op = requests[0][0]
    tiles = tuple(joined(column) for column in zip(*(request[2] for request in requests)))
    if op.code == "tile_get":
        return [(tiles[0].get(*request[4]), *tiles) for request in requests]
    if op.code not in _RUN:
        return [tiles] * len(requests)
    return [(_done(op, requests[0][3], tiles, [request[4] for request in requests]), *tiles)] * len(requests)


def alone(request: Request) -> tuple:
    """The answer to one thread that reads or updates an element where others do not."""
    op, _, (tile, *_), _, operands = request
    return (tile.get(*operands) if op.code == "tile_get" else tile.set(op.attr, *operands), tile)


def all_alone(thread: Generator) -> Any:
    """The results of a function that waits for no other thread."""
    answer: Any = None
    try:
        while True:
            answer = alone(thread.send(answer))
    except StopIteration as end:
        return end.value


def _done(op: Operation, region: Callable[..., tuple] | None, tiles: tuple, given: Sequence[Any]) -> Any:
    """The result of an operation. The region runs for one element; it takes the tiles that are no operands, too."""
    captured = tiles[sum(isinstance(a.type, Tile) for a in op.args) :]
    return _RUN[op.code](op, lambda *xs: region(*xs, *captured), tiles, given)  # type: ignore[misc]


def _map(op: Operation, region: Region, tiles: tuple, given: Sequence[Any]) -> TileValue:
    t: Tile = op.attr
    return TileValue(t, [region(*at)[0] for at in itertools.product(*map(range, t.shape))])


def _of_threads(op: Operation, region: Any, tiles: tuple, given: Sequence[Any]) -> TileValue:
    t: Tile = op.attr
    if len(given) != math.prod(t.shape):
        raise Trap(f"{len(given)} threads of a block do not make a tile of {t.shape} elements")
    return TileValue(t, [value for (value,) in given])


def _reduce(op: Operation, region: Region, tiles: tuple, given: Sequence[Any]) -> TileValue:
    (tile, *_), axis = tiles, op.attr
    shape = tile.type.shape
    if axis < 0:
        return TileValue(op.results[0].type, [_combined(region, tile.elements)])
    inner = math.prod(shape[axis + 1 :])
    lines = (
        tile.elements[outer * shape[axis] * inner + i : (outer + 1) * shape[axis] * inner : inner]
        for outer in range(math.prod(shape[:axis]))
        for i in range(inner)
    )
    return TileValue(op.results[0].type, [_combined(region, line) for line in lines])


def _combined(region: Callable[..., tuple], line: Sequence[Any]) -> Any:
    """PARTS partial results, of the elements whose numbers are equal modulo PARTS, combined by halves."""
    parts = list(line[:PARTS])
    for number, value in enumerate(line[PARTS:]):
        parts[number % PARTS] = region(parts[number % PARTS], value)[0]
    half = PARTS // 2
    while half:
        for i, value in enumerate(parts[half:]):
            parts[i] = region(parts[i], value)[0]
        del parts[half:]
        half //= 2
    return parts[0]


def _empty(op: Operation, region: Any, tiles: tuple, given: Sequence[Any]) -> TileValue:
    return TileValue(op.attr, [None] * math.prod(op.attr.shape))


def _to_memory(op: Operation, region: Any, tiles: tuple, given: Sequence[Any]) -> MemArray:
    tile = tiles[0]
    return MemArray(tile.type.dtype, tile.type.shape, list(tile.elements))


def _from_memory(op: Operation, region: Any, tiles: tuple, given: Sequence[Any]) -> TileValue:
    (array,) = given[0]
    return TileValue(op.attr, array.values())


def _set(op: Operation, region: Any, tiles: tuple, given: Sequence[Any]) -> TileValue:
    return joined([tiles[0].set(op.attr, *operands) for operands in given])


_RUN: dict[str, Callable[..., Any]] = {
    "tile_map": _map,
    "tile_of_threads": _of_threads,
    "tile_reduce": _reduce,
    "tile_empty": _empty,
    "tile_to_memory": _to_memory,
    "tile_from_memory": _from_memory,
    "tile_set": _set,
}
