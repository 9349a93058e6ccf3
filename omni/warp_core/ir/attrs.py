"""Attributes as flat tuples of atoms, for everything that writes IR down or reads it back (printer, parser, pack).

An atom is a number, a truth value, a string or a `Function`. `encode` and `decode` are inverse; `check` says what is
wrong with an attribute. The table `FORM` names the shape of the attribute of each operation; operations that are not
listed have none. See `ops` for what the attributes mean.
"""

from __future__ import annotations

from typing import Any

from ..lang.semantics import convert, int_range
from ..lang.types import BOOL, Array, FixedArray, Packed, Scalar, Type, element
from .nodes import Function, Operation
from .ops import OPS, SLICE_OPERANDS

Atom = bool | int | float | str | Function

FORM: dict[str, str] = {
    "const": "value",
    **dict.fromkeys(("zero", "cast", "bitcast", "make", "splat", "alloca"), "type"),
    **dict.fromkeys(("tile_map", "tile_of_threads", "tile_empty", "tile_from_memory"), "type"),
    **dict.fromkeys(("extract", "insert", "shape", "extent", "break", "continue", "tile_reduce"), "index"),
    **dict.fromkeys(("load", "store"), "path"),
    "atomic": "atomic",
    **dict.fromkeys(("tid", "block_tid"), "tid"),
    "slice": "letters",
    **dict.fromkeys(("array_at", "stash"), "cell"),
    "shared": "extents",
    "shared_part": "part",
    **dict.fromkeys(("shuffle", "tile_set"), "text"),
    **dict.fromkeys(("libm", "printf", "assert"), "text"),
    "fail": "texts",
    "call": "callee",
}
# Optional attributes that may be None: an access without a path is the whole element.
_SINGLE = ("index", "text", "callee")


def encode(op: Operation) -> tuple[Atom, ...]:
    """The attribute of `op` as atoms; empty where it is absent or repeated by the result type."""
    form = FORM.get(op.code)
    if form in (None, "type", "cell") or op.attr is None:
        return ()
    if form == "atomic":
        return (op.attr[0], *op.attr[1])
    if form == "extents":
        return op.attr.shape
    if form == "part":
        return (op.attr[1], *op.attr[0].shape)
    if form in _SINGLE or not isinstance(op.attr, tuple):
        return (op.attr,)
    return op.attr


def decode(code: str, atoms: tuple[Atom, ...], result: Type | None) -> Any:
    """The attribute that `encode` turned into `atoms`. Raises ValueError for unknown text."""
    form = FORM.get(code)
    if form == "cell":
        if atoms or not isinstance(result, Array):
            raise ValueError(f"{code} takes its type from its result")
        return result.dtype
    if form == "extents":
        _expect(_are_ints(atoms) and isinstance(result, Array), f"{code} takes the extents of its result")
        return FixedArray(result.dtype, atoms)  # type: ignore[union-attr, arg-type]
    if form == "part":
        _expect(_are_ints(atoms) and len(atoms) > 1 and isinstance(result, Array), f"{code} takes offset and extents")
        return FixedArray(result.dtype, atoms[1:]), atoms[0]  # type: ignore[union-attr, arg-type]
    if form == "type":
        _expect(not atoms and result is not None, f"{code} takes its type from its result")
        return result
    if form == "value":
        return _decode_value(atoms, result)
    if form is None:
        _expect(not atoms, f"{code} takes no attribute")
        return None
    if form in _SINGLE:
        _expect(len(atoms) == 1 or (form == "index" and OPS[code].terminator), f"{code} takes one attribute")
        return atoms[0] if atoms else 0
    if form == "letters":
        _expect(len(atoms) < 2, f"{code} takes one attribute")
        return atoms[0] if atoms else None
    if form == "atomic":
        _expect(bool(atoms), "atomic needs its kind")
        return atoms[0], atoms[1:]
    return atoms


def _decode_value(atoms: tuple[Atom, ...], t: Type | None) -> Any:
    s: Any = element(t) if t is not None else None
    _expect(isinstance(s, Scalar), f"no constants of type {t}")
    _expect(all(isinstance(a, (bool, int, float)) for a in atoms), f"constant {atoms}")
    leaves = tuple(_exact(a, s) for a in atoms)
    count = t.count if isinstance(t, Packed) else 1
    _expect(len(leaves) == count, f"{len(leaves)} numbers for {t}")
    return leaves if isinstance(t, Packed) else leaves[0]


def _exact(number: Any, s: Scalar) -> Any:
    """`number` as a value of `s`; integers may stand for floats of the same value."""
    value = convert(number, s)
    _expect(value == number or value != value, f"{number} is not a value of {s}")
    return value


def _expect(ok: bool, what: str) -> None:
    if not ok:
        raise ValueError(what)


def check(op: Operation) -> str | None:
    """Return the error in the attribute of `op` taken by itself, or None."""
    rule = _CHECKS.get(FORM.get(op.code, "none"))
    if rule is None or rule(op.attr):
        return check_const(op) if op.code == "const" else None
    return f"attribute {op.attr!r}"


def check_const(op: Operation) -> str | None:
    """Return the error in the value of a constant, or None."""
    if len(op.results) != 1:
        return "a constant has one result"
    t = op.results[0].type
    s = element(t)
    if not isinstance(s, Scalar):
        return f"no constants of type {t}"
    packed = isinstance(t, Packed)
    if packed != isinstance(op.attr, tuple) or (packed and len(op.attr) != t.count):
        return f"value {op.attr!r} for {t}"
    wrong = [v for v in (op.attr if packed else (op.attr,)) if not _is_value(v, s)]
    return f"{wrong[0]!r} is not a value of {s}" if wrong else None


def _is_value(v: Any, s: Scalar) -> bool:
    if s is BOOL:
        return type(v) is bool
    if s.is_int:
        low, high = int_range(s)
        return type(v) is int and low <= v <= high
    return type(v) is float and (v != v or convert(v, s) == v)


def _is_int(v: Any) -> bool:
    return type(v) is int


def _are_ints(v: Any) -> bool:
    return isinstance(v, tuple) and all(map(_is_int, v))


_CHECKS = {
    "none": lambda a: a is None,
    "type": lambda a: isinstance(a, Type),
    "extents": lambda a: isinstance(a, FixedArray),
    "part": lambda a: isinstance(a, tuple) and len(a) == 2 and isinstance(a[0], FixedArray) and _is_int(a[1]),
    "index": _is_int,
    "path": _are_ints,
    "atomic": lambda a: isinstance(a, tuple) and len(a) == 2 and _are_ints(a[1]),
    "tid": lambda a: _are_ints(a) and len(a) == 2,
    "text": lambda a: isinstance(a, str),
    "letters": lambda a: a is None or (isinstance(a, str) and set(a) <= set(SLICE_OPERANDS)),
    "texts": lambda a: isinstance(a, tuple) and len(a) == 2 and all(isinstance(x, str) for x in a),
    "callee": lambda a: isinstance(a, Function),
}
