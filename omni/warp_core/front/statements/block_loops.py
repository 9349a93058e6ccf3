"""Loops whose iterations the threads of a block share: `for i in wp.block_range(n)`.

They become the operation `elements`. Any thread may run any of them, so nothing goes from one iteration to another, or
to what follows, but through memory. Start with `shared_loop`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...ir.nodes import Value
from ...lang.registry import INTRINSICS
from ...lang.types import I32, I64, MAX_NDIM, Tile
from ..calls.block_intrinsics import in_blocks
from ..calls.calls import Call, handles
from ..context import Context, PyLoop
from ..merges import terminate
from ..values import POISON, Front, Poison, Static, TupleValue, Undefined
from .loop_bodies import Block, assigned, leaves
from .statements import assign

_NAME = "wp.block_range"


@dataclass
class BlockRange:
    """The grid of iterations: its `extents`. In one dimension, indices begin at `start` and go on by `step`."""

    extents: list[Value]
    start: Value
    step: Value


@handles("block_range")
def _elsewhere(cx: Context, c: Call) -> Front:
    text = f"`{_NAME}` stands in a `for` statement only: `for i in {_NAME}(n):`"
    raise cx.error("block-range", text, c.node)


def block_range(cx: Context, node: ast.For) -> BlockRange | None:
    """Return the iterations of a loop over `wp.block_range(...)`, None for other loops."""
    call = node.iter
    if not isinstance(call, ast.Call) or not _is_block_range(cx, call.func):
        return None
    names = len(node.target.elts) if isinstance(node.target, ast.Tuple) else 1
    count, wanted = len(call.args), range(1, 4) if names == 1 else range(names, names + 1)
    if call.keywords or count not in wanted or names > MAX_NDIM:
        text = (
            f"`{_NAME}` takes the count of iterations, or start, stop and step; or a count for each of up to four names"
        )
        raise cx.error("arguments", text, call)
    values = [cx.convert(cx.index_value(cx.rvalue(a), a, "a bound of the loop"), I32, a, "the loop") for a in call.args]
    b = in_blocks(cx, call).b
    zero, one = b.const(0, I32), b.const(1, I32)
    if names > 1 or count == 1:
        return BlockRange(values, zero, one)
    start, stop, step = (*values, one)[:3]
    if step.is_const and step.const == 0:
        raise cx.error("literal", f"the step of {_NAME} must not be zero", call.args[2])
    return BlockRange([_length(cx, start, stop, step)], start, step)


def _is_block_range(cx: Context, func: ast.expr) -> bool:
    if not isinstance(func, (ast.Name, ast.Attribute)):
        return False
    found = cx.expr(func)
    return isinstance(found, Static) and found.obj is INTRINSICS["block_range"]


def _length(cx: Context, start: Value, stop: Value, step: Value) -> Value:
    """The number of iterations: the distance divided by the step, rounded up."""
    b = cx.b
    if step.is_const and step.const == 1:
        return b.op("sub", stop, start)
    back, by = b.op("sub", *(b.op("cast", v, attr=I64) for v in (start, stop))), b.op("cast", step, attr=I64)
    return b.op("cast", b.op("neg", b.op("floordiv", back, by)), attr=I32)


def shared_loop(cx: Context, node: ast.For, grid: BlockRange) -> None:
    """Lower a loop whose iterations the threads of a block share."""
    _refuse_exits(cx, node)
    names = assigned(cx, [node]) & cx.liveness.writes([node])
    _refuse_carried(cx, node, names)
    before, loc = dict(cx.env), cx.b.loc
    at = cx.b.push([I32] * len(grid.extents), ["index"] * len(grid.extents))
    inner = Block(cx, node, frozenset()) if leaves(node.body, ast.Continue) else None
    cx.loops.append(PyLoop(None, inner.frame if inner else None, "break"))
    cx.attempt(lambda: assign(cx, node.target, _item(cx, grid, at), node.target), None)
    cx.statements(node.body)
    cx.loops.pop()
    if inner:
        inner.close()
    if not cx.dead:
        terminate(cx, "yield")
    region = cx.b.pop()
    cx.b.loc = loc
    inside, cx.env, cx.dead = cx.env, before, False
    cx.b.emit("elements", grid.extents, regions=(region,))
    for name in names:
        if isinstance(inside.get(name), Poison):
            cx.env[name] = POISON
        elif name not in cx.env:
            where = cx.assigned_within(name, node)
            why = f"it is assigned here, in {_NAME}, whose iterations the threads of a block share"
            cx.env[name] = Undefined(cx.loc(where) if where else None, why)
    cx.statements(node.orelse)


def _item(cx: Context, grid: BlockRange, at: list[Value]) -> Front:
    b = cx.b
    if len(at) > 1:
        cx.session.counting.update(at)
        return TupleValue(tuple(at))
    if grid.start.is_const and grid.start.const >= 0 and grid.step.is_const and grid.step.const > 0:
        cx.session.counting.add(at[0])
    return b.op("add", b.op("mul", at[0], grid.step), grid.start)


def _refuse_exits(cx: Context, node: ast.For) -> None:
    """Refuse what would end the loop before all iterations have run."""
    for exit in _exits(node):
        word = "break" if isinstance(exit, ast.Break) else "return"
        text = f"`{word}` in {_NAME}: the threads of a block share its iterations, and none can end it for the others"
        help = "leave out the rest of an iteration with `continue`, or write an `if`"
        cx.report("block-range", text, exit, help=help)


def _exits(node: ast.For) -> Iterator[ast.AST]:
    """Each `return` in a loop, and each `break` that belongs to it."""
    waiting: list[tuple[ast.AST, bool]] = [(s, True) for s in node.body]
    while waiting:
        s, is_own = waiting.pop()
        if isinstance(s, ast.Return) or (is_own and isinstance(s, ast.Break)):
            yield s
        if not isinstance(s, (ast.FunctionDef, ast.Lambda)):
            is_own = is_own and not isinstance(s, (ast.For, ast.While))
            waiting += [(inner, is_own) for inner in ast.iter_child_nodes(s) if not isinstance(inner, ast.expr)]


def _refuse_carried(cx: Context, node: ast.For, names: frozenset[str]) -> None:
    """Refuse to assign a local that the next iteration, or what follows the loop, reads."""
    read = cx.liveness.reads_at_head(node) | cx.liveness.reads_after(node)
    by_any_name = cx.liveness.at_head(node) | cx.liveness.wanted(node)
    for name in sorted(names & by_any_name):
        x = cx.env.get(name)
        is_tile = isinstance(getattr(x, "type", None), Tile)
        if x is not None and not isinstance(x, (Poison, Undefined)) and (is_tile or name in read):
            text = f"`{name}` is assigned in {_NAME}, whose iterations the threads of a block share, and read by others"
            help = (
                "give it another name if it is for one iteration; what several contribute to goes into a shared array, "
                "as by wp.atomic_add"
            )
            cx.report("block-range", text, cx.assigned_within(name, node) or node, help=help)
