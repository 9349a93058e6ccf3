"""Factors of matrices that a kernel hands to others through arrays.

Where singular values are equal, derivatives are those at a matrix nearby (lib/decomposition_gradients.py), which makes
them right for functions of all factors: they see the factors of one matrix. Another launch sees those of the matrix
itself, and what it makes of them cannot be told from what has another derivative. So a kernel that stores singular
vectors as they are, or linear functions of them, and besides anything made of the values, reports it where the matrix
was moved. Start with `escaping`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from ...ir.analysis.alias import identified_object, is_local
from ...ir.analysis.dataflow import SetFacts, handed_on
from ...ir.builder import Builder
from ...ir.nodes import Function, Operation, Value
from .leaves import leaf_of, leaf_types

VECTORS, VALUES = "vectors", "values"  # what a number depends on: linearly on the one, in any way on the other

_Taint = frozenset[tuple[Operation, str]]  # of which factorisations
_NONE: _Taint = frozenset()
_ARRAYS = "arrays of the launch"
_REPORT = (
    "equal-values",
    "singular values or eigenvalues are equal here, up to rounding, and the factors go to other launches through "
    "arrays, where the derivative is lost. Use the factors in the kernel that factors the matrix",
)


def escaping(function: Function, factors: Callable[[Function], bool]) -> set[Operation]:
    """The calls of functions that are `factors` whose results go apart into arrays."""
    calls = [op for op in function.body.walk() if op.code == "call" and factors(op.attr)]
    if not calls:
        return set()
    stored = _Flow(set(calls)).run(function)
    return {op for op in calls if {(op, VECTORS), (op, VALUES)} <= stored}


def report_if_moved(b: Builder, moved: Value, seeds: Sequence[Value]) -> None:
    """Leave with a report if a matrix was moved and not all seeds are zero."""
    if not seeds:
        return
    used = reduce(lambda x, y: b.op("or", x, y), (b.op("ne", g, b.const(0.0, g.type)) for g in seeds))
    leave_if(b, b.op("and", moved, used), _REPORT)


def numbers_of(b: Builder, values: Iterable[Value]) -> list[Value]:
    """All leaves of values that are floating point numbers or made of them."""
    return [leaf_of(b, v, i) for v in values for i, _ in enumerate(leaf_types(v.type))]


def leave_if(b: Builder, condition: Value, report: tuple[str, str], *shown: Value) -> None:
    """Leave the function with a report if a condition holds."""
    b.push()
    b.op("fail", *shown, attr=report)
    b.terminate("return")
    out = b.pop()
    b.push()
    b.terminate("yield")
    b.emit("if", [condition], None, (out, b.pop()))


class _Flow:
    """Follows factors through a function."""

    def __init__(self, calls: set[Operation]):
        self._calls = calls
        self._taints = SetFacts[tuple[Operation, str]]()

    def run(self, function: Function) -> _Taint:
        self._taints.solve(function.body, self._visit)
        return self._taints.of(_ARRAYS)

    def _visit(self, op: Operation) -> None:
        if op in self._calls:
            for i, v in enumerate(op.results):
                self._taints.add(v, _taint_of_result(op, i))
        elif op.code in ("store", "atomic"):
            array = op.args[0]
            self._taints.add(_memory(array) if is_local(array) else _ARRAYS, self._taints.of(op.args[-1]))
        elif op.code == "load":
            if is_local(op.args[0]):
                self._taints.add(op.result, self._taints.of(_memory(op.args[0])))
        elif op.code == "if":
            for v, given in handed_on(op):
                self._taints.add(v, self._taints.of_any(given))
        elif op.regions:
            for v, given in handed_on(op):
                self._mark(v, self._taints.of_any([*op.args, *given]))
        else:
            self._compute(op)

    def _mark(self, value: Value, taint: _Taint) -> None:
        """Taint a value if it can depend on factors smoothly."""
        self._taints.add(value, taint if value.type.is_differentiable else _NONE)

    def _compute(self, op: Operation) -> None:
        args = op.args[1:] if op.code == "select" else op.args
        taint = self._taints.of_any(args)
        if op.code in ("mul", "call"):
            # A product of vectors with vectors, such as U * transpose(V), is no linear function of them.
            linear = [t for a in args for t in self._taints.of(a) if t[1] == VECTORS]
            taint -= {t for t in linear if linear.count(t) > 1}
        for v in op.results:
            self._mark(v, taint)


def _memory(array: Value) -> Value:
    """The local array that an array is a view of."""
    found = identified_object(array)
    assert found is not None
    return found


def _taint_of_result(call: Operation, index: int) -> _Taint:
    """The second result are the values; that of `qr3` is both."""
    t = call.results[index].type
    if not t.is_differentiable:
        return _NONE
    of_values = frozenset({(call, VALUES)}) if index == 1 else _NONE
    return of_values | (frozenset({(call, VECTORS)}) if index != 1 or t is call.results[0].type else _NONE)
