"""Memory for tiles: which tiles share a buffer, and where buffers lie in the memory of the block.

Start with `Allocation`.

Tiles that are handed on share a buffer where their lives do not meet: what a loop carries, what an `if` gives, what
`tile_to_memory` and `tile_from_memory` lend, and a tile that is made of another one element by element. Memory that is
only read shares that of its tile at any time. Nothing is copied then. Buffers whose lives do not meet lie in the same
memory, each at the first place that is free.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from ...ir.nodes import Function, Operation, Value
from ...lang.errors import PassError
from ...lang.generics import spell
from ...lang.types import FixedArray, Tile
from ..dce import has_effects
from .tile_flow import carried, handed_on, nested
from .tile_liveness import Lives, memory_of

ALIGN = 64  # bytes, of each buffer: a cache line
_TOLD = 3  # the largest buffers, in an error


class Buffer:
    """Memory of tiles of one type, whose lives do not meet."""

    def __init__(self, value: Value, life: int):
        self.values, self.life = [value], life
        self.offset = 0

    @property
    def type(self) -> FixedArray:
        """The type of the memory; the first tile stands for all."""
        t = self.values[0].type
        return t.memory if isinstance(t, Tile) else self.values[0].op.args[0].type.memory  # type: ignore[union-attr]

    @property
    def size(self) -> int:
        return -(-self.type.bytes // ALIGN) * ALIGN

    @property
    def maker(self) -> Operation | None:
        """The operation to name for a tile in it."""
        return next((v.op for v in self.values if v.op is not None), None)

    def overlaps(self, other: Buffer) -> bool:
        """True if two buffers have bytes in common."""
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


class Allocation:
    """The buffer of each tile, and of each `tile_to_memory`, and the bytes of memory that all buffers take."""

    def __init__(self, function: Function, lives: Lives):
        self.lives = lives
        self.buffers = {v: Buffer(v, life) for v, life in lives.of.items()}
        self._written = lives.escaped | _written(function)
        self._join(function)
        self.bytes = _place(dict.fromkeys(self.buffers.values()))

    def of(self, value: Value) -> Buffer:
        return self.buffers[value]

    # -- tiles that share a buffer ------------------------------------------------------------------------------

    def _join(self, function: Function) -> None:
        for op in function.body.walk():
            if op.code == "for":
                for param, result in zip(carried(op), op.results):
                    if isinstance(param.type, Tile):
                        self._merge(param, result)
        for _, giver, receiver, point in _related(function, self.lives):
            first, second = self.buffers[giver], self.buffers[receiver]
            own = 1 << point if point is not None and not self._outlives(giver, point) else 0
            apart = not (first.life & ~own) & second.life or self._are_alike(giver, receiver)
            if first is not second and first.type is second.type and apart:
                self._merge(giver, receiver)

    def _are_alike(self, tile: Value, lent: Value) -> bool:
        """True if memory that a tile is lent to has its elements as long as both live, and others do not meet them."""
        if lent.op is None or lent.op.code != "tile_to_memory" or lent in self._written:
            return False
        first, second = (self._others(v) for v in (tile, lent))
        return not (first & self.buffers[lent].life or second & self.buffers[tile].life)

    def _others(self, value: Value) -> int:
        """When the other values of its buffer live."""
        return reduce(or_, (self.lives.of[v] for v in self.buffers[value].values if v is not value), 0)

    def check(self, limit: int, others: int) -> None:
        """Raise PassError if buffers take more than `limit` bytes, of which `others` are taken already."""
        total = self.bytes + others
        if total <= limit:
            return
        buffers = sorted(dict.fromkeys(self.buffers.values()), key=lambda b: -b.size)[:_TOLD]
        notes = [(f"{spell(Tile(b.type.dtype, b.type.shape))} takes {b.type.bytes} bytes", b.maker) for b in buffers]
        reason = (
            f"the tiles of this kernel take {total} bytes at once, which exceeds the {limit >> 10} KiB arena that a "
            "block has for them"
        )
        raise PassError("too-large", reason, buffers[0].maker, notes, "make tiles smaller, or use fewer at a time")

    def _outlives(self, value: Value, point: int) -> bool:
        return bool(self.lives.of[value] >> (point + 1) & 1)

    def _merge(self, giver: Value, receiver: Value) -> None:
        kept, gone = self.buffers[giver], self.buffers[receiver]
        kept.values += gone.values
        kept.life |= gone.life
        self.buffers.update(dict.fromkeys(gone.values, kept))


def _related(function: Function, lives: Lives) -> list[tuple[int, Value, Value, int | None]]:
    """The values that give their elements to others: how many loops are around, the giver, the receiver, and the point
    where a map reads the one and makes the other. Those in inner loops come first.
    """
    found: list[tuple[int, Value, Value, int | None]] = [(*pair, None) for pair in handed_on(function.body.ops)]
    for op, _, frames in nested(function.body.ops):
        if op.code == "tile_to_memory" or (op.code == "tile_from_memory" and memory_of(op.args[0]) is op.args[0]):
            found.append((len(frames), op.args[0], op.result, None))
        found += ((len(frames), v, op.result, lives.reads[op]) for v in _in_place(op))
    return sorted(found, key=lambda pair: -pair[0])


def _written(function: Function) -> set[Value]:
    """The `tile_to_memory` to whose memory something is written."""
    found = set()
    for op in function.body.walk():
        if op.code in ("store", "atomic"):
            found.add(memory_of(op.args[0]))
        elif op.code == "call" and has_effects(op.attr):
            found.update(map(memory_of, op.args))
    return {v for v in found if v is not None}


def _in_place(op: Operation) -> list[Value]:
    """The tiles of which a map reads no other element than the one that it makes."""
    if op.code != "tile_map":
        return []
    region = op.regions[0]
    if any(inner.code == "load" and memory_of(inner.args[0]) for inner in region.walk()):
        return []  # it may be memory of one of these tiles
    found: dict[Value, bool] = {}
    for inner in region.walk():
        for i, arg in enumerate(inner.args):
            if isinstance(arg.type, Tile):
                same = inner.code == "tile_get" and arg.type.ndim == len(region.params) and i == 0
                same = same and all(a is b or n == 1 for a, b, n in zip(inner.args[1:], region.params, arg.type.shape))
                found[arg] = found.get(arg, True) and same
    return [v for v, same in found.items() if same]


def _place(buffers: dict[Buffer, None]) -> int:
    """Give each buffer its offset, large ones first; returns how many bytes all of them take."""
    placed: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda b: -b.size):
        for other in sorted((b for b in placed if b.life & buffer.life), key=lambda b: b.offset):
            if buffer.overlaps(other):
                buffer.offset = other.offset + other.size
        placed.append(buffer)
    return max((b.offset + b.size for b in placed), default=0)
