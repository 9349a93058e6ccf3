"""Which stores of a kernel go to elements that no other thread stores to, or no other block.

The gradient of such an element belongs to its thread, which may take it over by loading it and storing zero. Elsewhere
several threads may have stored one value, as when all of them write a result, and only one may take the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from ...ir.analysis.affine_index import Forms, affine_values, launch_invariants
from ...ir.analysis.alias import Location, is_local, may_alias
from ...ir.analysis.element_indices import indices_of_whole
from ...ir.nodes import Function, Operation, Value
from .block_stores import BlockPlace, block_place


class _Place(NamedTuple):
    """Where a store goes: the array (`location`), and by which of its indices threads differ, for each dimension of a
    launch.
    """

    array: Location
    by: dict[int, tuple[int, Value]]


Places = dict[Operation, _Place | BlockPlace | None]


def find_exclusive_stores(function: Function, shared: bool) -> set[Operation]:
    """The stores of a kernel to arrays that only their own thread stores to, or their own block for one element of a
    grid, as far as can be seen.

    Args:
        function: the kernel.
        shared: whether arrays of different parameters may share memory.
    """
    stores = [op for op in function.body.walk() if op.code == "store" and not is_local(op.args[0])]
    places = dict.fromkeys(stores) | _places_of_threads(function, stores) | _places_of_blocks(function)
    shared_with_others = {
        a for a, b in product(stores, stores) if may_alias(a.args[0], b.args[0], shared) and not _agree(places, a, b)
    }
    return set(stores) - shared_with_others


def _places_of_threads(function: Function, stores: Sequence[Operation]) -> Places:
    dimensions = {op.attr[1] for op in function.body.walk() if op.code == "tid"}
    if len(dimensions) != 1:
        return {}
    forms = affine_values(function)
    return {op: _place(op, forms, *dimensions) for op in stores}


def _places_of_blocks(function: Function) -> Places:
    """The places of stores in grids of elements, in a launch whose blocks have indices."""
    grids = [op for op in function.body.walk() if op.code == "elements"]
    dimensions = {op.attr[1] for op in function.body.walk() if op.code == "block_tid"}
    if not grids or len(dimensions) != 1:
        return {}
    invariant, found = launch_invariants(function), Places()
    for grid in grids:
        for op in grid.regions[0].walk():
            if op.code == "store":
                whole, indices = indices_of_whole(op)
                blocks = min(dimensions) - 1  # the last index is that of the thread
                if whole is not None and indices is not None:
                    found[op] = block_place(whole, indices, grid, blocks, invariant)
    return found


def _agree(places: Places, a: Operation, b: Operation) -> bool:
    """True if the threads, or blocks, that write to one place are those that write to the other."""
    return places[a] is not None and places[a] == places[b]


def _place(op: Operation, forms: Forms, dimensions: int) -> _Place | None:
    """The place of a store; None if other threads may store there, too."""
    whole, indices = indices_of_whole(op)
    if whole is None or indices is None:
        return None
    by = {forms[index].injective_dimension: (at, index) for at, index in indices.items() if index in forms}
    by.pop(None, None)
    return _Place(whole, by) if len(by) == dimensions else None  # type: ignore[arg-type]
