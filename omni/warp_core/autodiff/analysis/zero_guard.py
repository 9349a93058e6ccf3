"""Zero-guard analysis: can an adjoint be exactly zero because its value was not selected? Then 0 x inf must not become
NaN.

The slope of what was not chosen may be infinite, or no number, and so is zero times that: where this may happen, the
reverse code has to ask for zeros. It costs n-body's adjoint a fifth, so sums in loops, which choose nothing, are told
from what does. Start with `needs_zero_guard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...ir.analysis.alias import is_local, may_alias
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import TILE_OPS
from ..rules.provider import DerivativeRules
from .leaves import leaf_types

_SELECTING = frozenset(("select", "min", "max", "minnum", "maxnum", "insert_dyn", "extract_dyn", "loop"))
_CHOOSING = TILE_OPS | _SELECTING
_STEEP = frozenset(("div", "sqrt", "call", "custom"))  # may have infinite slopes where their operands are numbers
_EVEN = frozenset(("extract", "insert", "make", "splat", "add", "sub", "neg", "cast"))  # hand adjoints on as they are

_SUMS = {"add": slice(None), "sub": slice(1), "fma": slice(2, None)}  # by operation, which operands are added
_NONE: frozenset[Value] = frozenset()


def needs_zero_guard(function: Function, shared: bool, given: DerivativeRules) -> bool:
    """True if an adjoint in the reverse of `function` may be zero because its value was not selected.

    Args:
        function: as it is reversed, with one exit per region.
        shared: whether arrays of different parameters may share memory.
        given: finds what is written down for a function.
    """
    ops = list(function.body.walk())
    if any(op.code == "call" and _calls_choice(op.attr, given) for op in ops):
        return True
    even = _even(function)
    if any(op.code in _CHOOSING or _is_extreme(op) or _is_own_memory(op) or _passes_over(op, even) for op in ops):
        return True
    return _stores_over(ops, shared) or (_gives_several(function) and any(op.code in _STEEP for op in ops))


def _calls_choice(callee: Function, given: DerivativeRules) -> bool:
    """True if a function without a written gradient, such as `min` or `clamp`, selects among values."""
    return given(callee) is None and any(
        op.code in _SELECTING or op.code == "if" or (op.code == "call" and _calls_choice(op.attr, given))
        for op in callee.body.walk()
    )


def _is_extreme(op: Operation) -> bool:
    return op.code == "atomic" and op.attr[0] in ("min", "max")


def _is_own_memory(op: Operation) -> bool:
    return op.code == "alloca" and op.attr.dtype.is_differentiable


def _gives_several(function: Function) -> bool:
    """Whether some of what a function gives may be used, and some not. (Callers look after what is not used at all.)"""
    return sum(leaf.is_differentiable for t in function.results for leaf in leaf_types(t)) > 1


# -- branches and loops ------------------------------------------------------------------------------------------------


def _even(function: Function) -> set[Value]:
    """Return the values that are computed from arrays and arguments with slopes of 1 and -1 only."""
    ops = list(function.body.walk())
    carried = [pair for op in ops if op.code == "for" for pair in _carried(op)]
    found: set[Value] = set(function.params).union(op.regions[0].params[0] for op in ops if op.code == "for")
    found.update(param for param, _, _ in carried)
    while True:
        known = set(found)
        for op in ops:
            if op.code == "load" or (op.code in _EVEN and all(a in known or not _has_slope(a) for a in op.args)):
                known.update(op.results)
        steep = {p for p, *given in carried if any(_has_slope(v) and v not in known for v in given)} & found
        if not steep:
            return known
        found -= steep


def _carried(loop: Operation) -> Iterator[tuple[Value, Value, Value]]:
    """Each carried value of a loop, with what the first iteration is given and what the following ones are."""
    region = loop.regions[0]
    return zip(region.params[1:], loop.args[3:], region.terminator.args)


def _has_slope(value: Value) -> bool:
    return value.type.is_differentiable and not value.is_const


def _passes_over(op: Operation, even: set[Value]) -> bool:
    """True if values with a slope may go unused: in a branch not taken, in a loop not run, or in iterations that forget
    earlier ones.
    """
    if op.code not in ("if", "for"):
        return False
    inside = [inner for region in op.regions for inner in region.walk()]
    own = {v for inner in inside for v in (*inner.results, *(p for r in inner.regions for p in r.params))}
    own.update(p for region in op.regions for p in region.params)
    if any(_has_slope(a) and a not in own and a not in even for inner in inside for a in inner.args):
        return True
    return op.code == "for" and any(p.type.is_differentiable and not kept for p, kept in _kept(op).items())


def _kept(loop: Operation) -> dict[Value, bool]:
    """True if an iteration yields each carried value as its old value plus a term."""
    region = loop.regions[0]
    params = region.params[1:]
    within = {p: frozenset((p,)) for p in params}  # the carried values that a value is a sum of
    for op in region.ops:
        if op.code == "for":
            passed = zip(op.results, op.args[3:], _kept(op).values())
            within.update((v, within.get(start, _NONE)) for v, start, kept in passed if kept)
        elif op.code in _SUMS:
            within[op.results[0]] = _NONE.union(*(within.get(a, _NONE) for a in op.args[_SUMS[op.code]]))
    return {p: p in within.get(v, _NONE) for p, v in zip(params, region.terminator.args)}


# -- memory ------------------------------------------------------------------------------------------------------------


def _stores_over(ops: list[Operation], shared: bool) -> bool:
    """Whether a thread may overwrite what it stored or added."""
    writes = [op for op in ops if op.code in ("store", "atomic") and op.args[-1].type.is_differentiable]
    writes = [op for op in writes if not is_local(op.args[0])]
    stores = [op for op in writes if op.code == "store"]
    repeated = {inner for op in ops if op.code == "for" for inner in op.regions[0].walk()}
    if not repeated.isdisjoint(stores):
        return True
    return any(_may_meet(a, b, shared) for a, b in product(stores, writes) if a is not b)


def _may_meet(a: Operation, b: Operation, shared: bool) -> bool:
    if not may_alias(a.args[0], b.args[0], shared):
        return False
    if a.args[0] is not b.args[0]:
        return True
    return not any(map(_differ, a.args[1:-1], b.args[1:-1])) and not any(map(_are_others, _path(a), _path(b)))


def _path(op: Operation) -> tuple[int, ...]:
    """The members that a write leads to."""
    return op.attr if op.code == "store" else op.attr[1]


def _differ(a: Value, b: Value) -> bool:
    """True if two indices select different elements. (Indices below zero count from the end.)"""
    return a.is_const and b.is_const and a.const != b.const and (a.const < 0) == (b.const < 0)


def _are_others(a: int, b: int) -> bool:
    """True if two steps of paths lead to different members. -1 leads to any member."""
    return a != b and -1 not in (a, b)
