"""Computes elements of maps where they are used, so that these maps need no memory; see fusion_plan.py for which.

In: a kernel without `tile_set` and `tile_reduce`. Out: a new one in which no `tile_get` gets an element of a fused map.

An operation that writes to an array, element by element, may compute what it writes of elements of the same array. That
is the same as before if an element of the grid reads no other element of the array than it writes. Parameters that are
different arrays may be one, or overlap. A launch compares them if it is told (`Fusion.compared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import OPS, slice_parts
from .fusion_plan import FusionPlan, may_reach, plan_fusion


class Fusion(NamedTuple):
    """A kernel after fusion, and the numbers of the parameters that launches must compare."""

    kernel: Function
    compared: frozenset[int]


def fuse_maps(kernel: Function, compares: bool) -> Fusion:
    """Return the kernel with maps fused. `compares` says whether launches compare arrays."""
    kept: set[Value] = set()
    while True:
        fuser = _Fuser(plan_fusion(kernel, kept), compares)
        new = fuser.rewrite(kernel)
        if not fuser.wrong:
            return Fusion(new, frozenset(new.params.index(p) for p in fuser.compared))
        kept |= fuser.wrong


class _Fuser(Rewriter):
    def __init__(self, plan: FusionPlan, compares: bool):
        super().__init__()
        self._fused, self._needed, self._compares = plan.fused, plan.needed, compares
        self.wrong: set[Value] = set()  # tiles that an operation may read after it has written to their source
        self.compared: set[Value] = set()
        self._inlined: list[Value] = []  # the maps whose regions are being copied
        self._origin: dict[Operation, Value] = {}  # of loads: the map that had them

    def visit_tile_map(self, op: Operation) -> None:
        if op.result in self._needed:
            self._emit(op, (self.rebuild(op.regions[0]),))

    def visit_tile_get(self, op: Operation) -> None:
        tile, *where = op.args
        if tile not in self._fused:
            self._copy(op)
            return
        self._inlined.append(tile)
        found = self.splice(tile.op.regions[0], [self.values[i] for i in where])  # type: ignore[union-attr]
        self._inlined.pop()
        assert found is not None
        self.define(op, found)

    def visit_load(self, op: Operation) -> None:
        self._copy(op)
        if self._inlined:
            self._origin[self.values[op.result].op] = self._inlined[-1]  # type: ignore[index]

    def visit_elements(self, op: Operation) -> None:
        self._emit(op, (self.rebuild(op.regions[0]),))
        region = self.b.region.ops[-1].regions[0]
        grid = _Grid(region)
        writes = [o for o in region.walk() if o.code in ("store", "atomic")]
        for load in region.walk():
            origin = self._origin.get(load)
            if origin is not None and not all(self._is_apart(load, write, grid) for write in writes):
                self.wrong.add(origin)

    def _is_apart(self, load: Operation, write: Operation, grid: _Grid) -> bool:
        """True if a write of one element of a grid changes nothing that another element loads."""
        if not may_reach(write, load.args[0]):
            return True
        first, second = _accessed(load), _accessed(write)
        if not self._compares or first is None or second is None:
            return False
        arrays = {first[0], second[0]}
        if not arrays.issubset(self.b.outermost.params) or not _are_equal(first[1], second[1]):
            return False
        self.compared |= arrays
        return grid.has_own(first[1])


class _Grid:
    """The region of `elements`: which indices no two of its elements have."""

    def __init__(self, region: Region):
        self._params = region.params
        self._inside = set(region.params)
        for op in region.walk():
            self._inside.update(op.results, *(r.params for r in op.regions))

    def has_own(self, indices: Sequence[Value]) -> bool:
        """True if each coordinate of an element, plus what all elements have in common, is one of the indices."""
        return all(any(self._is_shifted(i, p) for i in indices) for p in self._params)

    def _is_shifted(self, index: Value, param: Value) -> bool:
        if index is param:
            return True
        if index.op is None or index.op.code not in ("add", "from_end", "cast"):
            return False
        first, *others = sorted(index.op.args, key=self._is_common)
        return self._is_shifted(first, param) and all(map(self._is_common, others))

    def _is_common(self, value: Value) -> bool:
        """True if a value is the same for all elements."""
        if value not in self._inside:
            return True
        return value.op is not None and OPS[value.op.code].pure and all(map(self._is_common, value.op.args))


def _accessed(op: Operation) -> tuple[Value, list[Value]] | None:
    """The array that an access reaches through views, and the indices of the element there."""
    array = op.args[0]
    indices = list(op.args[1 : 1 + array.type.ndim])
    while array.op is not None and array.op.code == "slice":
        source, *operands = array.op.args
        whole: list[Value] = []
        for letter, given in slice_parts(operands, array.op.attr):
            if letter == "r":
                return None
            whole.append(given[0] if letter == "i" else indices.pop(0))
        array, indices = source, whole + indices
    return array, indices


def _are_equal(first: Sequence[Value], second: Sequence[Value]) -> bool:
    """True if values are computed alike."""
    return len(first) == len(second) and all(map(_is_equal, first, second))


def _is_equal(a: Value, b: Value) -> bool:
    if a is b:
        return True
    if a.op is None or b.op is None or not OPS[a.op.code].pure:
        return False
    return a.op.code == b.op.code and a.op.attr == b.op.attr and _are_equal(a.op.args, b.op.args)
