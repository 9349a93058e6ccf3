"""Turns operations of tiles into `tile_map`, `tile_get` and memory, which the passes behind know.

In: a kernel after inlining. Out: a new one without `tile_set` and `tile_reduce`, and without maps that only copy.

* `tile_set` is a store, or an atomic, to memory with the elements of the tile.
* `tile_reduce` makes a tile of PARTS partial results. Number p combines the elements p, p + PARTS, p + 2 PARTS and so
  on, in this order. Then the upper half of them is combined with the lower half until one is left. Along an axis, each
  line of elements has partial results of its own. So the order of additions follows from the shape alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import reduced
from ...ir.tile_builder import set_element, tile_map, unflattened
from ...lang.types import I32, Tile

PARTS = 16
_SHORT = 8  # lines of so few elements are combined by one lane each

Get = Callable[[Value], Value]  # element of a line, by its number


def expand_tiles(kernel: Function) -> Function:
    """Return the kernel with maps and memory only; see the module's docstring."""
    return _Expander().rewrite(kernel)


class _Expander(Rewriter):
    def visit_tile_map(self, op: Operation) -> None:
        """A map that gives all elements as they are is the tile itself."""
        region = op.regions[0]
        first, end = region.ops[0], region.ops[-1]
        is_element = first.code == "tile_get" and first.args[1:] == region.params and end.args == list(first.results)
        if is_element and first.args[0].type is op.attr:
            self.values[op.result] = self.values[first.args[0]]
        else:
            self._emit(op, (self.rebuild(region),))

    # -- elements that threads set ------------------------------------------------------------------------------

    def visit_tile_set(self, op: Operation) -> None:
        tile, *operands = self.args(op)
        memory = self.b.op("tile_to_memory", tile)
        set_element(self.b, op.attr, memory, operands)
        self.define(op, (self.b.op("tile_from_memory", memory, attr=tile.type),))

    # -- reductions ---------------------------------------------------------------------------------------------

    def visit_tile_reduce(self, op: Operation) -> None:
        (tile,) = self.args(op)
        axis = op.attr
        if axis < 0:
            result = self._reduce_all(op, tile)
        elif axis == tile.type.ndim - 1 and tile.type.shape[axis] > _SHORT:
            result = self._reduce_rows(op, tile)
        else:
            result = self._reduce_lines(op, tile)
        self.define(op, (result,))

    def _reduce_all(self, op: Operation, tile: Value) -> Value:
        """All elements are one line, in row-major order."""
        t: Tile = tile.type
        length = math.prod(t.shape)

        def partial(at: Sequence[Value]) -> Value:
            return self._partial(op, lambda k, p: self.b.op("tile_get", tile, *self._coordinates(t, k, p)), length, *at)

        parts = tile_map(self.b, Tile(t.dtype, (min(PARTS, length),)), partial)
        return tile_map(self.b, reduced(t, -1), lambda at: self._by_halves(op, self._elements(parts, ())))

    def _reduce_rows(self, op: Operation, tile: Value) -> Value:
        """Lines are contiguous: lanes make the partial results of a line."""
        t: Tile = tile.type
        *kept, length = t.shape

        def partial(at: Sequence[Value]) -> Value:
            *outer, part = at

            def get(k: Value, p: Value) -> Value:
                number = self.b.op("mul", k, self.b.i32(PARTS))
                return self.b.op("tile_get", tile, *outer, self.b.op("add", number, p))

            return self._partial(op, get, length, part)

        parts = tile_map(self.b, Tile(t.dtype, (*kept, min(PARTS, length))), partial)
        kept_at = len(kept)
        return tile_map(
            self.b, reduced(t, op.attr), lambda at: self._by_halves(op, self._elements(parts, tuple(at[:kept_at])))
        )

    def _reduce_lines(self, op: Operation, tile: Value) -> Value:
        """Lanes go through lines that lie side by side, each with all partial results of its line."""
        t: Tile = tile.type
        axis, length = op.attr, t.shape[op.attr]

        def line(at: Sequence[Value]) -> Value:
            outer = list(at[: t.ndim - 1])

            def get(k: Value) -> Value:
                return self.b.op("tile_get", tile, *outer[:axis], k, *outer[axis:])

            parts = [get(self.b.i32(p)) for p in range(min(PARTS, length))]
            rounds = length // PARTS
            if rounds > 1:
                parts = self._rounds(op, get, parts, rounds)
            for p in range(rounds * PARTS, length) if rounds else ():
                parts[p % PARTS] = self._combine(op, parts[p % PARTS], get(self.b.i32(p)))
            return self._by_halves(op, parts)

        return tile_map(self.b, reduced(t, axis), line)

    def _rounds(self, op: Operation, get: Get, parts: list[Value], rounds: int) -> list[Value]:
        """Combine `parts` with whole rounds of elements, from the second on."""
        b = self.b
        bounds = [b.i32(1), b.i32(rounds), b.i32(1)]
        number, *carried = b.push([I32, *(v.type for v in parts)])
        first = b.op("mul", number, b.i32(PARTS))
        new = [self._combine(op, v, get(b.op("add", first, b.i32(p)))) for p, v in enumerate(carried)]
        b.terminate("yield", new)
        return list(b.emit("for", [*bounds, *parts], regions=(b.pop(),), results=[v.type for v in parts]))

    def _partial(self, op: Operation, get: Callable[[Value, Value], Value], length: int, part: Value) -> Value:
        """Partial result number `part` of a line; `get` finds an element by its round and its number in it."""
        b = self.b
        rounds, rest = divmod(length, PARTS)
        result = get(b.i32(0), part)
        if rounds > 1:
            bounds = [b.i32(1), b.i32(rounds), b.i32(1)]
            number, carried = b.push([I32, result.type])
            b.terminate("yield", [self._combine(op, carried, get(number, part))])
            (result,) = b.emit("for", [*bounds, result], regions=(b.pop(),), results=[result.type])
        if rounds and rest:
            result = self._last(op, result, get, part, rounds, rest)
        return result

    def _last(
        self, op: Operation, result: Value, get: Callable[[Value, Value], Value], part: Value, rounds: int, rest: int
    ) -> Value:
        """Combine with the last round, which has `rest` elements."""
        b = self.b
        exists = b.op("lt", part, b.i32(rest))
        b.push()
        b.terminate("yield", [self._combine(op, result, get(b.i32(rounds), part))])
        then = b.pop()
        b.push()
        b.terminate("yield", [result])
        return b.emit("if", [exists], regions=(then, b.pop()), results=[result.type])[0]

    def _by_halves(self, op: Operation, parts: list[Value]) -> Value:
        half = PARTS // 2
        while half:
            upper = parts[half:]
            parts = [self._combine(op, v, upper[i]) if i < len(upper) else v for i, v in enumerate(parts[:half])]
            half //= 2
        return parts[0]

    def _combine(self, op: Operation, a: Value, b: Value) -> Value:
        found = self.splice(op.regions[0], (a, b))
        assert found is not None
        return found[0]

    def _coordinates(self, t: Tile, number: Value, part: Value) -> list[Value]:
        """Where element `part` of a round is. Lanes stay in a row where rows consist of whole rounds."""
        b = self.b
        *outer, last = t.shape
        if not outer or last % PARTS:
            flat = b.op("add", b.op("mul", number, b.i32(PARTS)), part)
            return unflattened(b, flat, t.shape)
        *rows, column = unflattened(b, number, (*outer, last // PARTS))
        return [*rows, b.op("add", b.op("mul", column, b.i32(PARTS)), part)]

    def _elements(self, parts: Value, at: tuple[Value, ...]) -> list[Value]:
        count = parts.type.shape[-1]
        return [self.b.op("tile_get", parts, *at, self.b.i32(p)) for p in range(count)]
