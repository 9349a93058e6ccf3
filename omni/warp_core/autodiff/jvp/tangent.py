"""Forward mode: the IR of a function that computes tangents beside values. Start with `tangent_kernel`.

A tangent says how fast a value changes while the inputs change in a given direction. Every value is kept as it was, and
with it one tangent for each leaf (`leaves`). For a number its rate of change, for an array another array of the same
type whose elements are the tangents of its elements. As both are computed in the order of the program, control flow,
overwriting and memory need no care: what is done to a value is done to its tangent beside it.

The rules of arithmetic are those of reverse mode (`scalar_rules`). The part of an operand's tangent is the rule's
adjoint of that operand, with the tangent in place of the adjoint of the result. Functions whose gradient is written
down, by the library or the user, are differentiated by it, one result at a time. Replays are of no use here: nothing is
computed again.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ...ir.analysis.alias import is_local
from ...ir.analysis.effects import written_params
from ...ir.builder import Builder
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import Array, Type
from ...passes.dce import dce, has_effects
from ...passes.inline import inline_calls
from ..analysis.factor_escape import escaping, numbers_of, report_if_moved
from ..analysis.leaves import assemble, bitcasts_floats, leaf_of, leaf_types
from ..analysis.structure_stores import BY_ADDRESS, is_store_by_address, refuse_store
from ..rules.provider import DerivativeRules, calls_surrogate
from ..vjp.reverse_atomics import plain_local_atomics
from .tangent_values import Tangents, Unknown, ValueTangents, has_tangent, numbered_leaves, slot_types

Mask = tuple[bool, ...]


def required(function: Function, given: DerivativeRules) -> Mask:
    """Return the parameters that need a tangent even if it is zero: arrays that a kernel writes, arrays that it selects
    among, and structs with arrays.
    """
    return _required(_flat(function, given))


def tangent_kernel(function: Function, active: Mask, given: DerivativeRules) -> Function:
    """The kernel that computes tangents as well.

    Args:
        function: the kernel, as the front end made it.
        active: for each parameter, whether it has a tangent. The tangents of those that have follow the parameters, in
            their order and of their types. It includes what is `required`.
        given: finds what is written down for a function.

    Raises:
        NotDifferentiable: the kernel does something that has no derivative.
    """
    flat = _flat(function, given)
    assert all(a or not r for a, r in zip(active, _required(flat))), "a parameter without the tangent that it needs"
    if is_nearby(flat, given):
        _refuse_counters(flat)
    return _Forward(given).run(flat, active)


def is_nearby(function: Function, given: DerivativeRules) -> bool:
    """True if tangent kernels of a kernel may compute values for arguments nearby: surrogates replace library functions
    that have no derivative at some points.
    """
    return calls_surrogate(function, given)


def _refuse_counters(flat: Function) -> None:
    """Refuse what gives something else when the kernel runs once more, for its values."""
    ops = list(flat.body.walk())
    used = {a for op in ops for a in op.args}
    for op in ops:
        if op.code == "atomic" and not is_local(op.args[0]) and op.results[0] in used:
            why = "a kernel that factors matrices runs twice in forward mode"
            raise NotDifferentiable(f"{why}, and this atomic finds something else then: use two kernels", op)


_functions: WeakKeyDictionary[Function, dict[Mask, Function]] = WeakKeyDictionary()


def tangent_function(function: Function, active: Mask, given: DerivativeRules) -> Function:
    """The function (arguments, tangents of the active ones) -> results, tangents of those that have any."""
    known = _functions.setdefault(function, {})
    if active not in known:
        known[active] = _Forward(given).run(_flat(function, given), active)
    return known[active]


def _flat(function: Function, given: DerivativeRules) -> Function:
    """`function` with what has no gradient of its own inlined, except for library functions without arrays."""

    def chosen(callee: Function) -> bool:
        if not callee.is_library:
            return callee.gradient is None
        if not any(isinstance(x, Array) for t in _signature(callee) for x in leaf_types(t)):
            return False
        return given(callee) is None

    return plain_local_atomics(inline_calls(function, chosen))


def _signature(function: Function) -> list[Type]:
    return [*(p.type for p in function.params), *function.results]


def _required(flat: Function) -> Mask:
    chosen = _chosen_elements(flat.body)

    def needs(t: Type, written: bool) -> bool:
        if isinstance(t, Array):
            return t.dtype.is_differentiable and (written or t.dtype in chosen)
        return any(isinstance(leaf, Array) and leaf.dtype.is_differentiable for leaf in leaf_types(t))

    return tuple(needs(p.type, written) for p, written in zip(flat.params, written_params(flat)))


def _chosen_elements(body: Region) -> set[Type]:
    """The element types of arrays that control flow or a selection chooses."""
    found: set[Type] = set()
    for op in body.walk():
        values = [*op.results, *(p for region in op.regions for p in region.params)]
        if op.regions or op.code == "select":
            found.update(t.dtype for v in values for t in leaf_types(v.type) if isinstance(t, Array))
    return found


class _Forward(ValueTangents):
    """Rebuilds a function with tangents beside its values."""

    def __init__(self, given: DerivativeRules):
        super().__init__()
        self.given = given

    def run(self, function: Function, active: Mask) -> Function:
        self._takes_bits = bitcasts_floats(function)
        params = [Value(p.type, name=p.name) for p in function.params]
        moved = [Value(p.type, name=f"{p.name}_tangent") for p, a in zip(function.params, active) if a]
        results = (*function.results, *(t for v in function.results for t in slot_types(v)))
        new = Function(f"{function.name}.tangent", [*params, *moved], results, function.is_kernel, function.loc)
        new.is_library, new.is_cold = function.is_library, function.is_cold
        self._escaping = escaping(function, lambda callee: self.given.surrogate(callee) is not None)
        self.b = Builder(new)
        self.values.update(zip(function.params, params))
        for p, tangent in zip((p for p, a in zip(function.params, active) if a), moved):
            self._set(p, [leaf_of(self.b, tangent, i) if has_tangent(t) else None for i, t in numbered_leaves(p)])
        self.visit_ops(function.body.ops)
        dce(new)
        return new

    # -- calls ------------------------------------------------------------------------------------------------------

    def visit_call(self, op: Operation) -> None:
        """A function without arrays, or one whose gradient is written down."""
        if not any(map(self._is_moving, op.args)):
            super().visit_call(op)
            return
        callee = op.attr
        surrogate = self.given.surrogate(callee)
        if surrogate is not None:
            self._by_stand_in(op, surrogate)
            return
        gradient = self.given(callee) if callee.is_library else callee.gradient
        if gradient is None:
            self._call_tangent(op)
            return
        if not callee.is_library:  # gradients of the library go to no arrays
            _refuse_effects(callee, gradient, op)
        super().visit_call(op)
        self._by_gradient(op, gradient)

    def _call_tangent(self, op: Operation) -> None:
        mask = tuple(map(self._is_moving, op.args))
        callee = tangent_function(op.attr, mask, self.given)
        moved = [self._whole(a) for a, active in zip(op.args, mask) if active]
        found = self.b.emit("call", [*self.args(op), *moved], callee, results=callee.results)
        self.define(op, found)
        self._spread(op.results, found[len(op.results) :])

    def _by_stand_in(self, op: Operation, surrogate: Function) -> None:
        """Values and tangents of what stands in for a function."""
        rule = self.given.tangent(surrogate)
        if rule is None:
            raise NotDifferentiable(f"wp.{_name(op.attr)} has no second derivative in forward mode", op)
        found = self.b.emit("call", self.args(op), surrogate, results=surrogate.results)
        self.define(op, found[: len(op.results)])
        moved = [self._whole(a) for a in op.args if a.type.is_differentiable]
        if op in self._escaping:
            report_if_moved(self.b, found[-2], numbers_of(self.b, moved))
        tangents = self.b.emit("call", [*self.args(op), *found, *moved], rule, results=rule.results)
        for v, t in zip(op.results, tangents):
            self._set(v, [leaf_of(self.b, t, i) for i, _ in numbered_leaves(v)])

    def _by_gradient(self, op: Operation, gradient: Function) -> None:
        """Tangents of results: for each leaf, its gradient times the tangents of the arguments. These gradients go to
        no arrays, also not to those in structs.
        """
        active = [v for v in op.results if v.type.is_differentiable]
        args = [*self.args(op), *(self.values[v] for v in op.results if op.attr.is_library)]
        of = [a for a in op.args if a.type.is_differentiable]
        moving = [self._numbers_in(a) for a in of]

        def along(value: Value, leaf: int) -> Value | None:
            seeds = []
            for v in active:
                one: list[Value | None] = [None] * len(leaf_types(v.type))
                if v is value:
                    one[leaf] = self.b.const(1.0, leaf_types(v.type)[leaf])
                seeds.append(assemble(self.b, v.type, one))
            found = self.b.emit("call", [*args, *seeds], gradient, results=gradient.results)
            parts = []
            for x, tangents in zip(found, moving):
                for i, t in enumerate(tangents):
                    if t is not None:
                        product = self.b.op("mul", _as(self.b, leaf_of(self.b, x, i), t.type), t)
                        parts.append(self._unless_zero(t, product))
            return self._sum([_as(self.b, p, leaf_types(value.type)[leaf]) for p in parts])

        for v in active:
            self._set(v, [along(v, i) if has_tangent(t) else None for i, t in numbered_leaves(v)])

    # -- memory -----------------------------------------------------------------------------------------------------

    def _array(self, array: Value) -> Value | None:
        """The array of the tangents of an array; None if they are zero."""
        return self._known(self._of(array))[0]

    def _alloca(self, op: Operation) -> Tangents:
        return [self.b.op("alloca", attr=op.attr)]

    def _slice(self, op: Operation) -> Tangents:
        (array,) = self._of(op.args[0])
        if array is None or isinstance(array, Unknown):
            return [array]
        return [self.b.op("slice", array, *self.args(op)[1:], attr=op.attr)]

    def _view_at(self, op: Operation) -> Tangents:
        (array,) = self._of(op.args[0])
        return [array if array is None else Unknown(BY_ADDRESS, op)]

    def _load(self, op: Operation) -> Tangents:
        array = self._array(op.args[0])
        found = array and self.b.op("load", array, *self.args(op)[1:], attr=op.attr)
        inner = Unknown("arrays found in elements of arrays have no tangent: pass them as arguments", op)

        def leaf(i: int, t: Type) -> Value | Unknown | None:
            if isinstance(t, Array):
                return inner
            return found and leaf_of(self.b, found, i)

        return [leaf(i, t) if has_tangent(t) else None for i, t in numbered_leaves(op.result)]

    def visit_store(self, op: Operation) -> None:
        super()._copy(op)
        *place, value = op.args
        if value.type.is_differentiable:
            array = self._array(place[0])
            if array is None and self._is_moving(value) and is_store_by_address(op):
                raise refuse_store(op)
            if array is not None:
                indices = [self.values[i] for i in place[1:]]
                self.b.op("store", array, *indices, self._numbers(value), attr=op.attr)

    def _numbers_in(self, value: Value) -> list[Value | None]:
        """The tangents of the leaves of a value, None for arrays."""
        parts = zip(self._of(value), numbered_leaves(value))
        return self._known([None if isinstance(t, Array) else x for x, (_, t) in parts])

    def _numbers(self, value: Value) -> Value:
        """The tangent of a value with zeros for the arrays in it, whose tangents are not looked for in memory."""
        return assemble(self.b, value.type, self._numbers_in(value))

    def visit_atomic(self, op: Operation) -> None:
        super()._copy(op)
        kind, _ = op.attr
        value = op.args[-1]
        if not value.type.is_differentiable:
            return
        if kind not in ("add", "sub"):
            raise NotDifferentiable(f"an atomic {kind} of floating point numbers has no tangent", op)
        reason = f"what an atomic {kind} found in memory depends on the order of threads"
        self._set(op.result, self._unknown(op.result, reason, op))
        array = self._array(op.args[0])
        if array is not None and self._is_moving(value):
            indices = [self.values[i] for i in op.args[1:-1]]
            self.b.op("atomic", array, *indices, self._whole(value), attr=op.attr)

    # -- control flow -----------------------------------------------------------------------------------------------

    def visit_if(self, op: Operation) -> None:
        sides = []
        for region in op.regions:
            self.b.push()
            self.visit_ops(region.ops[:-1])
            end = region.terminator
            if end.code != "yield":
                self.b.loc = end.loc
                self._visitors[end.code](end)
            sides.append((self.b.pop(), end, [x for a in end.args for x in self._of(a)]))
        yielding = [leaves for _, end, leaves in sides if end.code == "yield"]
        types = [t for v in op.results for _, t in numbered_leaves(v)]
        unknown = {k: x for leaves in yielding for k, x in enumerate(leaves) if isinstance(x, Unknown)}
        slots = [k for k in range(len(types)) if k not in unknown and any(g[k] is not None for g in yielding)]
        self.b.loc = op.loc
        for made, end, leaves in sides:
            if end.code == "yield":
                moved = [self._or_zero(leaves[k], types[k]) for k in slots]  # type: ignore[arg-type]
                made.ops.append(Operation("yield", [*self.args(end), *moved], None, end.loc))
        results = [*(v.type for v in op.results), *(types[k] for k in slots)]
        found = self.b.emit("if", self.args(op), op.attr, tuple(made for made, *_ in sides), results)
        self.define(op, found)
        at: dict[int, Value | Unknown] = {**dict(zip(slots, found[len(op.results) :])), **unknown}
        k = 0
        for v in op.results:
            self._set(v, [at.get(k + i) for i, _ in numbered_leaves(v)])
            k += len(leaf_types(v.type))

    def visit_for(self, op: Operation) -> None:
        region, first = op.regions[0], 1 if op.code == "for" else 0
        carried = region.params[first:]
        types = [t for v in carried for t in slot_types(v.type)]
        new = self.b.push([*(p.type for p in region.params), *types], [p.name for p in region.params])
        self.values.update(zip(region.params, new))
        self._spread(carried, new[len(region.params) :])
        self._level += 1
        self._targets.append(self._level)
        self.visit_ops(region.ops)
        self._targets.pop()
        self._level -= 1
        body = self.b.pop()
        self.b.loc = op.loc
        start = self._dense(op.args[len(op.args) - len(carried) :])
        results = [*(v.type for v in op.results), *(t for v in op.results for t in slot_types(v.type))]
        found = self.b.emit(op.code, [*self.args(op), *start], op.attr, (body,), results)
        self.define(op, found)
        self._spread(op.results, found[len(op.results) :])

    visit_loop = visit_block = visit_for

    def _terminator(self, op: Operation) -> None:
        self.b.terminate(op.code, [*self.args(op), *self._dense(op.args)], op.attr)

    def visit_break(self, op: Operation) -> None:
        depth = self._level - self._targets[-1 - (op.attr or 0)]
        self.b.terminate(op.code, [*self.args(op), *self._dense(op.args)], depth)

    visit_continue = visit_break


def _refuse_effects(callee: Function, gradient: Function, op: Operation) -> None:
    """A gradient says what goes back to arrays, and nothing of the tangents of arrays that the function writes."""
    name = _name(callee)
    if has_effects(gradient):
        raise NotDifferentiable(f"`{name}` has a gradient of its own, which goes to arrays and gives no tangent", op)
    if has_effects(callee):
        raise NotDifferentiable(
            f"`{name}` writes to arrays and has a gradient of its own, which gives no tangent of what is written", op
        )


def _name(callee: Function) -> str:
    return callee.name.partition("#")[0]


def _as(b: Builder, x: Value, t: Type) -> Value:
    return b.op("cast", x, attr=t)
