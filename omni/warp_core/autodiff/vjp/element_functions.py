"""Element functions: what an operation of a block does for one element, as a function that can be differentiated.

The region of `tile_map` or `elements` becomes the body of a function. Its parameters are the coordinates, the values
that the region takes from outside, and elements of tiles. Other elements of tiles, such as those in branches, are loads
from an array that stands for the tile. The gradient of this array is memory of the block. Start with `outline`.
`AdjointInPlace` puts the adjoint of such a function into a region of the reverse code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...ir.analysis.alias import is_gradient, is_local
from ...ir.builder import Builder
from ...ir.clone import Rewriter, copy_function
from ...ir.nodes import Function, Operation, Region, Value
from ...lang.errors import NotDifferentiable
from ...lang.types import Array, Tile
from ...passes.dce import dce
from .access_maps import AccessMap, access_map

_LOOP = "a loop in what is done for one element of a tile needs values of earlier iterations for its gradient"
_AGAIN = "the gradient of an element of a tile reads an array again, to which the kernel writes"
_HELP = "write the loop around operations on tiles, or give the function a gradient with @wp.func_grad"


@dataclass(frozen=True)
class ElementFunction:
    """An element function, and what its parameters stand for: coordinates, then `captured`, `tiles` and `gets`.

    Attributes:
        function: the function; it returns the element that the region yields.
        captured: values from outside of the region that are no tiles.
        tiles: tiles that are given as arrays.
        gets: `tile_get` operations whose results are given, with the way from coordinates to their indices.
    """

    op: Operation
    function: Function
    captured: tuple[Value, ...]
    tiles: tuple[Value, ...]
    gets: Mapping[Operation, AccessMap]

    @property
    def coordinates(self) -> list[Value]:
        return self.op.regions[0].params

    def arrays(self, params: Sequence[Value]) -> Sequence[Value]:
        """Those of the function's parameters, or of its adjoint's, that stand for tiles."""
        at = len(self.coordinates) + len(self.captured)
        return params[at : at + len(self.tiles)]

    @property
    def active(self) -> list[Value | Operation]:
        """The values and `tile_get` operations of which the adjoint of the function returns adjoints, in order."""
        stand_for: tuple[Value | Operation, ...] = (*self.coordinates, *self.captured, *self.tiles, *self.gets)
        return [x for x, p in zip(stand_for, self.function.params) if p.type.is_differentiable]


def outline(op: Operation, gives: bool) -> ElementFunction:
    """The element function of a `tile_map` or `elements`; if it `gives` an element, it returns it."""
    region = op.regions[0]
    inside = set(region.params).union(*(inner.results for inner in region.walk()))
    inside.update(p for inner in region.walk() for r in inner.regions for p in r.params)
    outside = dict.fromkeys(a for inner in region.walk() for a in inner.args if a not in inside and not a.is_const)
    gets = {} if has_writes(region) or op.code == "elements" else _ordered_gets(op)
    loaded = dict.fromkeys(inner.args[0] for inner in region.walk() if inner.code == "tile_get" and inner not in gets)
    captured = tuple(v for v in outside if not isinstance(v.type, Tile))
    for v in captured:
        if is_local(v) and isinstance(v.type, Array):
            why = "an operation of the block reads a local array of a thread, which has no gradient there"
            raise NotDifferentiable(why, op)
    function = _Outliner(region, captured, tuple(loaded), tuple(gets), op).made(gives)
    return ElementFunction(op, function, captured, tuple(loaded), gets)


def has_writes(region: Region) -> bool:
    """True if code writes to memory."""
    return any(op.code in ("store", "atomic") for op in region.walk())


def _ordered_gets(op: Operation) -> dict[Operation, AccessMap]:
    """The `tile_get` of each element of a map in an order that can be turned round."""
    found = {}
    for inner in op.regions[0].ops:
        if inner.code == "tile_get" and inner.results[0].type.is_differentiable:
            to = access_map(inner, op)
            if to is not None:
                found[inner] = to
    return found


class _Outliner(Rewriter):
    """Makes the function; see the module's docstring."""

    def __init__(
        self,
        region: Region,
        captured: Sequence[Value],
        tiles: Sequence[Value],
        gets: Sequence[Operation],
        op: Operation,
    ):
        super().__init__()
        self._region = region
        arrays = [Array(t.type.dtype, t.type.ndim) for t in tiles]
        stand_for = [*region.params, *captured, *tiles, *(g.results[0] for g in gets)]
        types = [*(v.type for v in (*region.params, *captured)), *arrays, *(g.results[0].type for g in gets)]
        params = [Value(t, name=v.name) for t, v in zip(types, stand_for)]
        self._function = Function(f"{op.code}_element", params, loc=op.loc)
        self.values.update(zip([*region.params, *captured, *tiles], params))
        self._elements = dict(zip(gets, params[len(params) - len(gets) :]))
        self._visitors["custom"] = self._custom

    def made(self, gives: bool) -> Function:
        """The function, which returns the element if it `gives` one."""
        function, end = self._function, self._region.terminator
        self.b = Builder(function)
        self._constants()
        self.visit_ops(self._region.ops[:-1])
        given = self.args(end) if gives else []
        self.b.terminate("return", given)
        function.results = tuple(v.type for v in given)
        return function

    def _constants(self) -> None:
        """Take over the constants from outside."""
        for inner in self._region.walk():
            for a in inner.args:
                if a.is_const and a not in self.values:
                    self.values[a] = self.b.exact(a.const, a.type)

    def visit_tile_get(self, op: Operation) -> None:
        element = self._elements.get(op)
        self.define(op, (element or self.b.op("load", *self.args(op), attr=()),))

    def _custom(self, op: Operation) -> None:
        """A function with a gradient of the user's is a call again."""
        self.define(op, self.b.emit("call", self.args(op), op.attr.callee, results=[v.type for v in op.results]))


