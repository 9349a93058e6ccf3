"""Write Instances: arrays to a PointInstancer prim, which copies prims to many places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.attribute import GraphError
from ..stock.prims.prim_nodes import one_target
from ..stock.prims.prim_writers import PrimWriter
from ..values.bundles import Bundle, Item, item
from .prim_bundles import on_stage, require_room

# Inputs of one element for each copy: the type that the attribute of the same name has in USD.
_EACH = {
    "orientations": "quath[4][]",
    "scales": "float[3][]",
    "protoIndices": "int[]",
    "velocities": "vectorf[3][]",
    "ids": "int64[]",
}


class InstanceWriter(PrimWriter):
    """What a node has written, and of which inputs: arrays that stay are not written again."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, tuple[np.ndarray, int, Item]] = {}


@on_stage
def write(db: Any) -> None:
    """Compute Write Instances. Raises GraphError."""
    path, inputs, store, state = one_target(db, "prim"), db.inputs, db.host.store, db.per_instance_state
    count = len(inputs.positions)
    require_room(count, "the copies", "write fewer inputs:positions")
    written: dict[str, Item] = {"positions": _item(state, "positions", inputs.positions, "pointf[3][]", count)}
    for name, kind in _EACH.items():
        values = getattr(inputs, name)
        if not len(values) and name == "protoIndices":
            values = np.zeros(1, np.int32)
        if len(values):
            written[name] = _item(state, name, _for_each(name, values, count), kind, count)
    store.prims.define(path, "PointInstancer")
    known = len(_prototypes(db, path, tuple(inputs.prototypes)))
    numbers = written["protoIndices"].value
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < known:
        raise GraphError(f"inputs:protoIndices goes from {numbers.min()} to {numbers.max()}, and {path} has {known} "
                         "prototypes")  # fmt: skip
    prim = Bundle({"sourcePrimType": item("token", "PointInstancer"), **written})
    state.write(db, [(path, prim)], "*")


def _prototypes(db: Any, path: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the prims that the point instancer copies. Raises GraphError if there are none."""
    store = db.host.store
    for prototype in given:
        store.prim(prototype)
    if given:
        store.prims.relate(path, "prototypes", given)
        return given
    found = store.prim(path).GetRelationship("prototypes")
    targets = tuple(str(target) for target in found.GetTargets()) if found else ()
    if not targets:
        raise GraphError(f"{path} has no prototypes; name the prims to copy in inputs:prototypes")
    return targets


def _for_each(name: str, values: np.ndarray, count: int) -> np.ndarray:
    """Return one value for each copy; a single one goes to all. Raises GraphError."""
    if len(values) not in (1, count):
        raise GraphError(f"inputs:{name} has {len(values)} values, and inputs:positions {count}")
    return values if len(values) == count else np.repeat(values, count, axis=0)


def _item(state: InstanceWriter, name: str, values: np.ndarray, kind: str, count: int) -> Item:
    """Return an attribute, the same one as last time for the same array."""
    before = state.items.get(name)
    if before is not None and before[1] == count and np.array_equal(before[0], values):
        return before[2]
    dtype = np.float16 if kind.startswith("quath") else values.dtype
    made = item(kind, values.astype(dtype))
    state.items[name] = (values.copy(), count, made)
    return made
