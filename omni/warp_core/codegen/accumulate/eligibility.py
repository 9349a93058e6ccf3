"""Which atomic additions need no atomic instructions. Start with `additions`.

Those of floating point numbers go through the log of a launch.
A kernel does not add to memory where it stands: it writes down what it adds, and the runtime applies the logs in the
order of the threads (native/include/warp_core/accumulate.h). That takes no atomic instructions, and the sums do not
depend on how many cores share a launch. No thread may read the sum meanwhile: the old value is not used, and the
kernel does nothing else with the array. Whether two parameters show the same memory is not known here: `Accumulation`
names the arrays, and each launch compares them.

Sums of integers are the same in any order. So each core adds plainly, in a copy of the array that is its own
(`privatization`), on the same conditions.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

from ...ir.analysis.alias import is_own, provenance
from ...ir.launch_facts import Accumulation, ArrayAt, PrivatizedArray
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import index_count
from ...lang.types import Array, Scalar, Struct, Type, element, leaves, member_at

MOST_PRIVATIZED = 8  # arrays of a kernel: kMostPrivatized of native/include/warp_core/privatize.h
_IN_ORDER = ("exch", "cas")  # their results depend on the order even if the old value is unused


class Additions(NamedTuple):
    """The additions of a kernel that go through the log, each with its array, and the facts about all of them.

    `privatized` has the additions of integers that need no atomic instructions, with the number of their array. Threads
    are `numbered` if they may use the value that an atomic operation found, as those do that take numbers in turn.
    """

    operations: Mapping[Operation, ArrayAt]
    facts: Accumulation
    privatized: Mapping[Operation, int]
    numbered: bool


def additions(function: Function, log: bool = True, gathered: Container[Operation] | None = None) -> Additions:
    """Return the additions of kernel `function`. Without `log` those of floats are atomic, and those of integers
    without `gathered`: the operations that a range of threads combines.
    """
    return _Finder(function).find(log, gathered)


def together(function: Function, operations: Mapping[Operation, ArrayAt], varying: Container[Value]) -> set[Operation]:
    """The additions, of those through the log, to arrays to which all lanes add together at least once, or a block adds
    element by element: lanes add side by side there.
    """
    grids = (op for op in function.body.walk() if op.code == "elements")
    by_blocks = {inner for grid in grids for inner in grid.regions[0].walk()}

    def is_one(op: Operation) -> bool:
        return not any(i in varying for i in op.args[1 : 1 + index_count(op.args[0].type, op.attr[1])])

    arrays = {at for op, at in operations.items() if op in by_blocks or is_one(op)}
    return {op for op, at in operations.items() if at in arrays}


class _Finder:
    def __init__(self, function: Function):
        self.function = function
        self.position = {p: i for i, p in enumerate(function.params)}
        self.used = {a for op in function.body.walk() for a in op.args}
        self.touched: dict[ArrayAt, None] = {}
        self.atomic: dict[ArrayAt, None] = {}  # numbers are changed atomically in
        self.changed: dict[ArrayAt, None] = {}  # touched atomically
        self.atomic_anywhere = False
        self.order_dependent = False
        self.numbered = False
        self.everywhere = False  # an array of unknown origin is touched

    def find(self, log: bool, gathered: Container[Operation] | None) -> Additions:
        sums: dict[Operation, ArrayAt] = {}
        counts: dict[Operation, ArrayAt] = {}
        for op in self.function.body.walk():
            if op.code == "call":
                self._call(op)
            elif op.code in ("load", "store", "atomic") and not is_own(op.args[0]):
                at = self._source(op.args[0])
                if log and at is not None and self._is_sum(op):
                    sums[op] = at
                elif gathered is not None and at is not None and op not in gathered and self._is_count(op):
                    counts[op] = at
                else:
                    self._touch(op, at)
        arrays = {at: element(op.args[0].type.dtype).size for op, at in counts.items() if at not in self.touched}
        numbers = {at: i for i, at in enumerate(arrays)} if len(arrays) <= MOST_PRIVATIZED else {}
        logged = {op: at for op, at in sums.items() if not self.everywhere and at not in self.touched}
        privatized = {op: numbers[at] for op, at in counts.items() if not self.everywhere and at in numbers}
        for op, at in (sums | counts).items():
            if op not in logged and op not in privatized:
                self._touch(op, at)
        copied = tuple(PrivatizedArray(at, arrays[at]) for at in numbers) if privatized else ()
        return Additions(logged, self._facts(dict.fromkeys(logged.values()), copied), privatized, self.numbered)

    def _facts(self, logged: dict[ArrayAt, None], privatized: tuple[PrivatizedArray, ...]) -> Accumulation:
        exclusive: dict[ArrayAt, None] = {}
        if private := self.function.private:
            copied = dict.fromkeys(p.array for p in privatized)
            exclusive = {_at(self.position[p], 0, p.type, grad): None for p, grad in private} | self.changed | copied
        atomic = self.atomic or self.atomic_anywhere
        if not (logged or atomic or self.order_dependent or exclusive or privatized):
            return Accumulation()
        return Accumulation(
            tuple(logged),
            tuple(self.touched),
            tuple(self.atomic),
            self.atomic_anywhere,
            order_dependent=self.order_dependent,
            exclusive=tuple(exclusive),
            privatized=privatized,
        )

    def _is_sum(self, op: Operation) -> bool:
        return op.code == "atomic" and op.attr[0] in ("add", "sub") and _is_float(op) and op.result not in self.used

    def _is_count(self, op: Operation) -> bool:
        """True if an operation adds integers to elements that consist of integers of one type."""
        if op.code != "atomic" or op.attr[0] not in ("add", "sub") or op.result in self.used:
            return False
        s = None if isinstance(op.args[0].type.dtype, Struct) else element(op.args[0].type.dtype)
        return isinstance(s, Scalar) and not s.is_float and s.size in (4, 8)

    def _touch(self, op: Operation, at: ArrayAt | None) -> None:
        """Record an access that does not go through the log."""
        if op.code == "atomic":
            kind = op.attr[0]
            used = op.result in self.used and kind != "take"
            self.numbered |= used or kind in _IN_ORDER
            self.order_dependent |= self.numbered or self._is_sum(op)
        if at is None:
            self.everywhere = True
            self.atomic_anywhere |= op.code == "atomic"
            return
        self.touched[at] = None
        if op.code == "atomic":
            self.changed[at] = None
            self.atomic[at] = None

    def _call(self, op: Operation) -> None:
        """A callee may do anything to the arrays it is given."""
        atomics = [inner for inner in _operations(op.attr, set()) if inner.code == "atomic"]
        self.numbered |= bool(atomics)
        self.order_dependent |= self.numbered
        for arg in op.args:
            for at in self._arrays(arg):
                if at is None:
                    self.everywhere = True
                    self.atomic_anywhere |= bool(atomics)
                else:
                    self.touched[at] = None
                    if atomics:
                        self.atomic[at] = None

    def _arrays(self, value: Value) -> Iterator[ArrayAt | None]:
        """The arrays that a value is or has."""
        if isinstance(value.type, Array):
            if not is_own(value):
                yield self._source(value)
        elif isinstance(value.type, Struct):
            found = provenance(value)
            known = found.object in self.position
            start = member_at(found.object.type, found.members)[0] if known else 0
            for offset, leaf in leaves(value.type):
                if isinstance(leaf, Array):
                    yield _at(self.position[found.object], start + offset, leaf, False) if known else None

    def _source(self, array: Value) -> ArrayAt | None:
        """Which array of the launch an array value shows, in whole or in part."""
        found = provenance(array)
        if found.gradients > 1 or found.object not in self.position:
            return None
        offset, whole = member_at(found.object.type, found.members)
        return _at(self.position[found.object], offset, whole, found.gradients == 1)


def _at(param: int, offset: int, t: Type, gradient: bool) -> ArrayAt:
    assert isinstance(t, Array)
    return ArrayAt(param, offset, t.ndim, t.dtype.size, gradient)


def _is_float(op: Operation) -> bool:
    """True if an atomic changes floating point numbers."""
    return bool(op.args[-1].type.is_differentiable)


def _operations(function: Function, seen: set[Function]) -> Iterator[Any]:
    """All operations of a function and those it calls."""
    if function in seen:
        return
    seen.add(function)
    for op in function.body.walk():
        yield op
        if op.code == "call":
            yield from _operations(op.attr, seen)
