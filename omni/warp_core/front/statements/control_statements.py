"""Branches and loops: if, for, while, break, continue, return.

Loops carry the locals that they assign and that are wanted at their head or after them. `break` and `continue` are
exits whose operands are filled in when the loop is complete. `unrolling` decides which loops are unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...ir.nodes import Value
from ...lang.types import Type
from ..context import Context, Exit, Frame, PyLoop, Returned, lowers
from ..expressions.local_arrays import returned
from ..merges import Join, conditional, terminate
from ..values import POISON, Poison, Static, Undefined, flatten, shape_types, unflatten
from .block_loops import BlockRange, block_range, shared_loop
from .iteration import Items, Span, iterate
from .loop_bodies import Block, assigned, leaves
from .statements import assign
from .unrolling import TRIPS, accepted, copies, repeated, unrolled_on_trial


@lowers(ast.If)
def _if(cx: Context, node: ast.If) -> None:
    cond = cx.attempt(lambda: cx.condition(node.test), None)
    if isinstance(cond, bool):
        _arm(cx, cond, node.body if cond else node.orelse)
        return
    if cond is None:
        cond = cx.b.op("ne", *[cx.b.op("tid", attr=(0, 1))] * 2)  # refused: the kernel is lowered for its errors only
    conditional(
        cx,
        cond,
        lambda: _arm(cx, True, node.body),
        lambda: _arm(cx, False, node.orelse),
        lambda: assigned(cx, [node]) & cx.liveness.wanted(node),
        node,
    )


def _arm(cx: Context, condition: bool, body: Sequence[ast.stmt]) -> None:
    cx.known(condition)
    cx.statements(body)


# -- loops ----------------------------------------------------------------------------------------------------------


@lowers(ast.For)
def _for(cx: Context, node: ast.For) -> None:
    source = cx.attempt(lambda: block_range(cx, node) or iterate(cx, node.iter), None)
    if source is None:
        _check_only(cx, node)
    elif isinstance(source, BlockRange):
        shared_loop(cx, node, source)
    elif isinstance(source, Items):
        with repeated(cx, len(source.items)):
            _unrolled(cx, node, source.items)
    else:
        trips = source.trips()
        if trips == 0:
            cx.statements(node.orelse)
        elif trips is None or not _worth_unrolling(cx, node, trips):
            _run_time(cx, node, source, trips is not None)
        else:
            _few(cx, node, source, trips)


def _few(cx: Context, node: ast.For, span: Span, trips: int) -> None:
    """A loop of few iterations: unrolled if the budget allows it, or if the body needs constant indices."""
    if unrolled_on_trial(cx, node, lambda: _unrolled(cx, node, copies(cx, node, span.constants(cx, trips), trips))):
        return
    if accepted(cx, node, lambda: _run_time(cx, node, span, True)):
        return
    if node not in cx.unrolled:
        _few(cx, node, span, trips)  # with the budget of loops that select components
        return
    with repeated(cx, trips):
        _unrolled(cx, node, span.constants(cx, trips))


def _check_only(cx: Context, node: ast.For) -> None:
    """The iterable was refused: lower the body once, for its own errors."""
    for name in cx.liveness.writes([node.target]):
        cx.env[name] = POISON
    frame = Frame()
    cx.loops.append(PyLoop(frame, frame))
    cx.frames.append(frame)
    cx.b.push()
    cx.statements(node.body)
    cx.b.pop()
    cx.frames.pop()
    cx.loops.pop()
    cx.dead = False
    for name in cx.liveness.writes([node]):
        cx.env[name] = POISON


def _worth_unrolling(cx: Context, node: ast.For, trips: int) -> bool:
    if trips > TRIPS or leaves(node.body, ast.Break) or leaves(node.body, ast.Continue):
        return False
    index = cx.liveness.writes([node.target])
    return trips <= 1 or any(index & cx.liveness.reads(s) for s in node.body)


def _unrolled(cx: Context, node: ast.For, items: Iterable[Any]) -> None:
    names = cx.liveness.writes([node.target])
    inside = cx.liveness.wanted(node) | cx.liveness.at_head(node)
    outer = Block(cx, node, cx.liveness.wanted(node)) if leaves(node.body, ast.Break) else None
    continues = leaves(node.body, ast.Continue)
    for item in _while_reached(cx, items):
        inner = Block(cx, node, inside) if continues else None
        cx.loops.append(PyLoop(outer.frame if outer else None, inner.frame if inner else None, "break"))
        _forget_types(cx, names)
        for name in names:
            cx.memory.pop(name, None)
        assign(cx, node.target, item, node.target)
        cx.statements(node.body)
        cx.loops.pop()
        if inner:
            inner.close()
    if not cx.dead:
        cx.statements(node.orelse)
    if outer:
        outer.close()


def _while_reached(cx: Context, items: Iterable[Any]) -> Iterator[Any]:
    """The items, each made if the code before it ends neither the loop nor the function."""
    left = iter(items)
    while not cx.dead:
        try:
            item = next(left)
        except StopIteration:
            return
        yield item


class _Carried:
    """The loop-carried locals: their shapes, and their values as region parameters."""

    def __init__(self, cx: Context, node: ast.For | ast.While):
        self.cx, self.node = cx, node
        wanted = cx.liveness.at_head(node) | cx.liveness.wanted(node)
        names = assigned(cx, [node]) & wanted
        self.names, self.shapes, self.init = [], [], []
        for name in sorted(names):
            x = cx.env.get(name)
            if x is None or isinstance(x, (Poison, Undefined)):
                continue
            shape, values = flatten(x)
            if values:
                self.names.append(name)
                self.shapes.append(shape)
                self.init += values
        self.types: list[Type] = [t for s in self.shapes for t in shape_types(s)]

    def enter(self, params: Sequence[Value]) -> None:
        """Bind the names to the region's parameters."""
        values = list(params)
        for name, shape in zip(self.names, self.shapes):
            self.cx.env[name] = unflatten(shape, values)

    def leave(self, exit: Exit, params: Sequence[Value]) -> None:
        """Fill in the operands of an exit that gives the next carried values."""
        at = 0
        for name, shape in zip(self.names, self.shapes):
            count = len(shape_types(shape))
            x = exit.env.get(name)
            if x is None or isinstance(x, (Poison, Undefined)):
                exit.op.args += params[at : at + count]
            else:
                found, values = flatten(x)
                if found != shape:
                    self._differ(name)
                    values = list(params[at : at + count])
                exit.op.args += values
            at += count

    def _differ(self, name: str) -> None:
        where = self.cx.assigned_within(name, self.node) or self.node
        text = f"`{name}` would change its type from one iteration to the next"
        self.cx.report("branch-types", text, where)


