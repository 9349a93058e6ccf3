"""Which tiles and values an operator combines."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import Scalar, Tile, Type
from ..values import UntypedLiteral, spell_front
from .tile_regions import is_tile

if TYPE_CHECKING:
    from ..context import Context

PRODUCT: list[Callable[..., Value]] = []  # of matrices; filled by tile_algorithm_calls
_WORDS = {"*": "multiply", "/": "divide"}


def check_operands(cx: Context, symbol: str, left: Any, right: Any, node: ast.AST) -> None:
    """Refuse operands, one of them a tile at least, whose elements an operator does not combine."""
    if symbol == "@":
        raise cx.error("unsupported", f"`@` cannot combine {spell_front(left)} and {spell_front(right)}", node)
    a, b = _element(left), _element(right)
    if a is None or b is None:
        return
    if symbol in _WORDS and not any(isinstance(t, Scalar) for t in (a, b)):
        kind = "element type" if is_tile(left) and is_tile(right) else "operand"
        need = "must be scalar" if kind == "element type" else "must be a scalar type"
        text = f"Cannot {_WORDS[symbol]} {_spelt(left)} by {_spelt(right)}: at least one {kind} {need}"
        raise cx.error("type-mismatch", text, node, help=_shapes(left, right))
    both = is_tile(left) and is_tile(right)
    if a is not b and ((symbol not in _WORDS and both) or (isinstance(a, Scalar) and isinstance(b, Scalar))):
        text = f"`{symbol}` cannot combine {spell_front(left)} and {spell_front(right)}"
        cast = "tile_astype(t, dtype)" if both else f"{spell(a if is_tile(left) else b)}(...)"
        help = f"elements must have the same dtype: convert with wp.{cast}"
        raise cx.error("type-mismatch", text, node, help=help)


def _element(x: Any) -> Type | None:
    """The type of an operand's elements; None for a number without a type, and for other values."""
    t = getattr(x, "type", None)
    return None if isinstance(x, UntypedLiteral) else t.dtype if isinstance(t, Tile) else t


def _spelt(x: Any) -> str:
    return f"tile<{spell(x.type.dtype)}>" if is_tile(x) else spell_front(x)


def _shapes(left: Any, right: Any) -> str:
    return f"the operands are {spell_front(left)} and {spell_front(right)}; wp.tile_map(f, a, b) applies a function"
