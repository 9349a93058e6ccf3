"""Arithmetic and bit operators on literals, scalars and packed types.

Componentwise operations are IR operations; products with a meaning of their own (matrix-vector, quaternion, ...) are
the library's overload set `mul`. `TABLE` has a row for each operator. Start with `binary`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.analysis.sign import is_non_negative
from ...ir.nodes import Loc, Value
from ...lang import registry
from ...lang.generics import spell
from ...lang.semantics import int_range
from ...lang.types import BOOL, Mat, Packed, Quat, Scalar, Transform, Type, Vec, element
from ..calls.calls import call_builtin
from ..context import Context, LoweringError, lowers
from ..limits import check_bits, check_items
from ..messages import cast_help, is_none
from ..tiles.tile_operands import PRODUCT, check_operands
from ..tiles.tile_regions import elementwise, is_tile
from ..values import Address, Front, Static, TupleValue, UntypedLiteral, spell_front
from .addresses import moved


class Row(NamedTuple):
    """One operator: how it is written, its IR operation, its meaning on literals, the operand kinds it takes."""

    symbol: str
    code: str
    literal: Callable[[Any, Any], Any]
    kinds: str  # of n (number), i (integer), b (bool)
    same: tuple[type, ...] = ()  # packed types it combines componentwise with their own kind
    scalar: str = ""  # "r": packed op scalar; "l": scalar op packed


_ALL = (Vec, Mat, Quat, Transform)
TABLE: dict[type, Row] = {
    ast.Add: Row("+", "add", operator.add, "n", _ALL),
    ast.Sub: Row("-", "sub", operator.sub, "n", _ALL),
    ast.Mult: Row("*", "mul", operator.mul, "n", (), "lr"),
    ast.MatMult: Row("@", "mul", operator.mul, "", ()),
    ast.Div: Row("/", "div", operator.truediv, "n", (), "lr"),
    ast.FloorDiv: Row("//", "floordiv", operator.floordiv, "n"),
    ast.Mod: Row("%", "rem", operator.mod, "n", (Vec,)),
    ast.Pow: Row("**", "pow", operator.pow, "n"),
    ast.BitAnd: Row("&", "and", operator.and_, "ib", (Vec, Mat)),
    ast.BitOr: Row("|", "or", operator.or_, "ib", (Vec, Mat)),
    ast.BitXor: Row("^", "xor", operator.xor, "ib", (Vec, Mat)),
    ast.LShift: Row("<<", "shl", operator.lshift, "i", (Vec, Mat)),
    ast.RShift: Row(">>", "shr", operator.rshift, "i", (Vec, Mat)),
}


@lowers(ast.BinOp)
def _binop(cx: Context, node: ast.BinOp) -> Front:
    left, right = cx.rvalue(node.left), cx.rvalue(node.right)
    return binary(cx, type(node.op), left, right, node, node.left, node.right)


def binary(
    cx: Context, kind: type, left: Front, right: Front, node: ast.AST, left_node: ast.AST, right_node: ast.AST
) -> Front:
    """`left kind right`."""
    row = TABLE[kind]
    if isinstance(left, Address) or isinstance(right, Address):
        return moved(cx, row.symbol, left, right, node)
    if is_tile(left) or is_tile(right):
        if row.symbol == "@" and is_tile(left) and is_tile(right):
            return PRODUCT[0](cx, cx.materialise(left, left_node), cx.materialise(right, right_node), node)
        check_operands(cx, row.symbol, left, right, node)
        operands = [left, right]
        return elementwise(cx, operands, node, lambda a, b: binary(cx, kind, a, b, node, left_node, right_node))
    if isinstance(left, UntypedLiteral) and isinstance(right, UntypedLiteral):
        return _literals(cx, row, left, right, node)
    if isinstance(left, (TupleValue, Static)) or isinstance(right, (TupleValue, Static)):
        return _compile_time(cx, row, left, right, node)
    a, b = adapt(cx, left, right, left_node, right_node)
    if row.code == "pow":
        return _power(cx, a, b, right, node)
    return _typed(cx, row, a, b, node)


def adapt(cx: Context, left: Front, right: Front, left_node: ast.AST, right_node: ast.AST) -> tuple[Value, Value]:
    """Both operands as IR values; a literal takes the scalar type of the other side where it fits."""
    if isinstance(left, UntypedLiteral) and isinstance(right, Value) and left.fits(element(right.type)):
        return cx.literal(left, element(right.type), left_node), right
    if isinstance(right, UntypedLiteral) and isinstance(left, Value) and right.fits(element(left.type)):
        return left, cx.literal(right, element(left.type), right_node)
    return cx.materialise(left, left_node), cx.materialise(right, right_node)


def _literals(cx: Context, row: Row, left: UntypedLiteral, right: UntypedLiteral, node: ast.AST) -> Front:
    a, b = left.value, right.value
    ints = isinstance(a, int) and isinstance(b, int)
    if isinstance(a, int) and isinstance(b, int) and row.code in ("pow", "shl") and b > 1:
        check_bits(cx, a.bit_length() * b if row.code == "pow" else a.bit_length() + b, node)
    try:
        if row.code == "div" and ints:
            _warn_of_python(cx, _DIVISION, node)
            return UntypedLiteral(
                int(a / b) if abs(a) < 2**53 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            )
        if row.code == "rem" and ints:
            if (a < 0) != (b < 0):
                _warn_of_python(cx, _REMAINDER, node)
            return UntypedLiteral(abs(a) % abs(b) * (-1 if a < 0 else 1))
        result = math.fmod(a, b) if row.code == "rem" else row.literal(a, b)
        if row.code == "rem" and result != a % b:
            _warn_of_python(cx, _REMAINDER, node)
    except (ArithmeticError, TypeError, ValueError) as e:
        raise cx.error("literal", f"`{a} {row.symbol} {b}` cannot be computed: {e}", node) from None
    if isinstance(result, complex):
        raise cx.error("literal", f"`{a} {row.symbol} {b}` is not a real number", node)
    if isinstance(result, int):
        check_bits(cx, result.bit_length(), node)
    return UntypedLiteral(result)


def _compile_time(cx: Context, row: Row, left: Front, right: Front, node: ast.AST) -> Front:
    """Tuples concatenate and repeat, strings too."""
    if isinstance(left, TupleValue) and isinstance(right, TupleValue) and row.symbol == "+":
        check_items(cx, left.size + right.size, node)
        return TupleValue(left.items + right.items)
    if isinstance(left, TupleValue) and row.symbol == "*" and isinstance(right, (UntypedLiteral, Value)):
        times = cx.constant(right, node, "the number of repetitions")
        if not isinstance(times, int):
            raise mismatch(cx, row.symbol, left, right, node)
        check_items(cx, left.size * times, node)
        return TupleValue(left.items * times)
    if isinstance(left, Static) and isinstance(right, Static) and isinstance(left.obj, str) and row.symbol == "+":
        return Static(left.obj + str(right.obj))
    raise mismatch(cx, row.symbol, left, right, node)


def _typed(cx: Context, row: Row, a: Value, b: Value, node: ast.AST) -> Value:
    ta, tb = a.type, b.type
    build = cx.at(node)
    if ta is tb and isinstance(ta, (Scalar, *row.same)):
        _check_kind(cx, row, a.type, a, b, node)
        _warn(cx, row, a, b, node)
        return build.op(row.code, a, b)
    if isinstance(ta, Packed) and tb is ta.scalar and "r" in row.scalar:
        _warn(cx, row, a, b, node)
        return build.op(row.code, a, build.op("splat", b, attr=ta))
    if isinstance(tb, Packed) and ta is tb.scalar and "l" in row.scalar:
        if row.code == "div" and isinstance(tb, Transform):
            raise mismatch(cx, row.symbol, a, b, node)
        _warn(cx, row, a, b, node)
        return build.op(row.code, build.op("splat", a, attr=tb), b)
    if row.code == "mul" and isinstance(ta, Packed) and isinstance(tb, Packed):
        return _product(cx, row, a, b, node)
    raise mismatch(cx, row.symbol, a, b, node)


def _product(cx: Context, row: Row, a: Value, b: Value, node: ast.AST) -> Value:
    """The library's `mul`; vectors have no product of their own."""
    mul = registry.get("mul")
    if (isinstance(a.type, Vec) and isinstance(b.type, Vec)) or mul is None:
        raise mismatch(cx, row.symbol, a, b, node)
    return call_builtin(cx, mul, [a, b], {}, node, [node, node], shown=f"`{row.symbol}`")  # type: ignore[return-value]


