"""Operations of a block that are done element by element: `tile_map`, `elements`, `tile_reduce`.

Each opens a region, lets a callback lower what is done with one element, and closes the region. `elementwise` makes an
operation on numbers one on tiles. All functions on tiles are made of these.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...ir.interp.block_runner import has_any
from ...ir.nodes import Region, Value
from ...ir.ops import COLLECTIVES, reduced
from ...lang.generics import spell
from ...lang.types import BOOL, I32, Tile, Type
from ..values import Front, TileView, UntypedLiteral

if TYPE_CHECKING:
    from ..context import Context

At = list[Value]  # the coordinates of an element
_NAMES = "ijkl"


def is_tile(x: Any) -> bool:
    """True if a front value is a tile, or part of one."""
    return isinstance(getattr(x, "type", None), Tile)


def tile_map(cx: Context, shape: Sequence[int], node: ast.AST, element: Callable[[At], Front]) -> Value:
    """The tile of the elements that `element` gives at coordinates."""
    at = _open(cx, [I32] * len(shape), node)
    value = cx.materialise(element(at), node)
    tile = Tile(value.type, shape)
    region = _close(cx, node, value)
    return cx.b.emit("tile_map", (), tile, (region,), (tile,))[0]


def each(cx: Context, shape: Sequence[int], node: ast.AST, do: Callable[[At], Any]) -> None:
    """Do something at all coordinates of a grid, shared among the threads of the block."""
    extents = [cx.b.i32(n) for n in shape]
    do(_open(cx, [I32] * len(shape), node))
    region = _close(cx, node)
    cx.b.emit("elements", extents, None, (region,))


def reduce(cx: Context, tile: Value, axis: int, node: ast.AST, combine: Callable[[Value, Value], Front]) -> Value:
    """The tile of what `combine` makes of all elements, axis -1, or of those along an axis."""
    t = tile.type
    assert isinstance(t, Tile)
    a, b = _open(cx, [t.dtype] * 2, node, "ab")
    value = cx.materialise(combine(a, b), node)
    if value.type is not t.dtype:
        text = f"a reduction of {spell(t)} must give {spell(t.dtype)}, not {spell(value.type)}"
        raise cx.error("type-mismatch", text, node)
    region = _close(cx, node, value)
    return cx.b.emit("tile_reduce", [tile], axis, (region,), (reduced(t, axis),))[0]


def get(cx: Context, tile: Value, at: Sequence[Value]) -> Value:
    """One element."""
    return cx.b.op("tile_get", tile, *at)


def choice(cx: Context, condition: Value, node: ast.AST, then: Callable[[], Value], other: Value | None = None) -> Any:
    """What `then` gives where the condition holds, else `other`; without `other` only what `then` does."""
    cx.b.push()
    value = then()
    cx.b.terminate("yield", [value] if other is not None else [])
    taken = cx.b.pop()
    cx.b.push()
    cx.b.terminate("yield", [other] if other is not None else [])
    results = cx.at(node).emit("if", [condition], None, (taken, cx.b.pop()), (other.type,) if other is not None else ())
    return results[0] if results else None


def _open(cx: Context, types: Sequence[Type], node: ast.AST, names: str = _NAMES) -> At:
    cx.session.in_blocks = True
    cx.at(node)
    return cx.b.push(types, names[: len(types)])


def _close(cx: Context, node: ast.AST, *results: Value) -> Region:
    cx.b.terminate("yield", results)
    region = cx.b.pop()
    cx.at(node)
    for op in region.walk():
        if op.code in COLLECTIVES or (op.code == "call" and has_any(op.attr, COLLECTIVES)):
            text = "what is done for one element of a tile cannot be work of the whole block"
            raise cx.error("unsupported", text, op.loc or node, help="make the tile in a statement before this one")
    return region


# -- elementwise ------------------------------------------------------------------------------------------------------


def elementwise(cx: Context, operands: Sequence[Any], node: ast.AST, do: Callable[..., Front | bool]) -> Value:
    """The tile of what `do` makes of the elements of tiles, whose shapes broadcast as in NumPy. Other operands are
    passed as they are.
    """
    operands = [cx.materialise(x, node) if is_tile(x) else x for x in operands]
    shape = broadcast_shape(cx, [x.type.shape for x in operands if is_tile(x)], operands, node)

    def element(at: At) -> Front:
        found = do(*(get(cx, x, _aligned(cx, x.type.shape, at)) if is_tile(x) else x for x in operands))
        return cx.b.const(found, BOOL) if isinstance(found, bool) else found

    return tile_map(cx, shape, node, element)


def broadcast_shape(
    cx: Context, shapes: Sequence[tuple[int, ...]], operands: Sequence[Any], node: ast.AST
) -> tuple[int, ...]:
    """The shape to which all of `shapes` broadcast."""
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(s)) + s for s in shapes]
    found = tuple(max(extents) for extents in zip(*padded))
    if any(n not in (1, wanted) for s in padded for n, wanted in zip(s, found)):
        shown = " and ".join(spell(x.type) for x in operands if is_tile(x))
        raise cx.error("shape", f"shape mismatch: {shown} do not broadcast to one shape", node)
    return found


def _aligned(cx: Context, shape: tuple[int, ...], at: At) -> At:
    """The coordinates in a tile of `shape` of an element of the tile to which it broadcasts."""
    return [cx.b.i32(0) if n == 1 else i for n, i in zip(shape, at[len(at) - len(shape) :])]


def read(cx: Context, view: TileView, node: ast.AST) -> Value:
    """The elements of a view as a tile of their own."""
    tile = cx.read(view.root, node) if isinstance(view.root, str) else view.root
    assert isinstance(tile, Value)
    at = view.at
    if at is None:
        return tile
    return tile_map(cx, view.type.shape, node, lambda coordinates: get(cx, tile, at(coordinates)))


def detach_views(cx: Context, name: str, node: ast.AST) -> None:
    """The local `name` will hold another tile: views of the one it holds now get elements of their own.

    A view that other names share a tile with, or that was made outside of this branch or loop, would have to go on
    changing the old tile. That is refused if the view is still wanted.
    """
    tiles = cx.liveness.tiles()
    if tiles is None or len(tiles.related([name])) < 2:
        return
    views = [(n, x) for n, x in cx.env.items() if isinstance(x, TileView) and x.root == name and n != name]
    wanted = cx.liveness.reads_after(cx.statement) if cx.statement is not None else frozenset()
    live = [(n, x) for n, x in views if n in wanted]
    for n, _ in views:
        del cx.env[n]
    if len(live) > 1 or any(x.home is not cx.b.region for _, x in live):
        shown = "`, `".join(n for n, _ in live)
        text = f"`{name}` cannot hold another tile here, as `{shown}` shows elements of the tile that it holds"
        raise cx.error("unsupported", text, node, help=f"use another name, or wp.tile_assign({name}, ...)")
    for n, x in live:
        cx.env[n] = read(cx, x, node)


def uniform_index(cx: Context, x: Any, node: ast.AST, what: str) -> Value:
    """An offset or index of the whole block, as an int32."""
    v = cx.index_value(x, node, what)
    return v if v.type is I32 else cx.at(node).op("cast", v, attr=I32)


def is_literal(x: Any) -> bool:
    """True for a number without a type."""
    return isinstance(x, UntypedLiteral)
