"""What is written down about derivatives of functions, as the transformations of this package are told."""

from __future__ import annotations

from typing import Protocol

from ...ir.nodes import Function


class DerivativeRules(Protocol):
    """The derivatives of functions that are not differentiated operation by operation."""

    def __call__(self, callee: Function) -> Function | None:
        """The function (arguments, results, adjoints of results) -> adjoints of arguments; None if none is given."""

    def surrogate(self, callee: Function) -> Function | None:
        """What code of derivatives calls, whose results begin with those of `callee`; None if that is `callee`."""

    def tangent(self, callee: Function) -> Function | None:
        """The function (arguments, results, tangents of arguments) -> tangents of the first results of a stand-in;
        None if none is given.
        """


def calls_surrogate(function: Function, given: DerivativeRules) -> bool:
    """Whether a function, or one that it calls, calls one that another stands in for."""
    return any(
        op.code == "call" and (given.surrogate(op.attr) is not None or calls_surrogate(op.attr, given))
        for op in function.body.walk()
    )
