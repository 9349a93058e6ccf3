"""Code size analysis: the calls that are inlined, and the cost of the resulting code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from weakref import WeakKeyDictionary

from ...lang.types import Array, Packed, Tile, leaves
from ..nodes import Function, Operation
from ..ops import BLOCK_OPS

INLINE_LIMIT = 80  # callees of at least so many operations stay calls
_WORTH_A_CALL = 16  # a call of fewer operations is no shorter than they are
REPEATED = 1000  # operations that all calls of one callee may become; beyond it they stay calls
ATOMIC_COST = 8  # lanes may meet at one element, which takes a loop or a reduction

_NO_CODE = frozenset({"const", "return"})
_sizes: WeakKeyDictionary[Function, dict[int, int]] = WeakKeyDictionary()


def inlined_size(function: Function, limit: int) -> int:
    """Return the number of operations of `function` when all small calls in it are replaced, without constants and
    returns.
    """
    known = _sizes.setdefault(function, {})
    if limit not in known:
        size = 0
        for op in function.body.walk():
            if op.code == "call":
                size += inlined_size(op.attr, limit) if has_single_exit(op.attr, limit) else 1
            elif op.code not in _NO_CODE:
                size += 1
        known[limit] = size
    return known[limit]


def has_single_exit(callee: Function, limit: int) -> bool:
    """True if calls of `callee` are replaced by its body."""
    return asks_thread(callee) or (not callee.is_cold and inlined_size(callee, limit) < limit)


def repeated(functions: Iterable[Function]) -> frozenset[str]:
    """Return the names of the functions of numbers whose calls in `functions` would become too much code."""
    grown: dict[str, int] = {}
    for function in functions:
        for op in function.body.walk():
            if op.code == "call" and _takes_numbers(op.attr):
                name, size = base_name(op.attr), inlined_size(op.attr, INLINE_LIMIT)
                grown[name] = grown.get(name, 0) + (size if size >= _WORTH_A_CALL else 0)
    return frozenset(name for name, size in grown.items() if size > REPEATED)


def _takes_numbers(function: Function) -> bool:
    return not any(isinstance(t, Array) for p in function.params for _, t in leaves(p.type))


def base_name(function: Function) -> str:
    """Return the name of a function without the number that tells its overloads apart."""
    return function.name.partition("#")[0]


_OF_THREADS = BLOCK_OPS | {"tid", "stash"}
_asking: WeakKeyDictionary[Function, bool] = WeakKeyDictionary()


def asks_thread(function: Function) -> bool:
    """True if a function, or one that it calls, asks for the thread's index or its stash, or works with its block."""
    if function not in _asking:
        ops = list(function.body.walk())
        types = [*(p.type for p in function.params), *function.results]
        _asking[function] = any(isinstance(t, Tile) for t in types) or any(
            op.code in _OF_THREADS or (op.code == "call" and asks_thread(op.attr)) for op in ops
        )
    return _asking[function]


_ACCESSES = frozenset({"load", "store", "atomic", "call"})

_costs: WeakKeyDictionary[Function, int] = WeakKeyDictionary()


def cost(ops: Sequence[Operation]) -> int:
    """Return how many scalar operations `ops` become once small calls are replaced by their bodies."""
    inside = chain.from_iterable(region.walk() for op in ops for region in op.regions)
    return sum(map(_cost, chain(ops, inside)))


def fixed_cost(ops: Sequence[Operation]) -> int:
    """Return the part of the cost that stays if indices are constant: accesses of memory, merges, and searches.

    A merge counts the numbers that a region hands on, a search the components that a varying index chooses from.
    """
    inside = chain.from_iterable(region.walk() for op in ops for region in op.regions)
    return sum(map(_fixed_cost, chain(ops, inside)))


def _fixed_cost(op: Operation) -> int:
    if op.regions:
        return sum(v.type.count if isinstance(v.type, Packed) else 1 for v in op.results)
    if op.code in ("extract_dyn", "insert_dyn"):
        return op.args[0].type.count
    return op.code in _ACCESSES


def _cost(op: Operation) -> int:
    if op.code == "const":
        return 0
    if op.code == "call" and has_single_exit(op.attr, INLINE_LIMIT):
        if op.attr not in _costs:
            _costs[op.attr] = sum(map(_cost, op.attr.body.walk()))
        return _costs[op.attr]
    if op.code == "atomic":
        return ATOMIC_COST
    if op.code == "extract":
        return 0  # a component is in a register of its own
    if op.code == "extract_dyn":
        return op.args[0].type.count  # a search among all components
    if op.code == "insert":
        return 1  # the other components stay in their registers
    return max((v.type.count for v in op.results if isinstance(v.type, Packed)), default=1)
