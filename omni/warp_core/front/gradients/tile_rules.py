"""Derivatives of the library's algorithms on tiles, each of which is one call of a function from tiles to tiles.

A rule builds the adjoints of the operands from the same algorithms, in a function of its own: (operands, results,
adjoints of the results that can have one) -> adjoints of the operands that can have one. Start with `tile_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...ir.builder import Builder
from ...ir.nodes import Function, Value
from ...ir.tile_builder import elements, tile_map, unflattened
from ...lang.types import I32, Scalar, Tile
from ..tiles import tile_algorithms as algorithms

Adjoints = Sequence[Value | None]  # of all operands; None for those that can have none


class _Call(NamedTuple):
    """A call to differentiate. `options` stand in the name of the function; `seeds` are the adjoints of results."""

    options: Sequence[str]
    operands: Sequence[Value]
    results: Sequence[Value]
    seeds: Sequence[Value]


Rule = Callable[[Builder, _Call], Adjoints]
_RULES: dict[str, Rule] = {}
_made: dict[str, Function | None] = {}


def tile_gradient(callee: Function) -> Function | None:
    """The gradient of a function on tiles; None if there is no rule for it."""
    if callee.name not in _made:
        name, _, rest = callee.name.partition("#")
        is_active = any(t.is_differentiable for t in callee.results)
        rule, options = _RULES.get(name) if is_active else None, rest[:-1].split("; ")[1:]
        _made[callee.name] = _function(callee, rule, options) if rule else None
    return _made[callee.name]


def _function(callee: Function, rule: Rule, options: Sequence[str]) -> Function:
    operands = [Value(p.type, name=p.name) for p in callee.params]
    results = [Value(t, name="result") for t in callee.results]
    seeds = [Value(t, name="adjoint") for t in callee.results if t.is_differentiable]
    made = Function(f"{callee.name}_gradient", [*operands, *results, *seeds])
    b = Builder(made)
    found = rule(b, _Call(options, operands, results, seeds))
    given = [g for p, g in zip(operands, found) if p.type.is_differentiable and g is not None]
    made.results, made.is_library = tuple(g.type for g in given), True
    b.terminate("return", given)
    return made


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return enter


# -- tiles ------------------------------------------------------------------------------------------------------------


def _transposed(b: Builder, tile: Value) -> Value:
    t = Tile(tile.type.dtype, tile.type.shape[::-1])
    return tile_map(b, t, lambda at: b.op("tile_get", tile, *at[::-1]))


def _turned(b: Builder, tile: Value) -> Value:
    """The elements in the opposite order."""
    t = tile.type
    return tile_map(
        b, t, lambda at: b.op("tile_get", tile, *(b.op("sub", b.i32(n - 1), i) for n, i in zip(t.shape, at)))
    )


def _product(b: Builder, x: Value, y: Value, alpha: Value | None = None, transposed: bool = False) -> Value:
    """The matrix product of two tiles of one type, the first of which may be transposed."""
    dtype = x.type.dtype
    sums = algorithms.sum_type(dtype)
    return algorithms.matmul(b, x, y, None, alpha or b.const(1, sums), b.const(0, sums), dtype, transposed)


def _total(b: Builder, x: Value, y: Value, dtype: Scalar) -> Value:
    """The sum of the products of elements, in the type `dtype`."""
    t = Tile(dtype, x.type.shape)

    def get(tile: Value, at: Sequence[Value]) -> Value:
        return b.op("cast", b.op("tile_get", tile, *at), attr=dtype)

    products = tile_map(b, t, lambda at: b.op("mul", get(x, at), get(y, at)))
    first, second = b.push([dtype] * 2)
    b.terminate("yield", [b.op("add", first, second)])
    whole = b.emit("tile_reduce", [products], -1, (b.pop(),), [Tile(dtype, (1,))])[0]
    return b.op("tile_get", whole, b.const(0, I32))


def _triangle(b: Builder, tile: Value, lower: bool, element: Callable[[Sequence[Value]], Value] | None = None) -> Value:
    """One triangle of a tile, or of what `element` gives at coordinates; zero elsewhere."""
    t = tile.type

    def chosen(at: Sequence[Value]) -> Value:
        inside = b.op("ge" if lower else "le", *at)
        value = element(at) if element else b.op("tile_get", tile, *at)
        return b.op("select", inside, value, b.zero(t.dtype))

    return tile_map(b, t, chosen)


# -- products ---------------------------------------------------------------------------------------------------------


@_rule("tile_matmul")
def _of_product(b: Builder, call: _Call) -> Adjoints:
    x, y, alpha, beta, *rest = call.operands
    (g,) = call.seeds
    wide = g.type.dtype
    u, v = (algorithms.converted(b, tile, wide) for tile in (x, y))
    of_x = algorithms.converted(b, _product(b, g, _transposed(b, v), alpha), x.type.dtype)
    of_y = algorithms.converted(b, _product(b, u, g, alpha, transposed=True), y.type.dtype)
    of_alpha = _total(b, g, _product(b, u, v), alpha.type)
    if not rest:
        return of_x, of_y, of_alpha, b.zero(beta.type)
    (out,) = rest
    of_out = tile_map(b, out.type, lambda at: _scaled(b, g, beta, at))
    return of_x, of_y, of_alpha, _total(b, g, out, beta.type), of_out


def _scaled(b: Builder, tile: Value, factor: Value, at: Sequence[Value]) -> Value:
    t = tile.type.dtype
    product = b.op("mul", b.op("cast", b.op("tile_get", tile, *at), attr=factor.type), factor)
    return b.op("cast", product, attr=t)


# -- transforms, scans, sorts -----------------------------------------------------------------------------------------


def _of_transform(inverse: bool) -> Rule:
    def rule(b: Builder, call: _Call) -> Adjoints:
        return (algorithms.fourier(b, call.seeds[0], not inverse),)

    return rule


_rule("tile_fft")(_of_transform(False))
_rule("tile_ifft")(_of_transform(True))


@_rule("tile_scan_sum")
def _of_sums(b: Builder, call: _Call) -> Adjoints:
    """An element is in all sums from its own, or the next one, on."""
    sums = algorithms.scan(b, _turned(b, call.seeds[0]), "sum", call.options == ["inclusive"])
    return (_turned(b, sums),)


@_rule("tile_scan_max", "tile_scan_min")
def _of_extremes(b: Builder, call: _Call) -> Adjoints:
    """An extreme belongs to the first element that has it, which is the last one up to there that changed it."""
    (y,), (g,) = call.results, call.seeds
    t = y.type
    places = Tile(I32, t.shape)

    def number(at: Sequence[Value]) -> Value:
        found = at[0]
        for extent, i in zip(t.shape[1:], at[1:]):
            found = b.op("add", b.op("mul", found, b.i32(extent)), i)
        return found

    def place(at: Sequence[Value]) -> Value:
        n = number(at)
        before = unflattened(b, b.op("max", b.op("sub", n, b.i32(1)), b.i32(0)), t.shape)
        found, old = b.op("tile_get", y, *at), b.op("tile_get", y, *before)
        is_new = b.op("or", b.op("eq", n, b.i32(0)), b.op("ne", found, old))
        return b.op("select", b.op("and", is_new, b.op("eq", found, found)), n, b.i32(-1))

    winners = algorithms.scan(b, tile_map(b, places, place), "max")
    memory = b.op("tile_to_memory", b.zero(t))

    def send(at: Sequence[Value]) -> None:
        winner = b.op("max", b.op("tile_get", winners, *at), b.i32(0))
        some = b.op("ge", b.op("tile_get", winners, *at), b.i32(0))
        sent = b.op("select", some, b.op("tile_get", g, *at), b.zero(t.dtype))
        b.op("atomic", memory, *unflattened(b, winner, t.shape), sent, attr=("add", ()))

    elements(b, t.shape, send)
    return (b.op("tile_from_memory", memory, attr=t),)


@_rule("tile_sort")
def _of_sort(b: Builder, call: _Call) -> Adjoints:
    """Elements go back to where they came from: sorting numbers by the places tells where each of them went."""
    keys, values = call.operands
    t = keys.type
    numbers = Tile(I32, (math.prod(t.shape),))
    own = tile_map(b, numbers, lambda at: at[0])
    _, came = algorithms.sort(b, algorithms.reshaped(b, keys, numbers.shape), own)
    _, went = algorithms.sort(b, came, own)
    rest, found = iter(call.seeds), list[Value | None]()
    for operand in (keys, values):
        g = next(rest) if operand.type.is_differentiable else None
        found.append(g and _picked(b, g, went))
    return found


def _picked(b: Builder, tile: Value, places: Value) -> Value:
    """The element of a tile at the number that `places` has for each."""
    t = tile.type
    flat = algorithms.reshaped(b, tile, places.type.shape)
    line = tile_map(b, flat.type, lambda at: b.op("tile_get", flat, b.op("tile_get", places, *at)))
    return algorithms.reshaped(b, line, t.shape)


# -- factors and solutions --------------------------------------------------------------------------------------------


@_rule("tile_cholesky")
def _of_cholesky(b: Builder, call: _Call) -> Adjoints:
    """Of the triangle that was read, as in I. Murray, "Differentiation of the Cholesky decomposition", 2016."""
    lower = call.options == ["lower"]
    (factor,), (g,) = call.results, call.seeds
    t = factor.type
    g = _triangle(b, g, lower)
    left, sent = (factor, g) if lower else (_transposed(b, factor), _transposed(b, g))
    product = _product(b, left, sent, transposed=True)

    def symmetric(at: Sequence[Value]) -> Value:
        i, j = at
        return b.op("tile_get", product, b.op("max", i, j), b.op("min", i, j))

    middle = tile_map(b, t, symmetric)
    half = algorithms.solve_triangular(b, left, middle, True, True)
    whole = algorithms.solve_triangular(b, left, _transposed(b, half), True, True)

    def element(at: Sequence[Value]) -> Value:
        found = b.op("tile_get", whole, *at)
        return b.op("select", b.op("eq", *at), b.op("mul", found, b.const(0.5, t.dtype)), found)

    return (_triangle(b, whole, lower, element),)


@_rule("tile_solve")
def _of_solution(b: Builder, call: _Call) -> Adjoints:
    lower, transposed = call.options[0] == "lower", call.options[1] == "transposed"
    (triangle, sides), (solution,), (g,) = call.operands, call.results, call.seeds
    of_sides = algorithms.solve_triangular(b, triangle, g, lower, not transposed)
    shape = (sides.type.shape[0], math.prod(sides.type.shape[1:]))
    x, y = (algorithms.reshaped(b, tile, shape) for tile in (solution, of_sides))
    first, second = (x, y) if transposed else (y, x)
    product = _product(b, first, _transposed(b, second))
    of_triangle = _triangle(b, product, lower, lambda at: b.op("neg", b.op("tile_get", product, *at)))
    return of_triangle, of_sides
