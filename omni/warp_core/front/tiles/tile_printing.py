"""`print(tile)`: the text of a tile, which one thread prints for its block."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import product

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import Scalar
from ..context import Context
from ..values import TileView
from .tile_regions import choice
from .tile_views import element, whole

_MOST = 1024  # elements whose text is one operation, so that it arrives in one piece
Show = Callable[[Value], tuple[str, list[Value]]]


def print_tile(cx: Context, tile: Value | TileView, end: str, node: ast.AST, show: Show, emit: Callable) -> None:
    """Print a tile as warp-lang does, once for each block. `show` gives the text and operands of an element that is
    not a number, `emit` prints.
    """
    view = whole(tile)
    t = view.type
    if t.size > _MOST:
        text = f"{spell(t)} cannot be printed: print(...) shows at most {_MOST} elements of a tile"
        raise cx.error("unsupported", text, node, help="print a part: wp.tile_view(t, offset=..., shape=...)")
    cx.session.in_blocks = True
    first = cx.at(node).op("eq", cx.b.op("thread_index"), cx.b.i32(0))

    def shown() -> Value:
        parts = [("%g", [e]) if _is_float(e) else show(e) for e in _elements(cx, view, node)]
        extents = ",".join(map(str, t.shape))
        text = f"{_rows([p for p, _ in parts], t.shape)} = tile(shape=({extents}), storage=register){end}"
        emit(text, [v for _, values in parts for v in values])
        return first

    choice(cx, first, node, shown)


def _elements(cx: Context, view: TileView, node: ast.AST) -> Iterator[Value]:
    for at in product(*map(range, view.type.shape)):
        yield element(cx, view, [cx.b.i32(i) for i in at], node)


def _is_float(e: Value) -> bool:
    return isinstance(e.type, Scalar) and e.type.is_float


def _rows(parts: list[str], shape: tuple[int, ...], depth: int = 1) -> str:
    """Elements in brackets: rows on lines of their own, an empty line between planes."""
    if len(shape) == 1:
        return f"[{' '.join(parts)}]"
    size = len(parts) // shape[0]
    inner = (_rows(parts[i : i + size], shape[1:], depth + 1) for i in range(0, len(parts), size))
    between = ("\n" if len(shape) == 2 else "\n\n") + " " * depth
    return f"[{between.join(inner)}]"
