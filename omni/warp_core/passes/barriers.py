"""Kernels that work in blocks of threads: which values all threads of a block share, and whether all of them come to
each collective operation.

A value is *uniform* if it is the same in all threads of a block for all data. Constants, parameters and the index of
the block are. So are elements at uniform indices of arrays that the kernel only reads, or that are shared memory, and
values computed from uniform values. (Between two barriers, no thread may write an element that another one reads.)
Collective operations must stand where the way there depends on uniform values alone. `check_blocks` refuses all else:
on a GPU threads would wait for ever, or get values of threads that are not there.

What a block does for each element of a grid may take from outside only what is uniform: any thread may do it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import compress

from ..ir.analysis.alias import is_gradient, is_made_by, is_own, underlying_object
from ..ir.analysis.effects import written_params
from ..ir.analysis.uniformity import Uniformity, Visit, analyze
from ..ir.nodes import Function, Operation, Value
from ..ir.ops import COLLECTIVES, ELEMENT_OPS, TILE_OPS, WARP_OPS
from ..ir.printer import reachable
from ..lang.errors import PassError
from ..lang.launch_constants import WARP
from ..lang.types import Array, FixedArray, leaves

SHARED_BYTES = 48 * 1024  # what every GPU has for a block without being asked
CPU_SHARED_BYTES = 256 * 1024  # what stays in the cache of a core
MOST_THREADS = 1024  # of a block
ALIGN = 16  # of each shared array

_NAMES = {
    **dict.fromkeys(TILE_OPS, "a tile operation"),
    "barrier": "wp.syncthreads()",
    "shuffle": "a shuffle",
    "ballot": "wp.ballot()",
    "elements": "wp.block_range()",
}
_OF_ONE_THREAD = frozenset(("tid", "thread_index", "stash"))
_OF_THREADS = ELEMENT_OPS | WARP_OPS | _OF_ONE_THREAD | {"atomic", "alloca"}


def check_blocks(kernel: Function, most_bytes: int = SHARED_BYTES) -> None:
    """Raise `PassError` for an inlined `kernel` that threads of a block may not run together. They may diverge before a
    collective operation, its warps may not be whole, or it may take more than `most_bytes` of shared memory.
    """
    _check_memory(kernel, most_bytes)
    _analyze(kernel, lambda facts: _collective_check(kernel, facts))


def _collective_check(kernel: Function, facts: Uniformity) -> Visit:
    """What raises PassError for an operation that threads of a block may not come to."""
    elements = _Elements(kernel, facts)
    left: list[Operation] = []

    def visit(op: Operation, enclosing: list[Operation], split: bool) -> None:
        elements.check(op)
        if op.code == "return" and split:
            left.append(op)
        if op.code not in COLLECTIVES:
            return
        if op.code in WARP_OPS and kernel.block_dim % WARP:
            reason = f"{_NAMES[op.code]} needs whole warps of {WARP} threads, and a block has {kernel.block_dim}"
            raise PassError("block-size", reason, op, help=f"launch with a block_dim that is a multiple of {WARP}")
        if split:
            _refuse(op, _reason(enclosing, facts), "only some threads of a block may get here")
        for early in left:
            _refuse(op, early, "some threads of a block have left the kernel before")
        for early in _returns_within(enclosing):
            if early in facts.divergent:
                _refuse(op, early, "some threads of a block may have left the kernel in an earlier iteration")

    return visit


def uniform_facts(kernel: Function) -> Uniformity:
    """Return the values of an inlined kernel that are uniform in a block."""
    return _analyze(kernel)


def partings(kernel: Function, code: str) -> dict[Operation, Operation | None]:
    """The operations `code` that only some threads of a block may come to, each with the outermost operation around it
    in which threads part. That is None if they parted before.
    """
    split: set[Operation] = set()
    found: dict[Operation, Operation | None] = {}

    def visit(op: Operation, enclosing: list[Operation], is_split: bool) -> None:
        if is_split:
            split.add(op)
            if op.code == code:
                together = [around for around in enclosing if around not in split]
                found[op] = together[-1] if together else None

    if any(op.code == code for op in kernel.body.walk()):
        _analyze(kernel, lambda facts: visit)
    return found


def _analyze(kernel: Function, visitor: Callable[[Uniformity], Visit] | None = None) -> Uniformity:
    """The facts. In a block of one thread nothing differs."""
    differs = _differing(kernel) if kernel.block_dim > 1 else lambda op: False
    return analyze(kernel, (False,) * len(kernel.params), MOST_THREADS, {}, differs, visitor)


def shared_bytes(kernel: Function) -> int:
    """The shared memory that a block takes."""
    return sum(_bytes(op) for op in kernel.body.walk() if op.code == "shared")


def _bytes(op: Operation) -> int:
    return -(-op.attr.bytes // ALIGN) * ALIGN


def _check_memory(kernel: Function, most_bytes: int) -> None:
    total = 0
    for op in kernel.body.ops:
        if op.code == "shared":
            total += _bytes(op)
            if total > most_bytes:
                reason = f"with this, the shared arrays of a block take {total} bytes; {most_bytes} is the most"
                raise PassError("too-large", reason, op)


def _differing(kernel: Function) -> Callable[[Operation], bool]:
    """Return the operations that return divergent results to the threads of a block for the same operands."""
    written: set[Value] = set()
    anything = False
    writes = cache(written_params)
    for op in kernel.body.walk():
        if op.code not in ("store", "atomic", "call"):
            continue
        targets = op.args[:1] if op.code != "call" else compress(op.args, writes(op.attr))
        for array in map(underlying_object, (t for t in targets if not is_gradient(t))):
            written.add(array)
            anything |= array not in kernel.params and _may_be_array_of_launch(array)
    same = _never_written(kernel, written)

    def differs(op: Operation) -> bool:
        if op.code == "load":
            array = underlying_object(op.args[0])
            if is_made_by(array, "shared", "tile_to_memory"):
                return False
            return anything or array not in same or is_gradient(op.args[0])
        return op.code in _OF_THREADS

    return differs


def _never_written(kernel: Function, written: set[Value]) -> set[Value]:
    """The parameters of a kernel that are not written, and those of functions that are given nothing but these."""
    given: dict[Value, set[Value]] = {}
    for function in reachable([kernel]):
        for op in function.body.walk():
            if op.code == "call":
                for param, argument in zip(op.attr.params, op.args):
                    given.setdefault(param, set()).add(underlying_object(argument))
    same = {p for p in (*kernel.params, *given) if p not in written}
    while wrong := {p for p in same if not given.get(p, set()) <= same}:
        same -= wrong
    return same


def _may_be_array_of_launch(value: Value) -> bool:
    """True if a value is or holds an array that may be memory of other threads than those of the block."""
    is_memory = isinstance(value.type, FixedArray) or is_own(value)
    return not is_memory and any(isinstance(leaf, Array) for _, leaf in leaves(value.type))


class _Elements:
    """Refuses what belongs to a thread where a block works element by element."""

    def __init__(self, kernel: Function, facts: Uniformity):
        self.varying = facts.varying
        self.around: dict[Operation, Operation] = {}  # the operation whose region is run for each element
        self.params: dict[Value, Operation] = {}  # of the regions in it
        self.users: dict[Value, set[Operation | None]] = {}  # of local arrays: the operations around the users
        for owner in kernel.body.walk():
            for op in owner.regions[0].walk() if owner.code in ELEMENT_OPS else ():
                self.around[op] = owner
                self.params.update((p, owner) for region in op.regions for p in region.params)
            if owner.code in ELEMENT_OPS:
                self.params.update((p, owner) for p in owner.regions[0].params)
        for op in kernel.body.walk():
            for a in op.args:
                if a.op is not None and a.op.code == "alloca":
                    self.users.setdefault(a, set()).add(self.around.get(op))

    def check(self, op: Operation) -> None:
        """Raise PassError if an operation cannot be done where it stands."""
        around = self.around.get(op)
        if around is None:
            if op.code == "elements" and not self.varying.isdisjoint(op.args):
                reason = f"{_NAMES[op.code]} is shared by all threads of a block, and its count differs between them"
                raise PassError("block-range", reason, op, help=_OUTSIDE)
            return
        name = _NAMES[around.code]
        if op.code in COLLECTIVES:
            reason = f"{_NAMES[op.code]} is done by all threads of a block, and they share the iterations of {name}"
            raise PassError("block-range", reason, op, [("shared here", around)], f"put it before or behind {name}")
        if op.code in _OF_ONE_THREAD and op.result in self.varying:
            reason = f"the iterations of {name} do not belong to threads: any thread of a block may do one"
            raise PassError("block-range", reason, op, [("shared here", around)], f"use the index that {name} gives")
        for value in op.args:
            if value in self.varying and self.home(value) is not around and self.users.get(value) != {around}:
                what = f"`{value.name}`" if value.name else "what is used here"
                reason = f"{what} differs between the threads of a block, and they share the iterations of {name}"
                notes = [("it is computed here", value.op)] if value.op is not None else []
                is_tid = value.op is not None and value.op.code == "tid"
                raise PassError("block-range", reason, op, notes, _OF_BLOCK if is_tid else _OUTSIDE)

    def home(self, value: Value) -> Operation | None:
        """The operation that gives each element a value of its own."""
        return self.params.get(value) if value.op is None else self.around.get(value.op)


def _returns_within(enclosing: list[Operation]) -> list[Operation]:
    """The `return` operations in the loops around a place."""
    loops = [op for op in enclosing if op.code in ("for", "loop")]
    return [op for region in loops[0].regions for op in region.walk() if op.code == "return"] if loops else []


def _reason(enclosing: list[Operation], facts: Uniformity) -> Operation | None:
    """The operation that lets threads part: a branch on what differs, or an exit that only some take."""
    for op in enclosing:
        if op.code == "if" and op.args[0] in facts.varying:
            return op
        if op.code == "for" and any(a in facts.varying for a in op.args[:3]):
            return op
    exits = (inner for op in enclosing for region in op.regions for inner in region.walk())
    return next((op for op in exits if op in facts.divergent), None)


def _refuse(op: Operation, cause: Operation | None, why: str) -> None:
    what = f"{_NAMES[op.code]} must be reached by all threads of a block, or by none: {why}"
    notes = [(_cause(cause), cause)] if cause is not None else []
    raise PassError("divergence", what, op, notes, _STAY if cause is not None and cause.code == "return" else _ALIKE)


_ALIKE = (
    "conditions and counts on the way to it may depend on constants, arguments, wp.block_index(), shared arrays and "
    "arrays that the kernel only reads. Put code that differs between threads into an `if` of its own, before or after "
    "it"
)
_OUTSIDE = (
    "use the index of the iteration, arguments, wp.block_index() and shared arrays, which are the same for all threads"
)
_OF_BLOCK = "in wp.launch_tiled, wp.tid() gives indices of the block, and that of the thread as the last; see there"
_STAY = "let all threads come here: instead of returning, put the code of some threads into an `if`"


def _cause(op: Operation) -> str:
    if op.code == "if":
        return "this condition differs between threads"
    return "the count differs between threads" if op.code == "for" else "some threads leave here"
