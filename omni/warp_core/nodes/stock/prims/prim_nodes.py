"""Nodes that read and write attributes and transforms of prims."""

from __future__ import annotations

import math

from ...graph.attribute import GraphError, without_value
from ...graph.database import ENABLED, Database
from ..declaration import EXEC_IN, EXEC_OUT, node_type

PRIM_INPUTS = {
    "prim": {"type": "target", "description": "The prim", "optional": True},
    "primPath": {"type": "token", "description": "Path of the prim, where usePath is set", "optional": True},
    "usePath": {"type": "bool", "description": "Whether primPath names the prim", "default": False},
}


def prim_path(db: Database) -> str:
    """The path of the one prim a node works on. Raises GraphError."""
    if not goes_by_path(db):
        return one_target(db, "prim")
    path: str = db.inputs.primPath
    if not path:
        raise GraphError("inputs:usePath is true but inputs:primPath is empty; set it, or name the prim in inputs:prim")
    return path


def goes_by_path(db: Database) -> bool:
    """True if primPath names the prim: with usePath, unless only prim is set, as some types have usePath by default."""
    is_named = bool(db.inputs.primPath or db.node.get_attribute("inputs:primPath").sources)
    return db.inputs.usePath and (is_named or not db.inputs.prim)


def one_target(db: Database, name: str) -> str:
    """The path of the one prim that an input names. Raises GraphError."""
    targets: tuple[str, ...] = getattr(db.inputs, name)
    if len(targets) != 1:
        raise GraphError(f"inputs:{name} must name one prim, it names {len(targets) or 'none'}")
    return targets[0]


class ReadPrimAttribute:
    """The value of a prim's attribute; arrays come as views of USD's memory."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it: what this play wrote last, or at `usdTimecode` what the stage holds."""
        path, name = prim_path(db), db.inputs.name
        if not name:
            raise GraphError("inputs:name is empty; it names the attribute to read")
        timecode = db.inputs.usdTimecode
        kind, value = db.host.store.read(path, name, None if math.isnan(timecode) else timecode)
        output = db.node.get_attribute("outputs:value")
        if output.resolved != kind or output.value is not value:
            output.set(value, kind)
        return True


class WritePrimAttribute:
    """Writes a value onto a prim's attribute: a time sample of the result, and what later reads see."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Write it."""
        path, name = prim_path(db), db.inputs.name
        source = db.node.get_attribute("inputs:value")
        if not name:
            raise GraphError("inputs:name is empty; it names the attribute to write")
        if source.value is None:
            raise without_value(source)
        db.host.store.write(path, name, source.resolved, source.value)
        db.outputs.execOut = ENABLED
        return True


class GetPrimLocalToWorldTransform:
    """The transform of a prim to the world, in USD's row-vector convention."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        matrix = db.host.store.local_to_world(prim_path(db))
        db.node.get_attribute("outputs:localToWorldTransform").set_if_changed(matrix)
        return True


_READ_INPUTS = PRIM_INPUTS | {
    "name": {"type": "token", "description": "Attribute to read"},
    "usdTimecode": {"type": "timecode", "description": "When to read it; NaN is now", "default": "nan"},
}
_WRITE_INPUTS = (
    EXEC_IN
    | PRIM_INPUTS
    | {
        "name": {"type": "token", "description": "Attribute to write"},
        "usdWriteBack": {"type": "bool", "description": "Ignored here: all writes are results", "default": False},
        "value": {"type": "any", "description": "The value"},
    }
)
_VALUE = {"value": {"type": "any", "description": "The value"}}
_MATRIX = {"localToWorldTransform": {"type": "matrixd[4]", "description": "Transform to the world"}}

TYPES = [
    node_type(
        "nodes.ReadPrimAttribute",
        3,
        ReadPrimAttribute,
        "Reads an attribute of a prim",
        _READ_INPUTS,
        _VALUE,
        reads=True,
    ),
    node_type(
        "nodes.WritePrimAttribute",
        2,
        WritePrimAttribute,
        "Writes an attribute of a prim",
        _WRITE_INPUTS,
        EXEC_OUT,
        limits="all writes are results, whatever `usdWriteBack` says",
    ),
    node_type(
        "nodes.GetPrimLocalToWorldTransform",
        2,
        GetPrimLocalToWorldTransform,
        "Reads the transform of a prim to the world",
        PRIM_INPUTS,
        _MATRIX,
        reads=True,
        limits="without transforms that this play has written",
    ),
]
