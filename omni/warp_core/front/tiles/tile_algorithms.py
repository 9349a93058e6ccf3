"""The library's algorithms on tiles: each is one call of a function from tiles to tiles.

Such a function lends its operands to memory, calls the library's function on arrays (lib/tiles), and makes tiles of the
results. It is a function of its own, so that a derivative sees one operation on tiles. Everything here works on a
`Builder` and values alone. Start with `matmul`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from ...ir.builder import Builder
from ...ir.nodes import Function, Value
from ...lang import prim
from ...lang.registry import Builtin
from ...lang.types import BF16, F16, F32, I32, Scalar, Tile, Type
from ...lib.tiles import (
    tile_chirps,
    tile_factors,
    tile_fourier,
    tile_products,
    tile_scans,
    tile_solves,
    tile_sorts,
)
from ..library import instantiate
from ..values import Static, TupleValue, UntypedLiteral

_made: dict[str, Function] = {}
_lock = RLock()  # kernels may be lowered by several threads at once
_HALVES = (F16, BF16)  # sums of these are computed in single precision


class Body:
    """The body of a function on tiles while it is built."""

    def __init__(self, b: Builder):
        self.b = b

    def memory(self, tile: Value, shape: Sequence[int] | None = None) -> Value:
        """Memory with the elements of a tile, in another shape if one is given."""
        return self.b.op("tile_to_memory", reshaped(self.b, tile, shape or tile.type.shape))

    def scratch(self, dtype: Type, *shape: int) -> Value:
        """Memory for elements that are not set yet."""
        return self.b.op("tile_to_memory", self.b.op("tile_empty", attr=Tile(dtype, shape)))

    def tile(self, array: Value, dtype: Type, stored: Sequence[int], shape: Sequence[int]) -> Value:
        """The tile of the elements that lie in memory in the shape `stored`."""
        found = self.b.op("tile_from_memory", array, attr=Tile(dtype, stored))
        return reshaped(self.b, found, shape)

    def call(self, function: Builtin, *args: Value, **constants: Any) -> None:
        """Call a library function."""
        call_library(self.b, function, *args, **constants)


def call_library(b: Builder, function: Builtin, *args: Value, **constants: Any) -> tuple[Value, ...]:
    """Emit the call of a library function with its run-time arguments, which come first, and its compile-time ones."""
    statics = {name: _front(x) for name, x in constants.items()}
    found = instantiate(function, 0, tuple(a.type for a in args), statics=statics).function
    return b.emit("call", args, found, results=found.results)


def _front(x: Any) -> Any:
    """A Python object as a compile-time argument."""
    if isinstance(x, tuple):
        return TupleValue([_front(item) for item in x])
    return UntypedLiteral(x) if isinstance(x, (bool, int, float)) else Static(x)


def reshaped(b: Builder, tile: Value, shape: Sequence[int]) -> Value:
    """The elements of a tile, in row-major order, in another shape."""
    old, shape = tile.type, tuple(shape)
    if old.shape == shape:
        return tile
    index = b.i32(0)
    for i, extent in zip(b.push([I32] * len(shape), "ijkl"), shape):
        index = b.op("add", b.op("mul", index, b.i32(extent)), i)
    at: list[Value] = []
    for extent in reversed(old.shape):
        at.insert(0, b.op("rem", index, b.i32(extent)))
        index = b.op("div", index, b.i32(extent))
    b.terminate("yield", [b.op("tile_get", tile, *at)])
    t = Tile(old.dtype, shape)
    return b.emit("tile_map", (), t, (b.pop(),), (t,))[0]


def converted(b: Builder, tile: Value, dtype: Scalar) -> Value:
    """A tile with its elements as numbers of another type."""
    t = Tile(dtype, tile.type.shape)
    if t is tile.type:
        return tile
    at = b.push([I32] * t.ndim, "ijkl")
    b.terminate("yield", [b.op("cast", b.op("tile_get", tile, *at), attr=dtype)])
    return b.emit("tile_map", (), t, (b.pop(),), (t,))[0]


def _apply(
    b: Builder, name: str, operands: Sequence[Value], build: Callable[..., Sequence[Value]], *options: Any
) -> tuple[Value, ...]:
    """Emit the call of the function `name`; `build` makes its body from a `Body` and its parameters."""
    types = [v.type for v in operands]
    text = f"{name}#({', '.join(t.key for t in types)}{''.join(f'; {x}' for x in options)})"
    with _lock:
        if text not in _made:
            _made[text] = _function(text, types, build)
    function = _made[text]
    return b.emit("call", operands, function, results=function.results)


def _function(text: str, types: Sequence[Type], build: Callable[..., Sequence[Value]]) -> Function:
    made = Function(text, [Value(t, name=f"x{i}") for i, t in enumerate(types)])
    b = Builder(made)
    results = build(Body(b), *made.params)
    made.results = tuple(v.type for v in results)
    b.terminate("return", results)
    made.is_library = True
    return made


def sum_type(dtype: Scalar) -> Scalar:
    """Return the type in which numbers are added."""
    return F32 if dtype in _HALVES else dtype


# -- products ---------------------------------------------------------------------------------------------------------


def matmul(
    b: Builder,
    x: Value,
    y: Value,
    out: Value | None,
    alpha: Value,
    beta: Value,
    dtype: Scalar,
    transposed: bool = False,
) -> Value:
    """Return alpha * x @ y + beta * out, or alpha * x.T @ y + beta * out.

    Args:
        b: what emits the call.
        x: a tile of M x K elements, or K x M if it is transposed.
        y: a tile of K x N elements.
        out: a tile of M x N elements; None for zeros.
        alpha: a factor of the type in which to sum.
        beta: another one.
        dtype: type of the elements of the result.
        transposed: whether `x` is.
    """
    m, n = x.type.shape[transposed], y.type.shape[1]
    rows, sums = tile_products.strip_rows(m), sum_type(dtype)

    def build(body: Body, x: Value, y: Value, alpha: Value, beta: Value, out: Value | None = None) -> Sequence[Value]:
        result = body.memory(out) if out is not None else body.scratch(dtype, m, n)
        if out is None:
            beta = body.b.const(0, sums)
        operands = (body.memory(x), body.memory(y), result, alpha, beta)
        body.call(tile_products.matmul, *operands, shape=(m, n), rows=rows, transposed=transposed)
        return [body.tile(result, dtype, (m, n), (m, n))]

    operands = [x, y, alpha, beta, *([out] if out is not None else [])]
    name = "tile_matmul_transposed" if transposed else "tile_matmul"
    return _apply(b, name, operands, build, dtype.key)[0]


# -- transforms, scans, sorts -----------------------------------------------------------------------------------------


def fourier(b: Builder, tile: Value, inverse: bool) -> Value:
    """The Fourier transform of a tile along its last axis, unnormalised."""
    t = tile.type
    n = t.shape[-1]
    shape = (math.prod(t.shape) // n, n)

    def build(body: Body, tile: Value) -> Sequence[Value]:
        x = body.memory(tile, shape)
        if tile_fourier.factors(n) is None:
            length = tile_chirps.convolution_length(n)
            options = {"parts": tile_fourier.passes(length), "table": tile_fourier.table_length(length)}
            body.call(tile_chirps.fourier_of_any_length, x, n=n, length=length, inverse=inverse, **options)
            return [body.tile(x, t.dtype, shape, t.shape)]
        parts = tile_fourier.passes(n)
        y, roots = body.scratch(t.dtype, *shape), body.scratch(t.dtype, tile_fourier.table_length(n))
        body.call(tile_fourier.fill_root_table, roots, n=n, parts=parts)
        body.call(tile_fourier.fourier, x, y, roots, shape=shape, parts=parts, inverse=inverse)
        return [body.tile(y if len(parts) % 2 else x, t.dtype, shape, t.shape)]

    return _apply(b, "tile_ifft" if inverse else "tile_fft", [tile], build)[0]


_COMBINE = {"sum": prim.add, "max": prim.maxnum, "min": prim.minnum}


def scan(b: Builder, tile: Value, kind: str, inclusive: bool = True) -> Value:
    """The tile of what each element and all before it in row-major order give: their "sum", "max" or "min"."""
    t = tile.type
    n, wide = math.prod(t.shape), sum_type(t.dtype)
    steps = tile_scans.reaches(n)

    def build(body: Body, tile: Value) -> Sequence[Value]:
        x, y = body.memory(converted(body.b, tile, wide), (n,)), body.scratch(wide, n)
        body.call(tile_scans.scan, x, y, n=n, steps=steps, combine=_COMBINE[kind])
        if len(steps) % 2:
            x, y = y, x
        if not inclusive:
            body.call(tile_scans.move_up, x, y, n=n)
            x = y
        return [converted(body.b, body.tile(x, wide, (n,), t.shape), t.dtype)]

    return _apply(b, f"tile_scan_{kind}", [tile], build, "inclusive" if inclusive else "exclusive")[0]


def sort(b: Builder, keys: Value, values: Value) -> tuple[Value, Value]:
    """The tiles of the keys in ascending order, and of the values that go with them."""
    t, u = keys.type, values.type
    n = math.prod(t.shape)
    lengths = tile_sorts.merged_lengths(n)

    def build(body: Body, keys: Value, values: Value) -> Sequence[Value]:
        k, v, moved = body.memory(keys, (n,)), body.memory(values, (n,)), body.scratch(u.dtype, n)
        body.call(tile_sorts.sort, k, v, moved, n=n, lengths=lengths)
        sorted_values = v if len(lengths) % 2 else moved
        return [body.tile(k, t.dtype, (n,), t.shape), body.tile(sorted_values, u.dtype, (n,), u.shape)]

    first, second = _apply(b, "tile_sort", [keys, values], build)
    return first, second


# -- factors and solutions --------------------------------------------------------------------------------------------


def cholesky(b: Builder, tile: Value, lower: bool) -> Value:
    """The Cholesky factor of a symmetric tile of which one triangle is read, in that triangle."""
    t = tile.type
    n = t.shape[0]

    def build(body: Body, tile: Value) -> Sequence[Value]:
        a = body.memory(tile)
        body.call(tile_factors.cholesky, a, body.scratch(t.dtype, n, n), n=n, lower=lower)
        return [body.tile(a, t.dtype, t.shape, t.shape)]

    return _apply(b, "tile_cholesky", [tile], build, "lower" if lower else "upper")[0]


def solve_triangular(b: Builder, triangle: Value, sides: Value, lower: bool, transposed: bool = False) -> Value:
    """The solutions of a system whose matrix is one triangle of a tile, or that triangle transposed.

    Args:
        b: what emits the call.
        triangle: a tile of M x M elements.
        sides: the right-hand sides: a tile of M elements, or of M x R.
        lower: whether the lower triangle of the tile is the matrix.
        transposed: whether the matrix is that triangle transposed.
    """
    t = sides.type
    shape = (t.shape[0], math.prod(t.shape[1:]))
    options = {"shape": shape, "forward": lower != transposed, "transposed": transposed}

    def build(body: Body, triangle: Value, sides: Value) -> Sequence[Value]:
        x = body.memory(sides, shape)
        body.call(tile_solves.solve_triangular, body.memory(triangle), x, **options)
        return [body.tile(x, t.dtype, shape, t.shape)]

    told = ("lower" if lower else "upper", "transposed" if transposed else "as it is")
    return _apply(b, "tile_solve", [triangle, sides], build, *told)[0]


def cholesky_solve(b: Builder, factor: Value, sides: Value, lower: bool) -> Value:
    """The solutions of a system whose matrix has this Cholesky factor."""
    halfway = solve_triangular(b, factor, sides, lower, transposed=not lower)
    return solve_triangular(b, factor, halfway, lower, transposed=lower)
