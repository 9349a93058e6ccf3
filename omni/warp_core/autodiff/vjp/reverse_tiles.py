"""Operations of a block in reverse: tiles, and what the block does element by element.

The adjoint of a tile is a tile. A block computes each of these operations once, so it reverses it once:

* `tile_map` sends a tile to each tile of which it gets elements in an order that can be turned round (`access_maps`).
  To all other tiles, and to gradients of arrays, it adds element by element.
* A number that all threads have is an operand of the block by its first thread. This thread gets the sum over all
  elements, and the others nothing.
* A thread that gets an element adds to memory of the block, which is zero where the reverse of the tile's region
  begins. So it may do that where only some threads are. The tile takes what is there when its own turn comes.
* `tile_set` hands the adjoint of an element to one of the threads that set it.

Start with `reverse_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...ir.analysis.alias import is_made_by, may_alias
from ...ir.nodes import Function, Operation, Value
from ...ir.tile_builder import elements, tile_map
from ...lang.errors import NotDifferentiable
from ...lang.types import I32, Array, Tile
from ...passes.dce import has_effects
from ..analysis.leaves import Leaves, assemble, leaf_of, leaf_types
from .access_maps import gathered
from .element_functions import AdjointInPlace, ElementFunction, has_writes, outline, trimmed
from .tile_values import as_memory, select, total

if TYPE_CHECKING:
    from .reverse_pass import Reverse

_DIVERGENT = (
    "elements of a tile that only some threads of a block set have no gradient yet. Let all threads set one, such as "
    "t[i] = wp.where(condition, x, t[i])"
)


def reverse_map(reverse: Reverse, op: Operation) -> None:
    """Hand the adjoint of a tile to the values that its elements were made of."""
    given = reverse.take(op.result)
    writes = has_writes(op.regions[0])
    if given is None and not writes:
        return
    placed = _Placed(reverse, outline(op, given is not None), given[0] if given else None)
    placed.spread([reverse.b.i32(n) for n in op.attr.shape], writes)
    if not writes:
        placed.send()


def reverse_elements(reverse: Reverse, op: Operation) -> None:
    """Reverse what the block did for each element of a grid."""
    _Placed(reverse, outline(op, False), None).spread([reverse.scopes.primal(a) for a in op.args], True)


class _Placed:
    """An element function in the reverse code, and the adjoint of the tile that it made."""

    def __init__(self, reverse: Reverse, of: ElementFunction, seed: Value | None):
        self.reverse, self.of, self.seed = reverse, of, seed

    def spread(self, extents: Sequence[Value], sums: bool) -> None:
        """Add to gradients of arrays and to tiles whose elements are got in any order, and if `sums`, to values."""
        reverse, b, of = self.reverse, self.reverse.b, self.of
        summed = {i: v for i, v in enumerate(of.active) if sums and isinstance(v, Value)}
        stores = [op for op in of.op.regions[0].walk() if op.code == "store"]
        owned = reverse.owned.issuperset(stores)
        adjoint = trimmed(reverse.element_adjoint(of.function, False, owned), list(summed))
        if not summed and not has_effects(adjoint):
            return
        shadows = {t: as_memory(b, t.type) for t in of.tiles if t.type.is_differentiable}
        cells = [as_memory(b, Tile(v.type, (1,))) for v in summed.values()]
        operands = self._operands(adjoint)
        at = b.push([I32] * len(extents))
        for cell, g in zip(cells, self._run(adjoint, operands, at, shadows)):
            reverse.accumulate([cell, b.const(0, I32)], (), g.type, _leaves(reverse, g))
        b.terminate("yield")
        b.emit("elements", extents, regions=(b.pop(),))
        for t, memory in shadows.items():
            reverse.add(t, [b.op("tile_from_memory", memory, attr=t.type)])
        for v, cell in zip(summed.values(), cells):
            whole = b.op("tile_from_memory", cell, attr=Tile(v.type, (1,)))
            _to_first_thread(reverse, v, b.op("tile_get", whole, b.const(0, I32)))

    def send(self) -> None:
        """Send a tile of contributions to each value that the elements were made of."""
        b, whole = self.reverse.b, self.reverse.element_adjoint(self.of.function, True, False)
        for number, source in enumerate(self.of.active):
            adjoint = trimmed(whole, [number])
            operands = self._operands(adjoint)
            sent = tile_map(
                b,
                Tile(adjoint.results[0], self.of.op.attr.shape),
                lambda at, a=adjoint, o=operands: self._run(a, o, at, {})[0],  # type: ignore[misc]
            )
            if isinstance(source, Value):
                _to_first_thread(self.reverse, source, total(b, sent))
            else:
                to, tile = self.of.gets[source].among(self.reverse.scopes.primal), source.args[0]
                self.reverse.add(tile, [gathered(b, sent, to, tile.type)])

    def _operands(self, adjoint: Function) -> dict[Value, Value]:
        """What is taken from outside for parameters of the adjoint: values and tiles, those that it uses alone."""
        of, primal = self.of, self.reverse.scopes.primal
        arrays = {*of.arrays(adjoint.params), *(p for p, _ in self._lent(adjoint))}
        used = {a for op in adjoint.body.walk() for a in op.args if op.code != "grad" or a not in arrays}
        outside = [*of.coordinates, *of.captured, *of.tiles, *(get.args[0] for get in of.gets)]
        pairs = list(zip(adjoint.params, outside))[len(of.coordinates) :]
        return {p: primal(v) for p, v in pairs if p in used}

    def _run(
        self, adjoint: Function, operands: dict[Value, Value], at: Sequence[Value], shadows: dict[Value, Value]
    ) -> list[Value]:
        """Emit the adjoint of the element at coordinates; `shadows` are the adjoints of tiles in memory."""
        of, b = self.of, self.reverse.b
        count = len(of.function.params)
        given = dict(zip(adjoint.params, at)) | operands
        for p, to in zip(adjoint.params[count - len(of.gets) : count], of.gets.values()):
            if p in operands:
                indices = to.among(self.reverse.scopes.primal).at(b, at)
                given[p] = b.op("tile_get", operands[p], *indices)
        for p in adjoint.params[count:]:
            assert self.seed is not None
            given[p] = b.op("tile_get", self.seed, *at)
        arrays = dict(zip(of.arrays(adjoint.params), of.tiles))
        tiles = {p: given.pop(p) for p in arrays if p in given}
        memory = {p: shadows[t] for p, t in arrays.items() if t in shadows}
        memory |= {p: self.reverse.gradient(v) for p, v in self._lent(adjoint)}
        return AdjointInPlace(b, tiles, memory, self._is_lasting, of.op).run(adjoint, given)

    def _lent(self, adjoint: Function) -> list[tuple[Value, Value]]:
        """The parameters that are memory of the block, and that memory."""
        first = len(self.of.coordinates)
        captured = zip(adjoint.params[first:], self.of.captured)
        return [(p, v) for p, v in captured if isinstance(v.type, Array) and is_made_by(v, "shared", "tile_to_memory")]

    def _is_lasting(self, array: Value) -> bool:
        scopes = self.reverse.scopes
        return not any(may_alias(array, w, scopes.shared) for w in scopes.written)


def _to_first_thread(reverse: Reverse, value: Value, sum: Value) -> None:
    """Add a sum to the adjoint of a value that the first thread gave the block."""
    b = reverse.b
    first = b.op("eq", b.op("thread_index"), b.i32(0))
    reverse.add(value, _leaves(reverse, select(b, first, sum)))


def _leaves(reverse: Reverse, adjoint: Value) -> Leaves:
    types = leaf_types(adjoint.type)
    return [leaf_of(reverse.b, adjoint, i) if t.is_differentiable else None for i, t in enumerate(types)]


def reverse_algorithm(
    reverse: Reverse, op: Operation, given: Sequence[Leaves | None], gradient: Function | None
) -> None:
    """Add to the adjoints of the operands of one of the library's algorithms on tiles."""
    if gradient is None:
        name = op.attr.name.partition("#")[0]
        raise NotDifferentiable(f"`wp.{name}` has no gradient", op)
    b, primal = reverse.b, reverse.scopes.primal
    active = [a for a in op.args if a.type.is_differentiable]
    wanted = [i for i, a in enumerate(active) if not a.is_const]
    needed = trimmed(gradient, wanted)
    used = {a for inner in needed.body.walk() for a in inner.args}
    values = zip((*op.args, *op.results), needed.params)
    operands = [primal(v) if p in used else b.zero(v.type) for v, p in values]
    pairs = [(v.type, g) for v, g in zip(op.results, given) if v.type.is_differentiable]
    seeds = [b.zero(t) if g is None else assemble(b, t, g) for t, g in pairs]
    found = b.emit("call", [*operands, *seeds], needed, results=needed.results)
    for i, x in zip(wanted, found):
        if isinstance(x.type, Tile):
            reverse.add(active[i], [x])
        else:
            _to_first_thread(reverse, active[i], x)