def _run_time(cx: Context, node: ast.For, span: Span, not_empty: bool) -> None:
    """A `for` operation; with `break` and `else` inside a block that `break` leaves."""
    breaks = leaves(node.body, ast.Break)
    block = Block(cx, node, cx.liveness.wanted(node)) if breaks and node.orelse else None
    _for_operation(cx, node, span, not_empty, block)
    if not cx.dead:
        cx.statements(node.orelse)
    if block:
        block.close()


def _forget_types(cx: Context, names: Iterable[str]) -> None:
    for name in names:
        cx.local_types.pop(name, None)


def _for_operation(cx: Context, node: ast.For, span: Span, not_empty: bool, block: Block | None) -> None:
    carried = _Carried(cx, node)
    own = cx.liveness.writes([node.target]) - cx.liveness.wanted(node)  # read in the body alone: of any type elsewhere
    _forget_types(cx, own)
    before, loc = dict(cx.env), cx.b.loc
    index_type = span.low.type
    index, *params = cx.b.push((index_type, *carried.types), ("index", *carried.names))
    if span.counts_up:
        cx.session.counting.add(index)
    carried.enter(params)
    frame = Frame()
    cx.frames.append(frame)
    cx.loops.append(PyLoop(block.frame if block else frame, frame))
    cx.attempt(lambda: assign(cx, node.target, span.item(cx, index), node.target), None)
    cx.statements(node.body)
    exits = frame.breaks + frame.continues
    if not cx.dead:
        exits.append(terminate(cx, "yield"))
    region = cx.b.pop()
    cx.loops.pop()
    cx.frames.pop()
    cx.b.loc = loc
    for exit in exits:
        carried.leave(exit, params)
    cx.env, cx.dead = before, False
    _forget_types(cx, own)
    extra = _definitely_new(cx, node, carried, exits) if not_empty else []
    types, init = list(carried.types), list(carried.init)
    for name, shape in extra:
        for t in shape_types(shape):
            init.append(cx.b.zero(t))
            types.append(t)
            region.params.append(Value(t, name=name))
        for exit in exits:
            exit.op.args += flatten(exit.env[name])[1]
    results = list(cx.b.emit("for", [span.low, span.high, span.step, *init], regions=(region,), results=types))
    for name, shape in [*zip(carried.names, carried.shapes), *extra]:
        cx.env[name] = unflatten(shape, results)
    _forget(cx, node, {*carried.names, *(n for n, _ in extra)}, exits)


