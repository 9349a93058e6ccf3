"""Functions whose gradient, or whose replay, the user gave.

A call of one becomes an operation `custom`, which exists in this package only. Its region is the body of the function,
so that analyses of memory accesses see them. Its `attr` is a `Custom`. The forward code runs the body, or the replay;
the reverse code runs the user's gradient, or else reverses the body.

Gradients and replays see arrays as the launch left them. That is what the function left there only if no other code
of the kernel writes to them, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...ir.analysis.alias import identified_object, is_gradient, is_local, is_made_by, location, may_alias
from ...ir.clone import Rewriter, copy_region
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import Array, members
from ..analysis.leaves import assemble, leaf_types
from .earlier_values import first_read
from .own_places import have_own_places

if TYPE_CHECKING:
    from ..vjp.primal_pass import PrimalPass
    from ..vjp.reverse_pass import Reverse

Prepare = Callable[[Function], Function]


@dataclass(frozen=True)
class Custom:
    """A call with custom rules: the function, and its gradient and replay as finished IR."""

    callee: Function
    gradient: Function | None
    replay: Region | None


def is_custom(callee: Function) -> bool:
    """True if the user gave a gradient or a replay for a function."""
    return callee.gradient is not None or callee.replay is not None


def expand_customs(function: Function, prepare: Prepare, whole: Prepare) -> Function:
    """Turn calls of such functions into `custom` operations, in place.

    `prepare` makes a function fit for a region. `whole` also does away with calls of custom functions in it, for what
    runs once and is not differentiated itself.
    """
    for op in list(function.body.walk()):
        if op.code == "call" and is_custom(op.attr):
            callee = op.attr
            replay = callee.replay and _body(whole(callee.replay), op)
            gradient = callee.gradient and whole(callee.gradient)
            op.regions = (_body(prepare(callee), op),)
            op.code, op.attr = "custom", Custom(callee, gradient, replay)
    return function


def _body(callee: Function, call: Operation) -> Region:
    """The body of a function for the arguments of a call."""
    shell = Region()
    shell.ops = callee.body.ops
    return copy_region(shell, dict(zip(callee.params, call.args)))


# -- forward --------------------------------------------------------------------------------------------------------


def forward_custom(forward: PrimalPass, op: Operation) -> None:
    """Compute the results of a custom function again."""
    region = op.attr.replay or op.regions[0]
    own = {a for a in _changed_by(op.regions[0]) if a is not None and a.op is not None}
    if not own <= _changed_by(region):
        name = op.attr.callee.name
        why = f"`{name}` changes an array that the kernel made, and its replay leaves that as it was"
        raise NotDifferentiable(f"{why}: write it in the replay as well", op)
    outer = forward.replaying
    forward.replaying = op if op.attr.replay else outer
    forward.visit_ops(region.ops[:-1])
    forward.define(op, forward.args(region.terminator))
    forward.replaying = outer


# -- reverse --------------------------------------------------------------------------------------------------------


def reverse_custom(reverse: Reverse, op: Operation) -> None:
    """Add to the adjoints of the arguments of a custom function, and to gradients of arrays."""
    given = [reverse.take(v) for v in op.results]
    if reverse.clearing:
        reverse.inline(op, [None] * len(op.results))
        return
    if all(g is None for g in given) and not _changed_by(op.regions[0]):
        return
    if op.attr.gradient is None:
        reverse.inline(op, given)
        return
    seeds = [assemble(reverse.b, v.type, g or [None] * len(leaf_types(v.type))) for v, g in zip(op.results, given)]
    args = [reverse.scopes.primal(a) for a in op.args]
    found = _Spliced(reverse, op).run(op.attr.gradient, [*args, *seeds])
    if op.attr.callee.gradient.left:
        clear_behind(reverse, op)
    flat = [g for leaves in given if leaves for g in leaves if g is not None]
    if _reads_gradients(op.attr.gradient):
        flat = []
    for a, x in zip((a for a in op.args if a.type.is_differentiable), found):
        reverse.add_chosen(a, x, flat)


def clear_behind(reverse: Reverse, op: Operation) -> None:
    """Clear the gradients of elements that a custom function sets and its gradient leaves: what was there before has no
    effect. The code of the function is reversed once more, for the places of its stores.
    """
    name = op.attr.callee.name
    found = [location(_member(op.args[param], way)) for param, way in op.attr.callee.gradient.left]
    arrays = frozenset(place for place in found if place is not None)
    if None in found:
        why = f"`{name}` sets elements of an array that is not known here, and its gradient leaves theirs"
        raise NotDifferentiable(f"{why}: clear them there, `wp.adjoint[x][i] = 0.0`", op)
    stores = [inner for inner in op.regions[0].walk() if _sets(inner) and location(inner.args[0]) in arrays]
    for inner in stores:
        if inner.code == "atomic":
            why = f"`{name}` sets elements by a wp.atomic_{inner.attr[0]}, and its gradient leaves theirs"
            raise NotDifferentiable(f"{why}: clear them there, `wp.adjoint[x][i] = 0.0`", inner)
    read = first_read(op.regions[0], [inner.args[0] for inner in stores], reverse.scopes.shared)
    if read is not None:
        why = f"`{name}` reads here from an array of which it sets elements, and its gradient leaves theirs"
        helps = "set them there, `wp.adjoint[x][i] = ...`, to 0.0 where what was there before has no effect"
        raise NotDifferentiable(f"{why}, so that it does not say what becomes of what was there before: {helps}", read)
    outer, reverse.clearing = reverse.clearing, arrays
    reverse.inline(op, [None] * len(op.results))
    reverse.clearing = outer


def _sets(op: Operation) -> bool:
    """True if an operation sets an element of an array, other than by adding to it."""
    return op.code == "store" or (op.code == "atomic" and op.attr[0] not in ("add", "sub"))


def _member(whole: Value, way: tuple[int, ...]) -> Value:
    """The member of a value that members lead to, as an operation in no region gives it."""
    for number in way:
        made = Operation("extract", [whole], number)
        made.results = (Value(members(whole.type)[number], made),)
        whole = made.result
    return whole


def _reads_gradients(gradient: Function) -> bool:
    """True if it consumes gradients of arrays, so that its results depend on more than the cotangents."""
    reads = (op for op in gradient.body.walk() if op.code in ("load", "call"))
    return any(isinstance(a.type, Array) and is_gradient(a) for op in reads for a in op.args)


def _changed_by(region: Region) -> set[Value | None]:
    """The arrays that code writes to and does not make itself, as `identified_object` has them."""
    made = {op.result for op in region.walk() if op.code == "alloca"}
    return {identified_object(op.args[0]) for op in region.walk() if op.code in ("store", "atomic")} - made


def read_final(reverse: Reverse, custom: Operation, op: Operation, array: Value, new: Value) -> None:
    """Let a load read what the launch left, as the code for `custom` does. `new` is the load in the adjoint, `op` the
    load that it comes from, and `array` an array of the function that is differentiated.
    """
    _check_final(reverse, array, custom, op)
    assert new.op is not None
    reverse.final.add(new.op)


def _check_final(reverse: Reverse, array: Value, custom: Operation, at: Operation) -> None:
    """Refuse to read an array as the launch left it where something else than the function itself writes to it."""
    rest = [reverse.function.body]
    while rest:
        for op in rest.pop().ops:
            if op.code == "custom" and op.attr.callee is custom.attr.callee:
                continue
            rest += op.regions
            if op.code in ("store", "atomic") and may_alias(array, op.args[0], reverse.scopes.shared):
                name = custom.attr.callee.name
                why = f"what the user gave for the gradient of `{name}` reads an array as the launch leaves it"
                raise NotDifferentiable(f"{why}, and the kernel writes to that array outside of `{name}` too", op)


def check_own_places(
    reverse: Reverse, custom: Operation, op: Operation, array: Value, given: Mapping[Value, Value] | None = None
) -> None:
    """Refuse a load `op` in the gradient or replay of a function where a thread may have called the function again,
    and overwritten what the call for `custom` left. `given` as for `have_own_places`.
    """
    if not have_own_places(reverse.function, custom, array, op, given or {}, reverse.scopes.shared):
        name = custom.attr.callee.name
        why = f"`{name}` writes to an array that its gradient or replay reads, and a thread may call it again"
        helps = (
            "give each call a place of its own, and read that one alone. Its index is a sum of what stays the same, of "
            "constants, and of numbers that count iterations"
        )
        raise NotDifferentiable(f"{why} for the same elements: {helps}", custom)


class _Spliced(Rewriter):
    """Puts a user's gradient into the reverse code. Gradients of arrays that have none are passed over."""

    def __init__(self, reverse: Reverse, op: Operation):
        super().__init__()
        self.b, self._reverse, self._op = reverse.b, reverse, op
        self._origins: dict[Value, Value] = {}  # parameters: the argument as the function's own body has it
        for code in ("load", "store", "atomic"):
            self._visitors[code] = self._access

    def run(self, gradient: Function, args: list[Value]) -> list[Value]:
        self._origins.update(zip(gradient.params, self._op.args))
        self.values.update(zip(gradient.params, args))
        written = [op.args[0] for op in gradient.body.walk() if op.code in ("store", "atomic")]
        self._rooms = {location(self._original(a)) for a in written if not (is_gradient(a) or is_local(a))}
        self.visit_ops(gradient.body.ops[:-1])
        return self.args(gradient.body.terminator)

    def visit_alloca(self, op: Operation) -> None:
        new = Operation("alloca", [], op.attr, op.loc)
        new.results = (Value(op.attr, new, name=op.result.name),)
        self._reverse.prelude.append(new)
        self.values[op.result] = new.result

    def visit_grad(self, op: Operation) -> None:
        given = self._origins.get(op.args[0])
        if self._reverse.constant:
            self.values[op.result] = self.b.zero(op.result.type)
        elif given is None:
            self._copy(op)
        else:
            self.values[op.result] = self._reverse.gradient(given)

    def visit_stash(self, op: Operation) -> None:
        raise NotDifferentiable("wp.grad of a function with loops cannot be used in a gradient", op)

    def _access(self, op: Operation) -> None:
        array = op.args[0]
        if is_local(array):
            self._copy(op)
        elif is_gradient(array):
            self._guarded(op)
        elif location(self._original(array)) in self._rooms:
            self._in_room(op)
        else:
            self._copy(op)
            check_own_places(self._reverse, self._op, op, self._original(array), self._origins)
            read_final(self._reverse, self._op, op, self._original(array), self.values[op.result])

    def _original(self, array: Value) -> Value:
        """Return the array or struct of the caller that an array of the gradient, or a struct of arrays, comes from."""
        op = array.op
        if op is None:
            return self._origins[array]
        base = self._original(op.args[0]) if op.code in ("slice", "extract") else array
        return _member(base, (op.attr,)) if op.code == "extract" else base

    def _in_room(self, op: Operation) -> None:
        """An access of an array that is no gradient and is written to: the adjoint is given a copy of it."""
        array, shared = self._original(op.args[0]), self._reverse.scopes.shared
        for inner in self._reverse.function.body.walk():
            touched = inner.args if inner.code in ("load", "store", "atomic", "call") else ()
            if any(isinstance(a.type, Array) and may_alias(array, a, shared) for a in touched):
                why = "a gradient writes to `wp.adjoint[...]`, and to arrays that the kernel leaves alone"
                raise NotDifferentiable(f"{why}: give it another array for what it computes", op)
        self._copy(op)

    def _guarded(self, op: Operation) -> None:
        args = self.args(op)
        if is_local(args[0]):
            self._copy(op)
            return
        if is_made_by(args[0], "zero"):
            self.define(op, [self.b.zero(v.type) for v in op.results])
            return
        present = self.b.op("not", self.b.op("is_null", args[0]))
        types = [] if op.code == "store" else [op.results[0].type]
        self.b.push()
        made = self.b.op(op.code, *args, attr=op.attr)
        self.b.terminate("yield", [made] if types else [])
        then = self.b.pop()
        self.b.push()
        self.b.terminate("yield", [self.b.zero(t) for t in types])
        self.define(op, self.b.emit("if", [present], None, (then, self.b.pop()), types))
