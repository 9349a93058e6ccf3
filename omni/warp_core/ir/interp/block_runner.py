"""Runs kernels that work in blocks of threads, for the interpreter: all threads of a block go from one collective
operation to the next, one thread after the other. Start with `run_blocks`.

Two threads form a `Race` if they access one element of shared memory without a barrier in between, and one of them
writes. The values that they read would depend on which is faster. Accesses that are both atomic, or write the same, do
not race. Two iterations that the threads of a block share (`elements`) race as threads do, for any may do either.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...lang.launch_constants import WARP
from ...lang.types import FixedArray
from ..nodes import Function, Operation
from ..ops import COLLECTIVES, MEETINGS, SHUFFLE_KINDS, WARP_OPS
from ..printer import reachable
from .array_memory import MemArray, Trap
from .shared_parts import SharedParts
from .tiles import ALONE, alone, together_at

WAITS = COLLECTIVES | ALONE  # where a thread may wait for the others of its block


class Race(Trap):
    """Two threads of a block meet in shared memory."""


def has_any(function: Function, codes: frozenset[str]) -> bool:
    """True if a function, or one that it calls, has one of these operations."""
    return any(op.code in codes for f in reachable([function]) for op in f.body.walk())


def takes_whole_blocks(kernel: Function) -> bool:
    """True if all threads of a block must exist, because they hand each other values. Memory for tiles is another
    matter: whatever threads there are share the work on it.
    """
    operations = [op for f in reachable([kernel]) for op in f.body.walk()]
    for_tiles = {op.args[0] for op in operations if op.code == "shared_part"}
    between_threads = WARP_OPS | {"barrier"}
    return any(op.code in between_threads or (op.code == "shared" and op.result not in for_tiles) for op in operations)


def source_lane(kind: str, lane: int, by: int) -> int:
    """The lane of its warp whose value a thread gets from a `shuffle`."""
    by %= WARP
    found = {"lane": by, "up": lane - by, "down": lane + by, "xor": lane ^ by}[kind]
    return found if 0 <= found < WARP else lane


class Block:
    """A block of threads while it runs."""

    def __init__(self, number: int, size: int):
        self.number, self.size, self.thread = number, size, 0
        self.element: int | None = None  # the shared iteration that the thread is in
        self.memory: dict[tuple[Operation, ...], MemArray] = {}
        self._parts: dict[int, SharedParts] = {}  # by the array that they lie in
        self._calls: dict[int, list[Operation]] = {}
        self._seen: dict[Any, list[tuple[str, tuple, int, str]]] = {}  # accesses of each element since the last barrier

    def enter(self, call: Operation) -> None:
        """The running thread calls a function. Shared arrays of functions belong to the place of the call."""
        self._calls.setdefault(self.thread, []).append(call)

    def leave(self) -> None:
        """The running thread comes back."""
        self._calls[self.thread].pop()

    def shared(self, op: Operation) -> MemArray:
        """The memory that `op` names, nothing in it at first."""
        place = (*self._calls.get(self.thread, ()), op)
        if place not in self.memory:
            t: FixedArray = op.attr
            self.memory[place] = MemArray.local(t)
            self.memory[place].watch = self.watch
        return self.memory[place]

    def part(self, whole: MemArray, t: FixedArray, offset: int) -> MemArray:
        """The array that begins at a byte of a shared array."""
        parts = self._parts.setdefault(id(whole.data), SharedParts(self.watch))
        return parts.part(t, offset)

    def watch(self, array: MemArray, at: int, path: Sequence[int], kind: str, value: Any) -> None:
        self.note((id(array.data), at), f"element {at} of a shared array", path, kind, value)

    def note(self, element: Any, what: str, path: Sequence[Any], kind: str, value: Any = None) -> None:
        """Record an access and compare it with accesses of other threads since the last barrier.

        Args:
            element: tells elements apart.
            what: the element in words.
            path: members and indices that lead to the part of it that is accessed.
            kind: "read", "write" or "atomic".
            value: what is written.
        """
        who, me = ("threads", self.thread) if self.element is None else ("iterations", self.element)
        mine = (kind, tuple(path), me, repr(value))
        seen = self._seen.setdefault(element, [])
        for other, way, one, written in seen:
            same = all(a == b for a, b in zip(way, mine[1]))
            fine = kind == other and (kind != "write" or (way == mine[1] and written == mine[3]))
            if one != me and same and not fine:
                raise Race(
                    f"{who} {one} and {me} of a block meet at {what} without a barrier in between: {other}, then {kind}"
                )
        if mine not in seen:
            seen.append(mine)

    def barrier(self) -> None:
        """All threads have come to a barrier: what they did is seen by all."""
        self._seen.clear()


def run_blocks(start: Callable[[Block, int], Any], threads: int, block_dim: int, told: Callable[[int], None]) -> None:
    """Run `threads` threads in blocks of `block_dim`. `start` makes a thread: a generator that yields at collectives.
    `told` is called with the number of the thread that goes on.

    Raises:
        Trap: the threads of a block part ways.
    """
    for number in range(-(-threads // block_dim)):
        running: list[Generator] = []
        first = number * block_dim
        block = Block(number, min(block_dim, threads - first))

        def resume(t: int, answer: Any, block: Block = block, running: list = running, first: int = first) -> Any:
            block.thread = t
            told(first + t)
            try:
                return running[t].send(answer)
            except StopIteration:
                return None

        running += [start(block, t) for t in range(block.size)]
        try:
            asked: list[tuple | None] = [resume(t, None) for t in range(block.size)]
            while any(asked):
                for t, answer in _answers(block, asked).items():
                    asked[t] = resume(t, answer)
        finally:
            for thread in running:
                thread.close()


def _answers(block: Block, asked: list[tuple | None]) -> dict[int, Any]:
    """Return the result of what the threads ask for that are furthest behind: by thread, for those that go on now.

    A request is the operation, the time in the program, the tiles that it uses and other operands. Threads meet at
    operations of the block; at elements of tiles they meet if all come there.
    """
    first = min(request[1] for request in asked if request)
    here = {t: request for t, request in enumerate(asked) if request and request[1] == first}
    op = next(iter(here.values()))[0]
    together = len(here) == len(asked) and len({request[0] for request in here.values()}) == 1
    if op.code in ALONE and not together:
        return {t: alone(request) for t, request in here.items()}
    if not together:
        raise Trap("threads of a block come to different collective operations")
    if op.code in MEETINGS or op.code in ALONE:
        block.barrier()
        answers = together_at(list(here.values()))
        if op.code == "tile_to_memory":
            answers[0][0].watch = block.watch
        return dict(enumerate(answers))
    if len(asked) % WARP:
        raise Trap(f"{op.code} in blocks of {len(asked)} threads, which are no whole warps")
    return dict(enumerate(_of_warps(op, [request[2:] for request in here.values()])))


def _of_warps(op: Operation, given: list[tuple]) -> list[Any]:
    out: list[Any] = []
    for first in range(0, len(given), WARP):
        warp = given[first : first + WARP]
        if op.code == "ballot":
            out += [sum(on << lane for lane, (on,) in enumerate(warp))] * WARP
        else:
            assert op.attr in SHUFFLE_KINDS
            out += [warp[source_lane(op.attr, lane, by)][0] for lane, (_, by) in enumerate(warp)]
    return out
