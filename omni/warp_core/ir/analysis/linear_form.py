"""Integers as sums of terms. Indices of arrays are taken for numbers that do not wrap around, as arrays are not that
long.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.types import Scalar
from ..nodes import Value
from .value_numbers import NOTHING

Term = int | Value | None  # the number of an index of the block; another value; None for the constant
Form = Mapping[Term, int]  # a sum of terms, each with its factor


def linear_form(value: Value, given: Mapping[Value, Value] = NOTHING) -> Form:
    """The sum of terms that an index is. Values stand for those that are `given` for them, if any."""
    return _form(value, given, {})


def _form(value: Value, given: Mapping[Value, Value], known: dict[Value, Form]) -> Form:
    value = given.get(value, value)
    if value not in known:
        known[value] = _form_of_result(value, given, known)
    return known[value]


def _form_of_result(value: Value, given: Mapping[Value, Value], known: dict[Value, Form]) -> Form:
    op = value.op
    if value.is_const:
        return {None: value.const}
    if op is None:
        return {value: 1}
    if op.code == "block_tid":
        return {op.attr[0]: 1}
    if op.code == "cast" and isinstance(op.args[0].type, Scalar) and op.args[0].type.is_int and op.attr.bits >= 32:
        return _form(op.args[0], given, known)
    if op.code in ("add", "sub"):
        first, second = (_form(a, given, known) for a in op.args)
        return _sum(first, _scaled(second, 1 if op.code == "add" else -1))
    if op.code == "mul" and any(a.is_const for a in op.args):
        factor, other = sorted(op.args, key=lambda a: not a.is_const)
        return _scaled(_form(other, given, known), factor.const)
    return {value: 1}


def _sum(a: Form, b: Form) -> Form:
    return {t: c for t in dict.fromkeys((*a, *b)) if (c := a.get(t, 0) + b.get(t, 0))}


def _scaled(form: Form, factor: int) -> Form:
    return {t: c * factor for t, c in form.items() if factor}
