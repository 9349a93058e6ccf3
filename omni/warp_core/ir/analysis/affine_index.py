"""Affine indices: values of the form `a * t + b`, where t is one index of the thread and b is the same for all threads.

Arithmetic is that of the machine: forms hold modulo the range of the integers. Start with `affine_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...lang.types import Scalar, Type
from ..nodes import Function, Operation, Value
from ..ops import PURE

_OF_THREADS = ("tid", "thread_index", "block_index", "block_tid")


class Affine(NamedTuple):
    """The form `coefficient * tid[dimension, arity] + constant`, plus parameters of the kernel.

    Attributes:
        dimension: which index of the thread, None if the value does not depend on the thread.
        arity: how many indices the thread has, 0 if the value does not depend on the thread.
        coefficient: what the index of the thread is multiplied by.
        constant: the summand that is known when the kernel compiles.
        has_parameters: whether parameters of the kernel are part of the other summand.
    """

    dimension: int | None = None
    arity: int = 0
    coefficient: int = 0
    constant: int = 0
    has_parameters: bool = False

    @property
    def injective_dimension(self) -> int | None:
        """The index of the thread in which no two threads have the same value, None if there may be two."""
        return self.dimension if abs(self.coefficient) == 1 else None

    def scaled(self, factor: int) -> Affine:
        """Return the form of a multiple of the value."""
        if factor == 0:
            return Affine()
        return self._replace(coefficient=self.coefficient * factor, constant=self.constant * factor)

    def plus(self, other: Affine) -> Affine | None:
        """Return the form of the sum of two values, None if it depends on two indices of the thread."""
        index, more = (self.dimension, self.arity), (other.dimension, other.arity)
        if self.dimension is not None and other.dimension is not None and index != more:
            return None
        coefficient = self.coefficient + other.coefficient
        dimension, arity = (index if self.dimension is not None else more) if coefficient else (None, 0)
        constant, has_parameters = self.constant + other.constant, self.has_parameters or other.has_parameters
        return Affine(dimension, arity, coefficient, constant, has_parameters)


Forms = Mapping[Value, Affine]


def affine_values(function: Function) -> Forms:
    """Return the forms of the integers of `function` that are affine in an index of the thread, by value."""
    found = {p: Affine(has_parameters=True) for p in function.params if _is_integer(p.type)}
    for op in function.body.walk():
        if op.code in _RULES and _is_integer(op.result.type):
            form = _RULES[op.code](op, found)
            if form is not None:
                found[op.result] = form
    return found


def _is_integer(t: Type) -> bool:
    return isinstance(t, Scalar) and t.is_int


def _cast(op: Operation, forms: Forms) -> Affine | None:
    """Fewer bits than those of an index may give two threads the same value."""
    return forms.get(op.args[0]) if op.attr.bits >= 32 else None


def _sum(op: Operation, forms: Forms) -> Affine | None:
    a, b = map(forms.get, op.args)
    if a is None or b is None:
        return None
    return a.plus(b if op.code == "add" else b.scaled(-1))


def _product(op: Operation, forms: Forms) -> Affine | None:
    for value, factor in (op.args, op.args[::-1]):
        if factor.is_const and value in forms:
            return forms[value].scaled(factor.const)
    return None


_RULES: dict[str, Callable[[Operation, Forms], Affine | None]] = {
    "const": lambda op, forms: Affine(constant=op.attr),
    "tid": lambda op, forms: Affine(op.attr[0], op.attr[1], coefficient=1),
    "cast": _cast,
    "add": _sum,
    "sub": _sum,
    "mul": _product,
}


def launch_invariants(function: Function) -> set[Value]:
    """Return the values of kernel `function` that are the same for all threads and in every iteration of a loop."""
    found = set(function.params)
    for op in function.body.walk():
        if op.code in PURE and op.code not in _OF_THREADS and found.issuperset(op.args):
            found.update(op.results)
    return found
