"""Derivative rules of library functions, as IR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir.analysis.effects import works_on_tiles
from ...ir.nodes import Function
from ...lang.generics import unify
from ...lang.registry import ARRAY_FORMS, GRADIENTS, STAND_INS, TANGENTS, Builtin
from ...lang.types import Array, Type
from ...lib import gradients  # noqa: F401 - fills the tables
from ..library import instantiate
from .tile_rules import tile_gradient


class LibraryGradients:
    """Gradients, tangents, and stand-ins: functions that code of derivatives calls in place of others."""

    def __call__(self, callee: Function) -> Function | None:
        """The function (arguments, results, adjoints of results) -> adjoints of arguments; None if none is given."""
        if works_on_tiles(callee):
            return tile_gradient(callee)
        return _instance(GRADIENTS.get(_rules(callee)), (*_types(callee), *_differentiable(callee.results)))

    def surrogate(self, callee: Function) -> Function | None:
        """Return the surrogate that derivative code calls, whose results begin with those of `callee`; None if that is
        `callee`.
        """
        found = STAND_INS.get(_name(callee)) if callee.is_library else None
        return _instance(found, tuple(p.type for p in callee.params))

    def array_form(self, callee: Function, array: Array) -> Function:
        """Return the function that does the same as `callee` with an array in place of the memory of a structure. The
        array is its last argument.
        """
        found = _instance(ARRAY_FORMS[_name(callee)], (*(p.type for p in callee.params), array))
        assert found is not None
        return found

    def tangent(self, callee: Function) -> Function | None:
        """The function (arguments, results, tangents of arguments) -> tangents of the first results of a stand-in;
        None if none is given.
        """
        active = _differentiable(p.type for p in callee.params)
        return _instance(TANGENTS.get(_rules(callee)), (*_types(callee), *active))


library_gradient = LibraryGradients()


def _name(callee: Function) -> str:
    return callee.name.partition("#")[0]


def _rules(callee: Function) -> str:
    """Return the name that the rules of a function begin with: surrogates of surrogates share one."""
    return _name(callee).replace("_apart_apart", "_apart")


def _types(callee: Function) -> tuple[Type, ...]:
    return (*(p.type for p in callee.params), *callee.results)


def _differentiable(types: Iterable[Type]) -> Iterator[Type]:
    return (t for t in types if t.is_differentiable)


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
