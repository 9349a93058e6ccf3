"""Replaces tiles by memory of the block, and operations of tiles by loops over their elements.

In: a kernel whose tiles come from `tile_map`, `tile_of_threads` and `tile_from_memory`. Out: a new one without tiles.
What a loop carries, or an `if` gives, is copied where the two sides have no common buffer. `elements` waits for all
threads before and behind; where a tile needs no loop, a barrier does if threads have accessed tiles since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import BREAKABLE, result_type
from ...ir.tile_builder import copy, elements
from ...lang.types import U8, FixedArray, Tile
from ..barriers import shared_bytes
from .tile_flow import carried, initial, receiving
from .tile_liveness import Lives, memory_of
from .tile_memory import Allocation, Buffer
from .value_dropping import DroppingRewriter


def emit_tiles(kernel: Function, limit: int) -> Function:
    """Return the kernel without tiles; see the module's docstring. A block has `limit` bytes for shared memory."""
    allocation = Allocation(kernel, Lives(kernel))
    allocation.check(limit, shared_bytes(kernel))
    return _Emitter(allocation).rewrite(kernel)


class _Emitter(DroppingRewriter):
    def __init__(self, allocation: Allocation):
        super().__init__()
        self._allocation = allocation
        self._arena: Value | None = None
        self._count = 0  # of operations that make memory
        self._views: dict[tuple[FixedArray, int], Value] = {}
        self._owners: list[Operation] = []
        self._frames: list[Operation] = []
        self._in_element = False
        self._pending = False  # threads may still be accessing tiles

    def drops(self, value: Value) -> bool:
        return isinstance(value.type, Tile)

    # -- memory -------------------------------------------------------------------------------------------------

    def _memory(self, buffer: Buffer) -> Value:
        """The array at the place of a buffer."""
        place = buffer.type, buffer.offset
        if place not in self._views:
            if self._arena is None:
                self._arena = self._made("shared", (), FixedArray(U8, (self._allocation.bytes,)))
            self._views[place] = self._made("shared_part", (self._arena,), place)
        return self._views[place]

    def _apart(self, t: FixedArray) -> Value:
        """An array that shares memory with no buffer."""
        return self._made("shared_part", (self._made("shared", (), FixedArray(U8, (t.bytes,))),), (t, 0))

    def _made(self, code: str, args: Sequence[Value], attr: object) -> Value:
        """Memory, at the top of the kernel."""
        op = Operation(code, list(args), attr, self.b.loc)
        op.results = (Value(result_type(code, [a.type for a in args], attr), op),)
        self.b.outermost.ops.insert(self._count, op)
        self._count += 1
        return op.result

    def _of(self, value: Value) -> Value:
        """The memory of a tile of the old kernel."""
        return self._memory(self._allocation.of(value))

    def _hand_on(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        """Copy tiles into the buffers of others, all at once."""
        buffers = [(self._allocation.of(a), self._allocation.of(b)) for a, b in pairs if isinstance(a.type, Tile)]
        waiting = {target: source for source, target in buffers if source is not target}
        memory = {source: self._memory(source) for source in waiting.values()}
        saved: set[Buffer] = set()
        while waiting:
            free = (t for t in waiting if not any(self._spoils(t, u, s, saved) for u, s in waiting.items()))
            target = next(free, None)
            if target is None:  # all wait for each other
                source = next(iter(waiting.values()))
                temporary = self._apart(source.type)
                self._transfer(temporary, memory[source], source.type)
                memory[source] = temporary
                saved.add(source)
            else:
                self._transfer(self._memory(target), memory[waiting.pop(target)], target.type)

    @staticmethod
    def _spoils(target: Buffer, other: Buffer, source: Buffer, saved: set[Buffer]) -> bool:
        """True if `target` must not be written before `source` has gone to `other`."""
        return other is not target and source not in saved and target.overlaps(source)

    def _transfer(self, target: Value, source: Value, t: FixedArray) -> None:
        copy(self.b, target, source, t.shape)
        self._pending = False

    def _meet(self) -> None:
        """Wait for all threads, where they may still be accessing tiles."""
        if self._pending:
            self.b.op("barrier")
            self._pending = False

    # -- tiles --------------------------------------------------------------------------------------------------

    def visit_tile_map(self, op: Operation) -> None:
        memory = self._of(op.result)

        def element(at: Sequence[Value]) -> None:
            found = self.splice(op.regions[0], at)
            assert found is not None
            self.b.op("store", memory, *at, *found, attr=())

        self._in_element = True
        elements(self.b, op.attr.shape, element)
        self._in_element = self._pending = False

    def visit_tile_empty(self, op: Operation) -> None:
        """Whatever lies in its memory will do."""

    def visit_tile_get(self, op: Operation) -> None:
        self._pending |= not self._in_element
        where = self.args(op)
        self.define(op, (self.b.op("load", self._of(op.args[0]), *where, attr=()),))

    def visit_tile_of_threads(self, op: Operation) -> None:
        self._meet()
        self.b.op("store", self._of(op.result), self.b.op("thread_index"), *self.args(op), attr=())
        self.b.op("barrier")

    def visit_tile_to_memory(self, op: Operation) -> None:
        (tile,) = op.args
        if self._allocation.of(tile) is self._allocation.of(op.result):
            self._meet()
        else:
            self._transfer(self._of(op.result), self._of(tile), tile.type.memory)
        self.values[op.result] = self._of(op.result)

    def visit_tile_from_memory(self, op: Operation) -> None:
        (array,) = op.args
        memory = memory_of(array)
        if memory is array and self._allocation.of(array) is self._allocation.of(op.result):
            self._meet()
        else:
            self._transfer(self._of(op.result), self.values[array], op.attr.memory)

    def visit_load(self, op: Operation) -> None:
        self._pending |= not self._in_element and memory_of(op.args[0]) is not None
        self._copy(op)

    visit_store = visit_atomic = visit_load

    def visit_barrier(self, op: Operation) -> None:
        self._copy(op)
        self._pending = False

    def visit_elements(self, op: Operation) -> None:
        self._in_element = True
        self._emit(op, (self.rebuild(op.regions[0]),))
        self._in_element = self._pending = False

    # -- control flow -------------------------------------------------------------------------------------------

    def visit_if(self, op: Operation) -> None:
        before, after, regions = self._pending, False, []
        for region in op.regions:
            self._pending = before
            regions.append(self._inside(op, region))
            after |= self._pending
        self._emit(op, tuple(regions))
        self._pending = after

    def visit_for(self, op: Operation) -> None:
        pending = not self._in_element and any(map(_accesses_tile, op.regions[0].walk()))
        if op.code != "block":
            self._hand_on(zip(initial(op), carried(op)))
        self._pending |= pending
        self._frames.append(op)
        self._emit(op, (self._inside(op, op.regions[0]),))
        self._frames.pop()
        self._pending |= pending

    visit_loop = visit_block = visit_for

    def _inside(self, op: Operation, region: Region) -> Region:
        self._owners.append(op)
        new = self.breakable(op) if op.code in BREAKABLE else self.rebuild(region)
        self._owners.pop()
        return new

    def visit_yield(self, op: Operation) -> None:
        self._hand_on(zip(op.args, receiving(op, self._owners[-1] if self._owners else None, self._frames)))
        self._terminator(op)

    def visit_break(self, op: Operation) -> None:
        self._hand_on(zip(op.args, receiving(op, self._owners[-1], self._frames)))
        super().visit_break(op)

    visit_continue = visit_break


def _accesses_tile(op: Operation) -> bool:
    return op.code == "tile_get" or (op.code in ("load", "store", "atomic") and memory_of(op.args[0]) is not None)
