"""Loops of an Action Graph: `loopBody` runs for each item, then `finished`.

A loop enables its body and asks to be computed again when the body's chain has ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.attribute import GraphError
from ..graph.database import Database
from ..graph.node_graph import Node, NodeType
from ..values.attribute_types import AttributeType
from .declaration import EXEC_IN, execution, node_type
from .flow_nodes import fired


def _body(db: Database) -> bool:
    db.set_execution_enabled_and_pushed("outputs:loopBody")
    return True


def _finish(db: Database) -> bool:
    db.set_execution_enabled("outputs:finished")
    return True


class ForLoop:
    """Runs its body for start, start + step, ... up to but without stop. `breakLoop` ends it early."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin, go on, or break. Raises GraphError."""
        if fired(db, "breakLoop"):
            db.state.i = -1  # seen when the body has ended
            return True
        i = 0 if fired(db, "execIn") else db.state.i
        if i < 0:
            return _finish(db)
        start, stop, step = db.inputs.start, db.inputs.stop, db.inputs.step
        if step == 0:
            raise GraphError("inputs:step is 0, so the loop would not end; give it another value")
        value = start + step * i
        if abs(value) <= np.iinfo(np.int32).max:
            db.outputs.index, db.outputs.value = i, value
        if value >= stop if step > 0 else value <= stop:
            db.state.i = -1
            return _finish(db)
        db.state.i = i + 1
        return _body(db)


class WhileLoop:
    """Runs its body as long as `condition` holds, which is looked at before each run. `breakLoop` ends it early."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin, go on, or break."""
        if fired(db, "breakLoop"):
            db.state.goesOn = False  # seen when the body has ended
            return True
        db.state.goesOn = (db.state.goesOn or fired(db, "execIn")) and db.inputs.condition
        return _body(db) if db.state.goesOn else _finish(db)


def _next(db: Database, count: int) -> int | None:
    """Return the index of the next of `count` items, None after the last one."""
    state = db.shared_state
    index = 0 if fired(db, "execIn") else state["next"]
    state["next"] = index + 1
    return index if index < count else None


class ForEach:
    """Runs its body for each element of an array."""

    @staticmethod
    def internal_state() -> dict[str, int]:
        """The index of the next element."""
        return {"next": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin, or go on. Raises GraphError."""
        given = db.inputs.arrayIn
        if given.value is None or not given.type.is_array:
            raise GraphError("inputs:arrayIn has no array; connect one")
        index = _next(db, len(given.value))
        if index is None:
            return _finish(db)
        db.outputs.arrayIndex = index
        db.node.get_attribute("outputs:element").set(_element(given.value, index), given.type.element)
        return _body(db)

    @staticmethod
    def on_connection_type_resolve(node: Node) -> None:
        """Let the element have the type of the array's elements, or the array that of the element."""
        array, element = node.get_attribute("inputs:arrayIn"), node.get_attribute("outputs:element")
        if array.resolved.is_array:
            element.set_resolved_type(array.resolved.element)
        elif not element.resolved.is_any:
            array.set_resolved_type(AttributeType(element.resolved.base, element.resolved.count, True))


def _element(array: Any, index: int) -> Any:
    item = array[index]
    if isinstance(item, np.ndarray):
        return item.copy()
    return item.item() if isinstance(item, np.generic) else item


class ForEachTarget:
    """Runs its body for each of some prims."""

    @staticmethod
    def internal_state() -> dict[str, int]:
        """The index of the next prim."""
        return {"next": 0}

    @staticmethod
    def compute(db: Database) -> bool:
        """Begin, or go on."""
        targets = db.inputs.targets
        index = _next(db, len(targets))
        if index is None:
            return _finish(db)
        db.outputs.arrayIndex, db.outputs.target = index, (targets[index],)
        return _body(db)


def _loop(name: str, version: int, cls: type, about: str, inputs: dict, outputs: dict, **more: Any) -> NodeType:
    ways = execution("loopBody", "Runs for each item") | execution("finished", "Runs after the last item")
    return node_type(f"action.{name}", version, cls, about, EXEC_IN | inputs, ways | outputs, **more)


_RANGE = {
    "start": {"type": "int", "description": "The first value"},
    "stop": {"type": "int", "description": "Where the range ends; not part of it"},
    "step": {"type": "int", "description": "From one value to the next", "default": 1},
}
_VALUES = {
    "index": {"type": "int", "description": "Index of the value"},
    "value": {"type": "int", "description": "The value; in the end, the first one beyond the range"},
}
_INDEX = {"arrayIndex": {"type": "int", "description": "Index of the item"}}

TYPES = [
    _loop(
        "ForLoop",
        2,
        ForLoop,
        "Runs a body for a range",
        _RANGE | execution("breakLoop", "Ends the loop"),
        _VALUES,
        state={"i": {"type": "int", "description": "The next index, -1 outside of the loop", "default": -1}},
    ),
    _loop(
        "WhileLoop",
        1,
        WhileLoop,
        "Runs a body while a condition holds",
        {"condition": {"type": "bool", "description": "Whether to go on"}} | execution("breakLoop", "Ends the loop"),
        {},
        state={"goesOn": {"type": "bool", "description": "Whether the loop runs"}},
    ),
    _loop(
        "ForEach",
        2,
        ForEach,
        "Runs a body for each element",
        {"arrayIn": {"type": ["arrays"], "description": "The array"}},
        _INDEX | {"element": {"type": ["array_elements"], "description": "The element"}},
        limits="no arrays of transforms",
    ),
    _loop(
        "ForEachTarget",
        1,
        ForEachTarget,
        "Runs a body for each prim",
        {"targets": {"type": "target", "description": "The prims", "optional": True}},
        _INDEX | {"target": {"type": "target", "description": "The prim"}},
    ),
]
