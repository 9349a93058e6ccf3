"""Where a block stores element by element, such as a tile: in `y[64 * i + p, 64 * j + q]`, say.

`i` and `j` are indices of the block in the launch, `p` and `q` coordinates of the element. Indices of arrays are taken
for numbers that do not wrap around, as arrays are not that long. Start with `block_place`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from ...ir.nodes import Operation, Value
from ...lang.types import Scalar
from .value_numbers import NOTHING

Term = int | Value | None  # the number of an index of the block; another value; None for the constant
Form = Mapping[Term, int]  # a sum of terms, each with its factor
_EVERYWHERE = 1 << 62


class BlockPlace(NamedTuple):
    """The part of an array that belongs to a block: no other block has a part of it, if the places of both are equal.

    Attributes:
        array: what `location` gives for the array.
        steps: for each index of the block, a dimension of the array, how far apart the parts begin, and where the first
            one does.
    """

    array: object
    steps: tuple[tuple[int, int, frozenset[tuple[Term, int]]], ...]


def block_place(
    array: object, indices: Mapping[int, Value], grid: Operation, blocks: int, invariant: Container[Value]
) -> BlockPlace | None:
    """The place of a block's stores for the elements of a grid, each of which stores to an element of its own. None if
    other blocks, or other elements, may store to the same one.

    Args:
        array: what `location` gives for the array.
        indices: the index of the store for each dimension of the array.
        grid: the `elements` operation around the store.
        blocks: how many indices a block has in the launch.
        invariant: the values that are the same for all blocks.
    """
    region = grid.regions[0]
    extents = {p: n.const if n.is_const else _EVERYWHERE for p, n in zip(region.params, grid.args)}
    inside = {v for op in region.walk() for v in (*op.results, *(p for r in op.regions for p in r.params))}
    forms = {at: form for at, index in indices.items() if inside.isdisjoint(form := linear_form(index))}
    if not all(n == 1 or any(_tells(form, p, extents) for form in forms.values()) for p, n in extents.items()):
        return None
    steps = [next(_steps(k, forms, extents, invariant), None) for k in range(blocks)]
    return None if None in steps else BlockPlace(array, tuple(s for s in steps if s is not None))


def linear_form(value: Value, given: Mapping[Value, Value] = NOTHING) -> Form:
    """The sum of terms that an index is. Values stand for those that are `given` for them, if any."""
    return _form(value, given, {})


def _form(value: Value, given: Mapping[Value, Value], known: dict[Value, Form]) -> Form:
    value = given.get(value, value)
    if value not in known:
        known[value] = _form_of_result(value, given, known)
    return known[value]


def _form_of_result(value: Value, given: Mapping[Value, Value], known: dict[Value, Form]) -> Form:
    op = value.op
    if value.is_const:
        return {None: value.const}
    if op is None:
        return {value: 1}
    if op.code == "block_tid":
        return {op.attr[0]: 1}
    if op.code == "cast" and isinstance(op.args[0].type, Scalar) and op.args[0].type.is_int and op.attr.bits >= 32:
        return _form(op.args[0], given, known)
    if op.code in ("add", "sub"):
        first, second = (_form(a, given, known) for a in op.args)
        return _sum(first, _scaled(second, 1 if op.code == "add" else -1))
    if op.code == "mul" and any(a.is_const for a in op.args):
        factor, other = sorted(op.args, key=lambda a: not a.is_const)
        return _scaled(_form(other, given, known), factor.const)
    return {value: 1}


def _sum(a: Form, b: Form) -> Form:
    return {t: c for t in dict.fromkeys((*a, *b)) if (c := a.get(t, 0) + b.get(t, 0))}


def _scaled(form: Form, factor: int) -> Form:
    return {t: c * factor for t, c in form.items() if factor}


def _tells(index: Form, coordinate: Value, extents: Mapping[Value, int]) -> bool:
    """True if elements of one block with this index have the same coordinate."""
    return [t for t in index if t in extents] == [coordinate]


def _steps(
    number: int, forms: Mapping[int, Form], extents: Mapping[Value, int], invariant: Container[Value]
) -> Iterator[tuple[int, int, frozenset[tuple[Term, int]]]]:
    """The dimensions in which blocks with other indices `number` have other parts, as `BlockPlace.steps`."""
    for at, form in forms.items():
        steps = {t: c for t, c in form.items() if isinstance(t, Value) and t in extents}
        first = frozenset((t, c) for t, c in form.items() if t != number and t not in steps)
        is_same = all(t is None or (isinstance(t, Value) and t in invariant) for t, _ in first)
        reach = 1 + sum(c * (extents[t] - 1) for t, c in steps.items())
        if is_same and min(steps.values(), default=1) > 0 and reach <= form.get(number, 0):
            yield at, form[number], first
