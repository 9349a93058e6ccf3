"""Between which arrays of a kernel derivatives flow.

Found in the adjoint: what it makes of the gradient of a result goes to the gradients of what the result depends on.
Start with `differentiable_dependences`.
"""

from __future__ import annotations

from ...ir.analysis.alias import identified_object, is_gradient
from ...ir.analysis.dataflow import SetFacts, handed_on
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
_MEMORY = "memory that is no gradient"
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
        self._adjoint = adjoint
        # Of values and memory, the gradients that they are made of; of each gradient, those that get parts of it.
        self._parts = SetFacts[int]()

    def found(self) -> tuple[_Params, ...]:
        """The parameters that each of them depends on, directly or through others."""
        self._parts.solve(self._adjoint.body, self._visit)
        to = [self._parts.of(i) for i in range(len(self._adjoint.params))]
        for middle in range(len(to)):
            for i, targets in enumerate(to):
                if middle in targets:
                    to[i] = targets | to[middle]
        return tuple(to)

    def _visit(self, op: Operation) -> None:
        if op.code in _QUIET:
            return
        gradients = [self._gradient(a) for a in op.args]
        given = self._parts.of_any(a for a, g in zip(op.args, gradients) if g is None)
        touched = frozenset[int]().union(*(g for g in gradients if g is not None))
        if op.code in ("store", "atomic"):
            if gradients[0] is None:
                self._parts.add(_MEMORY, given)
        elif op.code == "load":
            given |= touched if touched or gradients[0] is not None else self._parts.of(_MEMORY)
        elif touched:  # a function may do anything with gradients
            given |= touched
            self._parts.add(_MEMORY, given)
        if touched and op.code != "load":
            for i in given:
                self._parts.add(i, touched)
        if op.code == "atomic":  # what it found
            given |= touched if gradients[0] is not None else self._parts.of(_MEMORY)
        given = given if op.code != "if" else frozenset()
        for value, sources in handed_on(op):
            self._parts.add(value, given | self._parts.of_any(sources))

    def _gradient(self, value: Value) -> _Params | None:
        """The parameters whose gradient, or a view of it, a value may be; None if it is no gradient."""
        if not is_gradient(value):
            return None
        source, params = identified_object(value), self._adjoint.params
        if source is not None:
            return frozenset(i for i, p in enumerate(params) if p is source)
        dtype = value.type.dtype
        return frozenset(
            i
            for i, p in enumerate(params)
            if any(isinstance(leaf, Array) and leaf.dtype is dtype for leaf in leaf_types(p.type))
        )
