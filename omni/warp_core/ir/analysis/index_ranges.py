"""Distances between two indices of a thread, where values that branches choose are part of both.

`if near: k = take(slots, n)`, then `n += 1`, and the same again: where both calls are made, the second `n` is larger.
Start with `differ_where_both_run`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from ..nodes import Operation, Value
from .linear_form import Term, linear_form

Choices = Mapping[Operation, int]  # the region of an `if` that is taken


class _Range(NamedTuple):
    """A sum of terms, and of a number between two bounds."""

    rest: Mapping[Term, int]
    low: int
    high: int


def differ_where_both_run(a: Value, b: Value, choices: Choices) -> bool:
    """True if two indices provably differ where these regions of each `if` are taken."""
    return _is_away(a, b, choices) or _is_away(b, a, choices)


def _is_away(a: Value, b: Value, choices: Choices) -> bool:
    form = dict(linear_form(_counted(a)))
    constant = form.pop(None, 0)
    found = _range(_counted(b), choices, form, {})
    if found.rest != form or (not form and min(found.low, constant) < 0):  # one may count from the end
        return False
    return not found.low <= constant <= found.high


def _counted(index: Value) -> Value:
    """An index without the operation that lets numbers below zero count from the end."""
    return index.op.args[0] if index.op is not None and index.op.code == "from_end" else index


def _range(value: Value, choices: Choices, ends: Container[Term], known: dict[Value, _Range]) -> _Range:
    """The range of a value in terms of `ends`, or of others where they have no part in it."""
    if value in known:
        return known[value]
    form = dict(linear_form(value))
    low = high = form.pop(None, 0)
    rest: dict[Term, int] = {}
    for term, factor in form.items():
        part = _Range({term: 1}, 0, 0)
        if isinstance(term, Value) and term not in ends and term.op is not None and term.op.code == "if":
            part = _chosen(term, choices, ends, known) or part
        for inner, c in part.rest.items():
            rest[inner] = rest.get(inner, 0) + c * factor
        low += min(part.low * factor, part.high * factor)
        high += max(part.low * factor, part.high * factor)
    known[value] = _Range({t: c for t, c in rest.items() if c}, low, high)
    return known[value]


def _chosen(value: Value, choices: Choices, ends: Container[Term], known: dict[Value, _Range]) -> _Range | None:
    """The range of a result of an `if`; None if its regions give values with other terms."""
    op = value.op
    assert op is not None
    taken = [op.regions[choices[op]]] if op in choices else op.regions
    given = [r.terminator.args[op.results.index(value)] for r in taken if r.terminator.code == "yield"]
    found = [_range(v, choices, ends, known) for v in given]
    if not found or any(r.rest != found[0].rest for r in found):
        return None
    return _Range(found[0].rest, min(r.low for r in found), max(r.high for r in found))
