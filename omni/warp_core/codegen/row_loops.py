"""Loops over rows of different length: `for k in range(first[i], first[i + 1])`, as over a sparse matrix or a list of
neighbours.

Each thread reads where its row begins and ends. Lanes that do not have the longest row wait for it, and what a row
holds lies elsewhere for each lane. So numbers that a scalar loop reads one after the other take an access for each
lane. One lane is faster unless lanes save more: they share the arithmetic, square roots and functions above all.
Costs were measured with rows of 5 to 40 elements, of equal and of random length: see docs/measurements.md.

Walks through a structure, such as the neighbours that a hash grid finds, are rows as well. Lanes find different numbers
of them, and go through cells and nodes at different times. There one lane is as fast or faster, unless the kernel
divides and takes roots a lot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ..ir.analysis.uniformity import Cache, analyze
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import ELEMENTWISE, index_count
from ..ir.printer import reachable
from .memory_access import memory_leaves

# Costs of one thread, in plain arithmetic operations.
_GATHERED = 16  # what lanes add to reading or writing one number of a row
_SLOW = {"div": 12, "sqrt": 12, "rem": 12, "libm": 60}
_CALLED = 2  # an operation of a function that is called: such are long chains, in which each waits for the one before
_TRIPS = 8  # iterations of a loop
_SHARED = 96  # work of slow operations, from which on lanes are faster in spite of a walk

# Functions of the library that go on to the next faces, boxes or cells of a query.
_WALKS = frozenset(("_mesh_next_in_box", "_mesh_next_in_sphere", "_bvh_next", "_hash_grid_next"))


@dataclass(frozen=True)
class _Cost:
    work: float = 0.0
    gathered: float = 0.0

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(self.work + other.work, self.gathered + other.gathered)

    def __mul__(self, count: float) -> _Cost:
        return _Cost(self.work * count, self.gathered * count)


def prefers_one_lane(fn: Function, lanes: int, facts: Cache) -> bool:
    """True if the rows that kernel `fn` goes through cost groups of lanes more than the lanes save."""
    if _walks(fn):
        return True
    cost = _Costs(fn, (False,) * len(fn.params), lanes, facts).total()
    return cost.gathered > cost.work


def _walks(fn: Function) -> bool:
    """True if a kernel goes through what queries of structures find, and does little else."""
    functions = list(reachable([fn]))
    others = [f for f in functions if not (f.is_library and f.name.partition("#")[0] in _WALKS)]
    slow = sum(_SLOW.get(op.code, 0) for f in others for op in f.body.walk())
    return len(others) < len(functions) and slow < _SHARED


class _Costs:
    """Adds up the work of a function, and what lanes add to it in loops over rows."""

    def __init__(self, fn: Function, varying_params: tuple[bool, ...], lanes: int, facts: Cache):
        self.fn, self.lanes, self.facts = fn, lanes, facts
        self.varying = analyze(fn, varying_params, lanes, facts).varying
        self.callees: dict[Function, _Cost] = {}

    def total(self) -> _Cost:
        return self._region(self.fn.body, None)

    def _region(self, region: Region, of_row: set[Value] | None) -> _Cost:
        return reduce(_Cost.__add__, (self._operation(op, of_row) for op in region.ops), _Cost())

    def _operation(self, op: Operation, of_row: set[Value] | None) -> _Cost:
        """`of_row` are the values that follow from the position in a row; None outside of such loops."""
        if op.code == "call":
            return self._call(op)
        if op.code in ("for", "loop"):
            if op.code == "for" and self._has_row(op):
                of_row = set(op.regions[0].params) if of_row is None else of_row.union(op.regions[0].params)
            return self._region(op.regions[0], of_row) * _TRIPS
        if op.regions:
            return reduce(_Cost.__add__, (self._region(region, of_row) for region in op.regions))
        if of_row is not None and not of_row.isdisjoint(op.args):
            of_row.update(op.results)
            if op.code in ("load", "store", "atomic"):
                return _Cost(gathered=_GATHERED * _gathered_numbers(op, of_row))
        return _Cost(work=_work(op))

    def _has_row(self, loop: Operation) -> bool:
        """True if each thread reads from memory where the loop begins or ends."""
        return any(bound in self.varying and _is_loaded(bound) for bound in loop.args[:2])

    def _call(self, op: Operation) -> _Cost:
        if op.attr not in self.callees:
            callee = _Costs(op.attr, (True,) * len(op.attr.params), self.lanes, self.facts)
            callee.callees = self.callees
            self.callees[op.attr] = callee.total()
        cost = self.callees[op.attr]
        return _Cost(_CALLED * cost.work, cost.gathered)


def _is_loaded(value: Value) -> bool:
    """True if `value` is computed from what a thread loads, through arithmetic alone."""
    waiting, seen = [value], {value}
    while waiting:
        op = waiting.pop().op
        if op is None:
            continue
        if op.code == "load":
            return True
        if op.code in ELEMENTWISE or op.code in ("select", "cast"):
            new = set(op.args) - seen
            seen |= new
            waiting += new
    return False


def _gathered_numbers(op: Operation, of_row: set[Value]) -> int:
    """The numbers that an access takes from, or puts at, a place that follows from the position in a row."""
    path = op.attr[1] if op.code == "atomic" else op.attr
    indices = op.args[1 : 1 + index_count(op.args[0].type, path)]
    if of_row.isdisjoint(indices):
        return 0
    value = op.results[0] if op.code == "load" else op.args[-1]
    return len(memory_leaves(value.type))


def _work(op: Operation) -> int:
    if op.code in ELEMENTWISE or op.code in _SLOW:
        return _SLOW.get(op.code, 1) * len(memory_leaves(op.results[0].type))
    return 0
