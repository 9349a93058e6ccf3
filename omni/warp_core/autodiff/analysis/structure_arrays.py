"""Arrays of structures as arguments of kernels that look them up by an id: points of meshes, values of volumes.

A kernel gets a structure as a number, so its arrays are not among the arguments, and neither a tape nor forward mode
could follow them. Before a kernel is differentiated, `with_arrays` makes them arguments. `_mesh_point` and the like of
the library become loads, and functions of volumes are replaced by their array forms (`array_form` of
lang/registry.py). From then on they are arrays like all others. An id that is no parameter, such as an element of an
array, leads to arrays that are taken for constants.
"""

from __future__ import annotations

from ...ir.clone import Rewriter
from ...ir.launch_facts import ArrayLookups
from ...ir.nodes import Function, Operation, Value
from ...lang.kernel_transforms import Lookup
from ...lang.registry import ARRAY_FORMS
from ...lang.types import BOOL, F32, Array, Vec
from ...passes.inline import inline_calls
from ..rules.custom_rules import is_custom
from ..rules.provider import DerivativeRules

_WHOLE = {"_mesh_points": 0, "_mesh_velocities": 1}  # which of the two arrays each of them returns
MESH_READS = {"_mesh_point": 0, "_mesh_velocity": 1, **_WHOLE}  # and reads
_VECTORS = Array(Vec(3, F32), 1)
_MESH_ARRAYS = (("points", _VECTORS), ("velocities", _VECTORS))


def array_lookups(function: Function) -> ArrayLookups:
    """Return how a kernel finds arrays of structures."""
    flat, uses = _flat(function), _Uses()
    numbers = {p: i for i, p in enumerate(flat.params)}
    calls = [op for op in flat.body.walk() if op.code == "call"]
    needs: dict[tuple[int, tuple], bool] = {}
    elsewhere: set[str] = set()
    for op in calls:
        arrays = _arrays_of(op)
        number = numbers.get(op.args[0]) if arrays else None
        if number is not None:
            needs[number, arrays] = needs.get((number, arrays), False) or _needs_arrays(op)
        elsewhere |= _names(arrays) if number is None else set()
        elsewhere |= uses(op.attr) if is_custom(op.attr) else set()
    return ArrayLookups(tuple(Lookup(*key, needed) for key, needed in needs.items()), tuple(sorted(elsewhere)))


def with_arrays(function: Function, lookups: tuple[Lookup, ...], given: DerivativeRules) -> Function:
    """The kernel with further parameters: the arrays of each lookup."""
    flat = _flat(function)
    arrays = {(flat.params[found.param], found.arrays): [Value(t) for _, t in found.arrays] for found in lookups}
    making = _Accesses(arrays, given)
    made = making.rewrite(flat)
    made.body.params += [a for added in arrays.values() for a in added]
    return made


class _Accesses(Rewriter):
    """Reads from arrays, and writes to arrays, what is looked up by the ids of structures."""

    def __init__(self, arrays: dict[tuple[Value, tuple], list[Value]], given: DerivativeRules):
        super().__init__()
        self.arrays, self.given = arrays, given

    def visit_call(self, op: Operation) -> None:
        found = _arrays_of(op)
        arrays = self.arrays.get((op.args[0], found)) if found else None
        if arrays is None:
            super().visit_call(op)
        elif _name(op.attr) in MESH_READS:
            self.define(op, [self._of_mesh(op, arrays[MESH_READS[_name(op.attr)]])])
        else:
            callee = self.given.array_form(op.attr, arrays[0].type)
            self.define(op, self.b.emit("call", [*self.args(op), arrays[0]], callee, results=callee.results))

    def _of_mesh(self, op: Operation, array: Value) -> Value:
        return array if _name(op.attr) in _WHOLE else self.b.op("load", array, self.values[op.args[1]], attr=())


class _Uses:
    """Finds the attributes of structures that a function uses."""

    def __init__(self) -> None:
        self._known: dict[Function, set[str]] = {}

    def __call__(self, callee: Function) -> set[str]:
        if callee not in self._known:
            self._known[callee] = set()
            calls = [op for op in callee.body.walk() if op.code == "call"]
            self._known[callee] = {name for op in calls for name in _names(_arrays_of(op)) | self(op.attr)}
        return self._known[callee]


def _flat(function: Function) -> Function:
    uses = _Uses()

    def is_inlined(callee: Function) -> bool:
        return not is_custom(callee) and not _is_access(callee) and bool(uses(callee))

    return inline_calls(function, is_inlined)


def _is_access(callee: Function) -> bool:
    return callee.is_library and (_name(callee) in MESH_READS or _name(callee) in ARRAY_FORMS)


def _arrays_of(op: Operation) -> tuple[tuple[str, Array], ...]:
    """The arrays of a structure that a call uses; nothing for other calls."""
    if not _is_access(op.attr):
        return ()
    if _name(op.attr) in MESH_READS:
        return _MESH_ARRAYS
    values = op.args[-1].type  # an array form has an array of values like its last argument
    return () if values is BOOL else (("values", Array(values, 2)),)


def _needs_arrays(op: Operation) -> bool:
    """True for reads of meshes, whose arrays any kernel may get, and for functions that write."""
    return _name(op.attr) in MESH_READS or not op.results


def _names(arrays: tuple[tuple[str, Array], ...]) -> set[str]:
    return {name for name, _ in arrays}


def _name(callee: Function) -> str:
    return callee.name.partition("#")[0]