def trimmed(adjoint: Function, results: Sequence[int]) -> Function:
    """The adjoint of an element function with some of its results alone."""
    new = copy_function(adjoint)
    end = new.body.terminator
    end.args = [end.args[i] for i in results]
    new.results = tuple(a.type for a in end.args)
    dce(new)
    return new


# -- in the reverse code ----------------------------------------------------------------------------------------------


class AdjointInPlace(Rewriter):
    """Puts the adjoint of an element function into the open region.

    Arrays that stand for tiles become these tiles, and their gradients `shadows`, memory of the block. `is_lasting` is
    true of an array that the kernel does not write to.
    """

    def __init__(
        self,
        b: Builder,
        tiles: Mapping[Value, Value],
        shadows: Mapping[Value, Value],
        is_lasting: Callable[[Value], bool],
        op: Operation,
    ):
        super().__init__()
        self.b, self._op = b, op
        self._tiles, self._shadows, self._is_lasting = tiles, shadows, is_lasting

    def run(self, adjoint: Function, args: Mapping[Value, Value]) -> list[Value]:
        """Emit the operations, with `args` for parameters; returns the adjoints of the parameters."""
        self.values.update(args)
        self.visit_ops(adjoint.body.ops[:-1])
        return self.args(adjoint.body.terminator)

    def visit_load(self, op: Operation) -> None:
        """A load; an element of a tile if the array stands for one."""
        array = op.args[0]
        if array not in self._tiles:
            if not is_gradient(array) and not is_local(array) and not self._is_lasting(self.values[array]):
                raise NotDifferentiable(f"{_AGAIN}: write the result to another array", op)
            self._copy(op)
            return
        tile, indices = self._tiles[op.args[0]], [self.values[a] for a in op.args[1:]]
        rank = tile.type.ndim
        value, rest = self.b.op("tile_get", tile, *indices[:rank]), iter(indices[rank:])
        for step in op.attr:
            value = (
                self.b.op("extract_dyn", value, next(rest)) if step == -1 else self.b.op("extract", value, attr=step)
            )
        self.define(op, (value,))

    def visit_grad(self, op: Operation) -> None:
        """The gradient of an array; that of a tile is memory of the block."""
        if op.args[0] in self._shadows:
            self.values[op.result] = self._shadows[op.args[0]]
        else:
            self._copy(op)

    def visit_is_null(self, op: Operation) -> None:
        """Memory of the block is there."""
        if self.values[op.args[0]] in self._shadows.values():
            self.values[op.result] = self.b.bool(False)
        else:
            self._copy(op)

    def visit_stash(self, op: Operation) -> None:
        raise NotDifferentiable(f"{_LOOP}: {_HELP}", self._op)
