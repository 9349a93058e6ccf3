"""Nodes that read and write relationships of prims.

A relationship of USD has no time samples: the result holds the targets that were written last.
"""

from __future__ import annotations

from ...graph.attribute import GraphError
from ...graph.database import ENABLED, Database
from ..declaration import EXEC_IN, EXEC_OUT, attribute, node_type
from .prim_nodes import one_target

_LAST = "a relationship has no time samples, so the result has the targets that were written last"


def _read(db: Database, path: str) -> tuple[str, ...]:
    prim, name = db.host.store.prim(path), db.inputs.name
    if not (name and prim.HasRelationship(name)):
        raise GraphError(f"the prim {path} has no relationship {name!r}")
    return tuple(str(target) for target in prim.GetRelationship(name).GetTargets())


class GetPrimRelationship:
    """The targets of a relationship of a prim, as tokens."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        path = db.inputs.path if db.inputs.usePath else (db.inputs.prim or ("",))[0]
        if not path:
            raise GraphError("no prim is named; set inputs:prim, or inputs:usePath and inputs:path")
        db.node.get_attribute("outputs:paths").set_if_changed(_read(db, path))
        return True


class ReadPrimRelationship:
    """The targets of a relationship of a prim, as targets."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Read it."""
        db.node.get_attribute("outputs:value").set_if_changed(_read(db, one_target(db, "prim")))
        return True


class WritePrimRelationship:
    """Gives a relationship of a prim the targets of the node; makes it if the prim has none."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Write it."""
        db.host.store.relate(one_target(db, "prim"), db.inputs.name, db.inputs.value)
        db.outputs.execOut = ENABLED
        return True


class AddPrimRelationship:
    """Gives a relationship of a prim one target more, unless it has this target; makes it if the prim has none."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Add it."""
        path, name, added = db.inputs.path, db.inputs.name, db.inputs.target
        db.outputs.isSuccessful = False
        if not (path and added):
            raise GraphError("inputs:path and inputs:target must name the prim and the target to add")
        targets = _read(db, path) if db.host.store.prim(path).HasRelationship(name) else ()
        db.host.store.relate(path, name, tuple(dict.fromkeys((*targets, added))))
        db.outputs.isSuccessful = True
        return True


_PRIM = attribute("target", "The prim") | {"optional": True}
_NAME = {"name": attribute("token", "Name of the relationship")}
_READ = _NAME | {"prim": _PRIM}
_GET = _READ | {
    "path": attribute("token", "Path of the prim, where usePath is set"),
    "usePath": attribute("bool", "Whether path names the prim", False),
}
_WRITE = EXEC_IN | _READ | {
    "usdWriteBack": attribute("bool", "Ignored here: all writes are results", True),
    "value": attribute("target", "The targets") | {"optional": True},
}  # fmt: skip
_ADD = EXEC_IN | _NAME | {
    "path": attribute("path", "Path of the prim"),
    "target": attribute("path", "The target to add: a prim, an attribute or a relationship"),
}  # fmt: skip

TYPES = [
    node_type(
        "nodes.GetPrimRelationship", 3, GetPrimRelationship, "Reads a relationship", _GET,
        {"paths": attribute("token[]", "The targets")}, reads=True,
    ),
    node_type(
        "nodes.ReadPrimRelationship", 1, ReadPrimRelationship, "Reads a relationship", _READ,
        {"value": attribute("target", "The targets")}, reads=True,
    ),
    node_type(
        "nodes.WritePrimRelationship", 1, WritePrimRelationship, "Writes a relationship", _WRITE, EXEC_OUT,
        limits=_LAST,
    ),
    node_type(
        "action.AddPrimRelationship", 1, AddPrimRelationship, "Adds a target to a relationship", _ADD,
        {"isSuccessful": attribute("bool", "Whether the relationship has the target")}, limits=_LAST,
    ),
]  # fmt: skip
