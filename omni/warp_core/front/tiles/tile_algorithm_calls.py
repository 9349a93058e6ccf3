"""Calls of the functions that compute with tiles as matrices and sequences: their arguments, checked.

`tile_algorithms` has what they become.
"""

from __future__ import annotations

import ast

from ...ir.nodes import Value
from ...lang.generics import spell
from ...lang.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, Scalar, Tile, Type, Vec
from ..context import Context, LoweringError
from ..values import Front, Static, UntypedLiteral
from . import tile_algorithms
from .tile_arguments import Arguments, tile_function
from .tile_operands import PRODUCT
from .tile_places import write
from .tile_views import whole

_FLOATS = (F16, BF16, F32, F64)
_KEYS = (I32, U32, F32, I64, U64, F64)


def _put(cx: Context, a: Arguments, name: str, new: Value) -> Static:
    """Write a tile where the one that is given for a parameter lies."""
    write(cx, whole(a.view(name)), new, a.node)
    return Static(None)


def _mismatch(a: Arguments, name: str, *tiles: Value) -> LoweringError:
    shown = " and ".join(spell(t.type) for t in tiles)
    return a.error("shape", f"{a.function}: shape mismatch: {shown} do not fit together", name)


def _matrix(a: Arguments, name: str) -> Value:
    """An argument that is a tile of two dimensions."""
    found = a.tile(name)
    if found.type.ndim != 2:
        raise a.error("shape", f"{a.function} takes a tile of two dimensions, not {spell(found.type)}", name)
    return found


# -- products ---------------------------------------------------------------------------------------------------------


@tile_function("tile_matmul", views=True, changes=("out",))
def _matmul(cx: Context, a: Arguments) -> Front:
    x, y = _matrix(a, "a"), _matrix(a, "b")
    third = a["out"]
    has_out = isinstance(getattr(third, "type", None), Tile)
    given_alpha = "out" if a.given("out") and not has_out else "alpha"
    out = _matrix(a, "out") if has_out else None
    check_factors(cx, x, y, a.where("b"), a.function)
    dtype = _result_type(a, x.type.dtype, out)
    if out is not None and out.type.shape != (x.type.shape[0], y.type.shape[1]):
        raise _mismatch(a, "out", x, y, out)
    _check_precision(cx, a, x)
    alpha, beta = (_factor(cx, a, name, tile_algorithms.sum_type(dtype)) for name in (given_alpha, "beta"))
    made = tile_algorithms.matmul(cx.at(a.node), x, y, out, alpha, beta, dtype)
    return made if out is None else _put(cx, a, "out", made)


def product(cx: Context, x: Value, y: Value, node: ast.AST) -> Value:
    """`x @ y` of two tiles."""
    check_factors(cx, x, y, node, "`@`")
    dtype = F32 if x.type.dtype is BF16 else x.type.dtype
    one = cx.b.const(1, tile_algorithms.sum_type(dtype))
    return tile_algorithms.matmul(cx.at(node), x, y, None, one, one, dtype)


PRODUCT.append(product)


def check_factors(cx: Context, x: Value, y: Value, node: ast.AST, function: str) -> None:
    """Refuse two tiles that have no product."""
    shown = f"{spell(x.type)} and {spell(y.type)}"
    for tile in (x, y):
        t = tile.type.dtype
        if isinstance(t, Vec) and t.count == 2:
            raise cx.error(
                "type-mismatch", f"{function} does not support complex tiles, such as {spell(tile.type)}", node
            )
        if t not in _FLOATS:
            raise cx.error("type-mismatch", f"{function} takes tiles of floats, not {spell(tile.type)}", node)
        if tile.type.ndim != 2:
            raise cx.error("shape", f"{function} takes tiles of two dimensions, not {spell(tile.type)}", node)
    if x.type.dtype is not y.type.dtype:
        text, helps = f"{function}: the elements of {shown} differ in type", "convert one of them: wp.tile_astype(...)"
        raise cx.error("type-mismatch", text, node, help=helps)
    if x.type.shape[1] != y.type.shape[0]:
        text = f"{function}: shape mismatch: {shown}: the first has {x.type.shape[1]} columns, the second"
        raise cx.error("shape", f"{text} {y.type.shape[0]} rows", node)


def _result_type(a: Arguments, t: Type, out: Value | None) -> Scalar:
    """The type of the elements of a product of tiles of `t`."""
    if out is None:
        return F32 if t is BF16 else t  # type: ignore[return-value]
    wanted = out.type.dtype
    if wanted is BF16:
        text = f"{a.function} does not support a bfloat16 'out' tile"
        raise a.error("type-mismatch", text, "out", help="sum in float32, and convert with wp.tile_astype(...)")
    wider = {F16: (F16, F32, F64), BF16: (F32, F64), F32: (F32, F64), F64: (F64,)}
    if wanted not in wider[t]:  # type: ignore[index]
        text = f"{a.function} cannot sum products of {spell(t)} in {spell(out.type)}"
        raise a.error("type-mismatch", text, "out", help=f"give `out` elements of {spell(wider[t][0])}")  # type: ignore[index]
    return wanted


def _check_precision(cx: Context, a: Arguments, x: Value) -> None:
    found = a["precision"]
    if not (isinstance(found, Static) and found.obj in ("default", "tf32")):
        text = f"{a.function}: precision must be the string literal 'default' or 'tf32'"
        raise a.error("arguments", text, "precision")
    if found.obj == "tf32" and x.type.dtype is not F32:
        text = f"{a.function}: precision='tf32' requires float32 tiles, not {spell(x.type)}"
        raise a.error("type-mismatch", text, "precision")


