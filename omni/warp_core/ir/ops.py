"""The operations of the IR, one row each: operand count, typing rule, whether it is pure.

The typing rule is the specification: the builder uses it to type results and the verifier to check them. A rule
receives the operand types and the attribute and returns the result type, or raises `OpError`. Region operations (if,
for, loop, block) and `call` have several results, given by their construction; the verifier checks those.

Attributes, by operation:
  const                value: a number, or a tuple of leaf numbers for packed types
  cast bitcast make splat zero   the result type
  extract insert       member index
  load store           path: members to descend from the element; -1 stands for a dynamic component index, which
                       follows the array indices among the operands
  atomic               (kind, path); kinds are in ATOMIC_KINDS
  shape extent         dimension: its length as int32, which launches see to (passes/counts.py), and as int64
  alloca               the `FixedArray` to make; its contents are undefined until stored
  slice                one letter for each leading dimension: i fixes it at an index operand, r takes the part that
                       operands start, count and step name, : keeps it; None fixes as many as there are operands.
  view_at              None. Operands are an array, bytes behind its address, and an extent for each dimension of the
                       view: elements next to each other from there on, in the order of rows.
  array_at             the type of the elements; operands are the address in memory and the number of elements.
  is_structure         None; the operand is an address, and the result says whether a descriptor may be read there.
  stash                the type of its cells; the result is an array that belongs to the thread, zero or not
  tid                  (dimension, number of dimensions)
  block_tid            the same, of a launch whose last dimension is a block: an index that its threads have in common.
  shared               the `FixedArray` to make: memory of the block of threads, its contents undefined until stored.
  shared_part          (`FixedArray`, offset): the array that begins at a byte of shared memory. A store to one part
                       leaves nothing in others that lie at the same bytes.
  tile_map             the `Tile` that results. The region computes the element at its int32 coordinates.
  tile_get             None. Operands are the tile and an int32 index for each dimension, in bounds.
  tile_set             what becomes of the element at the indices and the last operand: TILE_UPDATES. The result is
                       the tile after all threads that come here have set theirs.
  tile_reduce          the axis, -1 for all. The region combines two elements.
  tile_of_threads      the `Tile` that results: element i is the operand of thread i.
  tile_empty           the `Tile` that results. Nothing has set its elements yet.
  tile_to_memory       None. The result is shared memory of its own, with the elements in it.
  tile_from_memory     the `Tile` that results: the elements that lie in an array of that shape.
  shuffle              how a thread finds the lane of its warp whose value it gets; SHUFFLE_KINDS
  libm                 function name
  printf               C-like format text: %d %u %c %f %g %s(bool) with one operand each, %r %hr (as Python)
  fail                 (kind, message) of the debug-mode failure to report; operands are values worth showing
  assert               message
  call                 the callee `Function`
  break continue       how many breakable (for, loop, block) operations outward, 0 the innermost
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..lang.semantics import LIBM
from ..lang.types import (
    BOOL,
    I32,
    I64,
    MAX_NDIM,
    U8,
    U32,
    U64,
    VOID,
    Array,
    FixedArray,
    Packed,
    Scalar,
    Struct,
    Tile,
    Type,
    element,
    leaves,
    members,
)


class OpError(TypeError):
    """An operation was built with operands it does not take: a mistake of the compiler, not of the user."""


# Operand types of any kind: rules narrow them with `_need`, which a type checker cannot follow.
Types = Sequence[Any]
Rule = Callable[[Types, Any], Type]


@dataclass(frozen=True)
class Op:
    """One row of the table."""

    name: str
    arity: int | None  # None: any number
    rule: Rule | None  # None: results are given by construction
    pure: bool = True
    terminator: bool = False
    regions: int = 0


ATOMIC_KINDS = ("add", "sub", "min", "max", "and", "or", "xor", "exch", "take", "cas")
# Those that leave their operand in memory. "take" says that it is the same to the results which thread comes first.
EXCHANGES = frozenset(("exch", "take"))
# The operation by which others combine memory and their operand, where it is not of their name.
UPDATES = {"min": "minnum", "max": "maxnum"}
# With l the thread's own lane and n the operand, of which the low five bits count: lane n, l - n, l + n, l ^ n. Where
# there is no such lane, a thread gets its own value.
SHUFFLE_KINDS = ("lane", "up", "down", "xor")
# What a thread does to an element of a tile.
TILE_UPDATES = ("set", "add", "sub", "and", "or", "xor")
# Operations that a block does once, and that make tiles, or share elements among the threads.
TILE_OPS = frozenset(
    (
        *("elements", "tile_map", "tile_reduce", "tile_of_threads"),
        *("tile_empty", "tile_to_memory", "tile_from_memory"),
    )
)
# Those of them whose region is run once for each element.
ELEMENT_OPS = frozenset(("elements", "tile_map", "tile_reduce"))
# What the threads of a warp do together.
WARP_OPS = frozenset(("shuffle", "ballot"))
# Where all threads of a block meet: what any of them did before is seen by all behind.
MEETINGS = frozenset(("barrier",)) | TILE_OPS
# What all threads of a block do together.
COLLECTIVES = WARP_OPS | MEETINGS
# What only kernels that are launched in blocks can do.
BLOCK_OPS = COLLECTIVES | {
    *("thread_index", "block_index", "block_tid", "shared", "shared_part", "threads", "tile_get", "tile_set"),
}


def _need(ok: bool, what: str, *values: Any) -> None:
    if not ok:
        raise OpError(what.format(*values))


def _same_numeric(types: Types, attr: Any) -> Type:
    t = types[0]
    if types.count(t) != len(types):
        raise OpError(f"operands differ: {types}")
    s = element(t)
    if not isinstance(s, Scalar) or s is BOOL:
        raise OpError(f"not numeric: {t}")
    return t


def _same_float(types: Types, attr: Any) -> Type:
    t = _same_numeric(types, attr)
    _need(element(t).is_float, "not floating point: {}", t)
    return t


def _same_bits(types: Types, attr: Any) -> Type:
    t = types[0]
    s = element(t)
    _need(types.count(t) == len(types), "operands differ: {}", types)
    _need(isinstance(s, Scalar) and not s.is_float, "not integer or bool: {}", t)
    return t


def _same_int(types: Types, attr: Any) -> Type:
    t = _same_bits(types, attr)
    _need(element(t) is not BOOL, "not integer: bool")
    return t


def _compare(types: Types, attr: Any) -> Type:
    _need(types[0] is types[1] and isinstance(types[0], Scalar), "cannot compare {}", types)
    return BOOL


def _select(types: Types, attr: Any) -> Type:
    _need(types[0] is BOOL and types[1] is types[2], "select on {}", types)
    return types[1]


def _to_attr(types: Types, attr: Any) -> Type:
    return attr


def _cast(types: Types, attr: Type) -> Type:
    src = types[0]
    same_shape = isinstance(src, Scalar) == isinstance(attr, Scalar)
    if isinstance(src, Packed):
        same_shape = isinstance(attr, Packed) and type(src) is type(attr) and src.count == attr.count
    _need(same_shape and isinstance(element(attr), Scalar), "cast {} to {}", src, attr)
    return attr


def _bitcast(types: Types, attr: Any) -> Type:
    source = types[0]
    _need(isinstance(attr, Scalar) and isinstance(source, Scalar), "bitcast works on scalars")
    _need(source.bits == attr.bits, "bitcast {} to {}", source, attr)
    return attr


def _make(types: Types, attr: Type) -> Type:
    _need(tuple(types) == members(attr), "make {} from {}", attr, types)
    return attr


def _splat(types: Types, attr: Type) -> Type:
    _need(isinstance(attr, Packed) and types[0] is attr.scalar, "splat {} to {}", types[0], attr)
    return attr


def _extract(types: Types, attr: int) -> Type:
    m = members(types[0])
    _need(0 <= attr < len(m), "member {} of {}", attr, types[0])
    return m[attr]


def _insert(types: Types, attr: int) -> Type:
    _need(types[1] is _extract(types[:1], attr), "insert {} at {} of {}", types[1], attr, types[0])
    return types[0]


def _is_index(t: Type) -> bool:
    return isinstance(t, Scalar) and t.is_int


def _extract_dyn(types: Types, attr: Any) -> Type:
    t, index = types
    _need(isinstance(t, Packed) and _is_index(index), "extract_dyn on {}", types)
    return t.scalar


def _insert_dyn(types: Types, attr: Any) -> Type:
    t, value, index = types
    _need(isinstance(t, Packed) and value is t.scalar and _is_index(index), "insert_dyn on {}", types)
    return t


def path_type(t: Any, path: Sequence[int]) -> Type:
    """The type reached from an element of type `t` along `path`."""
    for step in path:
        _need(step != -1 or isinstance(t, Packed), "dynamic member of {}", t)
        t = t.scalar if step == -1 else _extract((t,), step)
    return t


def index_count(array: Array, path: Sequence[int]) -> int:
    """Return the number of index operands of an access of `array` along `path`."""
    return array.ndim + sum(step == -1 for step in path)


def _target(types: Types, path: Sequence[int], extra: int) -> Type:
    array = types[0]
    _need(isinstance(array, Array), "not an array: {}", array)
    n = index_count(array, path)
    _need(len(types) == 1 + n + extra, "{} along {} takes {} indices, operands {}", array, path, n, types)
    _need(all(_is_index(t) for t in types[1 : 1 + n]), "index types {}", types[1 : 1 + n])
    return path_type(array.dtype, path)


def _load(types: Types, path: Sequence[int]) -> Type:
    return _target(types, path, 0)


def _store(types: Types, path: Sequence[int]) -> Type:
    t = _target(types, path, 1)
    _need(types[-1] is t, "store {} into {}", types[-1], t)
    return VOID


def _atomic(types: Types, attr: tuple[str, Sequence[int]]) -> Type:
    kind, path = attr
    _need(kind in ATOMIC_KINDS, "atomic kind {!r}", kind)
    extra = 2 if kind == "cas" else 1
    t = _target(types, path, extra)
    _need(all(u is t for u in types[-extra:]), "atomic {} of {} on {}", kind, types[-extra:], t)
    _need(isinstance(element(t), Scalar), "atomic on {}", t)
    _need(kind not in ("and", "or", "xor") or not element(t).is_float, "atomic {} on {}", kind, t)
    return t


def _shape(types: Types, attr: int) -> Type:
    _need(isinstance(types[0], Array) and 0 <= attr < types[0].ndim, "shape[{}] of {}", attr, types[0])
    return I32


def _extent(types: Types, attr: int) -> Type:
    _shape(types, attr)
    return I64


def _size(types: Types, attr: Any) -> Type:
    _need(isinstance(types[0], Array), "size of {}", types[0])
    return I32


def _slice(types: Types, attr: str | None) -> Type:
    array = types[0]
    letters = slice_letters(len(types) - 1, attr)
    _need(isinstance(array, Array) and len(letters) <= array.ndim, "slice {} of {}", letters, array)
    _need(len(types) - 1 == sum(map(SLICE_OPERANDS.__getitem__, letters)), "slice {} with {}", letters, types)
    _need(all(_is_index(t) for t in types[1:]), "index types {}", types[1:])
    _need(letters.count("i") < array.ndim, "slice {} leaves no dimension", letters)
    return Array(array.dtype, array.ndim - letters.count("i"))


SLICE_OPERANDS = {"i": 1, "r": 3, ":": 0}


def slice_letters(operands: int, attr: str | None) -> str:
    """The letters of a `slice` with so many operands besides the array."""
    return "i" * operands if attr is None else attr


def slice_parts(args: Sequence[Any], attr: str | None) -> list[tuple[str, Sequence[Any]]]:
    """The letters of a `slice`, each with its operands; `args` are those after the array."""
    parts, at = [], 0
    for letter in slice_letters(len(args), attr):
        count = SLICE_OPERANDS[letter]
        parts.append((letter, args[at : at + count]))
        at += count
    return parts


def _view_at(types: Types, attr: Any) -> Type:
    array, offset, *extents = types
    _need(isinstance(array, Array) and offset is I64, "view of {} at {}", array, offset)
    _need(1 <= len(extents) <= MAX_NDIM and all(map(_is_index, extents)), "extents {}", extents)
    return Array(array.dtype, len(extents))


def _grad(types: Types, attr: Any) -> Type:
    _need(isinstance(types[0], Array), "not an array: {}", types[0])
    return types[0]


def _array_at(types: Types, attr: Any) -> Type:
    _need(tuple(types) == (U64, I32), "an array takes its address and length, got {}", types)
    _need(isinstance(attr, (Scalar, Packed, Struct)), "array of {}", attr)
    return Array(attr, 1)


def _is_structure(types: Types, attr: Any) -> Type:
    _need(tuple(types) == (U64,), "a structure is at an address, got {}", types)
    return BOOL


def _stash(types: Types, attr: Any) -> Type:
    _need(attr in (U32, U64), "a stash of {}", attr)
    return Array(attr, 1)


def _tid(types: Types, attr: tuple[int, int]) -> Type:
    _need(0 <= attr[0] < attr[1] <= 4, "tid {}", attr)
    return I32


def _i32(types: Types, attr: Any) -> Type:
    return I32


def _shared(types: Types, attr: Any) -> Type:
    _need(isinstance(attr, FixedArray), "shared memory for {}", attr)
    return attr.view


def _shared_part(types: Types, attr: Any) -> Type:
    t, offset = attr
    _need(types[0] is Array(U8, 1) and offset >= 0, "part of {} at {}", types[0], offset)
    return t.view


def _shuffle(types: Types, attr: Any) -> Type:
    t, lane = types
    _need(attr in SHUFFLE_KINDS and lane is I32, "shuffle {} by {}", attr, lane)
    _need(not any(isinstance(leaf, Array) for _, leaf in leaves(t)), "shuffle of {}", t)
    return t


def _ballot(types: Types, attr: Any) -> Type:
    _need(types[0] is BOOL, "ballot of {}", types[0])
    return U32


def _tile_get(types: Types, attr: Any) -> Type:
    tile = types[0]
    _need(isinstance(tile, Tile), "not a tile: {}", tile)
    _need(tuple(types[1:]) == (I32,) * tile.ndim, "indices {} of {}", types[1:], tile)
    return tile.dtype


def _tile_set(types: Types, attr: str) -> Type:
    t = _tile_get(types[:-1], None)
    _need(attr in TILE_UPDATES, "update {!r} of an element", attr)
    _need(types[-1] is t, "set {} in {}", types[-1], types[0])
    return types[0]


def _tile_of_threads(types: Types, attr: Tile) -> Type:
    _need(
        isinstance(attr, Tile) and attr.ndim == 1 and attr.dtype is types[0], "{} of each thread's {}", attr, types[0]
    )
    return attr


def _tile_empty(types: Types, attr: Tile) -> Type:
    _need(isinstance(attr, Tile), "not a tile: {}", attr)
    return attr


def _tile_to_memory(types: Types, attr: Any) -> Type:
    _need(isinstance(types[0], Tile), "not a tile: {}", types[0])
    return types[0].memory.view


def _tile_from_memory(types: Types, attr: Tile) -> Type:
    _need(isinstance(attr, Tile) and types[0] is attr.memory.view, "{} from {}", attr, types[0])
    return attr


def reduced(tile: Tile, axis: int) -> Tile:
    """The type of the sum of a tile along an axis, or of all its elements for -1."""
    _need(-1 <= axis < tile.ndim, "axis {} of {}", axis, tile)
    kept = tile.shape[:axis] + tile.shape[axis + 1 :] if axis >= 0 else ()
    return Tile(tile.dtype, kept or (1,))


def _libm(types: Types, attr: str) -> Type:
    _need(attr in LIBM, "libm has no {!r}", attr)
    return _same_float(types, attr)


def _alloca(types: Types, attr: Any) -> Type:
    _need(isinstance(attr, FixedArray), "alloca of {}", attr)
    return attr


def _is_array(types: Types, attr: Any) -> Type:
    _need(isinstance(types[0], Array), "not an array: {}", types[0])
    return BOOL


def _void(types: Types, attr: Any) -> Type:
    return VOID


def _one_bool(types: Types, attr: Any) -> Type:
    _need(types[0] is BOOL, "condition of type {}", types[0])
    return VOID


def _zero(types: Types, attr: Type) -> Type:
    _need(isinstance(attr, (Struct, Array)), "zero is for structs and arrays, not {}", attr)
    return attr


_ROWS = [
    Op("const", 0, None),
    Op("zero", 0, _zero),
    *(
        Op(n, 2, _same_numeric)
        for n in ("add", "sub", "mul", "div", "rem", "floordiv", "min", "max", "minnum", "maxnum")
    ),
    *(Op(n, 2, _same_bits) for n in ("and", "or", "xor")),
    *(Op(n, 2, _same_int) for n in ("shl", "shr", "from_end")),
    *(Op(n, 1, _same_numeric) for n in ("neg", "abs")),
    *(Op(n, 1, _same_float) for n in ("sqrt", "rsqrt", "floor", "ceil", "trunc", "rint")),
    Op("not", 1, _same_bits),
    Op("popcount", 1, _same_int),
    Op("fma", 3, _same_float),
    Op("libm", None, _libm),
    *(Op(n, 2, _compare) for n in ("eq", "ne", "lt", "le", "gt", "ge")),
    Op("select", 3, _select),
    Op("cast", 1, _cast),
    Op("bitcast", 1, _bitcast),
    Op("make", None, _make),
    Op("splat", 1, _splat),
    Op("extract", 1, _extract),
    Op("insert", 2, _insert),
    Op("extract_dyn", 2, _extract_dyn),
    Op("insert_dyn", 3, _insert_dyn),
    Op("load", None, _load, pure=False),
    Op("store", None, _store, pure=False),
    Op("atomic", None, _atomic, pure=False),
    Op("alloca", 0, _alloca, pure=False),
    Op("shape", 1, _shape),
    Op("extent", 1, _extent),
    Op("size", 1, _size),
    Op("slice", None, _slice),
    Op("view_at", None, _view_at),
    Op("is_null", 1, _is_array),
    Op("grad", 1, _grad),
    Op("array_at", 2, _array_at),
    Op("is_structure", 1, _is_structure),
    Op("stash", 0, _stash),
    Op("tid", 0, _tid),
    Op("block_tid", 0, _tid),
    Op("thread_index", 0, _i32),
    Op("block_index", 0, _i32),
    Op("shared", 0, _shared, pure=False),
    Op("shared_part", 1, _shared_part),
    Op("barrier", 0, _void, pure=False),
    Op("shuffle", 2, _shuffle, pure=False),
    Op("ballot", 1, _ballot, pure=False),
    Op("elements", None, None, pure=False, regions=1),
    Op("tile_map", 0, None, pure=False, regions=1),
    Op("tile_get", None, _tile_get),
    Op("tile_set", None, _tile_set, pure=False),
    Op("tile_reduce", 1, None, pure=False, regions=1),
    Op("tile_of_threads", 1, _tile_of_threads, pure=False),
    Op("tile_empty", 0, _tile_empty, pure=False),
    Op("tile_to_memory", 1, _tile_to_memory, pure=False),
    Op("tile_from_memory", 1, _tile_from_memory, pure=False),
    Op("printf", None, _void, pure=False),
    Op("assert", None, _one_bool, pure=False),
    Op("fail", None, _void, pure=False),
    Op("call", None, None, pure=False),
    Op("if", 1, None, pure=False, regions=2),
    Op("for", None, None, pure=False, regions=1),
    Op("loop", None, None, pure=False, regions=1),
    Op("block", 0, None, pure=False, regions=1),
    Op("threads", 0, None, pure=False, regions=1),
    *(Op(n, None, _void, pure=False, terminator=True) for n in ("yield", "break", "continue", "return")),
    Op("unreachable", 0, _void, pure=False, terminator=True),
]

OPS: dict[str, Op] = {row.name: row for row in _ROWS}
PURE = frozenset(row.name for row in _ROWS if row.pure)
BREAKABLE = frozenset(("for", "loop", "block"))
ELEMENTWISE = frozenset(row.name for row in _ROWS if row.rule in (_same_numeric, _same_float, _same_bits, _same_int))
COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
COUNTS = frozenset(("shape", "extent", "size"))


def result_type(name: str, types: Types, attr: Any) -> Type:
    """The type of the single result of `name` on operands of these types."""
    row = OPS[name]
    if row.arity is not None and row.arity != len(types):
        raise OpError(f"{name} takes {row.arity} operands, got {len(types)}")
    assert row.rule is not None
    return row.rule(types, attr)
