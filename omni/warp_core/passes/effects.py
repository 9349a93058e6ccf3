"""Which array parameters a function may write: launches refuse read-only memory for those and for no others."""

from __future__ import annotations

from ..ir.nodes import Function, Region, Value
from ..lang.types import Array, FixedArray


def written_params(fn: Function) -> tuple[bool, ...]:
    """For each parameter, whether a store or atomic may reach memory through it.

    An array that passes through control flow counts as any array parameter of its element type.
    """
    return _written(fn, {})


def _written(fn: Function, known: dict[Function, tuple[bool, ...]]) -> tuple[bool, ...]:
    if fn in known:
        return known[fn]
    known[fn] = tuple(isinstance(p.type, Array) for p in fn.params)  # what recursion would get
    targets = _targets(fn.body, known)
    direct = {id(v) for v in targets}
    # Fixed arrays that are no parameters are memory of the thread's own.
    elsewhere = [v for v in targets if v not in fn.params and not isinstance(v.type, FixedArray)]
    unclear = {v.type.dtype for v in elsewhere if isinstance(v.type, Array)}
    known[fn] = tuple(id(p) in direct or (isinstance(p.type, Array) and p.type.dtype in unclear) for p in fn.params)
    return known[fn]


def _targets(body: Region, known: dict[Function, tuple[bool, ...]]) -> list[Value]:
    """The arrays that are written, traced back through slices."""
    found = []
    for op in body.walk():
        if op.code in ("store", "atomic"):
            found.append(_origin(op.args[0]))
        elif op.code == "call":
            found += [_origin(a) for a, w in zip(op.args, _written(op.attr, known)) if w]
    return found


def _origin(v: Value) -> Value:
    while v.op is not None and v.op.code == "slice":
        v = v.op.args[0]
    return v