def _check_kind(cx: Context, row: Row, t: Type, a: Value, b: Value, node: ast.AST) -> None:
    s = element(t)
    assert isinstance(s, Scalar)
    if not row.kinds:
        raise mismatch(cx, row.symbol, a, b, node)
    if s is BOOL and "b" not in row.kinds:
        raise cx.error("type-mismatch", f"`{row.symbol}` does not work on bool", node, help="convert with int(...)")
    if s.is_float and "n" not in row.kinds:
        raise cx.error(
            "type-mismatch", f"`{row.symbol}` works on integers, not on {spell(t)}", node, help="convert with int(...)"
        )


def mismatch(cx: Context, symbol: str, left: Front, right: Front, node: ast.AST) -> LoweringError:
    """The exception for two operands that do not go together."""
    helps = ""
    ta, tb = getattr(left, "type", None), getattr(right, "type", None)
    if isinstance(ta, Scalar) and isinstance(tb, Scalar):
        helps = cx.started(_accumulated(cx, node), ta if ta.is_float else tb) or _conversion(ta, tb, node)
    elif isinstance(ta, Vec) and isinstance(tb, Vec) and symbol in "*/":
        helps = f"wp.{'cw_mul' if symbol == '*' else 'cw_div'}(a, b) is componentwise, wp.dot(a, b) the inner product"
    elif isinstance(ta, Packed) and isinstance(tb, Scalar) and symbol in "*/" and tb is not ta.scalar:
        helps = _cast_of(_sides(node)[1], ta.scalar)
    elif isinstance(tb, Packed) and isinstance(ta, Scalar) and symbol in "*/" and ta is not tb.scalar:
        helps = _cast_of(_sides(node)[0], tb.scalar)
    elif isinstance(ta, Packed) and isinstance(tb, Scalar) and symbol in "+-":
        helps = cast_help(right, ta, _sides(node)[1])
    if is_none(left) or is_none(right):
        helps = "a function without `return` gives None: let it return its result"
    text = f"`{symbol}` cannot combine {spell_front(left)} and {spell_front(right)}"
    return cx.error("type-mismatch", text, _last_of_chain(cx, node), help=helps)


