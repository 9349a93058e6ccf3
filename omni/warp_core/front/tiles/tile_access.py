"""Tiles from arrays and into them: loads, stores and additions, at an offset or at indices that another tile has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import BOOL, I32, U32, Scalar, Struct, Tile, Type, element
from ..context import Context
from ..expressions.array_indexing import extent, locate
from ..values import ElementRef, Front, Static
from .tile_arguments import Arguments, tile_function
from .tile_regions import At, choice, each, get, tile_map

Place = Callable[[At], Sequence[Value]]  # from coordinates in the tile to indices of the array


class Target:
    """The part of an array that a tile is loaded from or stored to."""

    def __init__(self, cx: Context, a: Arguments, ndim: int, checked: bool):
        self.cx, self.node = cx, a.node
        self.array, self.type = a.array("a")
        if self.type.ndim != ndim:
            text = (
                f"{a.function}: 'a' argument must have the same number of dimensions as the tile, but got "
                f"{self.type.ndim} dimensions for `a`, {spell(self.array.type)}, and {ndim} for the tile"
            )
            raise a.error("shape", text, "a")
        self.offset = a.offset(ndim)
        bounds = [extent(cx, self.array, d, a.node) for d in range(ndim)] if checked else []
        self.bounds = [cx.b.op("cast", n, attr=U32) for n in bounds]

    def shifted(self, at: At) -> list[Value]:
        """The indices of the element at coordinates in the tile."""
        return [self.cx.b.op("add", o, i) for o, i in zip(self.offset, at)]

    def load(self, index: Sequence[Value]) -> Value:
        """The element at indices, zero outside of the array."""
        zero = self.cx.b.zero(self.type.dtype)
        return self._inside(index, lambda: self.cx.load(self._place(index), self.node), zero)

    def store(self, index: Sequence[Value], value: Value) -> None:
        """Write the element at indices, if it is inside of the array."""
        self._inside(index, lambda: self.cx.store(self._place(index), value, self.node))

    def add(self, index: Sequence[Value], value: Value, zero: Value | None = None) -> Any:
        """Add to the element at indices, if it is inside of the array. With `zero`, returns what was there before."""

        def atomic() -> Value:
            return self.cx.at(self.node).op("atomic", *self._place(index).operands, value, attr=("add", ()))

        return self._inside(index, atomic, zero)

    def _place(self, index: Sequence[Value]) -> ElementRef:
        if self.array.type is self.type:
            return ElementRef(self.array, tuple(index), self.type.dtype)
        found = locate(self.cx, self.array, list(index), self.node)
        assert isinstance(found, ElementRef)
        return found

    def _inside(self, index: Sequence[Value], do: Callable[[], Any], other: Value | None = None) -> Any:
        """Do something if the indices are in bounds; a negative one is large without its sign."""
        if not self.bounds:
            return do()
        b = self.cx.at(self.node)
        tests = [b.op("lt", b.op("cast", i, attr=U32), n) for i, n in zip(index, self.bounds)]
        inside = tests[0]
        for test in tests[1:]:
            inside = b.op("and", inside, test)
        return choice(self.cx, inside, self.node, do, other)


def _checked(a: Arguments) -> bool:
    """Whether indices may be out of bounds; `aligned` promises that they are not."""
    aligned = a.flag("aligned") if a.name != "tile_atomic_add" else False
    return a.flag("bounds_check") and not aligned


@tile_function("tile_load")
def _load(cx: Context, a: Arguments) -> Front:
    a.storage()
    shape = a.shape()
    target = Target(cx, a, len(shape), _checked(a))
    return tile_map(cx, shape, a.node, lambda at: target.load(target.shifted(at)))


@tile_function("tile_store")
def _store(cx: Context, a: Arguments) -> Front:
    tile, target = _tile_and_target(cx, a, _checked(a))
    each(cx, tile.type.shape, a.node, lambda at: target.store(target.shifted(at), get(cx, tile, at)))
    return Static(None)


@tile_function("tile_atomic_add")
def _atomic_add(cx: Context, a: Arguments) -> Front:
    tile, target = _tile_and_target(cx, a, _checked(a))
    return added(cx, a, tile, target, target.shifted)


def _tile_and_target(cx: Context, a: Arguments, checked: bool) -> tuple[Value, Target]:
    tile = a.tile("t")
    target = Target(cx, a, tile.type.ndim, checked)
    a.same_dtype("a", target.type.dtype, "t", tile.type.dtype)
    return tile, target


def added(cx: Context, a: Arguments, tile: Value, target: Target, place: Place) -> Front:
    """Add a tile to an array; the tile of what was there before, if the program asks for it."""
    _check_addable(a, tile.type)
    shape = tile.type.shape
    if cx.discarded is a.node:
        each(cx, shape, a.node, lambda at: target.add(place(at), get(cx, tile, at)))
        return Static(None)
    zero = cx.b.zero(tile.type.dtype)
    return tile_map(cx, shape, a.node, lambda at: target.add(place(at), get(cx, tile, at), zero))


def _check_addable(a: Arguments, t: Tile) -> None:
    s = element(t.dtype)
    if isinstance(t.dtype, Struct) or not isinstance(s, Scalar) or s is BOOL or (s.is_int and s.bits < 32):
        raise a.error("type-mismatch", f"{a.function} does not add elements of {spell(t)}", "t")


# -- at indices -------------------------------------------------------------------------------------------------------


@tile_function("tile_load_indexed")
def _load_indexed(cx: Context, a: Arguments) -> Front:
    a.storage()
    shape = a.shape()
    target = Target(cx, a, len(shape), True)
    place = _by_indices(cx, a, target, shape)
    return tile_map(cx, shape, a.node, lambda at: target.load(place(at)))


@tile_function("tile_store_indexed")
def _store_indexed(cx: Context, a: Arguments) -> Front:
    tile, target = _tile_and_target(cx, a, True)
    place = _by_indices(cx, a, target, tile.type.shape)
    each(cx, tile.type.shape, a.node, lambda at: target.store(place(at), get(cx, tile, at)))
    return Static(None)


@tile_function("tile_atomic_add_indexed")
def _atomic_add_indexed(cx: Context, a: Arguments) -> Front:
    tile, target = _tile_and_target(cx, a, True)
    return added(cx, a, tile, target, _by_indices(cx, a, target, tile.type.shape))


def _by_indices(cx: Context, a: Arguments, target: Target, shape: tuple[int, ...]) -> Place:
    """Along one axis the coordinate selects an index, which is added to the offset."""
    indices = a.tile("indices")
    axis = a.checked_axis(Tile(target.type.dtype, shape), a.constant("axis"))
    check_indices(a, indices.type, shape[axis], axis)

    def place(at: At) -> list[Value]:
        picked = get(cx, indices, [at[axis]])
        return target.shifted([picked if d == axis else i for d, i in enumerate(at)])

    return place


def check_indices(a: Arguments, t: Type, count: int, axis: int) -> None:
    """Refuse a tile that does not have an int32 for each element along an axis."""
    if not isinstance(t, Tile) or t.ndim != 1 or t.dtype is not I32:
        raise a.error("type-mismatch", f"{a.function}: `indices` is a 1-D tile of int32, not {spell(t)}", "indices")
    if t.shape[0] != count:
        text = f"{a.function}: shape mismatch: {t.shape[0]} indices for {count} elements along axis {axis}"
        raise a.error("shape", text, "indices")
