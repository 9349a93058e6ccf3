"""Constant nodes: their value is an input, at which connections start."""

from __future__ import annotations

import math

import numpy as np

from ..graph.database import Database
from ..graph.node_graph import NodeType
from .declaration import attribute, data_node, node_type
from .operands import typed


class Constant:
    """Holds a value in `inputs:value`; connections start at that input."""

    @staticmethod
    def compute(db: Database) -> bool:
        """Nothing to do: readers take the input itself."""
        return True


_SCALARS = ("bool", "double", "float", "half", "int", "int64", "path", "string", "target", "timecode", "token")
_ROLES = {"Color": (3, 4), "Normal": (3,), "Point": (3,), "TexCoord": (2, 3), "Vector": (3,)}
_CONSTANTS = {
    **{base.capitalize(): base for base in _SCALARS},
    "UChar": "uchar",
    "UInt": "uint",
    "UInt64": "uint64",
    "Frame": "frame[4]",
    "Prims": "target",
    **{f"{base.capitalize()}{n}": f"{base}[{n}]" for base in ("double", "float", "half", "int") for n in (2, 3, 4)},
    **{f"Matrix{n}d": f"matrixd[{n}]" for n in (2, 3, 4)},
    **{f"Quat{letter}": f"quat{letter}[4]" for letter in "dfh"},
    **{
        f"{role}{n}{letter}": f"{role.lower()}{letter}[{n}]"
        for role, counts in _ROLES.items()
        for n in counts
        for letter in "dfh"
    },
}


def _constant(name: str, kind: str) -> NodeType:
    about = attribute(kind, "The value") | {"metadata": {"outputOnly": "1"}}
    return node_type(f"nodes.Constant{name}", 1, Constant, "A constant", {"value": about}, {})


TYPES = [
    *(_constant(name, kind) for name, kind in _CONSTANTS.items()),
    data_node(
        "ConstantPi",
        1,
        "A multiple of pi",
        {"factor": attribute("double", "How many times pi", 1.0)},
        {"value": attribute("double", "The product")},
        lambda inputs: typed(math.pi * inputs["factor"].value, "double"),
    ),
    data_node(
        "ConstantE",
        1,
        "A power of e",
        {"exponent": attribute("double", "The exponent", 1.0)},
        {"value": attribute("double", "The power")},
        lambda inputs: typed(float(np.exp(inputs["exponent"].value)), "double"),
    ),
]