# -- threads ----------------------------------------------------------------------------------------------------------


def reverse_get(reverse: Reverse, op: Operation, given: Leaves) -> None:
    """Add what a thread sends to an element to the memory of the tile's adjoint."""
    indices = map(reverse.scopes.primal, op.args[1:])
    reverse.accumulate([reverse.sent_by_threads(op.args[0]), *indices], (), op.results[0].type, given)


def reverse_from_memory(reverse: Reverse, op: Operation, given: Leaves) -> None:
    """Add the adjoint of a tile to that of the memory that it was made of."""
    b, (tile,) = reverse.b, given
    assert tile is not None
    memory = reverse.gradient(op.args[0])

    def element(at: Sequence[Value]) -> None:
        g = b.op("tile_get", tile, *at)
        reverse.accumulate([memory, *at], (), g.type, _leaves(reverse, g))

    elements(b, tile.type.shape, element)


def reverse_of_threads(reverse: Reverse, op: Operation, given: Leaves) -> None:
    """Each thread gets the adjoint of its own element."""
    (tile,) = given
    assert tile is not None
    own = reverse.b.op("tile_get", tile, reverse.b.op("thread_index"))
    reverse.add(op.args[0], _leaves(reverse, own))


def reverse_set(reverse: Reverse, op: Operation, given: Leaves) -> None:
    """Divide the adjoint of a tile between the value that a thread set, and the tile before."""
    b, (tile,) = reverse.b, given
    assert tile is not None
    before, *indices, value = op.args
    place = [reverse.scopes.primal(i) for i in indices]
    if op.attr == "set":
        if reverse.scopes.divergent() is not None:
            raise NotDifferentiable(_DIVERGENT, op)
        memory = b.op("tile_to_memory", tile)
        reverse.add(value, reverse.withdraw([memory, *place], (), value.type, False))
        tile = b.op("tile_from_memory", memory, attr=tile.type)
    else:
        found = _leaves(reverse, b.op("tile_get", tile, *place))
        reverse.add(value, [g and (g if op.attr == "add" else b.op("neg", g)) for g in found])
    reverse.add(before, [tile])
