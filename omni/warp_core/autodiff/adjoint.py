"""The adjoint of a kernel: the IR of a kernel that adds to the gradients of its arrays. Start with `adjoint_kernel`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..ir.builder import Builder
from ..ir.nodes import Function, Operation, Region, Value
from ..lang.errors import NotDifferentiable
from ..lang.types import Array
from ..passes.checks import drop_asserts
from ..passes.dce import dce
from ..passes.inline import inline_calls
from ..passes.simplify import simplify
from .forward import Forward
from .leaves import Leaves, assemble, is_active, is_float, leaf_of, leaf_types
from .reverse import Reverse
from .scope import is_local, origin
from .single_exit import single_exit

Given = Callable[[Function], Function | None]


class Adjoint(NamedTuple):
    """An adjoint kernel.

    `reads` says of each parameter whether the adjoint reads what its arrays held before the launch. One that `replays`
    the launch writes to arrays as well; those count as read, as it must be given copies.
    """

    function: Function
    reads: tuple[bool, ...]
    replays: bool


def adjoint_kernel(function: Function, given: Given, shared: bool = False) -> Adjoint:
    """The adjoint of a kernel.

    Args:
        function: the kernel, as the front end made it.
        given: finds the gradient that is written down for a function, or None.
        shared: whether arrays of different parameters may share memory.

    Raises:
        NotDifferentiable: the kernel does something that has no derivative.
    """
    prepared = _prepare(function, given)
    adjoint, replays = _assemble(prepared, False, shared, given), False
    if _reads_what_it_wrote(prepared, adjoint, shared):
        adjoint, replays = _assemble(prepared, True, shared, given), True
    return Adjoint(adjoint, _reads(adjoint), replays)


def _prepare(function: Function, given: Given) -> Function:
    flat = inline_calls(
        function, lambda callee: not callee.is_library or (_loops(callee) and not _is_given(callee, given))
    )
    drop_asserts(flat)
    return single_exit(simplify(flat))


def _is_given(callee: Function, given: Given) -> bool:
    """Whether the gradient of a function is written down, or refused."""
    try:
        return given(callee) is not None
    except NotDifferentiable:
        return True


def _loops(function: Function) -> bool:
    """Whether a function has loops, whose stash is its caller's."""
    return any(op.code in ("for", "loop") or (op.code == "call" and _loops(op.attr)) for op in function.body.walk())


def _assemble(function: Function, replay: bool, shared: bool, given: Given) -> Function:
    params = [Value(p.type, name=p.name) for p in function.params]
    seeds = [Value(t, name="adjoint") for t in function.results if is_active(t)]
    reverse = Reverse(function, shared, given, partial(callee_adjoint, given=given))
    reverse.b.push()
    rest = iter(seeds)
    reverse.run([_taken_apart(reverse.b, next(rest)) if is_active(t) else [] for t in function.results])
    adjoints = [] if function.is_kernel else [_of_param(reverse, p) for p in function.params if is_active(p.type)]
    after = reverse.b.pop()
    results = tuple(v.type for v in adjoints)
    new = Function(f"{function.name}.adjoint", [*params, *seeds], results, function.is_kernel, function.loc)
    new.is_library = function.is_library
    forward = Forward(reverse, replay)
    b = Builder(new)
    forward.run(b, params)
    known = {**reverse.known, **dict(zip(reverse.start, forward.top))}
    linker = _Linker(known, forward.values)
    linker.link(after)
    new.body.ops += after.ops
    b.terminate("return", [linker.resolve(v) for v in adjoints])
    dce(new)
    return new


def _taken_apart(b: Builder, value: Value) -> Leaves:
    return [leaf_of(b, value, i) if is_float(t) else None for i, t in enumerate(leaf_types(value.type))]


def _of_param(reverse: Reverse, param: Value) -> Value:
    found = reverse.scope.adjoints.get(param) or [None] * len(leaf_types(param.type))
    return assemble(reverse.b, param.type, found)


class _Linker:
    """Connects the reverse code with the values of the forward code."""

    def __init__(self, known: dict[Value, Value], forward: dict[Value, Value]):
        self.known, self.forward = known, forward
        self.inside: set[Value] = set()

    def link(self, region: Region) -> None:
        self.inside.update(region.params)
        for op in region.ops:
            op.args = [self.resolve(a) for a in op.args]
            self.inside.update(op.results)
            for inner in op.regions:
                self.link(inner)

    def resolve(self, value: Value) -> Value:
        """What a value of the reverse code is in the whole."""
        while value in self.known:
            value = self.known[value]
        return value if value in self.inside else self.forward.get(value, value)


def _accessed(adjoint: Function) -> list[Value]:
    """The arrays that the forward code in an adjoint reads or, replaying the launch, writes."""
    codes = ("load", "store", "atomic")
    return [op.args[0] for op in adjoint.body.walk() if op.code in codes and not _is_private(op)]


def _reads_what_it_wrote(prepared: Function, adjoint: Function, shared: bool) -> bool:
    """Whether what is left of the forward code reads arrays that the kernel writes."""
    twin = dict(zip(adjoint.params, prepared.params))
    written = [a for op in prepared.body.walk() if op.code in ("store", "atomic") and not is_local(a := op.args[0])]

    def meet(read: Value, write: Value) -> bool:
        if read.type.dtype is not write.type.dtype:
            return False
        first, second = origin(read), origin(write)
        return shared or first is None or second is None or twin.get(first) is second

    return any(meet(r, w) for r in _accessed(adjoint) for w in written)


def _reads(adjoint: Function) -> tuple[bool, ...]:
    """For each parameter, whether the forward code reads or writes arrays of it."""
    found = [(origin(a), a.type.dtype) for a in _accessed(adjoint)]
    unclear = {t for source, t in found if source is None}
    known = {source for source, _ in found}
    return tuple(
        p in known or any(isinstance(leaf, Array) and leaf.dtype in unclear for leaf in leaf_types(p.type))
        for p in adjoint.params
    )


def _is_private(op: Operation) -> bool:
    """Whether an access goes to a gradient or to the stash."""
    source = op.args[0].op
    while source is not None and source.code == "slice":
        source = source.args[0].op
    return source is not None and source.code in ("grad", "stash", "alloca")


_adjoints: WeakKeyDictionary[Function, Function] = WeakKeyDictionary()


def callee_adjoint(callee: Function, given: Given) -> Function:
    """The adjoint of a function without effects: (arguments, adjoints of results) -> adjoints of arguments."""
    if callee not in _adjoints:
        _adjoints[callee] = _assemble(_prepare(callee, given), False, False, given)
    return _adjoints[callee]
