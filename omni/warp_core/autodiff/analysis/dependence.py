"""Between which arrays of a kernel derivatives flow.

Found in the adjoint: what it makes of the gradient of a result goes to the gradients of what the result depends on.
Start with `differentiable_dependences`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.analysis.alias import identified_object, is_gradient
from ...ir.nodes import Function, Operation, Value
from ...lang.types import Array
from ...passes.dce import dce
from ...passes.inline import inline_calls
from ...passes.simplify import simplify
from ..rules.custom_rules import is_custom
from ..rules.provider import DerivativeRules
from ..vjp.adjoint import adjoint_kernel
from .leaves import leaf_types

_Params = frozenset[int]
_NONE: _Params = frozenset()
_QUIET = ("slice", "is_null", "grad")  # take a gradient and leave its elements alone


def differentiable_dependences(function: Function, given: DerivativeRules) -> tuple[_Params, ...]:
    """For each parameter of a kernel, the parameters whose elements have a part in the derivative of its elements.

    Args:
        function: the kernel, as the front end made it.
        given: finds what is written down for a function.

    Raises:
        NotDifferentiable: the kernel does something that has no derivative.
    """
    whole = inline_calls(function, lambda f: not (is_custom(f) or given.surrogate(f) or given(f)))
    adjoint = simplify(adjoint_kernel(whole, given, True).function)
    dce(adjoint)
    return _Search(adjoint).found()


class _Search:
    """Search for dependences between gradients. Values are tracked one by one. Memory other than gradients, and values
    that loops carry, are treated as one.
    """

    def __init__(self, adjoint: Function):
        self._params = adjoint.params
        self._ops = list(adjoint.body.walk())
        self._parts: dict[Value, _Params] = {}  # the gradients that a value is made of
        self._kept = _NONE
        self._to = [_NONE] * len(adjoint.params)
        self._changed = True

    def found(self) -> tuple[_Params, ...]:
        """The parameters that each of them depends on, directly or through others."""
        while self._changed:
            self._changed = False
            for op in self._ops:
                self._visit(op)
        for middle in range(len(self._to)):
            for i, targets in enumerate(self._to):
                if middle in targets:
                    self._to[i] = targets | self._to[middle]
        return tuple(self._to)

    def _visit(self, op: Operation) -> None:
        if op.code in _QUIET:
            return
        gradients = [self._gradient(a) for a in op.args]
        given = self._union(a for a, g in zip(op.args, gradients) if g is None)
        touched = frozenset[int]().union(*(g for g in gradients if g is not None))
        if op.code in ("store", "atomic"):
            if gradients[0] is None:
                self._keep(given)
        elif op.code == "load":
            given |= touched if touched or gradients[0] is not None else self._kept
        elif touched:  # a function may do anything with gradients
            given |= touched
            self._keep(given)
        if touched and op.code != "load":
            for i in given:
                self._grow(i, touched)
        if op.code == "atomic":  # what it found
            given |= touched if gradients[0] is not None else self._kept
        self._give(op, given)

    def _give(self, op: Operation, given: _Params) -> None:
        """Record the sources of the results of an operation."""
        if op.code == "if":
            ends = [r.terminator.args for r in op.regions if r.terminator.code == "yield"]
            for i, result in enumerate(op.results):
                self._note(result, self._union(args[i] for args in ends))
            return
        inner = [x for region in op.regions for x in region.walk()]
        given |= self._union(a for x in inner if x.code in ("yield", "break", "continue") for a in x.args)
        for value in (*op.results, *(p for region in op.regions for p in region.params)):
            self._note(value, given)

    def _gradient(self, value: Value) -> _Params | None:
        """The parameters whose gradient, or a view of it, a value may be; None if it is no gradient."""
        if not is_gradient(value):
            return None
        source = identified_object(value)
        if source is not None:
            return frozenset(i for i, p in enumerate(self._params) if p is source)
        dtype = value.type.dtype
        return frozenset(
            i
            for i, p in enumerate(self._params)
            if any(isinstance(leaf, Array) and leaf.dtype is dtype for leaf in leaf_types(p.type))
        )

    def _union(self, values: Iterable[Value]) -> _Params:
        return frozenset[int]().union(*(self._parts.get(v, _NONE) for v in values))

    def _note(self, value: Value, parts: _Params) -> None:
        if not parts <= self._parts.get(value, _NONE):
            self._parts[value] = self._parts.get(value, _NONE) | parts
            self._changed = True

    def _grow(self, i: int, targets: _Params) -> None:
        if not targets <= self._to[i]:
            self._to[i] |= targets
            self._changed = True

    def _keep(self, parts: _Params) -> None:
        if not parts <= self._kept:
            self._kept |= parts
            self._changed = True
