"""Exchange between threads of a launch: loops that wait for other threads, and reads of what others may have written.

Both look at a kernel whose calls are inlined. Start with `waiting_loop` and `exchange`. `callees_of_waiting` tells
which calls matter for the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from ...lang.types import BOOL, FixedArray, Scalar, Type, leaves
from ..nodes import Function, Operation, Region, Value
from ..ops import OPS, index_count, slice_parts
from ..printer import reachable
from .affine_index import Affine, affine_values
from .alias import Location, is_by_address, is_own, location
from .array_origins import ACCESSES, AccessedArrays, Source, may_share
from .uniformity import analyze


def callees_of_waiting(kernel: Function) -> frozenset[Function] | None:
    """The functions that must be inlined for `waiting_loop` to find what there is to find in a kernel, or None if it
    surely has no such loop: no `while` loop of it or its callees asks, in each turn, for an element of an array of the
    launch that they write.
    """
    functions = list(reachable([kernel]))
    operations = [op for f in functions for op in f.body.walk()]
    loops = [op for op in operations if op.code == "loop"]
    if not loops or not any(op.code == "atomic" for op in operations):
        return None
    accessed = AccessedArrays(functions)
    written = accessed.by(filter(_writes, operations))

    @cache
    def of_callee(function: Function) -> frozenset[Source]:
        return asked(_Turns([function.body], []))

    def asked(turns: _Turns) -> frozenset[Source]:
        found = accessed.by(filter(turns.asks, turns.operations))
        return found.union(*(of_callee(op.attr) for op in turns.operations if op.code == "call"))

    awaited = frozenset().union(*(asked(_Turns(loop.regions, loop.regions[0].params)) for loop in loops))
    awaited = frozenset(source for source in awaited if may_share(frozenset((source,)), written))
    if not awaited:
        return None
    return frozenset(f for f in functions if not _gives_floats(f) or may_share(accessed.of_callee(f), awaited))


def _gives_floats(function: Function) -> bool:
    """True if all that a function gives are floats and conditions: no index, and no array."""
    memory = any(isinstance(p.type, FixedArray) for p in function.params)
    members = [leaf for t in function.results for _, leaf in leaves(t)]
    return not memory and all(isinstance(t, Scalar) and (t.is_float or t is BOOL) for t in members)


def waiting_loop(kernel: Function) -> Operation | None:
    """Return a `while` loop that may end only after another thread has written, or None.

    Such a loop is left depending on an element that the kernel also writes outside of the loop: a lock that its owner
    opens, or a number that is called. Lanes that wait in it would keep the lane that is to write from going on. A loop
    that repeats an atomic until its own succeeds does not wait for other threads.
    """
    if not any(op.code == "atomic" for op in kernel.body.walk()):
        return None
    accesses = [op for op in kernel.body.walk() if op.code in ACCESSES and not is_own(op.args[0])]
    own = _OwnElements(kernel)
    writes = _ByArray(filter(_writes, accesses))
    for loop in kernel.body.walk():
        if loop.code == "loop" and _waits(loop, kernel, writes, own):
            return loop
    return None


def _waits(loop: Operation, kernel: Function, writes: _ByArray, own: _OwnElements) -> bool:
    turns = _Turns(loop.regions, loop.regions[0].params)
    inner = set(turns.operations)
    stores = _ByArray(op for op in inner if op.code == "store")

    def is_written(op: Operation) -> bool:
        """True if the kernel writes outside of the loop to the element of an access."""
        return any(write not in inner and not own.is_same(op, write) for write in writes.meeting(op))

    def may_change(op: Operation) -> bool:
        """True for a load of what the loop stores, or at an index that it computes."""
        return op.code == "load" and (any(a.op in inner for a in op.args[1:]) or any(stores.meeting(op)))

    watched = {op for op in inner if turns.asks(op) and not may_change(op) and is_written(op)}
    if not watched:
        return False
    facts = analyze(kernel, (False,) * len(kernel.params), 2, {}, differs=watched.__contains__)
    return loop in facts.masked


class _Turns:
    """What the turns of a loop have in common: its operations, and values that no turn changes. The body of a function
    that the loop calls is a part of each turn.
    """

    def __init__(self, regions: Sequence[Region], carried: Sequence[Value]):
        self.operations = [op for region in regions for op in region.walk()]
        self._changed = set(carried)
        for op in self.operations:
            self._changed.update(p for region in op.regions for p in region.params)
            if op.regions or not OPS[op.code].pure or not self._changed.isdisjoint(op.args):
                self._changed.update(op.results)

    def asks(self, op: Operation) -> bool:
        """True if an access asks, in each turn, for one element. An index that the turns hand on may stay as it is."""
        if op.code not in ("load", "atomic") or is_own(op.args[0]):
            return False
        return op.code == "atomic" or all(a.op is None or a not in self._changed for a in op.args)


def exchange(kernel: Function, shared: bool = False) -> Operation | None:
    """Return a read of an element that another thread may write, or None.

    Args:
        kernel: the kernel, its calls inlined.
        shared: whether arrays of different parameters may share memory.
    """
    own = _OwnElements(kernel)
    used = {a for op in kernel.body.walk() for a in op.args}
    accesses = [op for op in kernel.body.walk() if op.code in ACCESSES and not is_own(op.args[0])]
    writes = _ByArray(filter(_writes, accesses))
    for read in accesses:
        is_asked = read.code == "load" or (read.code == "atomic" and read.result in used)
        if is_asked and any(not own.is_same(read, write) for write in writes.meeting(read, shared)):
            return read
    return None


def _writes(op: Operation) -> bool:
    return op.code in ("store", "atomic")


class _ByArray:
    """Accesses, found by the array that they are to."""

    def __init__(self, accesses: Iterable[Operation]):
        self._found: dict[Type, dict[Location | None, list[Operation]]] = {}
        for op in accesses:
            self._found.setdefault(_element(op), {}).setdefault(location(op.args[0]), []).append(op)

    def meeting(self, op: Operation, shared: bool = False) -> Iterator[Operation]:
        """The accesses that may be to the array of `op`; `shared` as for `exchange`."""
        found, place = self._found.get(_element(op), {}), location(op.args[0])
        anywhere = shared or place is None
        return chain.from_iterable(found.values() if anywhere else (found.get(at, ()) for at in (place, None)))


def _element(op: Operation) -> Type:
    return op.args[0].type.dtype


class _OwnElements:
    """The elements of arrays at indices that belong to one thread of a launch."""

    def __init__(self, kernel: Function):
        self.forms = affine_values(kernel)
        self.arities = {op.attr[1] for op in kernel.body.walk() if op.code == "tid"}

    def is_same(self, a: Operation, b: Operation) -> bool:
        """True if two accesses are to one element of an array, which belongs to the thread."""
        first, second = self._element(a), self._element(b)
        if first is None or first != second or len(self.arities) != 1:
            return False
        return {form.injective_dimension for form in first[1]} >= set(range(*self.arities))

    def _element(self, op: Operation) -> tuple[Value, list[Affine]] | None:
        """Return the array of an access that is no view, and the forms of the indices in it, if they are known."""
        array, ndim = op.args[0], op.args[0].type.ndim
        found = list(map(self.forms.get, op.args[1 : 1 + min(ndim, index_count(array.type, ()))]))
        while array.op is not None and array.op.code == "slice":
            parts = slice_parts(array.op.args[1:], array.op.attr)
            inner = iter(found)
            found = [self._index(letter, given, inner) for letter, given in parts] + list(inner)
            array = array.op.args[0]
        if is_by_address(array):
            return None
        known = [form for form in found if form is not None and not form.has_parameters]
        return (array, known) if len(known) == len(found) else None

    def _index(self, letter: str, given: Sequence[Value], inner: Iterator[Affine | None]) -> Affine | None:
        """Return the form of an index that a dimension of a view and its index stand for."""
        if letter == "i":
            return self.forms.get(given[0])
        index = next(inner)
        if letter == ":" or index is None:
            return index
        start, step = self.forms.get(_unbounded(given[0])), given[2]
        return start.plus(index.scaled(step.const)) if start is not None and step.is_const else None


def _unbounded(start: Value) -> Value:
    """The start of a slice as it is written, before it is limited to the extent of the array."""
    return start.op.args[0] if start.op is not None and start.op.code == "min" else start
