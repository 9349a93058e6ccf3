"""`match` on numbers, tuples of them, alternatives and captures: a chain of conditions."""

from __future__ import annotations

import ast
from typing import Any

from ...ir.nodes import Value
from ..context import Context, lowers
from ..expressions.comparison import any_of, compare
from ..merges import conditional
from ..values import Static, TupleValue, UntypedLiteral
from .loop_bodies import assigned


@lowers(ast.Match)
def _match(cx: Context, node: ast.Match) -> None:
    subject = cx.bindable(cx.rvalue(node.subject), node.subject)
    _cases(cx, node, subject, list(node.cases))


def _cases(cx: Context, node: ast.Match, subject: Any, cases: list[ast.match_case]) -> None:
    if not cases:
        return
    case = cases[0]
    cond = cx.attempt(lambda: _matches(cx, case.pattern, subject), True)
    if case.guard is not None and cond is not False:
        _bind_pattern(cx, case.pattern, subject)
        cond = any_of(cx, [cond, cx.condition(case.guard)], "and", case.guard)
    if isinstance(cond, bool):
        if cond:
            _bind_pattern(cx, case.pattern, subject)
            cx.statements(case.body)
        else:
            _cases(cx, node, subject, cases[1:])
        return

    def taken() -> None:
        _bind_pattern(cx, case.pattern, subject)
        cx.statements(case.body)

    conditional(
        cx,
        cond,
        taken,
        lambda: _cases(cx, node, subject, cases[1:]),
        lambda: assigned(cx, [node]) & cx.liveness.wanted(node),
        node,
    )


def _matches(cx: Context, pattern: ast.pattern, subject: Any) -> Value | bool:
    if isinstance(pattern, ast.MatchAs):
        return True if pattern.pattern is None else _matches(cx, pattern.pattern, subject)
    if isinstance(pattern, ast.MatchValue):
        return compare(cx, ast.Eq, subject, cx.rvalue(pattern.value), pattern, pattern, pattern)
    if isinstance(pattern, ast.MatchSingleton):
        known = Static(None) if pattern.value is None else UntypedLiteral(pattern.value)
        return compare(cx, ast.Eq, subject, known, pattern, pattern, pattern)
    if isinstance(pattern, ast.MatchOr):
        return any_of(cx, [_matches(cx, p, subject) for p in pattern.patterns], "or", pattern)
    if isinstance(pattern, ast.MatchSequence) and isinstance(subject, TupleValue):
        return _sequence(cx, pattern, subject)
    raise cx.error("unsupported", "kernels match numbers, `|` of them, tuples and `_` only", pattern)


def _sequence(cx: Context, pattern: ast.MatchSequence, subject: TupleValue) -> Value | bool:
    if len(pattern.patterns) != len(subject.items):
        return False
    return any_of(cx, [_matches(cx, p, x) for p, x in zip(pattern.patterns, subject.items)], "and", pattern)


def _bind_pattern(cx: Context, pattern: ast.pattern, subject: Any) -> None:
    if isinstance(pattern, ast.MatchAs) and pattern.name:
        cx.bind(pattern.name, subject, pattern)
    if isinstance(pattern, ast.MatchAs) and pattern.pattern:
        _bind_pattern(cx, pattern.pattern, subject)
    if isinstance(pattern, ast.MatchSequence) and isinstance(subject, TupleValue):
        for part, item in zip(pattern.patterns, subject.items):
            _bind_pattern(cx, part, item)
