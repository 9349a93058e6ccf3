"""Runs IR slowly and exactly: the oracle that every back end is held to, and what runs builtins at Python scope.

Each function is translated once to straight Python source and kept. Values are those of `array_memory`. `call` runs a
device function, `run_kernel` a kernel over a grid, one thread after the other; kernels that work in blocks of threads
run as `block_runner` says. Programs that index out of range, run for too long or reach an unreachable place raise
`Trap`; `fail` and violated asserts raise `Failure`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from weakref import WeakKeyDictionary

from ...lang.types import Type
from ..nodes import Function
from .array_memory import MemArray, Trap
from .block_runner import WAITS, Block, Race, has_any, run_blocks, takes_whole_blocks
from .transpile import transpile

__all__ = ["Context", "Failure", "MemArray", "Race", "Trap", "call", "run_kernel"]

STEP_LIMIT = 100_000_000
STASH_CELLS = 100_000


class Failure(Exception):
    """A `fail` was reached or an `assert` did not hold. `thread` is the index in the grid, if any."""

    def __init__(self, kind: str, message: str, values: tuple = ()):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.values = kind, message, values
        self.thread: tuple[int, ...] | None = None


ArrayAt = Callable[[Type, int, int], MemArray]  # element type, address, number of elements


def no_memory(element: Type, address: int, count: int) -> MemArray:
    """Raise `Trap`: a program whose caller gives no memory by address has none."""
    raise Trap(f"no memory at address {address:#x}")


class Context:
    """State of a running program besides its arguments: its position in the grid, printed lines, steps left."""

    __slots__ = ("array_at", "block", "dim", "index", "members", "out", "stashes", "steps", "time")

    def __init__(self, dim: Sequence[int] = (), steps: int = STEP_LIMIT, array_at: ArrayAt = no_memory):
        self.dim, self.steps, self.array_at = tuple(dim), steps, array_at
        self.index: tuple[int, ...] = ()
        self.out: list[str] = []
        self.stashes: dict[Type, MemArray] = {}
        self.block: Block | None = None
        self.time: tuple[int, ...] = ()  # when the running function was called: see `transpile`
        self.members: Sequence[tuple[int, ...]] = ()  # the indices of the threads of the block

    def stash(self, cell: Type) -> MemArray:
        """The stash of this thread; threads run one after the other and leave it empty."""
        if cell not in self.stashes:
            self.stashes[cell] = MemArray(cell, (STASH_CELLS,))
        return self.stashes[cell]

    def threads(self) -> Iterator[None]:
        """The threads of the block, one after the other."""
        assert self.block is not None
        for thread, index in enumerate(self.members):
            self.block.thread, self.index = thread, index
            yield
        self.block.barrier()

    def elements(self, extents: Sequence[int], alone: bool) -> Iterator[tuple[int, ...]]:
        """The elements of a grid that fall to this thread; all of them if it is `alone` with them."""
        block = self.block
        assert block is not None
        self.spend(math.prod(max(0, n) for n in extents))
        for number, at in enumerate(itertools.product(*map(range, extents))):
            if alone or number % block.size == block.thread:
                block.element = number
                yield at
        block.element = None

    def tid(self, dimension: int, count: int) -> int:
        """Index of this thread; a single index in a grid of several dimensions counts them all."""
        if count == len(self.dim):
            return self.index[dimension]
        if count != 1:
            raise Trap(f"tid of {count} dimensions in a grid of {len(self.dim)}")
        flat = 0
        for i, n in zip(self.index, self.dim):
            flat = flat * n + i
        return flat

    def span(self, low: int, high: int, step: int) -> range:
        """The iterations of a `for`."""
        iterations = range(low, high, step) if step else range(0)
        self.spend(len(iterations))
        return iterations

    def spend(self, steps: int) -> None:
        """Count loop iterations. Raises `Trap` when there have been too many."""
        self.steps -= steps
        if self.steps < 0:
            raise Trap("too many loop iterations")


_compiled: WeakKeyDictionary[Function, Callable] = WeakKeyDictionary()


def compiled(function: Function) -> Callable[..., tuple]:
    """`function` as a Python callable: (context, arguments…) -> tuple of results."""
    found = _compiled.get(function)
    if found is None:
        found = _compiled[function] = transpile(function, compiled, Failure)
    return found


def call(
    function: Function,
    args: Sequence,
    steps: int = STEP_LIMIT,
    out: list[str] | None = None,
    array_at: ArrayAt = no_memory,
) -> tuple:
    """Run a device function. Returns the tuple of its results; what it prints goes to `out`, and `array_at` gives the
    arrays of the operation of this name.
    """
    context = Context(steps=steps, array_at=array_at)
    if out is not None:
        context.out = out
    return compiled(function)(context, *args)


def run_kernel(function: Function, args: Sequence, dim: int | Sequence[int], steps: int = STEP_LIMIT) -> list[str]:
    """Run a kernel for every index of the grid `dim`, the last dimension fastest. Returns what it printed."""
    context = Context((dim,) if isinstance(dim, int) else dim, steps)
    run = compiled(function)
    grid = itertools.product(*map(range, context.dim))
    try:
        if function.block_dim:
            _run_in_blocks(function, run, args, context, list(grid))
        else:
            for context.index in grid:
                run(context, *args)
    except Failure as failure:
        failure.thread = context.index
        raise
    return context.out


def _run_in_blocks(function: Function, run: Callable, args: Sequence, context: Context, grid: list) -> None:
    size = function.block_dim
    if len(grid) % size and takes_whole_blocks(function):
        raise Trap(f"{len(grid)} threads do not make whole blocks of {size}")
    if has_any(function, frozenset(("threads",))):
        for number in range(-(-len(grid) // size)):
            context.members = grid[number * size : (number + 1) * size]
            context.block = Block(number, len(context.members))
            context.index = context.members[0]  # of what is done once, where a block has one thread
            run(context, *args)
        return
    waits = has_any(function, WAITS)

    def start(block: Block, thread: int) -> Iterator:
        own = Context(context.dim, context.steps)
        own.index, own.out, own.block = grid[block.number * function.block_dim + thread], context.out, block
        if waits:
            yield from run(own, *args)
        else:
            run(own, *args)

    def told(thread: int) -> None:
        context.index = grid[thread]

    run_blocks(start, len(grid), function.block_dim, told)
