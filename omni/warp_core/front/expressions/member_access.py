"""Members and indices: reading components, rows, fields, swizzles and array elements, and storing into them.

Subscripting an array gives a `ElementRef`, a place that is loaded only as far down as it is read: `a[i].x` loads one
component. Components of locals are replaced functionally, along a chain of `Step`s.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Any

from ...ir.analysis.sign import is_non_negative
from ...ir.nodes import Value
from ...lang.array_structs.array_struct_types import fabric_parts
from ...lang.errors import nearest
from ...lang.generics import spell
from ...lang.types import (
    I32,
    I64,
    MAX_NDIM,
    Array,
    FixedArray,
    Mat,
    Packed,
    Quat,
    Scalar,
    Struct,
    Tile,
    Transform,
    Type,
    Vec,
)
from ...lang.values.struct_operators import read_only
from ...lang.values.type_registry import python_type
from ..context import Context, lowers
from ..messages import method_help
from ..names import captured, member
from ..tiles.tile_regions import is_tile
from ..tiles.tile_views import named, subscript, whole
from ..values import (
    ArrayShape,
    ElementRef,
    EnumMember,
    Front,
    Poison,
    Static,
    TileView,
    TupleValue,
    UntypedLiteral,
    spell_front,
)
from .addresses import address_of
from .array_indexing import array_type, extent, locate, shape_of, size_of
from .local_arrays import refuse_escape
from .slicing import section

_LETTERS = {"x": 0, "y": 1, "z": 2, "w": 3}


@dataclass(frozen=True, slots=True)
class Step:
    """One move down from an aggregate: a member index, a run of components, or a dynamic component.

    The components of a run that is no arithmetic series, a block of a matrix, are listed in `picks`.
    """

    type: Type
    index: int = 0
    count: int = 1
    stride: int = 1
    dynamic: Value | None = None
    picks: tuple[int, ...] = ()

    @property
    def offsets(self) -> tuple[int, ...]:
        """The components of the run, counted from the dynamic one if there is one."""
        return self.picks or tuple(range(self.index, self.index + self.count * self.stride, self.stride))

    def is_run(self, t: Type) -> bool:
        """True if the access reads a contiguous vector or matrix, of one component or more, from the components of type
        `t`.
        """
        return isinstance(t, Packed) and isinstance(self.type, Packed)


# -- reading --------------------------------------------------------------------------------------------------------


@lowers(ast.Attribute)
def _attribute(cx: Context, node: ast.Attribute) -> Front:
    base = cx.expr(node.value)
    if isinstance(base, Static):
        return member(cx, base.obj, node.attr, node)
    if isinstance(base, EnumMember):
        return member(cx, base.member, node.attr, node)
    if isinstance(base, (UntypedLiteral, TupleValue)) or not isinstance(base, (Value, ElementRef, TileView)):
        help = "lists and tuples keep their length in a kernel; wp.zeros(shape, dtype) makes a local array"
        help = help if isinstance(base, TupleValue) else ""
        raise cx.error("no-member", f"{spell_front(base)} has no member `{node.attr}`", node, help=help)
    if isinstance(base, TileView) or isinstance(base.type, Tile):
        return _tile_member(cx, base.type, node)
    if array_type(base.type):
        return _array_member(cx, cx.materialise(base, node.value), node)
    told = _told_by_type(base.type, node.attr)
    if told is not None:
        return told
    return descend(cx, base, field_step(cx, base.type, node), node)


@lowers(ast.Subscript)
def _subscript(cx: Context, node: ast.Subscript) -> Front:
    base = named(cx, cx.expr(node.value), node.value)
    if is_tile(base):
        return subscript(cx, whole(base), node)  # type: ignore[arg-type]
    if isinstance(base, TupleValue):
        return _tuple_item(cx, base, node)
    if isinstance(base, Static):
        return _static_item(cx, base, node)
    if isinstance(base, Poison):
        raise AssertionError
    if not isinstance(base, (Value, ElementRef)):
        raise cx.error("type-mismatch", f"{spell_front(base)} cannot be indexed", node.value)
    if array_type(base.type):
        return element(cx, base, node)
    x: Value | ElementRef = base
    for step in index_steps(cx, base.type, node):
        x = descend(cx, x, step, node)
    return x


def _tuple_item(cx: Context, base: TupleValue, node: ast.Subscript) -> Front:
    if isinstance(node.slice, ast.Slice):
        return TupleValue(base.items[_slice(cx, node.slice, len(base.items))])
    x = cx.rvalue(node.slice)
    if isinstance(x, Value) and not x.is_const:
        raise cx.error("index", "a tuple is indexed by a number known when the kernel compiles", node.slice)
    i = cx.constant(x, node.slice, "the index of a tuple")
    if isinstance(base, ArrayShape) and i in range(len(base.items), MAX_NDIM) and cx.session.follows_warp_lang:
        return UntypedLiteral(0)  # a shape has room for all dimensions there
    if not isinstance(i, int) or not -len(base.items) <= i < len(base.items):
        raise cx.error("index", f"index {i} is out of range for a tuple of {len(base.items)}", node.slice)
    return base.items[i]


def _static_item(cx: Context, base: Static, node: ast.Subscript) -> Front:
    """`Vec[N, T]`, `wp.array[float]` and other subscripted compile-time objects."""
    index = cx.constant(cx.rvalue(node.slice), node.slice, "the index")
    try:
        found = base.obj[index]
    except Exception as e:
        raise cx.error("index", f"{spell_front(base)} cannot be indexed with {index!r}: {e}", node) from None
    return captured(cx, found, node)


def _told_by_type(t: Type, name: str) -> Front | None:
    """`x.dtype`, `v.length`, `m.shape`: what generic code asks of a number, vector or matrix."""
    if name == "dtype" and isinstance(t, (Scalar, Packed)):
        return Static(t.scalar if isinstance(t, Packed) else t)
    if name == "length" and isinstance(t, Packed):
        return UntypedLiteral(t.count)
    if name == "shape" and isinstance(t, Packed):
        return TupleValue([UntypedLiteral(n) for n in ((t.rows, t.cols) if isinstance(t, Mat) else (t.count,))])
    return None


def _tile_member(cx: Context, t: Any, node: ast.Attribute) -> Front:
    """What is known of a tile when the kernel compiles."""
    known: dict[str, Front] = {
        "shape": TupleValue([UntypedLiteral(n) for n in t.shape]),
        "dtype": Static(t.dtype),
        "ndim": UntypedLiteral(t.ndim),
        "size": UntypedLiteral(math.prod(t.shape)),
    }
    if node.attr not in known:
        text = f"{spell(t)} has no member `{node.attr}`"
        raise cx.error("no-member", text, node, candidates=nearest(node.attr, known) or tuple(known))
    return known[node.attr]


def _array_member(cx: Context, array: Value, node: ast.Attribute) -> Front:
    t = array_type(array.type)
    assert t is not None
    if node.attr == "shape":
        return ArrayShape(shape_of(cx, array, node))
    if node.attr == "size":
        return size_of(cx, array, node)
    if node.attr == "ndim":
        return UntypedLiteral(t.ndim)
    if node.attr == "dtype":
        return Static(t.dtype)
    if node.attr == "ptr":
        return address_of(cx, array)
    names = ("shape", "size", "ndim", "dtype")
    text = f"{spell(array.type)} has no member `{node.attr}`"
    raise cx.error("no-member", text, node, candidates=nearest(node.attr, names) or names)


def field_step(cx: Context, t: Type, node: ast.Attribute) -> Step:
    """The step of `.name`."""
    name = node.attr
    if isinstance(t, Struct):
        if name in t.index:
            i = t.index[name]
            return Step(t.fields[i][1], i)
        names = [f for f, _ in t.fields]
        is_method = callable(getattr(python_type(t), name, None))
        helps = "kernels cannot call methods: write a @wp.func that takes the struct" if is_method else ""
        if not is_method and hasattr(python_type(t), name):
            helps = f"fields are annotated: write `{name}: float` or another type in the struct"
        raise cx.error(
            "no-member",
            f"struct {t.name} has no field `{name}`",
            node,
            candidates=() if helps else nearest(name, names) or names,
            help=helps,
        )
    if isinstance(t, (Vec, Quat)) and name in _LETTERS and _LETTERS[name] < t.count:
        return Step(t.scalar, _LETTERS[name])
    if isinstance(t, Transform) and name in ("p", "q"):
        return Step(Vec(3, t.scalar), 0, 3) if name == "p" else Step(Quat(t.scalar), 3, 4)
    if isinstance(t, (Vec, Quat)):
        letters = "`, `".join(list("xyzw")[: t.count])
        helps = method_help(node) or f"components are `{letters}`, or [i]"
        raise cx.error("no-member", f"{spell(t)} has no member `{name}`", node, help=helps)
    raise cx.error("no-member", f"{spell(t)} has no member `{name}`", node, help=method_help(node))


def index_steps(cx: Context, t: Type, node: ast.Subscript) -> list[Step]:
    """The steps of `[...]` on a packed type."""
    if not isinstance(t, Packed):
        raise cx.error("type-mismatch", f"{spell(t)} cannot be indexed", node.value)
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(t, Mat) and any(isinstance(i, ast.Slice) for i in indices) and len(indices) <= 2:
        return [_block(cx, t, [*indices, ast.Slice()][:2], node)]
    if isinstance(t, Mat) and len(indices) == 2:
        return [_cell(cx, t, indices)]
    if len(indices) != 1:
        raise cx.error(
            "index", f"{spell(t)} takes {'one or two indices' if isinstance(t, Mat) else 'one index'}", node.slice
        )
    if isinstance(t, Mat):
        return [_row_step(cx, t, indices[0])]
    if isinstance(indices[0], ast.Slice):
        picked = range(t.count)[_slice(cx, indices[0], t.count)]
        if not len(picked):
            raise cx.error("index", "the slice is empty", node.slice)
        return [Step(Vec(len(picked), t.scalar), picked[0], len(picked), picked.step)]
    i = _component(cx, indices[0], t.count, spell(t))
    return [Step(t.scalar, i) if isinstance(i, int) else Step(t.scalar, dynamic=i)]


def _block(cx: Context, t: Mat, indices: list[ast.expr], node: ast.AST) -> Step:
    """`m[rows, columns]` with slices among them: a vector where one is an index, else a matrix."""
    parts: list[tuple[int, ...]] = []
    dynamic: Value | None = None
    for index, count, size, what in zip(indices, (t.rows, t.cols), (t.cols, 1), ("the rows", "the columns")):
        if isinstance(index, ast.Slice):
            parts.append(tuple(i * size for i in range(count)[_slice(cx, index, count)]))
            continue
        i = _component(cx, index, count, what)
        parts.append((i * size,) if isinstance(i, int) else (0,))
        if isinstance(i, Value):
            dynamic = i if size == 1 else cx.b.op("mul", i, cx.b.const(size, i.type))
    if not all(parts):
        raise cx.error("index", "the slice is empty", node)
    picks = tuple(row + column for row in parts[0] for column in parts[1])
    slices = [isinstance(i, ast.Slice) for i in indices]
    shape: Packed = Mat(len(parts[0]), len(parts[1]), t.scalar) if all(slices) else Vec(len(picks), t.scalar)
    return Step(shape, picks[0], len(picks), dynamic=dynamic, picks=picks)


def _row_step(cx: Context, t: Mat, node: ast.expr) -> Step:
    i = _component(cx, node, t.rows, "the rows")
    if isinstance(i, int):
        return Step(Vec(t.cols, t.scalar), i * t.cols, t.cols)
    return Step(Vec(t.cols, t.scalar), 0, t.cols, dynamic=cx.b.op("mul", i, cx.b.const(t.cols, i.type)))


def _cell(cx: Context, t: Mat, indices: list[ast.expr]) -> Step:
    i = _component(cx, indices[0], t.rows, "the rows")
    j = _component(cx, indices[1], t.cols, "the columns")
    if isinstance(i, int) and isinstance(j, int):
        return Step(t.scalar, i * t.cols + j)
    ti = next(x.type for x in (i, j) if isinstance(x, Value))
    a, b = (x if isinstance(x, Value) else cx.b.const(x, ti) for x in (i, j))
    if a.type is not b.type:
        a, b = cx.b.op("cast", a, attr=I32), cx.b.op("cast", b, attr=I32)
    return Step(t.scalar, dynamic=cx.b.op("add", cx.b.op("mul", a, cx.b.const(t.cols, a.type)), b))


def _component(cx: Context, node: ast.expr, count: int, what: str) -> int | Value:
    """A component index, counted from the end when negative: a checked Python int where it is known."""
    if isinstance(node, ast.Slice):
        raise cx.error("unsupported", "a slice cannot be used here", node)
    x = cx.rvalue(node)
    v = cx.index_value(x, node)
    if not v.is_const:
        return _from_end(cx, v, cx.b.const(count, I32), node)
    if not -count <= v.const < count:
        raise cx.error("index", f"index {v.const} is out of range for {what} ({count} in all)", node)
    return v.const % count


def _from_end(cx: Context, index: Value, count: Value, node: ast.AST) -> Value:
    """An index that counts from the end of `count` elements when it is negative."""
    b = cx.at(node)
    if isinstance(index.type, Scalar) and index.type.bits < 32:  # there may be more elements than it counts to
        index = b.op("cast", index, attr=I32)
    return b.op("from_end", index, b.op("cast", count, attr=index.type))


def _slice(cx: Context, node: ast.Slice, length: int) -> slice:
    return slice(*(part and _slice_part(cx, part, part is node.step) for part in (node.lower, node.upper, node.step)))


def _slice_part(cx: Context, node: ast.expr, is_step: bool) -> int | None:
    x = cx.constant(cx.rvalue(node), node, "a bound of a slice")
    if (x is not None and not isinstance(x, int)) or (is_step and x == 0):
        wanted = "an integer other than zero" if is_step else "an integer"
        raise cx.error("index", f"{'the step' if is_step else 'a bound'} of a slice must be {wanted}", node)
    return x


def descend(cx: Context, x: Value | ElementRef, step: Step, node: ast.AST) -> Value | ElementRef:
    """Follow one step from a value, or from a place in an array element."""
    if isinstance(x, ElementRef) and x.run is not None:
        x = cx.load(x, node)
    if step.is_run(x.type):
        return _gather(cx, [descend(cx, x, s, node) for s in single_steps(cx, x.type, step)], step, node)
    if isinstance(x, ElementRef):
        if step.dynamic is None:
            return ElementRef(x.array, x.indices, step.type, (*x.path, step.index), x.dynamic)
        return ElementRef(x.array, x.indices, step.type, (*x.path, -1), (*x.dynamic, step.dynamic))
    b = cx.at(node)
    if step.dynamic is not None:
        return b.op("extract_dyn", x, step.dynamic)
    return b.op("extract", x, attr=step.index)


def single_steps(cx: Context, t: Type, step: Step) -> list[Step]:
    """A run of components as one step each."""
    assert isinstance(t, Packed)
    out = []
    for offset in step.offsets:
        if step.dynamic is None:
            out.append(Step(t.scalar, offset))
        else:
            at = step.dynamic
            out.append(Step(t.scalar, dynamic=cx.b.op("add", at, cx.b.const(offset, at.type))))
    return out


def _gather(cx: Context, parts: list[Any], step: Step, node: ast.AST) -> Value:
    values = [cx.materialise(p, node) for p in parts]
    return cx.at(node).op("make", *values, attr=step.type)


def row(cx: Context, x: Value, i: int, node: ast.AST) -> Value:
    """Row `i` of a matrix value."""
    t = x.type
    assert isinstance(t, Mat)
    found = descend(cx, x, Step(Vec(t.cols, t.scalar), i * t.cols, t.cols), node)
    assert isinstance(found, Value)
    return found


# -- arrays ---------------------------------------------------------------------------------------------------------


def element(cx: Context, base: Value | ElementRef, node: ast.Subscript) -> Value | ElementRef:
    """`array[...]`: an element, or a view of fewer dimensions when indices are missing."""
    array = cx.materialise(base, node.value)
    t = array_type(array.type)
    assert t is not None
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) > t.ndim:
        extra, takes = nodes[t.ndim], f"{t.ndim} {'index' if t.ndim == 1 else 'indices'}"
        raise cx.error("index", f"{spell(t)} takes {takes}, not {len(nodes)}", extra, help=_too_many(t))
    slices = [n for n in nodes if isinstance(n, ast.Slice)]
    if slices and array.type is not t:
        help = "slice it before the launch, or use indices"
        shown = "an array of Fabric" if fabric_parts(array.type) else "an indexed array"
        raise cx.error("unsupported", f"{shown} cannot be sliced in a kernel", slices[0], help=help)
    if slices:
        parts = [
            n if isinstance(n, ast.Slice) else array_index(cx, array, d, cx.rvalue(n), n) for d, n in enumerate(nodes)
        ]
        return section(cx, array, parts, node)
    indices = [array_index(cx, array, d, cx.rvalue(n), n) for d, n in enumerate(nodes)]
    if array.type is not t:
        return locate(cx, array, indices, node)
    if isinstance(t, FixedArray):
        _check_indices(cx, t, indices, nodes)
    if array.op is not None and array.op.code == "slice" and array.op.attr is None:  # a[i][j] is a[i, j]
        indices = [*array.op.args[1:], *indices]
        array = array.op.args[0]
    full = array.type
    assert isinstance(full, Array)
    if len(indices) < full.ndim:
        return cx.at(node).op("slice", array, *indices)
    return ElementRef(array, tuple(indices), t.dtype)


def _check_indices(cx: Context, t: FixedArray, indices: list[Value], nodes: list[ast.expr]) -> None:
    for index, count, node in zip(indices, t.shape, nodes):
        if index.is_const and not 0 <= index.const < count:
            raise cx.error("index", f"index {ast.unparse(node)} is out of range for {spell(t)}", node)


def _too_many(t: Array) -> str:
    return "index the element separately: a[i][j]" if isinstance(t.dtype, Packed) else ""


def array_index(cx: Context, array: Value, dimension: int, x: Front, node: ast.AST) -> Value:
    """`x` as an index operand; a negative one counts from the end."""
    v = cx.index_value(x, node)
    if is_non_negative(v, cx.session.counting):
        return v
    if v.is_const and isinstance(array.type, Array):
        v = cx.b.const(v.const, I64)  # the end of an array may be further than int32 counts
    return _from_end(cx, v, extent(cx, array, dimension, node), node)


# -- storing --------------------------------------------------------------------------------------------------------


def store(cx: Context, ref: ElementRef, value: Value, node: ast.AST) -> None:
    """Write a value to a place in an array element."""
    refuse_escape(cx, value, node, "this stores")
    cx.store(ref, value, node)


def replace(cx: Context, x: Value, steps: list[Step], value: Value, node: ast.AST) -> Value:
    """The aggregate `x` with the member at the end of `steps` replaced."""
    step = steps[0]
    if len(steps) > 1:
        inner = descend(cx, x, step, node)
        assert isinstance(inner, Value)
        value = replace(cx, inner, steps[1:], value, node)
    b = cx.at(node)
    if step.is_run(x.type):
        for k, single in enumerate(single_steps(cx, x.type, step)):
            x = replace(cx, x, [single], b.op("extract", value, attr=k), node)
        return x
    if step.dynamic is not None:
        return b.op("insert_dyn", x, value, step.dynamic)
    return b.op("insert", x, value, attr=step.index)


def store_steps(cx: Context, target: ast.Attribute | ast.Subscript, t: Type) -> list[Step]:
    """The steps from an aggregate of type `t` to the target of an assignment."""
    if isinstance(target, ast.Attribute):
        why = read_only(t)
        if why:
            text = f"`{ast.unparse(target)}` cannot be assigned to"
            raise cx.error("unsupported", text, target, help=why)
        return [field_step(cx, t, target)]
    return index_steps(cx, t, target)
