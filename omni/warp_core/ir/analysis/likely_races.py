"""Likely races: stores that other threads of a launch probably read or overwrite. Start with `likely_races`.

A race is likely, and told, in forms that programs written for one thread have. Others are not told, as a store at
an index that is not known may well be the thread's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ...lang.types import Array
from ..nodes import Function, Operation, Region, Value
from ..ops import index_count
from .affine_index import Forms, affine_values, launch_invariants
from .alias import is_own, location, provenance
from .uniformity import analyze
from .value_numbers import ValueNumbers, is_plain

_MOST_TERMS = 100  # of a sum; a value that is doubled again and again has as many as it is worth
_ORDER = frozenset(("lt", "le", "gt", "ge", "and", "or", "not"))  # of conditions that only bound an index


class Race(NamedTuple):
    """A store that races, why, and what to write instead. It is not told if all threads store the same: such kernels
    may well be launched with one thread.
    """

    store: Operation
    why: str
    instead: str
    is_told: bool = True

    def message(self, is_ordered: bool) -> str:
        """The warning for the store of a kernel whose threads run one after the other for it, or in any order."""
        if is_ordered:
            text = f"{self.why}, so they run one after the other as in warp-lang, on one core: {self.instead}"
            return f"{text}, or launch the kernel with serial=False"
        return f"{self.why}: {self.instead}, or launch the kernel with serial=True"


_LOST_SUM = "threads with the same index overwrite each other's sums", "write `+=` or wp.atomic_add"
_LOST_UPDATE = "threads overwrite what others made of this element", "use an atomic function, such as wp.atomic_max"
_NEIGHBOUR = "other threads read this element, before or after the store", "write to another array"


def likely_races(kernel: Function) -> list[Race]:
    """Return the likely races of a kernel after the passes, in the order of the stores."""
    if kernel.block_dim or not any(op.code == "tid" for op in kernel.body.walk()):
        return []
    return list(_Finder(kernel).races())


def shared_sums(kernel: Function) -> list[Operation]:
    """Return the stores of sums, `a[k] = a[k] + x`, of which threads that share an index would lose some. That is where
    all threads have the same index, and where each takes its own from an array.
    """
    if kernel.block_dim or not any(op.code == "tid" for op in kernel.body.walk()):
        return []
    finder = _Finder(kernel)
    return [op for op in kernel.body.walk() if op.code == "store" and finder.is_shared_sum(op)]


class Places:
    """Which accesses of a kernel are to the same element."""

    def __init__(self, kernel: Function):
        writes = (op for op in kernel.body.walk() if op.code in ("store", "atomic", "call"))
        self._written = {location(a) for op in writes for a in op.args if isinstance(a.type, Array)}
        self._numbers = ValueNumbers(self._follows_from_operands)

    def is_same(self, load: Operation, store: Operation) -> bool:
        """True if a load surely reads the element that a store writes."""
        if location(load.args[0]) != location(store.args[0]) or load.attr != store.attr:
            return False
        return list(map(self._numbers.of, _indices(load))) == list(map(self._numbers.of, _indices(store)))

    def _follows_from_operands(self, value: Value) -> bool:
        """True for what is computed, and for what is read of arrays that the kernel does not write."""
        op = value.op
        if op is None or op.code != "load":
            return is_plain(value)
        return {None, location(op.args[0])}.isdisjoint(self._written)


class _Finder:
    def __init__(self, kernel: Function):
        self.places = Places(kernel)
        self.kernel, self.forms = kernel, affine_values(kernel)
        self.invariant = launch_invariants(kernel)
        self.varying = analyze(kernel, (False,) * len(kernel.params), 2, {}).varying
        self.arities = {op.attr[1] for op in kernel.body.walk() if op.code == "tid"}
        self.loads = [op for op in kernel.body.walk() if op.code == "load" and _is_known(op.args[0])]

    def races(self) -> Iterator[Race]:
        for store, is_free in _reached(self.kernel.body, self.forms):
            if store.code != "store" or is_own(store.args[0]) or not _is_known(store.args[0]):
                continue
            if self._is_lost_sum(store):
                yield Race(store, *_LOST_SUM, store.args[-1] in self.varying or not is_free)
            elif self._is_lost_update(store):
                yield Race(store, *_LOST_UPDATE)
            elif is_free and any(self._is_read_nearby(load, store) for load in self.loads):
                yield Race(store, *_NEIGHBOUR)

    def _is_lost_sum(self, store: Operation) -> bool:
        """`total[0] = total[0] + x[i]`, or `counts[k] = counts[k] + 1`, where k is read from an array."""
        is_shared = self._is_shared(store)
        if not is_shared and not self._is_looked_up(store):
            return False
        added = self._added(store)
        return bool(added) and (is_shared or self.invariant.issuperset(added))

    def is_shared_sum(self, store: Operation) -> bool:
        """True if a store may be of a sum, at an index that threads may share."""
        if is_own(store.args[0]) or not _is_known(store.args[0]):
            return False
        return (self._is_shared(store) or self._is_looked_up(store)) and bool(self._added(store))

    def _added(self, store: Operation) -> list[Value]:
        """What a store adds to the element that was there; nothing if it does not keep such a sum."""
        terms = list(islice(_summands(store.args[-1]), _MOST_TERMS + 1))
        read = [v for v in terms if v.op in self.loads and self.places.is_same(v.op, store)]
        is_sum = len(read) == 1 and len(terms) <= _MOST_TERMS
        return [v for v in terms if v not in read] if is_sum else []

    def _is_lost_update(self, store: Operation) -> bool:
        """`most[0] = wp.max(most[0], x[i])`."""
        if store.args[-1] not in self.varying or not self._is_shared(store):
            return False
        return any(v.op in self.loads and self.places.is_same(v.op, store) for v in _made_of(store.args[-1]))

    def _is_shared(self, store: Operation) -> bool:
        """True if the indices leave out a dimension of the launch, so that threads along it have the same ones."""
        indices = _indices(store)
        if not all(i in self.forms or i not in self.varying for i in indices):
            return False
        named = {self.forms[i].dimension for i in indices if i in self.forms}
        return len(self.arities) == 1 and not named.issuperset(range(*self.arities))

    def _is_looked_up(self, store: Operation) -> bool:
        """True if threads take an index from an array, and none is their own."""
        indices = _indices(store)
        if any(i in self.forms and self.forms[i].dimension is not None for i in indices):
            return False
        return any(v.op is not None and v.op.code == "load" for i in indices for v in _made_of(i))

    def _is_read_nearby(self, load: Operation, store: Operation) -> bool:
        """`a[i] = a[i - 1] + ...`."""
        return location(load.args[0]) == location(store.args[0]) and self._is_neighbour(load, store)

    def _is_neighbour(self, load: Operation, store: Operation) -> bool:
        """True if a load is at the index of the store but for constants, in one index at least."""
        pairs = list(zip(_indices(load), _indices(store)))
        shifted = False
        for a, b in pairs:
            read, written = self.forms.get(a), self.forms.get(b)
            if read is None or written is None or read.injective_dimension is None:
                return False
            if read._replace(constant=0) != written._replace(constant=0):
                return False
            shifted |= read.constant != written.constant
        return shifted


def _is_known(array: Value) -> bool:
    """True for an array that a launch is given. The indices of a slice are not those of the array."""
    return location(array) is not None and not provenance(array).is_view


def _indices(op: Operation) -> list[Value]:
    """The indices of an access as they are written, before they count from the end of the array."""
    return [_before(i, "from_end") for i in op.args[1 : 1 + index_count(op.args[0].type, op.attr)]]


def _summands(value: Value) -> Iterator[Value]:
    """What a value is the sum of; factors in place of their product."""
    value = _before(value, "cast")
    if value.op is None or value.op.code not in ("add", "sub", "fma"):
        yield value
        return
    first, *_, last = value.op.args
    yield from value.op.args[:2] if value.op.code == "fma" else _summands(first)
    yield from _summands(last)


def _before(value: Value, code: str) -> Value:
    return value.op.args[0] if value.op is not None and value.op.code == code else value


def _made_of(value: Value) -> Iterator[Value]:
    """A value, and what it is computed of without control flow."""
    seen, todo = set(), [value]
    while todo:
        v = todo.pop()
        yield v
        if v.op is not None and v.op.code != "load" and not v.op.regions:
            todo += [a for a in v.op.args if a not in seen]
            seen.update(v.op.args)


def _reached(region: Region, forms: Forms, is_free: bool = True) -> Iterator[tuple[Operation, bool]]:
    """Operations that threads reach with no condition but bounds of indices, and such as ask for elements of arrays:
    each with whether it is reached freely, without these.
    """
    for op in region.ops:
        yield op, is_free
        is_bound = op.code != "if" or _is_bound(op.args[0], forms)
        if is_bound or _asks_for_data(op.args[0]):
            for inner in op.regions:
                yield from _reached(inner, forms, is_free and is_bound)


def _asks_for_data(condition: Value) -> bool:
    """True if a condition compares elements of arrays with constants or each other, which many threads may meet."""
    op = condition.op
    if op is None:
        return False
    if op.code in ("and", "or", "not"):
        return all(map(_asks_for_data, op.args))
    sides = [_before(a, "cast") for a in op.args]
    of_arrays = [a for a in sides if a.op is not None and a.op.code == "load"]
    return bool(of_arrays) and all(a.is_const or a in of_arrays for a in sides)


def _is_bound(condition: Value, forms: Forms) -> bool:
    op = condition.op
    if op is None:
        return condition in forms
    return condition.is_const or condition in forms or (op.code in _ORDER and all(_is_bound(a, forms) for a in op.args))
