"""The adjoint of a kernel: the IR of a kernel that adds to the gradients of its arrays. Start with `adjoint_kernel`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ...ir.analysis.alias import (
    identified_object,
    is_gradient,
    is_local,
    is_made_by,
    is_own,
    location,
    may_alias,
)
from ...ir.analysis.effects import works_on_tiles, written_params
from ...ir.builder import Builder
from ...ir.clone import Rewriter
from ...ir.interp.block_runner import has_any
from ...ir.nodes import Function, Operation, Region, Value
from ...ir.ops import COUNTS, ELEMENT_OPS, WARP_OPS
from ...lang.errors import NotDifferentiable, NotReplayable
from ...lang.types import Array, Struct, Type
from ...passes.checks import drop_asserts
from ...passes.dce import dce
from ...passes.inline import inline_calls
from ...passes.load_elimination import eliminate_loads
from ...passes.simplify import simplify
from ..analysis.leaves import Leaves, assemble, leaf_of, leaf_types
from ..analysis.scalarize_structs import scalarize
from ..analysis.structure_stores import refuse_stores
from ..rules.custom_rules import expand_customs, is_custom
from ..rules.provider import DerivativeRules, calls_surrogate
from .primal_pass import PrimalPass
from .read_time import AFTER, BEFORE, NOT
from .reverse_atomics import plain_local_atomics
from .reverse_pass import Reverse
from .single_exit import single_exit

_OF_BLOCKS = WARP_OPS | {"barrier"}
_LENDING = COUNTS | {"slice", "tile_from_memory"}
_NO_BLOCKS = (
    "kernels that work in blocks of threads (wp.shared_array, wp.syncthreads, …) have no gradient yet, tiles aside. "
    "Launch it with record_tape=False; for a gradient, record a function: tape.record_func(backward, arrays)"
)


class Adjoint(NamedTuple):
    """An adjoint kernel.

    `reads` says of each parameter whether the adjoint reads what its arrays held BEFORE or AFTER the launch. One that
    `replays` writes to arrays as well: those of the launch, or what a gradient of the user's computes in. They count as
    read, as it must be given copies.
    """

    function: Function
    reads: tuple[int, ...]
    replays: bool


def adjoint_kernel(function: Function, given: DerivativeRules, shared: bool = False) -> Adjoint:
    """The adjoint of a kernel.

    Args:
        function: the kernel, as the front end made it.
        given: finds what is written down for a function.
        shared: whether arrays of different parameters may share memory.

    Raises:
        NotDifferentiable: the kernel does something that has no derivative.
    """
    prepared = _prepare(function, given, shared)
    refuse_stores(prepared)
    _refuse_threads(prepared)
    replayed: set[Value] = set()  # arrays that the launch writes to, and the adjoint again
    while True:
        adjoint, final = _assemble(prepared, replayed, shared, given)
        more = _reads_what_it_wrote(prepared, adjoint, final, shared) - replayed
        if not more:
            writes = bool(replayed) or not all(map(is_own, _written(adjoint)))
            return Adjoint(adjoint, _reads(prepared, adjoint, final, shared), writes)
        replayed |= more


def _refuse_threads(prepared: Function) -> None:
    """Refuse what threads of a block do together besides tiles: memory of the block is accessed by the block alone."""
    by_block = {inner for op in prepared.body.walk() if op.code in ELEMENT_OPS for inner in op.regions[0].walk()}
    for op in prepared.body.walk():
        shared = [a for a in op.args if isinstance(a.type, Array) and is_made_by(a, "shared", "tile_to_memory")]
        is_access = op in by_block and op.code in ("load", "store", "atomic")
        meets = op.code in _OF_BLOCKS or (op.code == "call" and has_any(op.attr, _OF_BLOCKS | {"shared"}))
        is_known = works_on_tiles(op.attr) if op.code == "call" else is_access or op.code in _LENDING
        if (meets or shared) and not is_known:
            raise NotDifferentiable(_NO_BLOCKS, op)


def _prepare(function: Function, given: DerivativeRules, shared: bool = True) -> Function:
    """A function fit for reversing. Custom functions are prepared once, whatever calls of them there are."""
    stays = cache(partial(_stays, given=given))

    def prepare(function: Function, shared: bool) -> Function:
        flat = _flat(function, lambda callee: not is_custom(callee) and not stays(callee), shared)
        return expand_customs(_StandIns(given).rewrite(flat), prepare_callee, whole)

    prepare_callee = cache(partial(prepare, shared=True))
    whole = cache(partial(_flat, inlined=lambda callee: not stays(callee)))
    return prepare(function, shared)


def _flat(function: Function, inlined: Callable[[Function], bool], shared: bool = True) -> Function:
    """A function without calls of those that are to be `inlined`.

    Loads that are one for sure are merged, as each of them costs an addition to a gradient.
    """
    flat = inline_calls(function, inlined)
    drop_asserts(flat)
    flat = scalarize(simplify(plain_local_atomics(flat)))
    eliminate_loads(flat, location if not shared else lambda array: None)
    return single_exit(flat)


def _stays(callee: Function, given: DerivativeRules) -> bool:
    """True if a library function is differentiated as a whole."""
    if not callee.is_library:
        return False
    if given.surrogate(callee) or given(callee):
        return True
    if any(_holds_arrays(p.type) for p in callee.params):  # `_accessed` finds no arrays in structs that are passed on
        return False
    is_active = any(t.is_differentiable for t in callee.results)
    passive = not is_active and not any(isinstance(p.type, Array) for p in callee.params)
    return passive or not _opens(callee, given)


def _holds_arrays(t: Type) -> bool:
    """True for a struct with arrays."""
    return isinstance(t, Struct) and any(isinstance(leaf, Array) for leaf in leaf_types(t))


def _opens(function: Function, given: DerivativeRules) -> bool:
    """True if a function has loops, whose value stack belongs to the caller, or calls a function with a surrogate."""
    return calls_surrogate(function, given) or any(
        op.code in ("for", "loop") or (op.code == "call" and _opens(op.attr, given)) for op in function.body.walk()
    )


class _StandIns(Rewriter):
    """Calls what stands in for functions."""

    def __init__(self, given: DerivativeRules):
        super().__init__()
        self.given = given

    def visit_call(self, op: Operation) -> None:
        callee = self.given.surrogate(op.attr) or op.attr
        results = self.b.emit("call", self.args(op), callee, results=callee.results)
        self.define(op, results[: len(op.results)])


def _assemble(
    function: Function,
    replayed: set[Value],
    shared: bool,
    given: DerivativeRules,
    constant: bool = False,
    guarded: bool = False,
    owned: bool = False,
) -> tuple[Function, set[Operation]]:
    """The adjoint of a prepared function, and the loads in it that read what arrays hold after the launch. If these
    are `constant`, nothing is added to gradients of arrays. If `guarded`, seeds may be zero as results went unused. If
    `owned`, nothing else stores to the elements that it stores to.
    """
    params = [Value(p.type, name=p.name) for p in function.params]
    seeds = [Value(t, name="adjoint") for t in function.results if t.is_differentiable]
    callees = partial(callee_adjoint, given=given, constant=constant)
    elements = partial(element_adjoint, given=given, shared=shared)
    reverse = Reverse(function, shared, given, callees, elements, constant, guarded, owned)
    reverse.b.push()
    rest = iter(seeds)
    reverse.run([_flattened(reverse.b, next(rest)) if t.is_differentiable else [] for t in function.results])
    active = [p for p in function.params if p.type.is_differentiable]
    adjoints = [] if function.is_kernel else [_of_param(reverse, p) for p in active]
    after = reverse.b.pop()
    results = tuple(v.type for v in adjoints)
    new = Function(f"{function.name}.adjoint", [*params, *seeds], results, function.is_kernel, function.loc)
    new.is_library, new.block_dim = function.is_library, function.block_dim
    forward = PrimalPass(reverse, replayed)
    b = Builder(new)
    forward.run(b, params)
    known = {**reverse.known, **dict(zip(reverse.start, forward.top))}
    linker = _ValueLinker(known, forward.values)
    linker.link(after)
    new.body.ops += after.ops
    if results:
        _return_zeros(new.body, results)
    b.terminate("return", [linker.resolve(v) for v in adjoints])
    dce(new)
    _check_unknown(new, forward)
    return new, reverse.final


def _return_zeros(region: Region, types: tuple[Type, ...]) -> None:
    """Let the code that gives up, as there is no memory to go on, return something."""
    for op in region.ops:
        for inner in op.regions:
            _return_zeros(inner, types)
    if region.ops and region.terminator.code == "return":
        b = Builder()
        b.push()
        region.terminator.args = [b.zero(t) for t in types]
        region.ops[-1:-1] = b.pop().ops


def _check_unknown(adjoint: Function, forward: PrimalPass) -> None:
    """Refuse code that asks for what an atomic found."""
    for op in adjoint.body.walk():
        for value in op.args:
            if value in forward.unknown:
                why = "what an atomic found in memory, in a loop, differs when it is done again"
                helps = "put it into a function, and give that a replay with @wp.func_replay"
                raise NotReplayable(f"{why}: {helps}", forward.unknown[value])


def _flattened(b: Builder, value: Value) -> Leaves:
    return [leaf_of(b, value, i) if t.is_differentiable else None for i, t in enumerate(leaf_types(value.type))]


def _of_param(reverse: Reverse, param: Value) -> Value:
    found = reverse.scope.adjoints.get(param) or [None] * len(leaf_types(param.type))
    return assemble(reverse.b, param.type, found)


class _ValueLinker:
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
        """Return the value of the adjoint kernel for a value of the reverse code."""
        while value in self.known:
            value = self.known[value]
        return value if value in self.inside else self.forward.get(value, value)


def _accessed(adjoint: Function, final: set[Operation]) -> list[Value]:
    """The arrays that the forward code in an adjoint reads or, replaying the launch, writes or passes on.

    It leaves out arrays of structures, as meshes have them. The tape saves a structure as it was before the launch, in
    memory of its own.
    """
    found = [a for op in adjoint.body.walk() if op not in final for a in _arrays_of(op)]
    return [a for a in found if not (is_gradient(a) or is_own(a) or is_made_by(a, "array_at"))]


def _arrays_of(op: Operation) -> list[Value]:
    if op.code == "call":
        return [a for a in op.args if isinstance(a.type, Array)]
    return [op.args[0]] if op.code in ("load", "store", "atomic") else []


def _written(prepared: Function) -> list[Value]:
    codes = ("store", "atomic")
    arrays = [op.args[0] for op in prepared.body.walk() if op.code in codes]
    return [a for a in arrays if not (is_local(a) or is_gradient(a))]


class _AliasCheck:
    """Alias check between an array of the adjoint and an array of the primal function."""

    def __init__(self, prepared: Function, adjoint: Function, shared: bool):
        self._twin, self._shared = dict(zip(adjoint.params, prepared.params)), shared

    def __call__(self, read: Value, write: Value) -> bool:
        if read.type.dtype is not write.type.dtype:
            return False
        first, second = location(read), location(write)
        if self._shared or first is None or second is None:
            return True
        return (self._twin.get(first[0]), first[1]) == second


def _reads_what_it_wrote(prepared: Function, adjoint: Function, final: set[Operation], shared: bool) -> set[Value]:
    """The arrays that the function writes to and what is left of the forward code reads."""
    meet = _AliasCheck(prepared, adjoint, shared)
    read = set(_accessed(adjoint, final))
    return {w for w in _written(prepared) if any(meet(r, w) for r in read)}


def _reads(prepared: Function, adjoint: Function, final: set[Operation], shared: bool) -> tuple[int, ...]:
    """For each parameter, of which time the adjoint reads its arrays."""
    late = [op for op in adjoint.body.walk() if op in final]
    early = _accessed(adjoint, final)
    before, after = _touched(adjoint, early), _touched(adjoint, [op.args[0] for op in late])
    meet, written = _AliasCheck(prepared, adjoint, shared), _written(prepared)
    changing = [a for a in early if any(meet(a, w) for w in written)]
    # All arrays of a parameter are given as of one time. Those that the launch does not change are the same at both.
    for op in late:
        if after & _touched(adjoint, changing) or any(may_alias(op.args[0], a, shared) for a in changing):
            why = "the gradient needs an array as it was before the launch and as it is after it"
            raise NotDifferentiable(f"{why}: use two arrays", op)
    return tuple(AFTER if p in after else BEFORE if p in before else NOT for p in adjoint.params)


def _touched(adjoint: Function, arrays: list[Value]) -> set[Value]:
    """The parameters that arrays are from."""
    found = [(identified_object(a), a.type.dtype) for a in arrays]
    unclear = {t for source, t in found if source is None}
    known = {source for source, _ in found}
    return {
        p
        for p in adjoint.params
        if p in known or any(isinstance(leaf, Array) and leaf.dtype in unclear for leaf in leaf_types(p.type))
    }


_adjoints: WeakKeyDictionary[Function, dict[bool, Function]] = WeakKeyDictionary()


def callee_adjoint(callee: Function, given: DerivativeRules, constant: bool = False) -> Function:
    """The adjoint of a function without effects: (arguments, adjoints of results) -> adjoints of arguments. It adds to
    the gradients of arrays, unless what they hold is `constant`.
    """
    known = _adjoints.setdefault(callee, {})
    if constant not in known:
        if constant and any(written_params(callee)):
            raise NotDifferentiable("it writes to arrays, which wp.grad takes for constants")
        known[constant], _ = _assemble(_prepare(callee, given), set(), False, given, constant)
    return known[constant]


def element_adjoint(function: Function, constant: bool, owned: bool, given: DerivativeRules, shared: bool) -> Function:
    """The adjoint of an element function: (parameters, adjoint of the element) -> adjoints of parameters. It adds to
    the gradients of arrays, unless what they hold is `constant`. `owned` as for `_assemble`.
    """
    made, final = _assemble(
        _prepare(function, given, shared), set(), shared, given, constant, guarded=True, owned=owned
    )
    if final:
        why = "an atomic minimum, or a gradient of the user's, reads what the launch left, for an element of a tile"
        raise NotDifferentiable(f"{why}: do this in code of the thread", next(iter(final)))
    return made
