"""Branches and loops in reverse: start with `reverse_if` and `_backward`.

A branch runs the reverse of the side that was taken. A loop runs that of its iterations, from the last to the first;
what it needs of each is on the stash (`value_stack`). Adjoints of values from outside leave both as their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...ir.builder import Builder
from ...ir.nodes import Operation, Region, Value
from ...lang.types import I32, Type
from ...passes.dce import REMOVABLE
from ..analysis.leaves import Leaves, leaf_types
from .tile_stack import of_first_thread
from .tile_values import plus
from .trip_count import backwards, times
from .value_scope import ValueScope
from .value_stack import CELLS, ValueFrame, pop

if TYPE_CHECKING:
    from .reverse_pass import Reverse

Leaf = tuple[Value, int, Type]  # of which value, the number of the leaf, its type
Index = Callable[[Value], Value]  # of an iteration, from its number


def reverse_if(reverse: Reverse, op: Operation) -> None:
    """Run the reverse of the side that was taken."""
    given = [reverse.take(v) for v in op.results]
    condition, before = reverse.scopes.primal(op.args[0]), reverse.top
    sides = []
    for region in op.regions:
        reverse.b.push()
        reverse.top = before
        scope = reverse.reverse_region(region, op, zip(region.terminator.args, given))
        made = reverse.b.pop()
        made.ops[:0] = scope.prologue
        sides.append((made, reverse.outward(scope), reverse.top))
    keys = {(v, i): t for _, out, _ in sides for v, i, t in _present(out)}
    types = [*keys.values(), I32, I32]
    for made, out, top in sides:
        values = [out[v][i] if v in out else None for v, i in keys]
        _end(made, [*values, *top], types)
    results = reverse.b.emit("if", [condition], None, tuple(made for made, *_ in sides), types)
    reverse.top = results[len(keys) :]
    for (v, i), x in zip(keys, results):
        _add_leaf(reverse, v, i, x)


def reverse_for(reverse: Reverse, op: Operation) -> None:
    """Run the iterations over a range backwards."""
    low, high, step = map(reverse.scopes.primal, op.args[:3])
    head, index = backwards(reverse.b, low, high, step)
    _backward(reverse, op, head, op.regions[0].params[1:], op.args[3:], index)


def reverse_loop(reverse: Reverse, op: Operation) -> None:
    """Run as many iterations backwards as the forward code counted."""
    count = reverse.scopes.primal(reverse.scopes.count_of(op))
    _backward(reverse, op, times(reverse.b, count), op.regions[0].params, op.args, None)


def _backward(
    reverse: Reverse,
    op: Operation,
    head: list[Value],
    params: Sequence[Value],
    init: Sequence[Value],
    index: Index | None,
) -> None:
    """The iterations from last to first. From one to the one before go the adjoints of the carried values. Those
    of a `loop`'s results enter its last iteration, those of a `for` are the carried values' own.
    """
    b, results = reverse.b, [reverse.take(v) for v in op.results]
    leaving = op.regions[0].ops[-2].regions[0].terminator.args if index is None else []
    slots, exits = _slots(params), _slots(leaving)
    start = [*[None] * len(slots), *_flat(results, leaving)] if index is None else _flat(results, params)
    initial = [*(_or_zero(b, x, t) for x, (*_, t) in zip(start, (*slots, *exits))), *reverse.top]
    made, sums = _iteration(reverse, op, head[0].type, params, leaving, index)
    initial += [b.zero(t) for *_, t in sums]
    found = b.emit("for", [*head, *initial], None, (made,), [x.type for x in initial])
    reverse.top = found[len(slots) + len(exits) :][:2]
    starts = dict(zip(params, init))
    for (p, i, _), x in zip(slots, found):
        _add_leaf(reverse, starts[p], i, x)
    for (v, i, _), x in zip(sums, found[len(found) - len(sums) :]):
        _add_leaf(reverse, v, i, x)


def _iteration(
    reverse: Reverse,
    op: Operation,
    counter: Type,
    params: Sequence[Value],
    leaving: Sequence[Value],
    index: Index | None,
) -> tuple[Region, list[Leaf]]:
    """An iteration backwards. It carries the adjoints of `params` and `leaving`, where the stash ends, and the sums of
    what goes to leaves from outside, which are returned beside it.
    """
    b, region = reverse.b, op.regions[0]
    slots, exits = _slots(params), _slots(leaving)
    types = [*(t for *_, t in (*slots, *exits)), I32, I32]
    k, *state = b.push([counter, *types])
    base = tuple(Value(I32) for _ in CELLS)
    reverse.top = base
    at = index(k) if index else None
    prefix = len(b.region.ops)
    seeds = [*_gather(region.terminator.args, params, state), *_gather(leaving, leaving, state[len(slots) :])]
    scope = reverse.reverse_region(region, op, seeds, 1 if index else 2, at)
    below, made = reverse.top, b.pop()
    made.ops[prefix:prefix] = scope.prologue
    given = [g for leaves in scope.adjoints.values() for g in leaves if g is not None]
    made.ops[:0] = _fetched(reverse, op, scope, base, state[-2:], _needed(made.ops, given))
    out = reverse.outward(scope)
    sums = _present(out)
    following = [_leaf(scope.adjoints, p, i) for p, i, _ in slots] + [None] * len(exits) + list(below)
    for v, i, t in sums:
        total, more = Value(t), out[v][i]
        assert more is not None
        made.params.append(total)
        following.append(_append(made, partial(plus, x=total, y=more)))
    _end(made, following, [*types, *(t for *_, t in sums)])
    return made, sums


def _fetched(
    reverse: Reverse, op: Operation, scope: ValueScope, base: Sequence[Value], top: Sequence[Value], needed: set[Value]
) -> list[Operation]:
    """Operations that take back what the iteration stashed: what is `needed` of all that rules asked for."""
    inputs = {value: name for value, name in scope.inputs.items() if name in needed}
    frame = ValueFrame.of(inputs, reverse.function.block_dim)
    reverse.frames[op] = frame
    reverse.b.push()
    values, below = pop(reverse.b, frame, top)
    values = [_alike(reverse, v, popped) for v, popped in zip(inputs, values)]
    reverse.known.update(zip(inputs.values(), values))
    reverse.known.update(zip(base, below))
    return reverse.b.pop().ops


def _alike(reverse: Reverse, value: Value, popped: Value) -> Value:
    """A value that was taken from the stash; operations of the block must know that all threads have it alike."""
    if not reverse.scopes.is_uniform(value):
        return popped
    return of_first_thread(reverse.b, popped, reverse.function.block_dim)


def _needed(ops: Sequence[Operation], results: Iterable[Value]) -> set[Value]:
    """The values that `results`, and the effects and ends of operations, are made of."""
    needed = set(results)
    _add_needed(ops, needed)
    return needed


def _add_needed(ops: Sequence[Operation], needed: set[Value]) -> None:
    for op in reversed(ops):
        if not _is_removable(op) or not needed.isdisjoint(op.results):
            needed.update(op.args)
            for region in op.regions:
                _add_needed(region.ops, needed)


def _is_removable(op: Operation) -> bool:
    if op.code in ("tile_map", "tile_reduce"):
        return all(_is_removable(inner) for inner in op.regions[0].ops if inner.code != "yield")
    return op.code in REMOVABLE


def _present(adjoints: dict[Value, Leaves]) -> list[Leaf]:
    """The leaves that have an adjoint."""
    return [
        (v, i, t)
        for v, given in adjoints.items()
        for i, (t, g) in enumerate(zip(leaf_types(v.type), given))
        if g is not None
    ]


def _leaf(adjoints: dict[Value, Leaves], value: Value, i: int) -> Value | None:
    return adjoints[value][i] if value in adjoints else None


def _add_leaf(reverse: Reverse, value: Value, index: int, x: Value) -> None:
    leaves: Leaves = [None] * len(leaf_types(value.type))
    leaves[index] = x
    reverse.add(value, leaves)


def _or_zero(b: Builder, x: Value | None, t: Type) -> Value:
    return b.zero(t) if x is None else x


def _slots(values: Iterable[Value]) -> list[Leaf]:
    """The float leaves of values."""
    return [(v, i, t) for v in values for i, t in enumerate(leaf_types(v.type)) if t.is_differentiable]


def _flat(given: Sequence[Leaves | None], values: Sequence[Value]) -> list[Value | None]:
    """Adjoints of values in the order of `_slots`."""
    leaves = ((g, i, t) for v, g in zip(values, given) for i, t in enumerate(leaf_types(v.type)))
    return [g[i] if g else None for g, i, t in leaves if t.is_differentiable]


def _gather(targets: Sequence[Value], like: Sequence[Value], state: Sequence[Value]) -> list[tuple[Value, Leaves]]:
    """Adjoints for `targets` from values in the order of `_slots(like)`."""
    out, at = [], iter(state)
    for target, v in zip(targets, like):
        out.append((target, [next(at) if t.is_differentiable else None for t in leaf_types(v.type)]))
    return out


def _append(region: Region, emit: Callable[[Builder], Value]) -> Value:
    """Emit into a region that is closed for the builder."""
    b = Builder()
    b.push()
    result = emit(b)
    region.ops += b.pop().ops
    return result


def _end(region: Region, values: Sequence[Value | None], types: Sequence[Type]) -> None:
    """Close a region by yielding `values`; those that are None are zero."""
    args = [_append(region, partial(Builder.zero, t=t)) if v is None else v for v, t in zip(values, types)]
    region.ops.append(Operation("yield", args))
