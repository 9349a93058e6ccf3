"""Turn atomics on elements that only their own thread touches into plain loads and stores.

In place. In: a kernel after inlining. Out: an `atomic` became load, operation, store where no two threads can meet:
`a[i] += x` with i the thread index, above all.

An access is private if for every launch dimension one of its indices is that thread index plus something the same for
all threads: then different threads name different elements. That holds only against accesses with the very same
indices. The pass gives an array up as soon as it is written with other indices, or where this pass cannot see. As two
parameters may be one array, it then gives up all arrays of its element type. Where parameters may be arrays that
overlap, such as `x[1:]` and `x[:-1]`, equal indices are other elements, so only one array may be written. Local arrays
that do not escape are private whatever the index.
"""

from __future__ import annotations

from typing import Any

from ..ir.analysis.affine_index import affine_values
from ..ir.analysis.alias import local_arrays, provenance
from ..ir.nodes import Function, Operation, Region, Value
from ..ir.ops import EXCHANGES, UPDATES, index_count, result_type
from ..lang.types import VOID, Packed, Type, element
from .dce import has_effects

_PLAIN = ("add", "sub", "min", "max", "and", "or", "xor")


def demote_atomics(function: Function, among: str = "all") -> None:
    """Demote the private atomics of `function`, and note on which arrays.

    Args:
        function: a kernel after inlining, or a function.
        among: "all": all parameters, each of which has memory of its own. "one": one array of an element type, where
            parameters may overlap. "none": only local arrays, where an array may overlap itself.
    """
    local = local_arrays(function)
    private = _private_types(function, local, among) if function.is_kernel and among != "none" else set()
    if private or local:
        _visit(function.body, private, local, function)


def _private_types(function: Function, local: dict[Value, Value], among: str) -> set[Type]:
    """Element types whose writes all use the same private indices."""
    dimensions = {op.attr[1] for op in function.body.walk() if op.code == "tid"}
    if len(dimensions) != 1:
        return set()
    forms = affine_values(function)
    seen: dict[Type, tuple[Any, ...]] = {}
    public: set[Type] = set()
    for op in function.body.walk():
        if op.code == "call" and has_effects(op.attr):
            return set()  # it may write anything
        if op.code not in ("store", "atomic") or op.args[0] in local:
            continue
        array = op.args[0].type
        indices = tuple(op.args[1 : 1 + array.ndim])
        covered = {forms[i].injective_dimension for i in indices if i in forms}
        whole = _whole(op.args[0], function)
        place = (whole, indices) if among == "one" else indices
        if seen.setdefault(array.dtype, place) != place or not covered >= set(range(*dimensions)):
            public.add(array.dtype)
        if whole is None:
            public.add(array.dtype)  # a slice, or one of several arrays
    return set(seen) - public


def _whole(array: Value, function: Function) -> tuple[Value, bool] | None:
    """The array parameter that it is, and whether it is the gradient of that."""
    found = provenance(array)
    if found.is_view or found.members or found.gradients > 1 or found.object not in function.params:
        return None
    return found.object, found.gradients == 1


def _visit(region: Region, private: set[Type], local: dict[Value, Value], function: Function) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        for inner in op.regions:
            _visit(inner, private, local, function)
        plain = op.code == "atomic" and op.attr[0] in _PLAIN and op.args[0].type.dtype in private
        if plain and (whole := _whole(op.args[0], function)) is not None:
            function.private[whole] = None
        ops += _plain(op) if plain or (op.code == "atomic" and op.args[0] in local) else [op]
    region.ops = ops


def _plain(atomic: Operation) -> list[Operation]:
    """Load, combine, store; the load defines the atomic's result."""
    kind, path = atomic.attr
    count = 1 + index_count(atomic.args[0].type, path)
    where, operands = atomic.args[:count], atomic.args[count:]
    load = Operation("load", list(where), path, atomic.loc)
    load.results = atomic.results
    old = load.result
    old.op = load
    ops = [load]

    def combine(code: str, *args: Value, attr: Any = None) -> Value:
        op = Operation(code, list(args), attr, atomic.loc)
        op.results = (Value(result_type(code, [a.type for a in args], attr), op),)
        ops.append(op)
        return op.result

    def swap(old: Value, compare: Value, value: Value) -> Value:
        return combine("select", combine("eq", old, compare), value, old)

    if kind in EXCHANGES:
        new = operands[0]
    elif kind != "cas":
        new = combine(UPDATES.get(kind, kind) if element(old.type).is_float else kind, old, operands[0])
    elif isinstance(old.type, Packed):
        members = [[combine("extract", x, attr=i) for x in (old, *operands)] for i in range(old.type.count)]
        new = combine("make", *(swap(*member) for member in members), attr=old.type)
    else:
        new = swap(old, *operands)
    store = Operation("store", [*where, new], path, atomic.loc)
    store.results = (Value(VOID, store),)
    return [*ops, store]
