"""What the library says about derivatives of its functions, as IR."""

from __future__ import annotations

from ..ir.nodes import Function
from ..lang.errors import NotDifferentiable
from ..lang.generics import unify
from ..lang.registry import GRADIENTS, STAND_INS, Builtin
from ..lang.types import Scalar, Type, element
from ..lib import gradients  # noqa: F401 - fills the tables
from .library import instantiate


class LibraryGradients:
    """Gradients, and stand-ins: functions that adjoints call in place of others."""

    def __call__(self, callee: Function) -> Function | None:
        """The function (arguments, results, adjoints of results) -> adjoints of arguments; None if none is given.

        Raises:
            NotDifferentiable: another function stands in for it; nothing else would do.
        """
        if self.stand_in(callee):
            raise NotDifferentiable(f"wp.{_name(callee)} has no forward mode; tapes differentiate it")
        active = tuple(t for t in callee.results if isinstance(element(t), Scalar) and element(t).is_float)
        return _instance(GRADIENTS.get(_name(callee)), (*(p.type for p in callee.params), *callee.results, *active))

    def stand_in(self, callee: Function) -> Function | None:
        """The function to call in an adjoint, whose results begin with those of `callee`; None if that is `callee`."""
        found = STAND_INS.get(_name(callee)) if callee.is_library else None
        return _instance(found, tuple(p.type for p in callee.params))


library_gradient = LibraryGradients()


def _name(callee: Function) -> str:
    return callee.name.partition("#")[0]


def _instance(found: Builtin | None, types: tuple[Type, ...]) -> Function | None:
    """The overload for arguments of these types."""
    if found is None:
        return None
    for i, overload in enumerate(found.overloads):
        bindings: dict = {}
        params = overload.params
        if len(params) == len(types) and all(unify(p, t, bindings) for (_, p, _), t in zip(params, types)):
            return instantiate(found, i, types, bindings).function
    return None
