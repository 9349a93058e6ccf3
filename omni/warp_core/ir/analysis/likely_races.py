"""Likely races: stores that other threads of a launch probably read or overwrite. Start with `likely_races`.

A race is likely, and told, in forms that programs written for one thread have. Others are not told, as a store at
an index that is not known may well be the thread's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..nodes import Function, Operation, Region, Value
from ..ops import index_count
from .affine_index import Forms, affine_values, launch_invariants
from .alias import is_own, location
from .uniformity import analyze

_ORDER = frozenset(("lt", "le", "gt", "ge", "and", "or", "not"))  # of conditions that only bound an index
_WAY_OUT = "or launch the kernel with serial=True"


class Race(NamedTuple):
    """A store that races, and the message for it."""

    store: Operation
    message: str


def likely_races(kernel: Function) -> list[Race]:
    """Return the likely races of a kernel after the passes, in the order of the stores."""
    if kernel.block_dim or not any(op.code == "tid" for op in kernel.body.walk()):
        return []
    return list(_Finder(kernel).races())


class _Finder:
    def __init__(self, kernel: Function):
        self.kernel, self.forms = kernel, affine_values(kernel)
        self.invariant = launch_invariants(kernel)
        self.varying = analyze(kernel, (False,) * len(kernel.params), 2, {}).varying
        self.loads = [op for op in kernel.body.walk() if op.code == "load" and location(op.args[0]) is not None]

    def races(self) -> Iterator[Race]:
        for store in _freely_reached(self.kernel.body, self.forms):
            if store.code != "store" or is_own(store.args[0]) or location(store.args[0]) is None:
                continue
            message = self._lost_sum(store) or self._neighbour(store)
            if message:
                yield Race(store, message)

    def _lost_sum(self, store: Operation) -> str:
        """`total[0] = total[0] + x[i]`, or `counts[k] = counts[k] + 1`, where k is read from an array."""
        value, made = store.args[-1], store.args[-1].op
        is_one = all(i not in self.varying for i in _indices(store))
        is_affine = all(i in self.forms or i not in self.varying for i in _indices(store))
        is_own = self._is_own(store) or (is_affine and not is_one)
        if value not in self.varying or is_own or made is None or made.code not in ("add", "sub"):
            return ""
        terms = [_before(v, "cast") for v in made.args]
        read = [v for v in terms if v.op in self.loads and self._is_same_place(v.op, store)]
        added = [v for v in made.args if _before(v, "cast") not in read]
        if len(read) != 1 or not (is_one or self.invariant.issuperset(added)):
            return ""
        return f"threads with the same index overwrite each other's sums: write `+=` or wp.atomic_add, {_WAY_OUT}"

    def _is_own(self, store: Operation) -> bool:
        """True if no two threads have the same indices."""
        dimensions = {op.attr[1] for op in self.kernel.body.walk() if op.code == "tid"}
        covered = {self.forms[i].injective_dimension for i in _indices(store) if i in self.forms}
        return len(dimensions) == 1 and covered >= set(range(*dimensions))

    def _neighbour(self, store: Operation) -> str:
        """`a[i] = a[i - 1] + ...`."""
        for load in self.loads:
            if location(load.args[0]) == location(store.args[0]) and self._is_neighbour(load, store):
                return f"other threads read this element, before or after the store: write to another array, {_WAY_OUT}"
        return ""

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

    def _is_same_place(self, load: Operation, store: Operation) -> bool:
        same = location(load.args[0]) == location(store.args[0])
        return same and _indices(load) == _indices(store) and load.attr == store.attr


def _indices(op: Operation) -> list[Value]:
    """The indices of an access as they are written, before they count from the end of the array."""
    return [_before(i, "from_end") for i in op.args[1 : 1 + index_count(op.args[0].type, op.attr)]]


def _before(value: Value, code: str) -> Value:
    return value.op.args[0] if value.op is not None and value.op.code == code else value


def _freely_reached(region: Region, forms: Forms) -> Iterator[Operation]:
    """Operations that no condition keeps from threads, but for bounds of indices."""
    for op in region.ops:
        yield op
        if op.code != "if" or _is_bound(op.args[0], forms):
            for inner in op.regions:
                yield from _freely_reached(inner, forms)


def _is_bound(condition: Value, forms: Forms) -> bool:
    op = condition.op
    if op is None:
        return condition in forms
    return condition.is_const or condition in forms or (op.code in _ORDER and all(_is_bound(a, forms) for a in op.args))