def _definitely_new(cx: Context, node: ast.For, carried: _Carried, exits: list[Exit]) -> list[tuple[str, Any]]:
    """Locals first assigned in the body, on every path through it, and wanted after a loop that surely runs."""
    names = (assigned(cx, [node]) & cx.liveness.wanted(node)) - set(carried.names)
    found = []
    for name in sorted(names):
        bindings = [e.env.get(name) for e in exits]
        if not bindings or any(x is None or isinstance(x, (Poison, Undefined, Static)) for x in bindings):
            continue
        shapes = [flatten(x)[0] for x in bindings]
        if all(s == shapes[0] for s in shapes) and shape_types(shapes[0]):
            found.append((name, shapes[0]))
    return found


def _forget(cx: Context, node: ast.For | ast.While, kept: set[str], exits: list[Exit]) -> None:
    """After a loop that may not run: locals first assigned inside it are unassigned on one path."""
    for name in assigned(cx, [node]) - kept:
        bindings = [e.env.get(name) for e in exits]
        if any(isinstance(x, Poison) for x in bindings):
            cx.env[name] = POISON
        elif name not in cx.env and any(x is not None for x in bindings):
            where = cx.assigned_within(name, node)
            cx.env[name] = Undefined(
                cx.loc(where) if where else None, "it is assigned here, in a loop that may not run"
            )


@lowers(ast.While)
def _while(cx: Context, node: ast.While) -> None:
    carried = _Carried(cx, node)
    before, loc = dict(cx.env), cx.b.loc
    params = cx.b.push(carried.types, carried.names)
    carried.enter(params)
    frame = Frame()
    cx.frames.append(frame)
    cond = cx.attempt(lambda: cx.condition(node.test), True)
    if cond is not True:
        _leave_unless(cx, node, cond, frame)
    cx.loops.append(PyLoop(frame, frame))
    cx.statements(node.body)
    cx.loops.pop()
    again = list(frame.continues)
    if not cx.dead:
        again.append(terminate(cx, "yield"))
    region = cx.b.pop()
    cx.frames.pop()
    for exit in again:
        carried.leave(exit, params)
    cx.b.loc = loc
    cx.env, cx.dead = before, not frame.breaks
    wanted = assigned(cx, [node]) & cx.liveness.wanted(node)
    # Values seen at the exits are those of the region, so nothing counts as unchanged.
    joined = Join(cx, frame.breaks, wanted, {n: x for n, x in before.items() if n not in carried.names}, node)
    joined.fill()
    results = cx.b.emit("loop", carried.init, regions=(region,), results=joined.types)
    if cx.dead:
        cx.b.terminate("unreachable")
    else:
        joined.bind(results)


def _leave_unless(cx: Context, node: ast.While, cond: Value | bool, frame: Frame) -> None:
    """`if not cond: else-branch; break` at the head of the loop."""
    env = dict(cx.env)
    at_head = cx.at(node.test)
    condition = cx.as_bool(cond)
    at_head.push()
    at_head.terminate("yield")
    stay = at_head.pop()
    at_head.push()
    _arm(cx, False, node.orelse)
    if not cx.dead:
        frame.breaks.append(terminate(cx, "break", _depth(cx, frame)))
    leave = at_head.pop()
    cx.env, cx.dead = env, False
    cx.known(True)
    cx.at(node.test).emit("if", [condition], regions=(stay, leave))


def _depth(cx: Context, frame: Frame) -> int:
    return len(cx.frames) - 1 - cx.frames.index(frame)


@lowers(ast.Break)
def _break(cx: Context, node: ast.Break) -> None:
    frame = cx.loops[-1].break_to
    assert frame is not None
    frame.breaks.append(terminate(cx, "break", _depth(cx, frame)))


@lowers(ast.Continue)
def _continue(cx: Context, node: ast.Continue) -> None:
    loop = cx.loops[-1]
    assert loop.continue_to is not None
    target = loop.continue_to.continues if loop.on_continue == "continue" else loop.continue_to.breaks
    target.append(terminate(cx, loop.on_continue, _depth(cx, loop.continue_to)))


# -- return ---------------------------------------------------------------------------------------------------------


@lowers(ast.Return)
def _return(cx: Context, node: ast.Return) -> None:
    value = cx.rvalue(node.value) if node.value else Static(None)
    if cx.function.is_kernel and not (isinstance(value, Static) and value.obj is None):
        raise cx.error(
            "return-type", "a kernel cannot return a value", node.value or node, help="write results into an array"
        )
    value = returned(cx, value, node.value or node)
    cx.returns.append(Returned(terminate(cx, "return"), value, node))
