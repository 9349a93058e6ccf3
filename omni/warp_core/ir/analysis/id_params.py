"""Ids of structures, such as hash grids: which parameters of a kernel are ids, and nothing else."""

from __future__ import annotations

from ..nodes import Function, Operation, Value

_USES = frozenset(("and", "shr", "eq", "ne", "fail"))  # of an id, in the functions of the library that look it up


def id_params(flat: Function) -> tuple[int, ...] | None:
    """Return the numbers of the parameters that lead to structures.

    Args:
        flat: a kernel with all calls inlined.

    Returns:
        The parameters, which the kernel uses for nothing else. None if ids come from elsewhere, such as from an array.
    """
    numbers = {id(p): number for number, p in enumerate(flat.params)}
    operations = list(flat.body.walk())
    found = {numbers.get(id(_looked_up(op))) for op in operations if op.code == "is_structure"}
    if None in found:
        return None
    ids = {id(flat.params[number]) for number in found if number is not None}
    pure = all(op.code in _USES for op in operations if any(id(a) in ids for a in op.args))
    return tuple(sorted(n for n in found if n is not None)) if pure else None


def _looked_up(op: Operation) -> Value | None:
    """The id whose address an operation compares with those of descriptors."""
    made = op.args[0].op
    return made.args[0] if made is not None and made.code == "and" else None
