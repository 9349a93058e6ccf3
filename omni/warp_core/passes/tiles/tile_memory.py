"""Memory for tiles: which tiles share a buffer, and where buffers lie in the memory of the block. Start with `allocate`.

Tiles that are handed on share a buffer where their lives do not meet: what a loop carries, what an `if` gives, what
`tile_to_memory` and `tile_from_memory` lend, and a tile that is made of another one element by element. Nothing is
copied then. Buffers whose lives do not meet lie in the same memory, each at the first place that is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import BREAKABLE, ELEMENT_OPS
from ...lang.types import FixedArray, Tile
from .tile_liveness import Lives, memory_of

ALIGN = 64  # bytes, of each buffer: a cache line


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

    def overlaps(self, other: Buffer) -> bool:
        """True if two buffers have bytes in common."""
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


class Allocation:
    """The buffer of each tile, and of each `tile_to_memory`, and the bytes of memory that all buffers take."""

    def __init__(self, function: Function, lives: Lives):
        self.lives = lives
        self.buffers = {v: Buffer(v, life) for v, life in lives.of.items()}
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
        for _, giver, receiver, point in _handed_on(function, self.lives):
            first, second = self.buffers[giver], self.buffers[receiver]
            own = 1 << point if point is not None and not self._outlives(giver, point) else 0
            if first is not second and first.type is second.type and not (first.life & ~own) & second.life:
                self._merge(giver, receiver)

    def _outlives(self, value: Value, point: int) -> bool:
        return bool(self.lives.of[value] >> (point + 1) & 1)

    def _merge(self, giver: Value, receiver: Value) -> None:
        kept, gone = self.buffers[giver], self.buffers[receiver]
        kept.values += gone.values
        kept.life |= gone.life
        self.buffers.update(dict.fromkeys(gone.values, kept))


_Handed = tuple[int, Value, Value, int | None]  # nesting, giver, receiver, where a map reads the one and makes the other


def _handed_on(function: Function, lives: Lives) -> list[_Handed]:
    """The values that give their elements to others. Those in inner loops come first."""
    found: list[_Handed] = []

    def visit(region: Region, owner: Operation | None, frames: list[Operation]) -> None:
        for op in region.ops:
            pairs = _given(op, owner, frames)
            found.extend((len(frames), a, b, None) for a, b in pairs if memory_of(a) is a)
            found.extend((len(frames), v, op.result, lives.reads[op]) for v in _in_place(op))
            for inner in op.regions if op.code not in ELEMENT_OPS else ():
                visit(inner, op, [*frames, op] if op.code in BREAKABLE else frames)

    visit(function.body, None, [])
    found.sort(key=lambda handed: -handed[0])
    return found


def _given(op: Operation, owner: Operation | None, frames: list[Operation]) -> Iterable[tuple[Value, Value]]:
    if op.code == "tile_to_memory":
        return [(op.args[0], op.result)]
    if op.code == "tile_from_memory":
        memory = op.args[0]
        return [(memory, op.result)] if memory_of(memory) is memory else []
    if op.code in ("for", "loop"):
        return zip(op.args[3 * (op.code == "for") :], carried(op))
    receivers = receiving(op, owner, frames)
    return zip(op.args, receivers)


def carried(op: Operation) -> list[Value]:
    """The parameters of a loop that it carries from one iteration to the next."""
    return op.regions[0].params[op.code == "for" :]


def receiving(end: Operation, owner: Operation | None, frames: list[Operation]) -> Sequence[Value]:
    """What gets the operands of the end of a region of `owner`. `frames` are the breakable operations around it."""
    if end.code not in ("yield", "break", "continue") or owner is None:
        return ()
    target = owner if end.code == "yield" else frames[-1 - (end.attr or 0)]
    goes_on = end.code == "continue" or (end.code == "yield" and target.code in ("for", "loop"))
    return carried(target) if goes_on else target.results


def _in_place(op: Operation) -> list[Value]:
    """The tiles of which a map reads no other element than the one that it makes."""
    if op.code != "tile_map":
        return []
    region = op.regions[0]
    found: dict[Value, bool] = {}
    for inner in region.walk():
        for i, arg in enumerate(inner.args):
            if isinstance(arg.type, Tile):
                same = inner.code == "tile_get" and i == 0 and inner.args[1:] == region.params
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
