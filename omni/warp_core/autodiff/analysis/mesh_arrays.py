"""Points and velocities of meshes as arguments of kernels that look them up by the id of the mesh.

A kernel gets a mesh as a number, so its arrays are not among the arguments, and neither a tape nor forward mode could
follow them. Before a kernel is differentiated, `with_mesh_arrays` makes them arguments: `_mesh_point` and
`_mesh_velocity` of the library become loads from these. From then on they are arrays like all others. An id that is no
parameter, such as an element of an array, leads to arrays that are taken for constants.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.clone import Rewriter
from ...ir.nodes import Function, Operation, Value
from ...lang.types import F32, Array, Vec
from ...passes.inline import inline_calls
from ..rules.custom_rules import is_custom

_WHOLE = {"_mesh_points": 0, "_mesh_velocities": 1}  # which of the two arrays each of them returns
READS = {"_mesh_point": 0, "_mesh_velocity": 1, **_WHOLE}  # and reads
_VECTORS = Array(Vec(3, F32), 1)


class MeshLookups(NamedTuple):
    """How a kernel finds the points and velocities of meshes: by `ids`, the numbers of parameters, and `elsewhere`."""

    ids: tuple[int, ...]
    elsewhere: bool


def mesh_lookups(function: Function) -> MeshLookups:
    """Return how a kernel finds the points and velocities of meshes."""
    flat, reads = _flat(function), _Reads()
    numbers = {p: i for i, p in enumerate(flat.params)}
    calls = [op for op in flat.body.walk() if op.code == "call"]
    found = {numbers.get(op.args[0]) for op in calls if _is_read(op)}
    elsewhere = None in found or any(is_custom(op.attr) and reads(op.attr) for op in calls)
    return MeshLookups(tuple(sorted(n for n in found if n is not None)), elsewhere)


def with_mesh_arrays(function: Function, ids: tuple[int, ...]) -> Function:
    """The kernel with two more parameters, the points and the velocities, for each of the parameters that are ids."""
    flat = _flat(function)
    making = _Loads({flat.params[i]: (Value(_VECTORS), Value(_VECTORS)) for i in ids})
    made = making.rewrite(flat)
    made.body.params += [a for arrays in making.arrays.values() for a in arrays]
    return made


class _Loads(Rewriter):
    """Reads from arrays what is looked up by the ids of meshes."""

    def __init__(self, arrays: dict[Value, tuple[Value, Value]]):
        super().__init__()
        self.arrays = arrays

    def visit_call(self, op: Operation) -> None:
        arrays = self.arrays.get(op.args[0]) if _is_read(op) else None
        if arrays is None:
            super().visit_call(op)
        else:
            name = _name(op.attr)
            array = arrays[READS[name]]
            found = array if name in _WHOLE else self.b.op("load", array, self.values[op.args[1]], attr=())
            self.define(op, [found])


class _Reads:
    """Finds the functions that read points or velocities of meshes."""

    def __init__(self) -> None:
        self._known: dict[Function, bool] = {}

    def __call__(self, callee: Function) -> bool:
        if callee not in self._known:
            calls = [op for op in callee.body.walk() if op.code == "call"]
            self._known[callee] = any(_is_read(op) or self(op.attr) for op in calls)
        return self._known[callee]


def _flat(function: Function) -> Function:
    reads = _Reads()
    return inline_calls(function, lambda callee: not is_custom(callee) and reads(callee))


def _is_read(op: Operation) -> bool:
    return op.code == "call" and op.attr.is_library and _name(op.attr) in READS


def _name(callee: Function) -> str:
    return callee.name.partition("#")[0]
