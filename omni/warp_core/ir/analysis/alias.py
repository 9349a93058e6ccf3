"""Alias analysis: which memory an array value shows, and which arrays may share elements. Start with `provenance`.

An array value is derived from its *underlying object* by slices, views, parts, members of structs and gradients. That
object is a parameter, memory that the thread or its block makes, or what another operation gives, such as a load or an
`if`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..nodes import Function, Value
from ..ops import COUNTS

_LOOKS = COUNTS | {"is_null"}
_VIEWS = ("slice", "view_at", "shared_part")
_IDENTIFIED = ("alloca", "shared", "tile_to_memory")
_OWN = ("alloca", "stash", "shared", "tile_to_memory")

Location = tuple[Value, tuple[int, ...]]  # an identified object, and the members that lead to an array in it


class Provenance(NamedTuple):
    """How an array is derived from its underlying object.

    Attributes:
        object: the underlying object, an array or a struct that holds it.
        members: the members that lead from the object to the array.
        gradients: how often the way takes the gradient of an array.
        is_view: whether the way takes a part of an array.
    """

    object: Value
    members: tuple[int, ...] = ()
    gradients: int = 0
    is_view: bool = False


def provenance(array: Value, members: tuple[int, ...] = ()) -> Provenance:
    """Return how `array`, or a struct that holds arrays, is derived from its underlying object; or the array to which
    `members` of such a struct lead.
    """
    gradients, is_view = 0, False
    while (op := array.op) is not None:
        if op.code == "extract":
            array, members = op.args[0], (op.attr, *members)
        elif op.code == "make" and members:
            array, members = op.args[members[0]], members[1:]
        elif op.code == "insert" and members:
            if op.attr == members[0]:
                array, members = op.args[1], members[1:]
            else:
                array = op.args[0]
        elif op.code == "grad" or op.code in _VIEWS:
            array = op.args[0]
            gradients += op.code == "grad"
            is_view |= op.code != "grad"
        else:
            break
    return Provenance(array, members, gradients, is_view)


def underlying_object(array: Value) -> Value:
    """Return the value from which `array` is derived by slices, members of structs and gradients."""
    return provenance(array).object


def identified_object(array: Value) -> Value | None:
    """Return the underlying object of `array` if it is a parameter or memory of a thread or block, None for others."""
    found = location(array)
    return None if found is None else found[0]


def location(array: Value) -> Location | None:
    """Return the identified object of `array` and the members that lead to it, None where it has no such object.

    Arrays of different locations do not alias where arrays of different parameters do not.
    """
    found = provenance(array)
    is_identified = found.object.op is None or found.object.op.code in _IDENTIFIED
    return (found.object, found.members) if is_identified else None


def is_made_by(array: Value, *codes: str) -> bool:
    """True if one of these operations makes the underlying object of `array`."""
    op = underlying_object(array).op
    return op is not None and op.code in codes


def is_by_address(array: Value) -> bool:
    """True if `array` is a view by address, or a part of one: its indices say nothing of the array that it views."""
    while array.op is not None and array.op.code in _VIEWS:
        if array.op.code == "view_at":
            return True
        array = array.op.args[0]
    return False


def is_gradient(array: Value) -> bool:
    """True if `array` is the gradient of an array, or a part of it."""
    return provenance(array).gradients > 0


def is_local(array: Value) -> bool:
    """True if `array` is a local array of the thread, or a part of it."""
    return is_made_by(array, "alloca")


def is_own(array: Value) -> bool:
    """True if `array` is memory that the thread or its block makes, which no argument of a launch reaches."""
    return is_made_by(array, *_OWN)


def may_alias(a: Value, b: Value, shared: bool) -> bool:
    """True if two arrays may share elements.

    Args:
        a: an array.
        b: another array.
        shared: whether arrays of different parameters may share memory.
    """
    if a.type.dtype is not b.type.dtype:
        return False
    first, second = location(a), location(b)
    if first is None or second is None or first == second:
        return True
    return shared and not is_own(a) and not is_own(b)


def local_arrays(function: Function, accesses: Collection[str] = ("load", "store", "atomic")) -> dict[Value, Value]:
    """Each array value of `function` that is an `alloca` or a slice of one -> that `alloca`'s result.

    Only memory that never escapes counts: all of its array values are sliced, and accessed in place by `accesses`; none
    is passed on, stored, or merged with another where control flow meets. So no other array value reaches it.
    """
    found: dict[Value, Value] = {}
    escaped: set[Value] = set()
    for op in function.body.walk():
        if op.code == "alloca":
            found[op.result] = op.result
        for i, arg in enumerate(op.args if found else ()):
            root = found.get(arg)
            if root is None or op.code in _LOOKS:
                continue
            if op.code == "slice":
                found[op.result] = root
            elif op.code not in accesses or i > 0:
                escaped.add(root)
    return {value: root for value, root in found.items() if root not in escaped}
