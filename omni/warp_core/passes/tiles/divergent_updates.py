"""Elements that only some threads set become stores to memory.

In: a kernel after inlining, as `check_blocks` lets it pass. Out: a new one in which all threads come to each
`tile_set`. Where an `if` or a loop lets threads part, and elements of a tile are set inside, the tile is lent to memory
before. Inside, threads access the memory; behind, it is a tile again. A tile that was there before keeps its elements.
"""

from __future__ import annotations

from ...ir.nodes import Function, Operation, Value
from ...ir.tile_builder import set_element
from ...lang.errors import PassError
from ..barriers import partings
from .tile_flow import handed_on, nested
from .value_dropping import DroppingRewriter


def lend_updated_tiles(kernel: Function) -> Function:
    """Return the kernel without `tile_set` in code of some threads; see the module's docstring."""
    found = partings(kernel, "tile_set")
    for update, parting in found.items():
        if parting is None:
            reason = "elements of a tile are set where some threads of a block have left the kernel before"
            raise PassError("divergence", reason, update, help="put code of some threads into an `if`")
    return _Lender(set(found.values())).rewrite(kernel) if found else kernel


class _Lender(DroppingRewriter):
    def __init__(self, partings: set[Operation | None]):
        super().__init__()
        self._partings = partings
        self._lent: dict[Value, Value] = {}  # tiles that are memory now
        self._entering: set[Value] = set()  # those of them that were there before
        self._unchanged: set[Value] = set()  # those of these whose elements the memory still has

    def drops(self, value: Value) -> bool:
        return value in self._lent

    # -- control flow -------------------------------------------------------------------------------------------

    def visit_if(self, op: Operation) -> None:
        if op in self._partings:
            self._lend(op)
            return
        before, after, regions = self._unchanged, set(self._unchanged), []
        for region in op.regions:
            self._unchanged = set(before)
            regions.append(self.rebuild(region))
            after &= self._unchanged
        self._unchanged = after
        self._emit(op, tuple(regions))

    def visit_for(self, op: Operation) -> None:
        if op in self._partings:
            self._lend(op)
            return
        if op.code != "block":
            changed = {self._lent.get(inner.args[0]) for inner in op.regions[0].walk() if inner.code == "tile_set"}
            self._unchanged = {v for v in self._unchanged if self._lent[v] not in changed}
        self._emit(op, (self.breakable(op),))

    visit_loop = visit_block = visit_for

    def _lend(self, op: Operation) -> None:
        """Lend the tiles whose elements are set inside an operation that lets threads part."""
        lent, self._partings = {}, self._partings - {op}
        for entering, versions in _updated(op).items():
            memory = self.b.op("tile_to_memory", self.values[entering])
            lent.update(dict.fromkeys((entering, *versions), memory))
            self._entering.add(entering)
        self._lent, self._unchanged = lent, set(lent) & self._entering
        self._visitors[op.code](op)
        self._lent = {}
        for result in op.results:
            if result in lent:
                self.values[result] = self.b.op("tile_from_memory", lent[result], attr=result.type)

    # -- elements -----------------------------------------------------------------------------------------------

    def visit_tile_get(self, op: Operation) -> None:
        tile, *where = op.args
        place = [self.values[i] for i in where]
        if tile in self._lent and (tile not in self._entering or tile in self._unchanged):
            found = self.b.op("load", self._lent[tile], *place, attr=())
        else:
            found = self.b.op("tile_get", self.values[tile], *place)
        self.define(op, (found,))

    def visit_tile_set(self, op: Operation) -> None:
        tile, *operands = op.args
        if tile not in self._lent:
            self._copy(op)
            return
        memory = self._lent[tile]
        self._unchanged = {v for v in self._unchanged if self._lent[v] is not memory}
        set_element(self.b, op.attr, memory, [self.values[a] for a in operands])


def _updated(op: Operation) -> dict[Value, set[Value]]:
    """The tiles whose elements are set inside `op`, each with the tiles that it becomes there and behind."""
    source: dict[Value, Value] = {}

    def first(value: Value) -> Value:
        while value in source:
            value = source[value]
        return value

    inside = {
        v for inner, _, _ in nested([op]) for v in (*inner.results, *(p for r in inner.regions for p in r.params))
    }
    updates = [inner for region in op.regions for inner in region.walk() if inner.code == "tile_set"]
    pairs = [(inner.args[0], inner.result) for inner in updates] + [pair[1:] for pair in handed_on([op])]
    for giver, receiver in pairs:
        a, b = first(giver), first(receiver)
        if a is not b:
            if a not in inside and b not in inside:
                _refuse(op)
            first_one, other = (b, a) if a in inside else (a, b)
            source[other] = first_one
    set_here = {first(inner.result) for inner in updates}
    return {v: {w for w in source if first(w) is v} for v in set_here}


def _refuse(op: Operation) -> None:
    reason = "a tile is assigned where only some threads of a block come: all of them have the same tiles"
    raise PassError("divergence", reason, op, help="set single elements, t[i] = x, or assign it outside")
