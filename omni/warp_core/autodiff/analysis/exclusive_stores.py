"""Which stores of a kernel go to elements that no other thread stores to.

The gradient of such an element belongs to its thread, which may take it over by loading it and storing zero. Elsewhere
several threads may have stored one value, as when all of them write a result, and only one may take the gradient.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from ...ir.analysis.affine_index import Forms, affine_values
from ...ir.analysis.alias import is_local, location, may_alias
from ...ir.nodes import Function, Operation, Value
from ...ir.ops import slice_parts


class _Place(NamedTuple):
    """Where a store goes: the array (`location`), and by which of its indices threads differ, for each dimension of a
    launch.
    """

    array: tuple[Value, tuple[int, ...]]
    by: dict[int, tuple[int, Value]]


def find_exclusive_stores(function: Function, shared: bool) -> set[Operation]:
    """The stores of a kernel to arrays that only their own thread stores to, as far as can be seen.

    Args:
        function: the kernel.
        shared: whether arrays of different parameters may share memory.
    """
    dimensions = {op.attr[1] for op in function.body.walk() if op.code == "tid"}
    if len(dimensions) != 1:
        return set()
    stores = [op for op in function.body.walk() if op.code == "store" and not is_local(op.args[0])]
    forms = affine_values(function)
    places = {op: _place(op, forms, *dimensions) for op in stores}
    shared_with_others = {
        a for a, b in product(stores, stores) if may_alias(a.args[0], b.args[0], shared) and not _agree(places, a, b)
    }
    return set(stores) - shared_with_others


def _agree(places: dict[Operation, _Place | None], a: Operation, b: Operation) -> bool:
    """True if the threads that write to one place are those that write to the other."""
    return places[a] is not None and places[a] == places[b]


def _place(op: Operation, forms: Forms, dimensions: int) -> _Place | None:
    """The place of a store; None if other threads may store there, too."""
    array = op.args[0]
    indices = dict(enumerate(op.args[1 : 1 + array.type.ndim]))
    while array.op is not None and array.op.code == "slice":
        found = _behind(array.op, indices)
        if found is None:
            return None
        array, indices = array.op.args[0], found
    by = {forms[index].injective_dimension: (at, index) for at, index in indices.items() if index in forms}
    by.pop(None, None)
    whole = location(array)
    return _Place(whole, by) if whole is not None and len(by) == dimensions else None  # type: ignore[arg-type]


def _behind(slicing: Operation, indices: dict[int, Value]) -> dict[int, Value] | None:
    """Indices of a slice as those of the array it is taken from; None if it begins or steps anywhere."""
    found, rest = {}, iter(sorted(indices.items()))
    dimensions = slicing.args[0].type.ndim
    parts = slice_parts(slicing.args[1:], slicing.attr)
    for at in range(dimensions):
        letter, operands = parts[at] if at < len(parts) else (":", ())
        if letter == "i":
            found[at] = operands[0]
        elif operands:
            return None
        else:
            found[at] = next(rest)[1]
    return found
