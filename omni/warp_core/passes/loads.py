"""Merge equal loads when nothing could have written in between.

In place. In: any verified function. Out: a load of the same array, indices and path as an earlier one uses its result.
Any store, atomic or call forgets everything, whatever array it names: arrays may overlap. What was loaded before an
`if` is known inside it; inside a loop it is known only if the loop writes nothing.
"""

from __future__ import annotations

from ..ir.nodes import Function, Operation, Region, Value

_WRITES = frozenset(("store", "atomic", "call"))

Known = dict[tuple, Value]


def merge_loads(function: Function) -> None:
    """Reuse loaded values in `function`."""
    replaced: dict[Value, Value] = {}
    _visit(function.body, {}, replaced)


def _visit(region: Region, known: Known, replaced: dict[Value, Value]) -> None:
    ops: list[Operation] = []
    for op in region.ops:
        op.args = [replaced.get(a, a) for a in op.args]
        if op.code == "load":
            key = (op.attr, *map(id, op.args))
            if key in known:
                replaced[op.result] = known[key]
                continue
            known[key] = op.result
        for inner in op.regions:
            loops = op.code in ("for", "loop")
            _visit(inner, {} if loops and _writes(inner) else dict(known), replaced)
        if op.code in _WRITES or any(map(_writes, op.regions)):
            known.clear()
        ops.append(op)
    region.ops = ops


def _writes(region: Region) -> bool:
    return any(op.code in _WRITES for op in region.walk())
