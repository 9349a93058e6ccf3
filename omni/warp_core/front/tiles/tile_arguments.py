"""Arguments of functions on tiles: by name, checked against the signature that documents the function.

A handler gets an `Arguments` and asks it for tiles, shapes, types and offsets. Start with `tile_function`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...ir.nodes import Value
from ...lang.annotations import type_or_none
from ...lang.generics import spell
from ...lang.registry import INTRINSICS, intrinsic
from ...lang.types import MAX_NDIM, Array, Tile, Type
from ..calls.calls import Call
from ..context import Context, LoweringError
from ..expressions.array_indexing import array_type
from ..names import captured
from ..values import Front, Static, TileView, TupleValue, spell_front
from .tile_names import CHANGES
from .tile_regions import is_tile, uniform_index
from .tile_views import TAKE_VIEWS

Handler = Callable[[Context, "Arguments"], Front]


def tile_function(*names: str, views: bool = False, changes: tuple[str, ...] = ()) -> Callable[[Handler], Handler]:
    """Decorator: the function lowers calls of these functions on tiles. With `views` it gets places of tiles; `changes`
    names the parameters for tiles that are changed.
    """

    def enter(fn: Handler) -> Handler:
        for name in names:
            intrinsic(name).lower = lambda cx, c, name=name: fn(cx, Arguments(cx, c, name))
            if views:
                TAKE_VIEWS.add(intrinsic(name))
            if changes:
                CHANGES[name] = changes
        return fn

    return enter


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(INTRINSICS[name].described)


class Arguments:
    """The arguments of one call."""

    def __init__(self, cx: Context, c: Call, name: str):
        self.cx, self.node, self.name, self.function = cx, c.node, name, f"`wp.{name}`"
        cx.session.in_blocks = True
        given = zip(c.args, (c.arg_node(i) for i in range(len(c.args))))
        keywords = {k: (x, c.kw_nodes.get(k, c.node)) for k, x in c.kwargs.items()}
        try:
            bound = _signature(name).bind(*given, **keywords)
        except TypeError as e:
            told = f"wp.{name}{_signature(name)}".partition(" -> ")[0]
            raise cx.error("arguments", f"{self.function}: {e}", c.node, candidates=[told]) from None
        self._given: dict[str, Any] = dict(bound.arguments)

    def given(self, name: str) -> bool:
        """True if the call has this argument."""
        return name in self._given

    def where(self, name: str) -> ast.AST:
        """The syntax of an argument, or of the call."""
        return self._given[name][1] if name in self._given else self.node

    def __getitem__(self, name: str) -> Front:
        if name in self._given:
            return self._given[name][0]
        return captured(self.cx, _signature(self.name).parameters[name].default, self.node)

    def rest(self, name: str) -> list[tuple[Front, ast.AST]]:
        """The arguments that `*name` takes."""
        return list(self._given.get(name, ()))

    # -- values -------------------------------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        """An argument as a value; a literal takes its own type."""
        return self.cx.materialise(self[name], self.where(name))

    def tile(self, name: str) -> Value:
        """An argument that is a tile."""
        return self.cx.materialise(self.view(name), self.where(name))

    def view(self, name: str) -> Value | TileView:
        """An argument that is a tile or part of one."""
        x = self[name]
        if not is_tile(x):
            text = f"{self.function} takes a tile for `{name}`, not {spell_front(x)}"
            raise self.cx.error("type-mismatch", text, self.where(name))
        return x  # type: ignore[return-value]

    def array(self, name: str) -> tuple[Value, Array]:
        """An argument that is an array, and the type of the array behind it if it is an indexed one."""
        x = self[name]
        t = array_type(getattr(x, "type", None))
        if t is None:
            text = f"{self.function} takes an array for `{name}`, not {spell_front(x)}"
            raise self.cx.error("type-mismatch", text, self.where(name))
        return self.value(name), t

    # -- known when the kernel compiles -------------------------------------------------------------------------

    def constant(self, name: str) -> Any:
        """An argument that must be known when the kernel compiles."""
        return self.cx.constant(self[name], self.where(name), f"`{name}` of {self.function}")

    def flag(self, name: str) -> bool:
        """An option."""
        return bool(self.constant(name))

    def storage(self) -> None:
        """Check the option that says where a tile lies, which the compiler knows better."""
        if self.constant("storage") not in ("register", "shared"):
            raise self.error("shape", f"{self.function}: storage is 'register' or 'shared'", "storage")

    def shape(self, name: str = "shape") -> tuple[int, ...]:
        """A shape: an integer or a tuple of them."""
        found = self.constant(name)
        extents = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if not 1 <= len(extents) <= MAX_NDIM:
            text = f"{self.function}: output must have between one and four dimensions, got {len(extents)}"
            raise self.error("shape", text, name)
        if not all(type(n) is int and n > 0 for n in extents):
            shown = ", ".join(map(str, extents))
            raise self.error("shape", f"{self.function}: extents must be positive integers, got ({shown})", name)
        return extents

    def dtype(self, name: str = "dtype") -> Type | None:
        """A type of elements; None if it is None."""
        x = self[name]
        if isinstance(x, Static) and x.obj is None:
            return None
        t = type_or_none(x.obj if isinstance(x, Static) else None)
        if not isinstance(t, Type) or isinstance(t, (Array, Tile)):
            text = f"{self.function}: `{name}` is a scalar, vector, matrix or struct type, not {spell_front(x)}"
            raise self.error("arguments", text, name)
        return t

    def axis(self, tile: Tile, name: str = "axis") -> int:
        """An axis of a tile; -1 if it is None."""
        found = self.constant(name)
        return -1 if found is None else self.checked_axis(tile, found, name)

    def checked_axis(self, tile: Tile, axis: Any, name: str = "axis") -> int:
        """An axis that the tile has."""
        if type(axis) is not int or not -tile.ndim <= axis < tile.ndim:
            text = f"{self.function}: axis {axis} is out of bounds for tile with {tile.ndim} dimensions"
            raise self.error("shape", text, name)
        return axis % tile.ndim

    def offset(self, ndim: int, name: str = "offset") -> list[Value]:
        """The first indices, one for each dimension; one number counts in the first."""
        x, node = self[name], self.where(name)
        if isinstance(x, Static) and x.obj is None:
            return [self.cx.b.i32(0)] * ndim
        items: Sequence[Any] = x.items if isinstance(x, TupleValue) else (x,)
        if len(items) > ndim or (isinstance(x, TupleValue) and len(items) != ndim):
            text = f"{self.function}: `{name}` has {len(items)} indices, but the tile has {ndim} dimensions"
            raise self.error("shape", text, name)
        found = [uniform_index(self.cx, i, node, f"`{name}`") for i in items]
        return found + [self.cx.b.i32(0)] * (ndim - len(found))

    # -- errors -------------------------------------------------------------------------------------------------

    def error(self, code: str, text: str, name: str = "", help: str = "") -> LoweringError:
        """The exception that refuses an argument, or the call."""
        return self.cx.error(code, text, self.where(name) if name else self.node, help=help)

    def same_dtype(self, name: str, t: Type, other: str, u: Type) -> None:
        """Refuse two arguments whose elements have different types."""
        if t is not u:
            text = f"{self.function}: `{name}` and `{other}` must have the same dtype, got {spell(t)} and {spell(u)}"
            raise self.error("type-mismatch", text, other)