def _last_of_chain(cx: Context, node: ast.AST) -> ast.AST | Loc:
    """Of `a + b + c`, where `a + b` is fine, the part `+ c`."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp)):
        return node
    loc, left = cx.loc(node), cx.loc(node.left)
    between = cx.source.line(left.end_line).encode()[left.end_col :]
    col = left.end_col + len(between) - len(between.lstrip(b" )"))
    return loc._replace(line=left.end_line, col=col) if between.strip(b" )\\\r\n") else node


def _conversion(ta: Scalar, tb: Scalar, node: ast.AST) -> str:
    """The conversion of the narrower operand to the type of the wider."""
    first = (ta.is_float, ta.bits) < (tb.is_float, tb.bits)
    return _cast_of(_sides(node)[0 if first else 1], tb if first else ta)


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | tuple[None, None]:
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    return None, None


def _accumulated(cx: Context, node: ast.AST) -> str:
    """The local that an operation on it updates: `s` in `s += x` and `s = s + x`."""
    if not isinstance(node, ast.AugAssign):
        lines = [n for n in ast.walk(cx.source.tree()) if isinstance(n, ast.Assign) and n.value is node]
        target = lines[0].targets[0] if lines else None
        sides = {side.id for side in _sides(node) if isinstance(side, ast.Name)}
        return target.id if isinstance(target, ast.Name) and target.id in sides else ""
    return node.target.id if isinstance(node.target, ast.Name) else ""


def _cast_of(side: ast.expr | None, t: Scalar) -> str:
    text = ast.unparse(side) if side is not None else "..."
    return f"types are not converted implicitly: write `{_cast_name(t)}({text if len(text) <= 60 else '...'})`"


def _cast_name(t: Type) -> str:
    return {"int32": "int", "float32": "float"}.get(spell(t), f"wp.{spell(t)}")


def _power(cx: Context, a: Value, b: Value, exponent: Front, node: ast.AST) -> Front:
    """Small constant integer exponents multiply; anything else is the library's `pow`."""
    n = exponent.value if isinstance(exponent, UntypedLiteral) else b.const if b.is_const else None
    if isinstance(a.type, Scalar) and n is not None and n in range(5) and a.type is not BOOL:
        return _multiplied(cx, a, int(n), node)
    if isinstance(a.type, Scalar) and isinstance(n, int) and a.type.is_int and 0 <= n < a.type.bits:
        return _squared(cx, a, n, node)
    power = registry.get("pow")
    if power is None or (a.type is b.type and isinstance(a.type, Scalar) and a.type.is_int):
        why = "`**` of integers needs an exponent known when the kernel compiles, zero or more"
        helps = "convert to float: float(a) ** float(b); powers of two are 1 << n"
        raise cx.error("type-mismatch", why, node, help=helps)
    return call_builtin(cx, power, [a, b], {}, node, [node, node], shown="`**`")


