"""Where in the user's source the failures of library functions come from that stay calls.

A failure in a function that was inlined knows the place of its call. One in a function that is called, such as a query
of a mesh, may come from each of its calls.
"""

from __future__ import annotations

from ..nodes import Function, Loc, Operation, user_loc

Unplaced = frozenset[Operation]  # failures whose place is in the library


def failure_places(kernel: Function) -> dict[Operation, tuple[Loc, ...]]:
    """Return the places in the user's source that lead to each `fail` of the library, in the order of the source.

    Args:
        kernel: what code is generated from. Failures that know a place of the user are left out.
    """
    places: dict[Operation, dict[Loc, None]] = {}
    _collect(kernel, {}, places)
    return {op: tuple(sorted(found)) for op, found in places.items()}


def _collect(f: Function, known: dict[Function, Unplaced], places: dict[Operation, dict[Loc, None]]) -> Unplaced:
    """Add the places in `f` and in the functions that it calls. Return the failures that are left to its callers."""
    if f not in known:
        left: set[Operation] = set()
        for op in f.body.walk():
            reached = _collect(op.attr, known, places) if op.code == "call" else {op} if op.code == "fail" else ()
            at = user_loc(op.loc)
            if at is None or at.is_library:
                left.update(reached)
            elif op.code == "call":
                for failure in reached:
                    places.setdefault(failure, {})[at._replace(inlined=None)] = None
        known[f] = frozenset(left)
    return known[f]
