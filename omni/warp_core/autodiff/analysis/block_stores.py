"""Where a block stores element by element, such as a tile: in `y[64 * i + p, 64 * j + q]`, say.

`i` and `j` are indices of the block in the launch, `p` and `q` coordinates of the element. Indices of arrays are taken
for numbers that do not wrap around, as arrays are not that long. Start with `block_place`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from ...ir.analysis.linear_form import Form, Term, linear_form
from ...ir.nodes import Operation, Value

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
