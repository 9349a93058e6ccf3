"""Constant nodes: their value is an input, at which connections start."""

from __future__ import annotations

from ..graph.database import Database
from ..graph.node_graph import NodeType
from .declaration import node_type


class Constant:
    """Holds a value in `inputs:value`; connections start at that input."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Nothing to do: readers take the input itself."""
        return True


_CONSTANTS = {
    "Bool": "bool",
    "Double": "double",
    "Float": "float",
    "Int": "int",
    "Int64": "int64",
    "String": "string",
    "Token": "token",
    "UInt": "uint",
    **{f"{word}{n}": f"{word.lower()}[{n}]" for word in ("Double", "Float", "Int") for n in (2, 3, 4)},
    "Color3f": "colorf[3]",
    "Point3f": "pointf[3]",
}


def _constant(name: str, kind: str) -> NodeType:
    about = {"type": kind, "description": "The value", "metadata": {"outputOnly": "1"}}
    return node_type(f"nodes.Constant{name}", 1, Constant, "A constant", {"value": about}, {})


TYPES = [_constant(name, kind) for name, kind in _CONSTANTS.items()]
