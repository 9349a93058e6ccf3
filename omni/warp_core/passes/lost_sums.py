"""Turn sums that threads lose into atomic additions: `total[0] = total[0] + x[i]` becomes `total[0] += x[i]`.

In: a kernel before inlining. Out: a copy in which such stores are atomics; the kernel itself if it has none. Threads
that run one after the other get the same from both, but for the order of additions. So this is for programs that rely
on that order. A sum stays as it is if the kernel sees the array in any other way, as then the order matters.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ..ir.analysis.alias import location
from ..ir.analysis.effects import array_members
from ..ir.analysis.likely_races import Places, shared_sums
from ..ir.clone import copy_function
from ..ir.nodes import Function, Operation, Region, Value
from ..lang.types import Array

_SHAPES = frozenset(("shape", "extent", "size", "is_null"))  # what may be asked of the array besides


class _Sum(NamedTuple):
    """The operations from the load of an element to the store of the sum, innermost first."""

    load: Operation
    steps: list[Operation]
    store: Operation


def atomic_sums(kernel: Function) -> Function:
    """Return the kernel with atomic additions for sums that threads lose."""
    if not shared_sums(kernel):
        return kernel
    copy = copy_function(kernel)
    regions = {op: region for region in _regions(copy.body) for op in region.ops}
    uses = Counter(a for op in regions for a in op.args)
    places = Places(copy)
    found = [_sum(store, regions, uses, places) for store in shared_sums(copy)]
    sums = [s for s in found if s is not None]
    own = {op for s in sums for op in (s.load, s.store)}
    seen = {location(a) for op in regions if op not in own | _harmless(regions, uses) for a in op.args if _is_array(a)}
    for s in sums:
        if location(s.store.args[0]) not in seen:
            _replace(s, regions)
    return copy


def _regions(region: Region) -> list[Region]:
    return [region, *(inner for op in region.walk() for inner in op.regions)]


def _is_array(value: Value) -> bool:
    return isinstance(value.type, Array)


def _harmless(operations: dict[Operation, Region], uses: Counter[Value]) -> set[Operation]:
    """Operations that do not see the elements of an array as they are before or after a sum."""
    return {op for op in operations if op.code in _SHAPES or (op.code == "atomic" and not uses[op.result])}


def _sum(store: Operation, regions: dict[Operation, Region], uses: Counter[Value], places: Places) -> _Sum | None:
    """The sum that a store keeps, None if the element or parts of the sum are used elsewhere, too."""
    path = _path(store.args[-1], store, places)
    if not path or len(path) < 2 or any(uses[op.result] != 1 for op in path):
        return None
    load, *steps = path
    ops = regions[store].ops
    if any(regions[op] is not regions[store] for op in path):
        return None
    between = ops[ops.index(load) : ops.index(store)]
    if any(map(_may_write, between)):
        return None
    return _Sum(load, steps, store)


def _may_write(op: Operation) -> bool:
    """True if an operation may change arrays: one that contains others, or a call that is given arrays, too."""
    is_given = op.code == "call" and any(any(array_members(a.type)) for a in op.args)
    return bool(op.regions) or op.code in ("store", "atomic") or is_given


def _path(value: Value, store: Operation, places: Places) -> list[Operation]:
    """The operations that lead from the element of a store to a value by additions; none if there is no such way."""
    op = value.op
    if op is None:
        return []
    if op.code == "load" and places.is_same(op, store):
        return [op]
    terms = op.args if op.code == "add" else op.args[:1] if op.code == "sub" else ()
    found = next(filter(None, (_path(a, store, places) for a in terms)), [])
    return [*found, op] if found else []


def _replace(s: _Sum, regions: dict[Operation, Region]) -> None:
    """Let the store be an atomic addition of all but the element."""
    first, *rest = s.steps
    (added,) = (a for a in first.args if a is not s.load.result)
    removed = {s.load}
    if first.code == "sub":
        first.code, first.args = "neg", [added]
    else:
        removed.add(first)
        for op in (*rest, s.store):
            op.args = [added if a is first.result else a for a in op.args]
    store, region = s.store, regions[s.store]
    store.code, store.attr = "atomic", ("add", store.attr)
    store.results = (Value(s.load.result.type, store),)
    region.ops = [op for op in region.ops if op not in removed]
