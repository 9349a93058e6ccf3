"""The interface through which the AD transforms look up derivative rules."""

from __future__ import annotations

from typing import Protocol

from ...ir.nodes import Function
from ...lang.types import Array


class DerivativeRules(Protocol):
    """The derivatives of functions that are not differentiated operation by operation."""

    def __call__(self, callee: Function) -> Function | None:
        """The function (arguments, results, adjoints of results) -> adjoints of arguments; None if none is given."""

    def surrogate(self, callee: Function) -> Function | None:
        """Return the surrogate that derivative code calls, whose results begin with those of `callee`; None if that is
        `callee`.
        """

    def array_form(self, callee: Function, array: Array) -> Function:
        """Return the function that does the same as `callee` with an array in place of the memory of a structure. The
        array is its last argument.
        """

    def tangent(self, callee: Function) -> Function | None:
        """The function (arguments, results, tangents of arguments) -> tangents of the first results of a stand-in;
        None if none is given.
        """


def calls_surrogate(function: Function, given: DerivativeRules) -> bool:
    """True if a function calls, directly or not, a function that has a surrogate."""
    return any(
        op.code == "call" and (given.surrogate(op.attr) is not None or calls_surrogate(op.attr, given))
        for op in function.body.walk()
    )
