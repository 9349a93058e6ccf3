"""Which loops of few iterations are unrolled: as many of a nest, from the inside out, as one budget allows.

The copies of nested loops multiply, and what a copy becomes is known only when it is lowered: calls may be inlined, and
bounds of inner loops may depend on outer indices. So a loop is unrolled on trial. When its copies grow beyond the
budget, everything is taken back and the loop runs instead; the loops around it then count its body once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ...ir.analysis.size import cost
from ..context import Context

TRIPS = 16
BUDGET = 1000  # scalar operations; beyond them, LLVM takes more time than in proportion

T = TypeVar("T")


class TooLarge(Exception):
    """The copies of a loop cost more than the budget allows."""


def copies(cx: Context, items: Iterable[T], count: int) -> Iterator[T]:
    """Yield the items of a loop to be unrolled on trial, and add up what is lowered for each.

    Raises:
        TooLarge: as many copies like the last one would cost more than the budget.
    """
    spent, known = 0, len(cx.session.diagnostics)
    for left, item in zip(reversed(range(count)), items):
        begin, before = len(cx.b.region.ops), cx.copies
        cx.copies += 1  # a copy takes time even if all in it is folded
        yield item
        if len(cx.session.diagnostics) > known:
            return  # the other copies would have the same mistakes
        last = cost(cx.b.region.ops[begin:]) + cx.copies - before
        spent += last
        if (spent + left * last) * cx.multiplicity > BUDGET:
            raise TooLarge


@contextmanager
def repeated(cx: Context, times: int) -> Iterator[None]:
    """A `with` block in which a loop is unrolled whatever the cost, so each loop inside has a part of the budget."""
    before = cx.multiplicity
    cx.multiplicity *= max(times, 1)
    try:
        yield
    finally:
        cx.multiplicity = before


def unrolled_on_trial(cx: Context, node: ast.For, unroll: Callable[[], None]) -> bool:
    """Unroll a loop and return True, or take that back and return False if it costs too much."""
    if node in cx.rolled:
        return False
    restore = save(cx)
    try:
        unroll()
        return True
    except TooLarge:
        restore()
        cx.rolled.add(node)
        return False


def accepted(cx: Context, node: ast.For, run: Callable[[], None]) -> bool:
    """Lower a loop as one that runs and return True, or take that back and return False if its body is refused."""
    if node in cx.unrolled:
        return False
    restore, known = save(cx), len(cx.session.diagnostics)
    run()
    if known or not cx.session.diagnostics:
        return True
    restore()
    cx.unrolled.add(node)
    return False


def save(cx: Context) -> Callable[[], None]:
    """Return a function that brings the lowering of a function back to the state of now."""
    session = cx.session
    restore_code, restore_session = cx.b.save(), session.save()
    env, local_types, memory, dead = dict(cx.env), dict(cx.local_types), dict(cx.memory), cx.dead
    results, parameters, returns = dict(cx.result_memories), len(cx.function.params), len(cx.returns)
    made = cx.copies
    loops, frames = len(cx.loops), [(f, len(f.breaks), len(f.continues)) for f in cx.frames]

    def restore() -> None:
        restore_code()
        restore_session()
        cx.env, cx.local_types, cx.memory, cx.dead = dict(env), dict(local_types), dict(memory), dead
        cx.result_memories, cx.copies = dict(results), made
        del cx.function.params[parameters:], cx.returns[returns:], cx.loops[loops:], cx.frames[len(frames) :]
        for frame, breaks, continues in frames:
            del frame.breaks[breaks:], frame.continues[continues:]

    return restore
