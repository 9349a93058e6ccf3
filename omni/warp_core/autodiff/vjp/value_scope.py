"""Where reversed code stands, and how it gets at values of the forward code.

The reverse of a region is emitted under a `ValueScope`. `ValueScopes.primal` answers with a value that can be used
there: values of the function's own body are at hand, since the forward code stands before the reverse code. Inside the
reverse of a loop or an `if`, a value is recomputed from values at hand. Where that is not possible, it is *carried*: a
loop pushes it to the value stack in every iteration, an `if` returns it as one more result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.analysis.alias import identified_object, is_made_by, may_alias, underlying_object
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import OPS
from ...lang.array_structs.array_struct_types import is_fabric_piece
from ...lang.errors import NotDifferentiable
from ...lang.types import I32, Array, Tile, Type
from ...passes.barriers import uniform_facts
from ...passes.dce import has_effects
from ..analysis.leaves import leaf_types

_REPEATED_INSIDE = ("if", "tile_map", "tile_reduce")


def _check_source(op: Operation) -> None:
    """Refuse memory that the adjoint could not find again."""
    if not is_made_by(op.args[0], "load"):
        return
    if is_fabric_piece(underlying_object(op.args[0]).type):
        raise NotDifferentiable("arrays of Fabric have no gradient: pass a copy, x.contiguous()", op)
    raise NotDifferentiable("arrays found in elements of arrays have no gradient: pass them as arguments", op)


@dataclass
class ValueScope:
    """The reverse of one region being emitted.

    `prologue` are operations that compute values again, to stand before all others; `inputs` maps values that a loop
    stashes to the values they come back as. `memory` is what threads add to what they send to tiles of the region.
    """

    region: Region
    owner: Operation | None
    outer: ValueScope | None
    index: Value | None = None  # of a `for`
    adjoints: dict[Value, list[Value | None]] = field(default_factory=dict)
    found: dict[Value, Value] = field(default_factory=dict)
    prologue: list[Operation] = field(default_factory=list)
    inputs: dict[Value, Value] = field(default_factory=dict)
    memory: dict[Value, Value] = field(default_factory=dict)


class ValueScopes:
    """The open scopes, and what the forward code is asked to hand over.

    `exposed` maps an `if` to the values inside it that it gives as results: (branch, value, result). `counts` maps a
    `loop` to the value that says how many iterations it had.
    """

    def __init__(self, function: Function, shared: bool):
        self.function, self.shared = function, shared
        self.region_of: dict[Value, Region] = {}
        self.written: list[Value] = []
        self.exposed: dict[Operation, list[tuple[int, Value, Value]]] = {}
        self.counts: dict[Operation, Value] = {}
        self.local_types: set[Type] = set()  # element types of local arrays
        self.handed: set[Value] = set()  # values that only the forward code can make
        self._repeatable: dict[Operation, bool] = {}
        self.region_of.update(dict.fromkeys(function.params, function.body))
        self._survey(function.body)
        self.scope = ValueScope(function.body, None, None)
        self._varying = uniform_facts(function).varying if function.block_dim else None

    def _survey(self, region: Region) -> None:
        self.region_of.update(dict.fromkeys(region.params, region))
        for op in region.ops:
            self.region_of.update(dict.fromkeys(op.results, region))
            if op.code in ("store", "atomic"):
                self.written.append(op.args[0])
            if op.code in ("load", "store", "atomic"):
                _check_source(op)
                self._check_carried(op)
            elif op.code == "stash":
                raise NotDifferentiable("the gradient of a function with loops, by wp.grad, has no gradient itself", op)
            elif op.code == "alloca":
                self.local_types.add(op.attr.dtype)
            for inner in op.regions:
                self._survey(inner)

    def _check_carried(self, op: Operation) -> None:
        """Refuse memory that one iteration hands to the next: what it shares with other arrays cannot be seen."""
        found = identified_object(op.args[0])
        if found is not None and found.op is None and found not in self.function.params:
            why = "this array is another one in each iteration of a loop, so that it has no gradient"
            raise NotDifferentiable(f"{why}: use one array with one more dimension, and change its index instead", op)

    def is_uniform(self, value: Value) -> bool:
        """True if a value, other than a tile, is the same in all threads of a block that works with tiles."""
        return self._varying is not None and value not in self._varying and not isinstance(value.type, Tile)

    def divergent(self) -> Operation | None:
        """The innermost branch or loop around the open scope that threads of a block go through in different ways."""
        scope: ValueScope | None = self.scope
        while scope is not None and scope.owner is not None and self._varying is not None:
            op = scope.owner
            ways = op.args[:1] if op.code == "if" else op.args[:3] if op.code == "for" else op.regions[0].ops[-2].args
            if not self._varying.isdisjoint(ways):
                return op
            scope = scope.outer
        return None

    def count_of(self, loop: Operation) -> Value:
        """The number of iterations that a `loop` had."""
        if loop not in self.counts:
            self._check_replay(self.scope)
            self.counts[loop] = self._hand_over(I32, self.region_of_op(loop))
        return self.counts[loop]

    def region_of_op(self, op: Operation) -> Region:
        """The region that an operation stands in: that of the open scopes which has it."""
        scope: ValueScope | None = self.scope
        while scope is not None:
            if op in scope.region.ops:
                return scope.region
            scope = scope.outer
        raise AssertionError("an operation outside of all open scopes")

    def _hand_over(self, t: Type, region: Region, name: str = "") -> Value:
        value = Value(t, name=name)
        self.region_of[value] = region
        self.handed.add(value)
        return value

    # -- values -----------------------------------------------------------------------------------------------------

    def primal(self, value: Value, scope: ValueScope | None = None) -> Value:
        """`value` of the forward code, as a value that can be used in `scope`, by default the innermost."""
        home = self.region_of[value]
        at = scope or self.scope
        while at.region is not home:
            assert at.outer is not None, "a value of a region that is not being reversed"
            at = at.outer
        if at.outer is None:
            return value
        if value not in at.found:
            self._find(value, at)
        return at.found[value]

    def _find(self, value: Value, scope: ValueScope) -> None:
        op = value.op
        if op is None and scope.owner is not None and scope.owner.code == "for" and value is scope.region.params[0]:
            assert scope.index is not None
            scope.found[value] = scope.index
        elif op is not None and value not in self.handed and self.is_repeatable(op):
            self._repeat(op, scope)
        else:
            scope.found[value] = self._carry(value, scope)

    def _carry(self, value: Value, scope: ValueScope) -> Value:
        if any(isinstance(t, Array) for t in leaf_types(value.type)):
            raise NotDifferentiable("an array that a loop or branch chooses cannot be differentiated", value.op)
        owner = scope.owner
        assert owner is not None and scope.outer is not None
        self._check_replay(scope)
        if owner.code != "if":
            scope.inputs[value] = Value(value.type, name=value.name)
            return scope.inputs[value]
        result = self._hand_over(value.type, self.region_of_op(owner), value.name)
        self.exposed.setdefault(owner, []).append((owner.regions.index(scope.region), value, result))
        return self.primal(result, scope.outer)

    def _check_replay(self, scope: ValueScope | None) -> None:
        """Refuse to ask for what a function computed inside where its replay runs in its place."""
        while scope is not None:
            if scope.owner is not None and scope.owner.code == "custom":
                name = scope.owner.attr.callee.name
                why = f"the gradient of `{name}` needs values from inside of it, and its replay gives the results only"
                raise NotDifferentiable(f"{why}: give it a gradient as well, with @wp.func_grad({name})", scope.owner)
            scope = scope.outer

    # -- computing again --------------------------------------------------------------------------------------------

    def is_repeatable(self, op: Operation) -> bool:
        """True if an operation returns the same value when it is executed again later, at little cost."""
        if op not in self._repeatable:
            self._repeatable[op] = self._decide(op)
        return self._repeatable[op]

    def _decide(self, op: Operation) -> bool:
        if op.code == "load":
            return not any(may_alias(op.args[0], w, self.shared) for w in self.written)
        if op.code == "call":
            reads = any(inner.code == "load" for inner in op.attr.body.walk())
            return not has_effects(op.attr) and not (reads and self.written)
        if op.code == "custom":
            return False
        if op.code in _REPEATED_INSIDE:
            return all(self.is_repeatable(inner) for r in op.regions for inner in r.ops if inner.code != "yield")
        return op.code == "tile_of_threads" or (OPS[op.code].pure and not op.regions)

    def _repeat(self, op: Operation, scope: ValueScope) -> None:
        copy = self._copy(op, scope, {})
        scope.found.update(zip(op.results, copy.results))
        scope.prologue.append(copy)

    def _copy(self, op: Operation, scope: ValueScope, inside: dict[Value, Value]) -> Operation:
        copy = Operation(op.code, [inside.get(a) or self.primal(a, scope) for a in op.args], op.attr, op.loc)
        copy.results = tuple(Value(v.type, copy, i, v.name) for i, v in enumerate(op.results))
        regions = []
        for region in op.regions:
            new = Region([Value(p.type, name=p.name) for p in region.params])
            local = {**inside, **dict(zip(region.params, new.params))}
            for inner in region.ops:
                made = self._copy(inner, scope, local)
                local.update(zip(inner.results, made.results))
                new.ops.append(made)
            regions.append(new)
        copy.regions = tuple(regions)
        return copy
