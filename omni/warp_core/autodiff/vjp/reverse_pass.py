"""Reverse mode: the adjoint of a kernel, as IR.

In: a verified kernel with one exit per region (`single_exit`), whose calls are library functions. Out: a kernel with
the same parameters that runs each thread's forward code again and then its reverse code, which adds to the gradients
of arrays. Start with `Reverse.run`.

Adjoints are kept per value and leaf (`leaves`); `scalar_rules` has the rules of arithmetic, `reverse_control` those of
branches and loops, this file those of aggregates, memory and calls. The reverse code is made first. Making it finds out
which values of the forward code it needs (`scope`); the forward code is then made to hand them over (`primal_pass`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from ...ir.analysis.alias import Location, identified_object, is_by_address, is_local, is_made_by, is_own, location
from ...ir.analysis.effects import works_on_tiles
from ...ir.builder import Builder
from ...ir.interp.block_runner import has_any
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import OPS
from ...lang.errors import NotDifferentiable
from ...lang.types import I32, Array, Packed, Scalar, Struct, Type, element, members
from ...passes.dce import REMOVABLE, has_effects
from ..analysis.exclusive_stores import find_exclusive_stores
from ..analysis.factor_escape import escaping, report_if_moved
from ..analysis.leaves import Leaves, assemble, bitcasts_floats, leaf_of, leaf_types, member_span
from ..analysis.structure_stores import BY_ADDRESS
from ..analysis.zero_guard import needs_zero_guard
from ..rules import scalar_rules
from ..rules.custom_rules import reverse_custom
from ..rules.provider import DerivativeRules
from .reverse_atomics import reverse_atomic
from .reverse_control import reverse_for, reverse_if, reverse_loop
from .reverse_reductions import reverse_reduce
from .reverse_tiles import (
    reverse_algorithm,
    reverse_elements,
    reverse_from_memory,
    reverse_get,
    reverse_map,
    reverse_of_threads,
    reverse_set,
)
from .shadow_memory import shadow
from .tile_values import as_memory, plus, tile_type
from .value_scope import ValueScope, ValueScopes
from .value_stack import CELLS, ValueFrame

_READS = frozenset(("load", "atomic", "array_at"))
_SLOPES_OF_ONE = frozenset(
    ("add", "sub", "neg", "min", "max", "minnum", "maxnum", "abs")
)  # adjoints that only pass on what they are given


_CONTROL = frozenset(("if", "for", "loop", "block"))


def _is_without_gradient(op: Operation) -> bool:
    """True for an operation inside of a branch or loop that adds to no gradient if its results have no adjoints."""
    if op.code in ("store", "atomic"):
        return not op.args[-1].type.is_differentiable
    if op.code == "call":
        return not has_effects(op.attr)
    return op.code in _CONTROL or op.code in REMOVABLE or (op.code in OPS and OPS[op.code].terminator)


class Reverse:
    """Makes the reverse code of a function."""

    def __init__(
        self,
        function: Function,
        shared: bool,
        given: DerivativeRules,
        callee_adjoint: Callable[[Function], Function],
        element_adjoint: Callable[..., Function],
        constant: bool = False,
        guarded: bool = False,
        owned: bool = False,
    ):
        self.function, self.given, self.callee_adjoint = function, given, callee_adjoint
        self.element_adjoint = element_adjoint  # of what is done for one element
        self.constant = constant  # what arrays hold, those of the thread's own aside
        self.scopes = ValueScopes(function, shared)
        self.b = Builder()
        self._chooses = guarded or needs_zero_guard(function, shared, given)
        self._takes_bits = bitcasts_floats(function)
        self._all_owned, self.owned = owned, find_exclusive_stores(function, shared)
        self._escaping = escaping(function, lambda callee: given.tangent(callee) is not None)
        self.start = tuple(Value(I32, name="top") for _ in CELLS)  # of the stash, when the forward code is through
        self.top: Sequence[Value] = self.start
        self.shadows: dict[Operation, Value] = {}  # of local arrays, by `alloca`
        self.prelude: list[Operation] = []  # what the reverse code begins with
        self.frames: dict[Operation, ValueFrame] = {}  # of loops, by operation
        self.known: dict[Value, Value] = {}  # what placeholders came to be
        self.final: set[Operation] = set()  # loads of what arrays hold after the launch
        self.clearing: frozenset[Location] = frozenset()  # arrays; if any, stores to them clear gradients, and no more

    def run(self, seeds: Sequence[Leaves]) -> None:
        """Emit the reverse code into the open region of `b`. `seeds` are the adjoints of the function's results."""
        body = self.function.body
        for value, given in zip(body.terminator.args, seeds):
            self.add(value, given)
        self._operations(body.ops[:-1])
        self._receive(self.function.params)
        self.b.region.ops[:0] = self.prelude

    @property
    def scope(self) -> ValueScope:
        """The innermost open scope."""
        return self.scopes.scope

    # -- adjoints ---------------------------------------------------------------------------------------------------

    def add(self, value: Value, given: Leaves) -> None:
        """Add to the adjoint of `value`."""
        if value.is_const or all(x is None for x in given):
            return
        mine = self.scope.adjoints.get(value)
        if mine is None:
            self.scope.adjoints[value] = list(given)
            return
        for i, x in enumerate(given):
            if x is not None:
                old = mine[i]
                mine[i] = x if old is None else plus(self.b, old, x)

    def take(self, value: Value) -> Leaves | None:
        """The adjoint of a value that the reverse code is through with."""
        self._receive([value])
        return self.scope.adjoints.pop(value, None)

    def sent_by_threads(self, tile: Value) -> Value:
        """Memory of the block to which threads add what they send to elements of a tile, or of memory of the block."""
        scope: ValueScope = self.scope
        while scope.region is not self.scopes.region_of[tile]:
            assert scope.outer is not None
            scope = scope.outer
        if tile not in scope.memory:
            b = Builder()
            b.push()
            scope.memory[tile] = as_memory(b, tile_type(tile))
            made = scope.prologue if scope.outer is not None else self.prelude
            made += b.pop().ops
        return scope.memory[tile]

    def _receive(self, values: Iterable[Value]) -> None:
        """Add what threads have sent to tiles to the adjoints of these."""
        for value in values:
            memory = self.scope.memory.pop(value, None)
            if memory is not None:
                self.add(value, [self.b.op("tile_from_memory", memory, attr=tile_type(value))])

    # -- operations -------------------------------------------------------------------------------------------------

    def _operations(self, ops: Sequence[Operation]) -> None:
        for op in reversed(ops):
            self.b.loc = op.loc
            if self._has_no_gradient(op):
                continue
            if op.regions or op.code in ("store", "atomic"):
                getattr(self, f"_{op.code}")(op)
                continue
            given = [self.take(v) for v in op.results]
            if any(g is not None for g in given):
                self._operation(op, given)

    def _has_no_gradient(self, op: Operation) -> bool:
        """True for a branch or loop whose results have no adjoints, and which writes nothing that has a gradient."""
        if op.code not in _CONTROL or any(v in self.scope.adjoints or v in self.scope.memory for v in op.results):
            return False
        return all(_is_without_gradient(inner) for region in op.regions for inner in region.walk())

    def _operation(self, op: Operation, given: list[Leaves | None]) -> None:
        handler = getattr(self, f"_{op.code}", None)
        if handler is not None:
            handler(op, given if op.code == "call" else given[0])
        elif op.code in scalar_rules.ELEMENTWISE:
            self._componentwise(op, given[0], scalar_rules.ELEMENTWISE[op.code])
        elif op.code == "libm":  # stands in functions of the library only, which say what their gradients are
            raise NotDifferentiable(f"`{op.attr}` has no derivative here", op)
        elif any(a.type.is_differentiable for a in op.args) and not isinstance(element(op.results[0].type), Scalar):
            raise NotDifferentiable(f"`{op.code}` has no derivative", op)

    def _componentwise(self, op: Operation, given: Leaves | None, rule: scalar_rules.Rule) -> None:
        assert given is not None
        out: list[Leaves] = [[None] * len(given) for _ in op.args]
        args, result = [self.scopes.primal(a) for a in op.args], self.scopes.primal(op.results[0])
        for i, g in enumerate(given):
            if g is None:
                continue
            found = rule(self.b, [leaf_of(self.b, a, i) for a in args], leaf_of(self.b, result, i), g)
            for leaves, x in zip(out, found):
                leaves[i] = x if x is None or op.code in _SLOPES_OF_ONE else self._unless_zero([g], x)
        for a, leaves in zip(op.args, out):
            self.add(a, leaves)

    def _unless_zero(self, seeds: Sequence[Value], x: Value) -> Value:
        """`x`, or zero where all seeds are: the slope of what was not chosen may be infinite, or no number. Where there
        are none, it is made of something else as well.
        """
        if not self._chooses or not seeds:
            return x
        zeros = [self.b.op("eq", g, self.b.const(0.0, g.type)) for g in seeds]
        unused = reduce(lambda a, b: self.b.op("and", a, b), zeros)
        return self.b.op("select", unused, self.b.const(0.0, x.type), x)

    def _select(self, op: Operation, given: Leaves) -> None:
        condition = self.scopes.primal(op.args[0])
        for value, first in zip(op.args[1:], (True, False)):
            self.add(value, [g and self._if_else(condition, g, first) for g in given])

    def _if_else(self, condition: Value, g: Value, first: bool) -> Value:
        zero = self.b.const(0, g.type)
        return self.b.op("select", condition, *((g, zero) if first else (zero, g)))

    def _cast(self, op: Operation, given: Leaves) -> None:
        source = element(op.args[0].type)
        if source.is_float and element(op.attr).is_float:
            self.add(op.args[0], [g and self.b.op("cast", g, attr=source) for g in given])

    def _bitcast(self, op: Operation, given: Leaves) -> None:
        if op.args[0].type.is_differentiable or self._takes_bits:
            raise NotDifferentiable("bits taken as a number have no derivative", op)

    def _make(self, op: Operation, given: Leaves) -> None:
        at = 0
        for a in op.args:
            count = len(leaf_types(a.type))
            self.add(a, given[at : at + count])
            at += count

    def _splat(self, op: Operation, given: Leaves) -> None:
        for g in given:
            self.add(op.args[0], [g])

    def _extract(self, op: Operation, given: Leaves) -> None:
        whole: Leaves = [None] * len(leaf_types(op.args[0].type))
        first, end = member_span(op.args[0].type, op.attr)
        whole[first:end] = given
        self.add(op.args[0], whole)

    def _insert(self, op: Operation, given: Leaves) -> None:
        first, end = member_span(op.args[0].type, op.attr)
        self.add(op.args[1], given[first:end])
        self.add(op.args[0], [*given[:first], *[None] * (end - first), *given[end:]])

    def _extract_dyn(self, op: Operation, given: Leaves) -> None:
        (g,) = given
        if g is not None:
            here = self._at_component(op.args[1], op.args[0].type)
            self.add(op.args[0], [self._if_else(c, g, True) for c in here])

    def _insert_dyn(self, op: Operation, given: Leaves) -> None:
        here = self._at_component(op.args[2], op.args[0].type)
        self.add(op.args[0], [g and self._if_else(c, g, False) for c, g in zip(here, given)])
        for c, g in zip(here, given):
            if g is not None:
                self.add(op.args[1], [self._if_else(c, g, True)])

    def _at_component(self, index: Value, t: Packed) -> list[Value]:
        i = self.scopes.primal(index)
        return [self.b.op("eq", i, self.b.const(k, i.type)) for k in range(t.count)]

    def _call(self, op: Operation, given: list[Leaves | None]) -> None:
        if any(isinstance(a.type, Array) and a.type.dtype in self.scopes.local_types for a in op.args):
            raise NotDifferentiable("a function of the library that is given a local array has no gradient", op)
        written = self.given(op.attr)
        if works_on_tiles(op.attr):
            reverse_algorithm(self, op, given, written)
            return
        if not any(p.type.is_differentiable for p in op.attr.params) and not has_any(op.attr, _READS):
            return
        adjoint = written or self.callee_adjoint(op.attr)
        active = [v for v in op.results if v.type.is_differentiable]
        seeds = [
            assemble(self.b, v.type, g or [None] * len(leaf_types(v.type)))
            for v, g in zip(op.results, given)
            if v in active
        ]
        flat = [g for leaves in given if leaves for g in leaves if g is not None]
        if op in self._escaping:
            report_if_moved(self.b, self.scopes.primal(op.results[-2]), flat)
        args = [self.scopes.primal(a) for a in op.args]
        results = self._looked_at(written, op) if written else []
        found = self.b.emit("call", [*args, *results, *seeds], adjoint, results=adjoint.results)
        for a, x in zip((a for a in op.args if a.type.is_differentiable), found):
            self.add_chosen(a, x, flat)

    def _looked_at(self, gradient: Function, op: Operation) -> list[Value]:
        """The results of a call for its gradient, which takes them after the arguments: zero for those that it does not
        look at, so that they are not computed again.
        """
        used = {a for inner in gradient.body.walk() for a in inner.args}
        taken = zip(op.results, gradient.params[len(op.args) :])
        return [self.scopes.primal(r) if p in used else self.b.zero(r.type) for r, p in taken]

    def add_chosen(self, value: Value, adjoint: Value, seeds: Sequence[Value]) -> None:
        """Add all leaves of `adjoint` to the adjoint of `value`, nothing where there are seeds and all are zero."""
        types = leaf_types(value.type)
        self.add(
            value,
            [
                self._unless_zero(seeds, leaf_of(self.b, adjoint, i)) if t.is_differentiable else None
                for i, t in enumerate(types)
            ],
        )

    # -- tiles ------------------------------------------------------------------------------------------------------

    def _tile_map(self, op: Operation) -> None:
        reverse_map(self, op)

    def _elements(self, op: Operation) -> None:
        reverse_elements(self, op)

    def _tile_reduce(self, op: Operation) -> None:
        reverse_reduce(self, op)

    def _tile_get(self, op: Operation, given: Leaves) -> None:
        reverse_get(self, op, given)

    def _tile_set(self, op: Operation, given: Leaves) -> None:
        reverse_set(self, op, given)

    def _tile_to_memory(self, op: Operation, given: Leaves) -> None:
        self.add(op.args[0], given)

    def _tile_from_memory(self, op: Operation, given: Leaves) -> None:
        reverse_from_memory(self, op, given)

    def _shared(self, op: Operation, given: Leaves) -> None:
        """Nothing was there before."""

    def _tile_of_threads(self, op: Operation, given: Leaves) -> None:
        reverse_of_threads(self, op, given)

    def _custom(self, op: Operation) -> None:
        reverse_custom(self, op)

    def inline(self, op: Operation, given: Sequence[Leaves | None]) -> None:
        """Reverse the region of an operation that runs it once, in place."""
        region = op.regions[0]
        self.b.push()
        scope = self.reverse_region(region, op, zip(region.terminator.args, given))
        made = self.b.pop()
        self.b.region.ops += [*scope.prologue, *made.ops]
        for value, leaves in self.outward(scope).items():
            self.add(value, leaves)

    # -- memory -----------------------------------------------------------------------------------------------------

    def gradient(self, array: Value) -> Value:
        """The array of the gradient of `array`. Local arrays have theirs beside them."""
        if is_made_by(array, "shared", "tile_to_memory"):
            return self.sent_by_threads(array)
        if is_by_address(array):
            raise NotDifferentiable(BY_ADDRESS, array.op)
        if not is_local(array):
            if identified_object(array) is None and array.type.dtype in self.scopes.local_types:
                raise NotDifferentiable("a choice among arrays, one of them local, has no gradient", array.op)
            if self.constant:
                return self.b.zero(array.type)
            return self.b.op("grad", self.scopes.primal(array))
        op = array.op
        assert op is not None
        if op.code == "alloca":
            return self._shadow(op)
        return self.b.op("slice", self.gradient(op.args[0]), *map(self.scopes.primal, op.args[1:]), attr=op.attr)

    def _shadow(self, op: Operation) -> Value:
        """The gradient of a local array: another one, which the reverse code begins with at zero."""
        if op not in self.shadows:
            self.shadows[op], made = shadow(op.attr)
            self.prelude += made
        return self.shadows[op]

    def place(self, op: Operation, values: int) -> list[Value]:
        """The place in the gradient that an access names; `values` of its operands are not part of it."""
        indices = op.args[1 : len(op.args) - values]
        return [self.gradient(op.args[0]), *map(self.scopes.primal, indices)]

    def where_present(
        self, place: Sequence[Value], emit: Callable[[], list[Value]], types: Sequence[Type]
    ) -> list[Value]:
        """Do something if the array has a gradient, as local ones do; zeros if it has none."""
        if is_own(place[0]):
            return emit()
        if is_made_by(place[0], "zero"):
            return [self.b.const(0, t) for t in types]
        present = self.b.op("not", self.b.op("is_null", place[0]))
        self.b.push()
        self.b.terminate("yield", emit())
        then = self.b.pop()
        self.b.push()
        self.b.terminate("yield", [self.b.const(0, t) for t in types])
        return list(self.b.emit("if", [present], None, (then, self.b.pop()), types))

    def _load(self, op: Operation, given: Leaves) -> None:
        place = self.place(op, 0)

        def spread() -> list[Value]:
            self.accumulate(place, op.attr, op.results[0].type, given)
            return []

        self.where_present(place, spread, ())

    def accumulate(self, place: Sequence[Value], path: tuple[int, ...], t: Type, given: Leaves) -> None:
        """Add leaves to what lies along `path` in memory."""
        if all(g is None for g in given):
            return
        if isinstance(t, Struct) or (isinstance(t, Packed) and None in given):
            for i, m in enumerate(members(t)):
                first, end = member_span(t, i)
                self.accumulate(place, (*path, i), m, given[first:end])
        else:
            self.b.op("atomic", *place, assemble(self.b, t, given), attr=("add", path))

    def _store(self, op: Operation) -> None:
        value = op.args[-1]
        if not value.type.is_differentiable or (self.clearing and location(op.args[0]) not in self.clearing):
            return
        found = self.withdraw(self.place(op, 1), op.attr, value.type, self._all_owned or op in self.owned)
        if not self.clearing:
            self.add(value, found)

    def withdraw(self, place: Sequence[Value], path: tuple[int, ...], t: Type, owned: bool) -> Leaves:
        """Take the gradient of what lies along `path` over, leaving zero."""
        if isinstance(t, Struct):
            parts = [self.withdraw(place, (*path, i), m, owned) for i, m in enumerate(members(t))]
            return [x for part in parts for x in part]
        if not element(t).is_differentiable:
            return [None] * len(leaf_types(t))

        def move() -> list[Value]:
            zero = self.b.const(0, t)
            if not owned and not is_local(place[0]):
                return [self.b.op("atomic", *place, zero, attr=("take", path))]
            found = self.b.op("load", *place, attr=path)
            self.b.op("store", *place, zero, attr=path)
            return [found]

        (found,) = self.where_present(place, move, [t])
        return [leaf_of(self.b, found, i) for i in range(len(leaf_types(t)))]

    def _atomic(self, op: Operation) -> None:
        if not self.clearing:
            reverse_atomic(self, op)

    # -- control flow -----------------------------------------------------------------------------------------------

    def reverse_region(
        self,
        region: Region,
        owner: Operation,
        seeds: Iterable[tuple[Value, Leaves | None]],
        end: int = 1,
        index: Value | None = None,
    ) -> ValueScope:
        """Emit the reverse of a region into the open one; returns its scope."""
        scope = self.scopes.scope = ValueScope(region, owner, self.scope, index)
        for value, given in seeds:
            if given is not None:
                self.add(value, given)
        self._operations(region.ops[: len(region.ops) - end])
        self._receive(region.params)
        assert scope.outer is not None
        self.scopes.scope = scope.outer
        return scope

    def outward(self, scope: ValueScope) -> dict[Value, Leaves]:
        """Return the contributions of a scope to values from outside its region."""
        home = self.scopes.region_of
        return {v: g for v, g in scope.adjoints.items() if home[v] is not scope.region}

    def _if(self, op: Operation) -> None:
        reverse_if(self, op)

    def _for(self, op: Operation) -> None:
        reverse_for(self, op)

    def _loop(self, op: Operation) -> None:
        reverse_loop(self, op)
