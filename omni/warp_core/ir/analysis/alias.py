"""Where array values come from: what they are views of, and which are surely memory of the thread's own."""

from __future__ import annotations

from collections.abc import Collection

from ..nodes import Function, Value
from ..ops import COUNTS

_LOOKS = COUNTS | {"is_null"}


def base(array: Value, through: Collection[str] = ("slice",)) -> Value:
    """What an array is a view of, behind all operations `through`; itself if it comes from another one."""
    while array.op is not None and array.op.code in through:
        array = array.op.args[0]
    return array


def is_made_by(array: Value, *codes: str) -> bool:
    """Whether an array is, or is a view of, what one of these operations makes."""
    op = base(array).op
    return op is not None and op.code in codes


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
            continue
        for i, arg in enumerate(op.args):
            root = found.get(arg)
            if root is None or op.code in _LOOKS:
                continue
            if op.code == "slice":
                found[op.result] = root
            elif op.code not in accesses or i > 0:
                escaped.add(root)
    return {value: root for value, root in found.items() if root not in escaped}