def _multiplied(cx: Context, a: Value, n: int, node: ast.AST) -> Value:
    result = cx.at(node).const(1, a.type) if n == 0 else a
    for _ in range(n - 1):
        result = cx.b.op("mul", result, a)
    return result


def _squared(cx: Context, a: Value, n: int, node: ast.AST) -> Value:
    result = cx.at(node).const(1, a.type)
    while n:
        if n & 1:
            result = cx.b.op("mul", result, a)
        a, n = cx.b.op("mul", a, a), n >> 1
    return result


# -- warnings: where the documented meaning is not Python's ---------------------------------------------------------


_DIVISION = "`/` on integers truncates here; in Python it gives a float (use `//`, or convert with float(...))"
_REMAINDER = "`%` takes the sign of the dividend here; in Python it takes that of the divisor"


def _warn(cx: Context, row: Row, a: Value, b: Value, node: ast.AST) -> None:
    if cx.session.quiet:
        return
    s = element(a.type)
    assert isinstance(s, Scalar)
    if s.is_int and row.code == "div":
        _warn_of_python(cx, _DIVISION, node)
    elif row.code == "rem" and not all(is_non_negative(x, cx.session.counting) for x in (a, b)):
        _warn_of_python(cx, _REMAINDER, node)
    elif row.code == "shl" and b.is_const and not isinstance(b.const, tuple) and b.const >= s.bits:
        cx.warn(f"wrap-around: `<< {b.const}` shifts out all bits of {spell(s)}", node)
    elif s.is_int and row.code in ("add", "sub", "mul", "shl") and a.is_const and b.is_const and isinstance(s, Scalar):
        _warn_wrap(cx, row, a, b, s, node)


def _warn_of_python(cx: Context, text: str, node: ast.AST) -> None:
    """Warn that an operator means something else in Python. Programs for warp-lang do not expect Python's meaning."""
    if not cx.session.follows_warp_lang:
        cx.warn(text, node)


def _warn_wrap(cx: Context, row: Row, a: Value, b: Value, s: Scalar, node: ast.AST) -> None:
    if isinstance(a.const, tuple) or (row.code == "shl" and not 0 <= b.const < 128):
        return
    exact, (low, high) = row.literal(a.const, b.const), int_range(s)
    if not low <= exact <= high:
        cx.warn(f"wrap-around: {a.const} {row.symbol} {b.const} does not fit {spell(s)}", node)


# -- unary ----------------------------------------------------------------------------------------------------------

_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_UNARY_LITERAL: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


@lowers(ast.UnaryOp)
def _unaryop(cx: Context, node: ast.UnaryOp) -> Front:
    if isinstance(node.op, ast.Not):
        return negate(cx, node.operand, node)
    return unary(cx, _UNARY[type(node.op)], cx.rvalue(node.operand), node)


def negate(cx: Context, operand: ast.expr, node: ast.AST) -> Front:
    """`not operand`."""
    c = cx.condition(operand)
    return UntypedLiteral(not c) if isinstance(c, bool) else cx.at(node).op("not", c)


def _of_element(cx: Context, symbol: str, x: Value, node: ast.AST) -> Front:
    """A unary operator on an element of a tile. As in NumPy, `~` of a bool is the other one."""
    return cx.at(node).op("not", x) if symbol == "~" and x.type is BOOL else unary(cx, symbol, x, node)


def unary(cx: Context, symbol: str, x: Front, node: ast.AST) -> Front:
    """`-x`, `+x` or `~x`."""
    if isinstance(x, UntypedLiteral) and not (symbol == "~" and isinstance(x.value, float)):
        return UntypedLiteral(_UNARY_LITERAL[symbol](int(x.value) if isinstance(x.value, bool) else x.value))
    v = cx.materialise(x, node)
    if is_tile(v):
        return elementwise(cx, [v], node, lambda a: _of_element(cx, symbol, a, node))
    s = element(v.type)
    allowed = isinstance(s, Scalar) and (not s.is_float if symbol == "~" else s is not BOOL)
    if not allowed or (symbol == "~" and s is BOOL):
        raise cx.error("type-mismatch", f"`{symbol}` does not work on {spell_front(x)}", node)
    return v if symbol == "+" else cx.at(node).op("neg" if symbol == "-" else "not", v)