def _factor(cx: Context, a: Arguments, name: str, t: Scalar) -> Value:
    """An argument that is a number, as type `t`."""
    x = a[name]
    if isinstance(x, UntypedLiteral):
        return cx.b.const(x.value, t)
    value = a.value(name)
    if not isinstance(value.type, Scalar) or value.type is BOOL:
        raise a.error("type-mismatch", f"{a.function} takes a number for `{name}`, not {spell(value.type)}", name)
    return cx.at(a.node).op("cast", value, attr=t)


# -- factors and solutions --------------------------------------------------------------------------------------------


def _square(a: Arguments, name: str) -> Value:
    """An argument that is a square matrix of float32 or float64."""
    found = _matrix(a, name)
    t = found.type
    if t.dtype not in (F32, F64):
        raise a.error("type-mismatch", f"{a.function} takes tiles of float32 or float64, not {spell(t)}", name)
    if t.shape[0] != t.shape[1]:
        raise a.error("shape", f"{a.function} takes a square tile, not {spell(t)}", name)
    return found


def _sides(a: Arguments, name: str, matrix: Value) -> Value:
    """An argument that holds right-hand sides of a system."""
    found = a.tile(name)
    if found.type.ndim > 2 or found.type.shape[0] != matrix.type.shape[0]:
        raise _mismatch(a, name, matrix, found)
    if found.type.dtype is not matrix.type.dtype:
        text = f"{a.function}: the elements of {spell(matrix.type)} and {spell(found.type)} differ in type"
        raise a.error("type-mismatch", text, name)
    return found


def _is_lower(a: Arguments) -> bool:
    mode = a.constant("fill_mode")
    if mode not in ("lower", "upper"):
        raise a.error("arguments", f"{a.function}: fill_mode is 'lower' or 'upper', not {mode!r}", "fill_mode")
    return mode == "lower"


@tile_function("tile_cholesky")
@tile_function("tile_cholesky_inplace", views=True, changes=("A",))
def _cholesky(cx: Context, a: Arguments) -> Front:
    matrix, lower = _square(a, "A"), _is_lower(a)
    made = tile_algorithms.cholesky(cx.at(a.node), matrix, lower)
    return _put(cx, a, "A", made) if a.name.endswith("_inplace") else made


@tile_function("tile_cholesky_solve")
@tile_function("tile_cholesky_solve_inplace", views=True, changes=("y",))
def _cholesky_solve(cx: Context, a: Arguments) -> Front:
    factor, lower = _square(a, "L"), _is_lower(a)
    made = tile_algorithms.cholesky_solve(cx.at(a.node), factor, _sides(a, "y", factor), lower)
    return _put(cx, a, "y", made) if a.name.endswith("_inplace") else made


@tile_function("tile_lower_solve")
@tile_function("tile_lower_solve_inplace", views=True, changes=("y",))
def _lower_solve(cx: Context, a: Arguments) -> Front:
    return _solve(cx, a, "L", "y", True)


@tile_function("tile_upper_solve")
@tile_function("tile_upper_solve_inplace", views=True, changes=("z",))
def _upper_solve(cx: Context, a: Arguments) -> Front:
    return _solve(cx, a, "U", "z", False)


def _solve(cx: Context, a: Arguments, triangle: str, sides: str, lower: bool) -> Front:
    matrix = _square(a, triangle)
    made = tile_algorithms.solve_triangular(cx.at(a.node), matrix, _sides(a, sides, matrix), lower)
    return _put(cx, a, sides, made) if a.name.endswith("_inplace") else made


# -- sequences --------------------------------------------------------------------------------------------------------


@tile_function("tile_fft", "tile_ifft", views=True, changes=("inout",))
def _fourier(cx: Context, a: Arguments) -> Front:
    tile = a.tile("inout")
    if tile.type.dtype not in (Vec(2, F32), Vec(2, F64)):
        text = f"{a.function} takes tiles of vec2f or vec2d, each a complex number, not {spell(tile.type)}"
        raise a.error("type-mismatch", text, "inout")
    return _put(cx, a, "inout", tile_algorithms.fourier(cx.at(a.node), tile, a.name == "tile_ifft"))


_SCANS = {
    "tile_scan_inclusive": ("sum", True),
    "tile_scan_exclusive": ("sum", False),
    "tile_scan_max_inclusive": ("max", True),
    "tile_scan_min_inclusive": ("min", True),
}


@tile_function(*_SCANS)
def _scan(cx: Context, a: Arguments) -> Front:
    tile = a.tile("a")
    if not isinstance(tile.type.dtype, Scalar) or tile.type.dtype is BOOL:
        raise a.error("type-mismatch", f"{a.function}: element type must be scalar, not {spell(tile.type)}", "a")
    return tile_algorithms.scan(cx.at(a.node), tile, *_SCANS[a.name])


@tile_function("tile_sort", views=True, changes=("keys", "values"))
def _sort(cx: Context, a: Arguments) -> Front:
    keys, values = a.tile("keys"), a.tile("values")
    if keys.type.dtype not in _KEYS:
        text = f"{a.function} takes keys of {', '.join(map(spell, _KEYS))}, not {spell(keys.type)}"
        raise a.error("type-mismatch", text, "keys")
    if keys.type.shape != values.type.shape:
        raise _mismatch(a, "values", keys, values)
    first, second = tile_algorithms.sort(cx.at(a.node), keys, values)
    _put(cx, a, "keys", first)
    return _put(cx, a, "values", second)
