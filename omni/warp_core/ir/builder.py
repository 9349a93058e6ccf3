"""Builds IR: types every operation, folds constants and simple identities, and reuses equal pure operations.

Front end and passes create operations only here. Regions are built by nesting: `push` opens one, `pop` returns it, and
`emit` attaches finished regions to their operation:

    b.push()                       # then
    b.terminate("yield", [x])
    then = b.pop()
    ...
    (r,) = b.emit("if", [cond], regions=(then, other), results=[F32])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ..lang import semantics
from ..lang.types import BOOL, F32, I32, I64, FixedArray, Packed, Scalar, Tile, Type, element, members
from .nodes import Function, Loc, Operation, Region, Value
from .ops import COMPARISONS, ELEMENTWISE, OPS, result_type, slice_letters, slice_parts


def _const_key(value: Any) -> Any:
    """Tells constants of one type apart: 0.0 from -0.0, while equal NaNs meet."""
    leaves = value if isinstance(value, tuple) else (value,)
    return value if all(v and v == v for v in leaves) else repr(value)


class Builder:
    """Appends operations to the innermost open region of a function."""

    def __init__(self, function: Function | None = None):
        self.loc: Loc | None = None
        self._open: list[tuple[Region, dict]] = []
        if function is not None:
            self._open.append((function.body, {}))

    # -- regions ------------------------------------------------------------------------------------------------

    @property
    def region(self) -> Region:
        """The innermost open region."""
        return self._open[-1][0]

    @property
    def outermost(self) -> Region:
        """The body of the function."""
        return self._open[0][0]

    @property
    def terminated(self) -> bool:
        """True if the open region already ends in a terminator."""
        ops = self.region.ops
        return bool(ops) and OPS[ops[-1].code].terminator

    def push(self, params: Sequence[Type] = (), names: Sequence[str] = ()) -> list[Value]:
        """Open a region; returns its parameters."""
        named = list(names) + [""] * (len(params) - len(names))
        region = Region([Value(t, name=n) for t, n in zip(params, named)])
        self._open.append((region, {}))
        return region.params

    def pop(self) -> Region:
        """Close the innermost region and return it."""
        return self._open.pop()[0]

    def save(self) -> Callable[[], None]:
        """Return a function that takes back everything appended from here on."""
        kept, loc = list(self._open), self.loc
        region, seen = kept[-1]
        ops, outermost, known = list(region.ops), list(self.outermost.ops), dict(seen)

        def restore() -> None:
            self._open, self.loc = [*kept[:-1], (region, known)], loc
            self.outermost.ops[:] = outermost  # memory is made at the top of the function
            region.ops[:] = ops

        return restore

    # -- operations ---------------------------------------------------------------------------------------------

    def emit(
        self,
        code: str,
        args: Sequence[Value] = (),
        attr: Any = None,
        regions: tuple[Region, ...] = (),
        results: Sequence[Type] = (),
    ) -> tuple[Value, ...]:
        """Append an operation with given result types (regions and calls)."""
        op = Operation(code, list(args), attr, self.loc)
        op.regions = regions
        op.results = tuple(Value(t, op, i) for i, t in enumerate(results))
        self.region.ops.append(op)
        return op.results

    def terminate(self, code: str, args: Sequence[Value] = (), attr: Any = None) -> None:
        """Close the open region with a terminator."""
        self.emit(code, args, attr)

    def op(self, code: str, *args: Value, attr: Any = None) -> Value:
        """Append an operation with one result (or none, for effects), folded or shared where possible."""
        row = OPS[code]
        if not row.pure:
            return self._append(code, args, attr)
        folded = self._fold(code, args, attr)
        if folded is not None:
            return folded
        key = (code, tuple(map(id, args)), attr)
        for _, seen in reversed(self._open):
            if key in seen:
                return seen[key]
        value = self._append(code, args, attr)
        self._open[-1][1][key] = value
        return value

    def _append(self, code: str, args: Sequence[Value], attr: Any) -> Value:
        op = Operation(code, list(args), attr, self.loc)
        t = result_type(code, [a.type for a in args], attr)
        op.results = (Value(t, op),)
        self.region.ops.append(op)
        return op.results[0]

    def const(self, value: Any, t: Type) -> Value:
        """A constant of scalar or packed type `t`; numbers are converted to it, one number fills a packed type."""
        s = element(t)
        assert isinstance(s, Scalar)
        if isinstance(t, Packed):
            leaves = value if isinstance(value, tuple) else (value,) * t.count
            value = tuple(semantics.convert(v, s) for v in leaves)
        else:
            value = semantics.convert(value, s)
        return self.exact(value, t)

    def exact(self, value: Any, t: Type) -> Value:
        """A constant whose value is already of type `t`."""
        key = ("const", t, _const_key(value))
        for _, seen in reversed(self._open):
            if key in seen:
                return seen[key]
        op = Operation("const", [], value, self.loc)
        op.results = (Value(t, op),)
        self.region.ops.append(op)
        self._open[-1][1][key] = op.results[0]
        return op.results[0]

    def zero(self, t: Type) -> Value:
        """The value of type `t` that is zero in all its members; arrays are null."""
        if isinstance(t, Tile):
            self.push([I32] * t.ndim)
            self.terminate("yield", [self.zero(t.dtype)])
            return self.emit("tile_map", [], t, (self.pop(),), [t])[0]
        return self.const(0, t) if isinstance(element(t), Scalar) else self.op("zero", attr=t)

    def i32(self, value: int) -> Value:
        return self.const(value, I32)

    def f32(self, value: float) -> Value:
        return self.const(value, F32)

    def bool(self, value: bool) -> Value:
        return self.const(value, BOOL)

    # -- folding ------------------------------------------------------------------------------------------------

    def _fold(self, code: str, args: Sequence[Value], attr: Any) -> Value | None:
        if code in _OF_NUMBERS and not element(args[0].type).is_float:
            return self.op(_OF_NUMBERS[code], *args)
        if code in ELEMENTWISE or code in COMPARISONS:
            for a in args:
                if a.op is None or a.op.code != "const":
                    break
            else:
                return self._fold_const(code, args)
            if code == "from_end" and args[0].is_const:
                return self.op("add", *args) if args[0].const < 0 else args[0]
            return _identity(code, args)
        rule = _FOLDS.get(code)
        return rule(self, args, attr) if rule else None

    def _fold_const(self, code: str, args: Sequence[Value]) -> Value:
        result = result_type(code, [a.type for a in args], None)
        t = args[0].type
        s = element(t)
        if isinstance(t, Packed):
            leaves = zip(*(a.const for a in args))
            return self.const(tuple(semantics.evaluate(code, s, *leaf) for leaf in leaves), result)
        return self.const(semantics.evaluate(code, s, *(a.const for a in args)), result)


def _is_all(v: Value, number: float) -> bool:
    """True if `v` is the constant `number` in every component (0 means +0.0 for floats)."""
    if not v.is_const:
        return False
    leaves = v.const if isinstance(v.const, tuple) else (v.const,)
    return all(x == number and not (x == 0 and math.copysign(1.0, x) < 0) for x in leaves)


def _identity(code: str, args: Sequence[Value]) -> Value | None:
    """x+0 and 0+x on integers, x-0, x*1, 1*x, x/1, and boolean identities: exact on every input."""
    if len(args) != 2:
        return None
    a, b = args
    is_float = element(a.type).is_float
    if code == "add" and not is_float:
        return a if _is_all(b, 0) else b if _is_all(a, 0) else None
    if code == "sub" and _is_all(b, 0):
        return a
    if code == "mul":
        return a if _is_all(b, 1) else b if _is_all(a, 1) else None
    if code == "div" and _is_all(b, 1):
        return a
    if code in ("and", "or") and a.type is BOOL:
        return _bool_identity(code == "and", a, b)
    return None


def _bool_identity(is_and: bool, a: Value, b: Value) -> Value | None:
    for x, y in ((a, b), (b, a)):
        if x.is_const:
            return y if x.const == is_and else x
    return a if a is b else None


def _fold_select(b: Builder, args: Sequence[Value], attr: Any) -> Value | None:
    cond, x, y = args
    if cond.is_const:
        return x if cond.const else y
    if x is y:
        return x
    return _select_bool(b, cond, x, y) if x.type is BOOL else None


def _select_bool(b: Builder, cond: Value, x: Value, y: Value) -> Value | None:
    """A choice between a condition and a constant is a logical operation."""
    if x.is_const and y.is_const:
        return cond if x.const else b.op("not", cond)
    if x is cond or (x.is_const and x.const):
        return b.op("or", cond, y)
    if y is cond or (y.is_const and not y.const):
        return b.op("and", cond, x)
    return None


def _fold_cast(b: Builder, args: Sequence[Value], attr: Type) -> Value | None:
    (x,) = args
    if x.type is attr:
        return x
    if x.is_const:
        result_type("cast", [x.type], attr)
        s = element(attr)
        value = tuple(semantics.convert(v, s) for v in x.const) if isinstance(attr, Packed) else x.const
        return b.const(value, attr)
    if attr is I64 and x.op is not None and x.op.code in ("shape", "size"):
        return _widened(b, x.op)
    return None


def _fold_bitcast(b: Builder, args: Sequence[Value], attr: Scalar) -> Value | None:
    (x,) = args
    if x.type is attr:
        return x
    if x.is_const:
        result_type("bitcast", [x.type], attr)
        return b.const(semantics.from_bits(semantics.bits_of(x.const, x.type), attr), attr)
    return None


def _fold_make(b: Builder, args: Sequence[Value], attr: Type) -> Value | None:
    if isinstance(attr, Packed) and args and all(a.is_const for a in args):
        result_type("make", [a.type for a in args], attr)
        return b.const(tuple(a.const for a in args), attr)
    return None


def _fold_splat(b: Builder, args: Sequence[Value], attr: Packed) -> Value | None:
    (x,) = args
    return b.const((x.const,) * attr.count, attr) if x.is_const else None


def _fold_extract(b: Builder, args: Sequence[Value], attr: int) -> Value | None:
    """Look through the operations that put the member there."""
    (x,) = args
    while x.op is not None:
        code = x.op.code
        if code == "const":
            return b.const(x.const[attr], element(x.type))
        if code == "make":
            return x.op.args[attr]
        if code == "splat":
            return x.op.args[0]
        if code == "zero":
            return _zero_member(b, x.type, attr)
        if code != "insert":
            break
        if x.op.attr == attr:
            return x.op.args[1]
        x = x.op.args[0]
    return None if x is args[0] else b.op("extract", x, attr=attr)


def _zero_member(b: Builder, t: Type, index: int) -> Value:
    return b.zero(members(t)[index])


def _fold_insert(b: Builder, args: Sequence[Value], attr: int) -> Value | None:
    """Replacing a member of a freshly made aggregate makes another one."""
    x, value = args
    if x.op is not None and x.op.code == "make":
        parts = list(x.op.args)
        parts[attr] = value
        return b.op("make", *parts, attr=x.type)
    return None


def _fold_extract_dyn(b: Builder, args: Sequence[Value], attr: Any) -> Value | None:
    x, index = args
    if index.is_const and 0 <= index.const < x.type.count:
        return b.op("extract", x, attr=index.const)
    return None


def _fold_insert_dyn(b: Builder, args: Sequence[Value], attr: Any) -> Value | None:
    x, value, index = args
    if index.is_const and 0 <= index.const < x.type.count:
        return b.op("insert", x, value, attr=index.const)
    return None


def _fold_shape(b: Builder, args: Sequence[Value], attr: int) -> Value | None:
    return _folded_extent(b, "shape", args[0], attr, I32)


def _fold_extent(b: Builder, args: Sequence[Value], attr: int) -> Value | None:
    return _folded_extent(b, "extent", args[0], attr, I64)


def _folded_extent(b: Builder, code: str, array: Value, attr: int, t: Scalar) -> Value | None:
    """The extent of a view is that of the array it was taken from, or the count it was given."""
    x = array
    while x.op is not None and x.op.code == "slice":
        parts = slice_parts(x.op.args[1:], x.op.attr)
        kept = [(k, operands) for k, (letter, operands) in enumerate(parts) if letter != "i"]
        if attr < len(kept) and kept[attr][1]:
            return b.op("cast", kept[attr][1][1], attr=t)
        attr = kept[attr][0] if attr < len(kept) else attr + len(parts) - len(kept)
        x = x.op.args[0]
    if x.op is not None and x.op.code == "view_at":
        return b.op("cast", x.op.args[2 + attr], attr=t)
    if isinstance(x.type, FixedArray):
        return b.const(x.type.shape[attr], t)
    return None if x is array else b.op(code, x, attr=attr)


def _fold_size(b: Builder, args: Sequence[Value], attr: Any) -> Value | None:
    (x,) = args
    if isinstance(x.type, FixedArray):
        return b.i32(math.prod(x.type.shape))
    return b.op("shape", x, attr=0) if x.type.ndim == 1 else None


def _widened(b: Builder, count: Operation) -> Value:
    """A `shape` or `size` in 64 bits."""
    (x,) = count.args
    if count.code == "shape":
        return b.op("extent", x, attr=count.attr)
    extents = [b.op("extent", x, attr=k) for k in range(x.type.ndim)]
    return reduce(lambda a, c: b.op("mul", a, c), extents)


def _fold_is_null(b: Builder, args: Sequence[Value], attr: Any) -> Value | None:
    if isinstance(args[0].type, FixedArray):
        return b.bool(False)
    return b.bool(True) if args[0].op is not None and args[0].op.code == "zero" else None


def _fold_slice(b: Builder, args: Sequence[Value], attr: str | None) -> Value | None:
    """Keeping all of a view is the view."""
    keeps_all = not slice_letters(len(args) - 1, attr).strip(":")
    return args[0] if keeps_all and not isinstance(args[0].type, FixedArray) else None


_OF_NUMBERS = {"minnum": "min", "maxnum": "max"}  # integers have no NaN

_FOLDS = {
    "shape": _fold_shape,
    "extent": _fold_extent,
    "size": _fold_size,
    "is_null": _fold_is_null,
    "slice": _fold_slice,
    "select": _fold_select,
    "cast": _fold_cast,
    "bitcast": _fold_bitcast,
    "make": _fold_make,
    "splat": _fold_splat,
    "extract": _fold_extract,
    "insert": _fold_insert,
    "extract_dyn": _fold_extract_dyn,
    "insert_dyn": _fold_insert_dyn,
}
