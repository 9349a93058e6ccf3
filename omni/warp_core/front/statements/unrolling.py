"""Which loops of few iterations are unrolled: as many of a nest, from the inside out, as one budget allows.

The copies of nested loops multiply, and what a copy becomes is known only when it is lowered: calls may be inlined, and
bounds of inner loops may depend on outer indices. So a loop is unrolled on trial. When its copies grow beyond the
budget, everything is taken back and the loop runs instead; the loops around it then count its body once.

A loop whose index selects components of vectors or matrices has a larger budget. These live in registers: with constant
indices a component is a register, and with a varying index each access searches through all components.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ...ir.analysis.size import cost, fixed_cost
from ...ir.nodes import Operation, Value
from ...lang.types import Scalar
from ..context import Context
from ..limits import STEPS

TRIPS = 16
BUDGET = 1000  # scalar operations; beyond them, LLVM takes more time than in proportion
COMPONENT_BUDGET = 20 * BUDGET  # where the index selects components and fixed costs are within BUDGET

T = TypeVar("T")


class TooLarge(Exception):
    """The copies of a loop cost more than the budget allows."""


def copies(cx: Context, node: ast.For, items: Iterable[T], count: int) -> Iterator[T]:
    """Yield the items of a loop to be unrolled on trial, and add up what is lowered for each.

    Raises:
        TooLarge: as many copies like the last one would cost more than the budget.
    """
    spent, fixed, known = 0, 0, len(cx.session.diagnostics)
    for left, item in zip(reversed(range(count)), items):
        begin, before = len(cx.b.region.ops), cx.copies
        cx.copies += 1  # a copy takes time even if all in it is folded
        yield item
        if len(cx.session.diagnostics) > known:
            return  # the other copies would have the same mistakes
        ops = cx.b.region.ops[begin:]
        last, last_fixed = cost(ops) + cx.copies - before, fixed_cost(ops)
        spent += last
        fixed += last_fixed
        total = (spent + left * last) * cx.multiplicity
        allowed = BUDGET
        if node in cx.component_loops and (fixed + left * last_fixed) * cx.multiplicity <= BUDGET and _has_time(cx):
            allowed = COMPONENT_BUDGET
        if total > allowed:
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
    """Lower a loop as one that runs and return True, or take that back and return False.

    It is taken back if the body is refused, and the first time if the index selects components.
    """
    if node in cx.unrolled:
        return False
    restore, known, begin = save(cx), len(cx.session.diagnostics), len(cx.b.region.ops)
    rolled = cx.rolled - {node}
    run()
    if not known and cx.session.diagnostics:
        unsuitable = cx.unrolled
    elif node in cx.component_loops or not _has_time(cx):
        return True
    elif any(map(_selects_components, cx.b.region.ops[begin:])):
        unsuitable = cx.component_loops
        cx.rolled = rolled  # loops inside may have run for the searches that this index causes
    else:
        return True
    restore()
    unsuitable.add(node)
    return False


def _has_time(cx: Context) -> bool:
    """True if trials of loops that select components have lowered little, so that enough is left for the kernel."""
    return cx.session.steps <= STEPS // 4


def _selects_components(loop: Operation) -> bool:
    """True if the index of a `for`, or an integer made of it, selects a component of a vector or matrix."""
    if loop.code != "for":
        return any(_selects_components(op) for region in loop.regions for op in region.ops)
    made: set[Value] = {loop.regions[0].params[0]}
    for op in loop.regions[0].walk():
        if made.isdisjoint(op.args):
            continue
        if op.code in ("extract_dyn", "insert_dyn") and op.args[-1] in made:
            return True
        made.update(v for v in op.results if isinstance(v.type, Scalar) and v.type.is_int)
        if op.code == "for":
            made.add(op.regions[0].params[0])
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
