"""Which maps need no memory: their elements are computed where they are used. Start with `plan_fusion`.

A map is *fused* with the operations that get its elements if that is right and pays:

* Its region has no effects, and no write that may reach what it loads lies between the map and these operations.
  (Writes inside of them are another matter: see tile_fusion.py.)
* Computing elements where they are used takes no more evaluations than the tile has elements, or few more of a cheap
  region. A region that only says which element of another tile it is, or gives a constant, is as good as memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ...ir.analysis.alias import is_own, may_alias, underlying_object
from ...ir.analysis.size import cost
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import ELEMENT_OPS
from ...lang.types import Array, Tile, leaves
from ..dce import has_effects
from .tile_flow import nested

CHEAP = 24  # operations, for each element of a tile, that computing it again may take
_INDEX = 6  # operations of a region that only finds elements of other tiles
_MOST = 256  # operations that a map may become, if its elements are used in several places
_MANY = 1000  # iterations of a loop of unknown length
_SLOW = frozenset(("libm", "sqrt", "rsqrt", "div", "rem", "floordiv", "for", "loop", "call", "fail"))
_EFFECTS = frozenset(("store", "atomic", "printf", "stash"))


class _Place(NamedTuple):
    """Where elements of a map are computed if it is fused: an operation of the block or of a thread."""

    op: Operation
    evaluations: int
    copies: int  # of the region


class FusionPlan(NamedTuple):
    """The tiles whose elements are computed where they are used, and those that maps must make.

    A tile may be both.
    """

    fused: set[Value]
    needed: set[Value]


def plan_fusion(kernel: Function, kept: set[Value]) -> FusionPlan:
    """Return which maps to fuse, without those that are `kept` for other reasons."""
    plan = _Plan(kernel, kept)
    return FusionPlan(plan.fused, {v for v in plan.places if v not in plan.fused or v in plan.others})


class _Plan:
    def __init__(self, kernel: Function, kept: set[Value]):
        self._order = {op: i for i, op in enumerate(kernel.body.walk())}
        self._loops: dict[Operation, tuple[Operation, ...]] = {}
        self._uses: dict[Value, list[_Place]] = {}
        self.others: set[Value] = set()  # tiles that are not only used by their elements
        self._writes: list[tuple[Operation, tuple[Operation, ...]]] = []
        self._threads = kernel.block_dim
        for op, _, frames in nested(kernel.body.ops):
            self._loops[op] = tuple(f for f in frames if f.code in ("for", "loop"))
            self._collect(op)
        self.fused: set[Value] = set()
        self.places: dict[Value, list[_Place]] = {}
        for op in reversed([op for op in self._loops if op.code == "tile_map"]):
            self.places[op.result] = places = list(self._final_places(op))
            if op.result not in kept and self._is_right(op, places) and self._pays(op, places):
                self.fused.add(op.result)

    # -- where elements are used --------------------------------------------------------------------------------

    def _collect(self, op: Operation) -> None:
        inside = op.code in ELEMENT_OPS
        inner = _repeated(op.regions[0]) if inside else [(op, 1)]
        size = _grid(op) if inside else self._threads
        seen = set()
        for user, times in inner:
            if _writes(user):
                self._writes.append((user, self._loops[op]))
            for i, arg in enumerate(user.args):
                if not isinstance(arg.type, Tile):
                    continue
                if user.code != "tile_get":
                    self.others.add(arg)
                elif i == 0 and (*user.args,) not in seen:
                    seen.add((*user.args,))
                    self._uses.setdefault(arg, []).append(_Place(op, size * times, 1))

    def _final_places(self, op: Operation) -> Iterator[_Place]:
        """The places at which the elements are used in the end, when later maps are fused."""
        for use in self._uses.get(op.result, ()):
            user = use.op.result if use.op.code == "tile_map" else None
            if user not in self.fused or user in self.others:
                yield use._replace(evaluations=use.evaluations * self._repetitions(op, use.op))
            if user not in self.fused:
                continue
            each = use.evaluations / math.prod(user.type.shape)
            for place in self.places[user]:
                yield _Place(place.op, math.ceil(each * place.evaluations), use.copies * place.copies)

    def _repetitions(self, op: Operation, user: Operation) -> int:
        """How often the user is run for each time that the map is."""
        return math.prod(_trips(loop) for loop in self._loops[user] if loop not in self._loops[op])

    # -- conditions ---------------------------------------------------------------------------------------------

    def _is_right(self, op: Operation, places: list[_Place]) -> bool:
        inner = list(op.regions[0].walk())
        if any(_has_effects(o) for o in inner):
            return False
        loads = [o.args[0] for o in inner if o.code == "load"]
        reads_anything = any(o.code == "call" and any(_has_arrays(a) for a in o.args) for o in inner)
        if not loads and not reads_anything:
            return True
        between = [write for place in places for write in self._between(op, place.op)]
        return not any(reads_anything or any(may_reach(w, array) for array in loads) for w in between)

    def _between(self, op: Operation, user: Operation) -> Iterator[Operation]:
        """The writes that may happen between a map and a user of its elements."""
        begin, end = self._order[op], self._order[user]
        repeated = [loop for loop in self._loops[user] if loop not in self._loops[op]]
        for write, loops in self._writes:
            if begin < self._order[write] < end or any(loop in loops for loop in repeated):
                yield write

    def _pays(self, op: Operation, places: list[_Place]) -> bool:
        region, elements = op.regions[0], math.prod(op.attr.shape)
        inner = list(region.walk())
        weight = max(1, cost(region.ops[:-1]))
        is_index = weight <= _INDEX and not any(o.code in _SLOW or o.code == "load" for o in inner)
        evaluations, copies = sum(p.evaluations for p in places), sum(p.copies for p in places)
        if is_index:
            return copies * weight <= _MOST
        if op.result in self.others or (not copies and any(o.code == "fail" for o in inner)):
            return False
        if copies > 1 and copies * weight > _MOST:
            return False
        if any(o.code in _SLOW for o in inner):
            return evaluations <= elements and copies == 1
        return evaluations <= elements or evaluations * weight <= CHEAP * elements


def _repeated(region: Region, times: int = 1) -> Iterator[tuple[Operation, int]]:
    """Yield all operations of a region, with the number of times that they are run."""
    for op in region.ops:
        yield op, times
        inside = times * _trips(op) if op.code in ("for", "loop") else times
        for inner in op.regions:
            yield from _repeated(inner, inside)


def _trips(loop: Operation) -> int:
    """How many iterations a loop has."""
    if loop.code == "for" and all(a.is_const for a in loop.args[:3]):
        low, high, step = (a.const for a in loop.args[:3])
        return len(range(low, high, step)) if step else 0
    return _MANY


def _grid(op: Operation) -> int:
    """How many elements an operation has."""
    if op.code == "tile_map":
        return math.prod(op.attr.shape)
    return math.prod(a.const if a.is_const else _MANY for a in op.args)


def _writes(op: Operation) -> bool:
    return op.code in ("store", "atomic") or (op.code == "call" and has_effects(op.attr))


def _has_effects(op: Operation) -> bool:
    """True if it matters how often, or in which order, an operation is done; also for memory of one element. Checks of
    debug mode may come later, but must come.
    """
    is_local = any(a.op is not None and a.op.code == "alloca" for a in op.args)
    return is_local or op.code in _EFFECTS or (op.code == "call" and has_effects(op.attr))


def _has_arrays(value: Value) -> bool:
    return any(isinstance(leaf, Array) for _, leaf in leaves(value.type))


def may_reach(write: Operation, array: Value) -> bool:
    """True if a write may change elements of an array."""
    if write.code == "call":
        return True
    target = write.args[0]
    if is_own(array) or is_own(target):
        return underlying_object(array) is underlying_object(target)
    return may_alias(array, target, shared=True)
