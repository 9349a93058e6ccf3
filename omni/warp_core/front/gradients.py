"""The gradient that the library gives for one of its functions, as IR."""

from __future__ import annotations

from ..ir.nodes import Function
from ..lang.errors import NotDifferentiable
from ..lang.generics import unify
from ..lang.registry import GRADIENTS
from ..lang.types import Scalar, element
from ..lib.gradients import REFUSED
from .library import instantiate


def library_gradient(callee: Function) -> Function | None:
    """The function (arguments, results, adjoints of the results) -> adjoints of the arguments; None if none is given.

    Raises:
        NotDifferentiable: if the library says that the function has no gradient.
    """
    name = callee.name.partition("#")[0]
    if name in REFUSED:
        raise NotDifferentiable(f"wp.{name} has no gradient in this version")
    found = GRADIENTS.get(name)
    if found is None:
        return None
    active = tuple(t for t in callee.results if isinstance(element(t), Scalar) and element(t).is_float)
    types = (*(p.type for p in callee.params), *callee.results, *active)
    for i, overload in enumerate(found.overloads):
        bindings: dict = {}
        params = overload.params
        if len(params) == len(types) and all(unify(p, t, bindings) for (_, p, _), t in zip(params, types)):
            return instantiate(found, i, types, bindings).function
    return None
